/* The table of operations that the model is made of, at one instruction-set level.
 *
 * The numbers contract (docs/decisions/0005-numbers.md), shared by every level, bit for bit:
 *
 *  dot   16 lanes, all +0 at the start. Element i belongs to lane i mod 16 and updates it with
 *        exactly one fused multiply-add, lane = fma(weight, activation, lane), in rising i; a
 *        tail of fewer than 16 elements touches only its lanes. Fold: lane l += lane l + 8 for
 *        l < 8, then + 4, + 2, + 1; lane 0 is the sum.
 *  axpy  lanes over outputs: out[j] is one chain out[j] = fma(a[i], m[i][j], out[j]) in rising
 *        i, started from what out[j] held.
 *  sums  of plain values use the dot's lanes and fold with lane = lane + value.
 *
 * A row's result depends on nothing but that row: no width, tile or thread count enters. Where
 * a result is a NaN, which NaN is open; every other bit is fixed. `nj_kernels_scalar` is the
 * definition; others equal it, provided the thread rounds to nearest and keeps denormals
 * (base/pool sees to that).
 *
 * Weights (`nj_matrix.weights`, `scales`, and m of axpy_bf16) are read at any alignment.
 * Element-wise operations may run in place: y may be x, gate or up, p may be s. Nothing is read
 * or written outside the ranges named. n = 0 is allowed wherever a count is.
 *
 * Threads: pure functions, the tables are constant.
 */
#ifndef NJ_KERNELS_KERNELS_H
#define NJ_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum nj_cpu_level { NJ_CPU_SCALAR, NJ_CPU_AVX2, NJ_CPU_AVX512, NJ_CPU_LEVELS };

enum nj_matrix_type { NJ_MATRIX_F32, NJ_MATRIX_BF16, NJ_MATRIX_MXFP4 };

/* A block of `n_outputs` weight rows of `n_inputs` values, row-major and dense. `scales` only
 * for MXFP4 (then n_inputs is a multiple of 32). */
struct nj_matrix {
    enum nj_matrix_type type;
    uint32_t n_outputs;
    uint32_t n_inputs;
    const void *weights;
    const uint8_t *scales;
};

struct nj_kernels {
    enum nj_cpu_level level;

    /* y[r * y_stride + o] = dot(matrix row o, x row r) for all o and all r < n_rows; strides in
     * values. Each weight is read once for all rows that a level does at a time: MXFP4 at
     * AVX-512 up to 32 (17 if rows are 7168 long), panels up to 129 or 132, all others all.
     * `scratch` is nj_kernels_scratch_bytes() of the calling thread, 64-byte aligned. */
    void (*multiply)(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                     uint32_t n_rows, float *y, size_t y_stride, void *scratch);

    float (*dot)(const float *a, const float *b, uint32_t n); /* both F32, dot form */
    float (*sum)(const float *a, uint32_t n);                 /* sums form */

    /* out[j] = fma(a[i], m[i * m_stride + j], out[j]) for i < n_terms in rising i, j <
     * n_outputs. */
    void (*axpy)(const float *a, uint32_t n_terms, const float *m, size_t m_stride,
                 uint32_t n_outputs, float *out);
    /* The same with BF16 m (absorbed attention reads kv_b_proj transposed). */
    void (*axpy_bf16)(const float *a, uint32_t n_terms, const uint16_t *m, size_t m_stride,
                      uint32_t n_outputs, float *out);

    /* y = (x * (1 / sqrt(dot(x, x) / n + eps))) * weight, products left to right. */
    void (*rms_norm)(const float *x, const float *weight, uint32_t n, float eps, float *y);

    /* y[i] = y[i] + x[i] */
    void (*add)(float *y, const float *x, uint32_t n);
    /* y[i] = y[i] * factor */
    void (*scale)(float *y, float factor, uint32_t n);
    /* y[i] = fma(factor, x[i], y[i]) */
    void (*accumulate)(float *y, const float *x, float factor, uint32_t n);
    /* y[i] = y[i] * sigmoid(gate[i]) */
    void (*multiply_sigmoid)(float *y, const float *gate, uint32_t n);
    /* y[i] = nj_situ(gate[i], up[i], beta, linear_beta); y may be gate or up */
    void (*situ)(const float *gate, const float *up, float beta, float linear_beta, uint32_t n,
                 float *y);
    /* y[i] = silu(gate[i]) * up[i]; y may be gate or up */
    void (*swiglu)(const float *gate, const float *up, uint32_t n, float *y);

    /* p[i] = exp(s[i] - maximum) for i < n (at most 64); returns their sum (sums form). */
    float (*exp_minus)(const float *s, float maximum, uint32_t n, float *p);

    /* One step of the causal depthwise convolution with SiLU. taps is (n_channels, n_taps),
     * oldest first; history is (n_taps - 1, n_channels), oldest first, and is shifted by x.
     * y[c] = silu(fma chain from 0: taps[c][0] * oldest ... taps[c][n_taps - 1] * x[c]). */
    void (*conv_step)(const float *taps, uint32_t n_channels, uint32_t n_taps, float *history,
                      const float *x, float *y);

    /* One token of one KDA head (kimi-k3 delta attention). state is S (n_keys, n_values), q is
     * already normalised and scaled, k normalised, decay = alpha (n_keys). In this order:
     *   S[i][j] = S[i][j] * decay[i]
     *   u[j]    = axpy over i of k[i] * S[i][j], from 0
     *   w[j]    = beta * (v[j] - u[j])
     *   S[i][j] = fma(k[i], w[j], S[i][j])
     *   o[j]    = axpy over i of q[i] * S[i][j], from 0
     * `work` has room for n_values and holds w at the end. */
    void (*kda_step)(float *state, uint32_t n_keys, uint32_t n_values, const float *q,
                     const float *k, const float *v, const float *decay, float beta,
                     float *work, float *o);

    /* Decay of one head: z[i] + bias[i] in, alpha out. With `lower_bound` < 0 (K3):
     * g = lower_bound * sigmoid(rate * z); else (Kimi-Linear): g = -(rate * softplus(z));
     * alpha = exp(g), z being z[i] + bias[i]. rate = exp(A_log) of the head. */
    void (*decay)(const float *z, const float *bias, float rate, float lower_bound, uint32_t n,
                  float *alpha);

    /* x[i] = (x[i] / sqrt(dot(x, x) + eps)) * factor (1 for none). */
    void (*l2_normalize)(float *x, uint32_t n, float eps, float factor);
};

/* Bytes of scratch that one thread needs for `multiply` with rows of at most `n_inputs` values
 * and at most `n_rows` rows. */
size_t nj_kernels_scratch_bytes(uint32_t n_inputs, uint32_t n_rows);

/* The definition. */
const struct nj_kernels *nj_kernels_scalar(void);

/* "scalar", "avx2", "avx512"; "auto" or NULL takes the best that processor and system allow.
 * NJ_E_USAGE for an unknown name, NJ_E_UNSUPPORTED for one that this machine lacks. */
enum nj_status nj_kernels_choose(const char *level_name, const struct nj_kernels **kernels,
                                 struct nj_error *err);

const char *nj_cpu_level_name(enum nj_cpu_level level);

/* Whether processor and system allow the level here. */
bool nj_cpu_level_is_available(enum nj_cpu_level level);

#endif
