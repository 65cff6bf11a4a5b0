/* The definition of every operation: plain loops, one element at a time, in the order that the
 * numbers contract states. Every other level equals this one bit for bit. */
#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "kernels/lanes.h"
#include "kernels/levels.h"
#include "quant/bf16.h"
#include "quant/mxfp4.h"

/* Reads one BF16 value; weights lie at any alignment. */
static float bf16_at(const void *values, size_t index)
{
    uint16_t bits;
    memcpy(&bits, (const uint8_t *)values + index * sizeof bits, sizeof bits);
    return nj_bf16_widen(bits);
}

static void widen_row(const struct nj_matrix *matrix, uint32_t output, float *row)
{
    size_t n = matrix->n_inputs;
    const uint8_t *bytes = matrix->weights;
    switch (matrix->type) {
    case NJ_MATRIX_F32:
        memcpy(row, bytes + output * n * sizeof(float), n * sizeof(float));
        break;
    case NJ_MATRIX_BF16:
        for (size_t i = 0; i < n; i++) {
            row[i] = bf16_at(bytes, output * n + i);
        }
        break;
    case NJ_MATRIX_MXFP4:
        nj_mxfp4_expand(bytes + output * (n / 2),
                        matrix->scales + output * (n / NJ_MXFP4_BLOCK_VALUES), n, row);
        break;
    }
}

static void multiply(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                     uint32_t n_rows, float *y, size_t y_stride, void *scratch)
{
    float *weights = scratch;
    for (uint32_t o = 0; o < matrix->n_outputs; o++) {
        widen_row(matrix, o, weights);
        for (uint32_t r = 0; r < n_rows; r++) {
            y[r * y_stride + o] = nj_lanes_dot(weights, x + r * x_stride, matrix->n_inputs);
        }
    }
}

static float dot(const float *a, const float *b, uint32_t n)
{
    return nj_lanes_dot(a, b, n);
}

static float sum(const float *a, uint32_t n)
{
    return nj_lanes_sum(a, n);
}

static void axpy(const float *a, uint32_t n_terms, const float *m, size_t m_stride,
                 uint32_t n_outputs, float *out)
{
    for (uint32_t i = 0; i < n_terms; i++) {
        for (uint32_t j = 0; j < n_outputs; j++) {
            out[j] = fmaf(a[i], m[i * m_stride + j], out[j]);
        }
    }
}

static void axpy_bf16(const float *a, uint32_t n_terms, const uint16_t *m, size_t m_stride,
                      uint32_t n_outputs, float *out)
{
    for (uint32_t i = 0; i < n_terms; i++) {
        for (uint32_t j = 0; j < n_outputs; j++) {
            out[j] = fmaf(a[i], bf16_at(m, i * m_stride + j), out[j]);
        }
    }
}

static void rms_norm(const float *x, const float *weight, uint32_t n, float eps, float *y)
{
    float inverse = 1.0F / sqrtf(nj_lanes_dot(x, x, n) / (float)n + eps);
    for (uint32_t i = 0; i < n; i++) {
        y[i] = (x[i] * inverse) * weight[i];
    }
}

static void l2_normalize(float *x, uint32_t n, float eps, float factor)
{
    float length = sqrtf(nj_lanes_dot(x, x, n) + eps);
    for (uint32_t i = 0; i < n; i++) {
        x[i] = (x[i] / length) * factor;
    }
}

static void add(float *y, const float *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        y[i] = y[i] + x[i];
    }
}

static void scale(float *y, float factor, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        y[i] = y[i] * factor;
    }
}

static void accumulate(float *y, const float *x, float factor, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        y[i] = fmaf(factor, x[i], y[i]);
    }
}

static void multiply_sigmoid(float *y, const float *gate, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        y[i] = y[i] * nj_sigmoid(gate[i]);
    }
}

static void situ(const float *gate, const float *up, float beta, float linear_beta, uint32_t n,
                 float *y)
{
    for (uint32_t i = 0; i < n; i++) {
        y[i] = nj_situ(gate[i], up[i], beta, linear_beta);
    }
}

static void swiglu(const float *gate, const float *up, uint32_t n, float *y)
{
    for (uint32_t i = 0; i < n; i++) {
        y[i] = nj_silu(gate[i]) * up[i];
    }
}

static float exp_minus(const float *s, float maximum, uint32_t n, float *p)
{
    for (uint32_t i = 0; i < n; i++) {
        p[i] = nj_exp(s[i] - maximum);
    }
    return nj_lanes_sum(p, n);
}

static void conv_step(const float *taps, uint32_t n_channels, uint32_t n_taps, float *history,
                      const float *x, float *y)
{
    for (uint32_t c = 0; c < n_channels; c++) {
        const float *channel_taps = taps + (size_t)c * n_taps;
        float newest = x[c];
        float chain = 0.0F;
        for (uint32_t t = 0; t + 1 < n_taps; t++) {
            chain = fmaf(channel_taps[t], history[(size_t)t * n_channels + c], chain);
        }
        chain = fmaf(channel_taps[n_taps - 1], newest, chain);
        for (uint32_t t = 0; t + 2 < n_taps; t++) {
            history[(size_t)t * n_channels + c] = history[(size_t)(t + 1) * n_channels + c];
        }
        if (n_taps > 1) {
            history[(size_t)(n_taps - 2) * n_channels + c] = newest;
        }
        y[c] = nj_silu(chain);
    }
}

static void kda_step(float *state, uint32_t n_keys, uint32_t n_values, const float *q,
                     const float *k, const float *v, const float *decay, float beta,
                     float *work, float *o)
{
    for (uint32_t j = 0; j < n_values; j++) {
        work[j] = 0.0F;
        o[j] = 0.0F;
    }
    for (uint32_t i = 0; i < n_keys; i++) {
        float *row = state + (size_t)i * n_values;
        for (uint32_t j = 0; j < n_values; j++) {
            row[j] = row[j] * decay[i];
            work[j] = fmaf(k[i], row[j], work[j]);
        }
    }
    for (uint32_t j = 0; j < n_values; j++) {
        work[j] = beta * (v[j] - work[j]);
    }
    for (uint32_t i = 0; i < n_keys; i++) {
        float *row = state + (size_t)i * n_values;
        for (uint32_t j = 0; j < n_values; j++) {
            row[j] = fmaf(k[i], work[j], row[j]);
            o[j] = fmaf(q[i], row[j], o[j]);
        }
    }
}

static void decay(const float *z, const float *bias, float rate, float lower_bound, uint32_t n,
                  float *alpha)
{
    for (uint32_t i = 0; i < n; i++) {
        float biased = z[i] + bias[i];
        float log_alpha = lower_bound < 0.0F ? lower_bound * nj_sigmoid(rate * biased)
                                             : -(rate * nj_softplus(biased));
        alpha[i] = nj_exp(log_alpha);
    }
}

const struct nj_kernels nj_kernels_scalar_table = {
    .level = NJ_CPU_SCALAR,
    .multiply = multiply,
    .dot = dot,
    .sum = sum,
    .axpy = axpy,
    .axpy_bf16 = axpy_bf16,
    .rms_norm = rms_norm,
    .add = add,
    .scale = scale,
    .accumulate = accumulate,
    .multiply_sigmoid = multiply_sigmoid,
    .situ = situ,
    .swiglu = swiglu,
    .exp_minus = exp_minus,
    .conv_step = conv_step,
    .kda_step = kda_step,
    .decay = decay,
    .l2_normalize = l2_normalize,
};
