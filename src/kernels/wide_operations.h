/* Every operation but the matrix product, on sixteen lanes; written once for AVX2 and AVX-512.
 *
 * Include after wide_avx2.h or wide_avx512.h, in exactly one file of each level. In all loops a
 * part of a group (the tail) works on masked lanes: padding with zeros would not do, for it
 * turns a lane that holds -0 into +0.
 */
#ifndef NJ_KERNELS_WIDE_OPERATIONS_H
#define NJ_KERNELS_WIDE_OPERATIONS_H

#include <math.h>

#include "kernels/wide_elementary.h"

/* Groups of lanes whose chains run side by side, to hide the latency of each. */
enum { N_ABREAST = 4, VALUES_ABREAST = N_ABREAST * NJ_LANES };

WIDE_INLINE size_t group_size(size_t n, size_t begin)
{
    return n - begin < NJ_LANES ? n - begin : NJ_LANES;
}

WIDE_INLINE wide load_group(const float *p, size_t size)
{
    return size == NJ_LANES ? wide_load(p) : wide_load_first(p, size);
}

WIDE_INLINE wide load_group_bf16(const uint16_t *p, size_t size)
{
    return size == NJ_LANES ? wide_load_bf16(p) : wide_load_bf16_first(p, size);
}

WIDE_INLINE void store_group(float *p, wide v, size_t size)
{
    if (size == NJ_LANES) {
        wide_store(p, v);
    } else {
        wide_store_first(p, v, size);
    }
}

static float dot(const float *a, const float *b, uint32_t n)
{
    wide lanes = wide_set(0.0F);
    size_t i = 0;
    for (; i + NJ_LANES <= n; i += NJ_LANES) {
        lanes = wide_fma(wide_load(a + i), wide_load(b + i), lanes);
    }
    if (i < n) {
        wide last =
            wide_fma(wide_load_first(a + i, n - i), wide_load_first(b + i, n - i), lanes);
        lanes = wide_select(wide_first(n - i), last, lanes);
    }
    return wide_fold(lanes);
}

static float sum(const float *a, uint32_t n)
{
    wide lanes = wide_set(0.0F);
    size_t i = 0;
    for (; i + NJ_LANES <= n; i += NJ_LANES) {
        lanes = wide_add(lanes, wide_load(a + i));
    }
    if (i < n) {
        wide last = wide_add(lanes, wide_load_first(a + i, n - i));
        lanes = wide_select(wide_first(n - i), last, lanes);
    }
    return wide_fold(lanes);
}

/* One group of outputs, for what is left after the wider steps of axpy. */
WIDE_INLINE void axpy_group(const float *a, uint32_t n_terms, const float *m, size_t m_stride,
                            size_t size, float *out)
{
    wide lanes = load_group(out, size);
    for (uint32_t i = 0; i < n_terms; i++) {
        lanes = wide_fma(wide_set(a[i]), load_group(m + i * m_stride, size), lanes);
    }
    store_group(out, lanes, size);
}

static void axpy(const float *a, uint32_t n_terms, const float *m, size_t m_stride,
                 uint32_t n_outputs, float *out)
{
    size_t j = 0;
    for (; j + VALUES_ABREAST <= n_outputs; j += VALUES_ABREAST) {
        wide lanes[N_ABREAST];
        WIDE_UNROLL
        for (size_t g = 0; g < N_ABREAST; g++) {
            lanes[g] = wide_load(out + j + g * NJ_LANES);
        }
        for (uint32_t i = 0; i < n_terms; i++) {
            const float *row = m + i * m_stride + j;
            wide factor = wide_set(a[i]);
            WIDE_UNROLL
            for (size_t g = 0; g < N_ABREAST; g++) {
                lanes[g] = wide_fma(factor, wide_load(row + g * NJ_LANES), lanes[g]);
            }
        }
        WIDE_UNROLL
        for (size_t g = 0; g < N_ABREAST; g++) {
            wide_store(out + j + g * NJ_LANES, lanes[g]);
        }
    }
    for (; j < n_outputs; j += NJ_LANES) {
        axpy_group(a, n_terms, m + j, m_stride, group_size(n_outputs, j), out + j);
    }
}

WIDE_INLINE void axpy_bf16_group(const float *a, uint32_t n_terms, const uint16_t *m,
                                 size_t m_stride, size_t size, float *out)
{
    wide lanes = load_group(out, size);
    for (uint32_t i = 0; i < n_terms; i++) {
        lanes = wide_fma(wide_set(a[i]), load_group_bf16(m + i * m_stride, size), lanes);
    }
    store_group(out, lanes, size);
}

static void axpy_bf16(const float *a, uint32_t n_terms, const uint16_t *m, size_t m_stride,
                      uint32_t n_outputs, float *out)
{
    size_t j = 0;
    for (; j + VALUES_ABREAST <= n_outputs; j += VALUES_ABREAST) {
        wide lanes[N_ABREAST];
        WIDE_UNROLL
        for (size_t g = 0; g < N_ABREAST; g++) {
            lanes[g] = wide_load(out + j + g * NJ_LANES);
        }
        for (uint32_t i = 0; i < n_terms; i++) {
            const uint16_t *row = m + i * m_stride + j;
            wide factor = wide_set(a[i]);
            WIDE_UNROLL
            for (size_t g = 0; g < N_ABREAST; g++) {
                lanes[g] = wide_fma(factor, wide_load_bf16(row + g * NJ_LANES), lanes[g]);
            }
        }
        WIDE_UNROLL
        for (size_t g = 0; g < N_ABREAST; g++) {
            wide_store(out + j + g * NJ_LANES, lanes[g]);
        }
    }
    for (; j < n_outputs; j += NJ_LANES) {
        axpy_bf16_group(a, n_terms, m + j, m_stride, group_size(n_outputs, j), out + j);
    }
}

static void rms_norm(const float *x, const float *weight, uint32_t n, float eps, float *y)
{
    wide inverse = wide_set(1.0F / sqrtf(dot(x, x, n) / (float)n + eps));
    for (size_t i = 0; i < n; i += NJ_LANES) {
        size_t size = group_size(n, i);
        wide scaled = wide_mul(load_group(x + i, size), inverse);
        store_group(y + i, wide_mul(scaled, load_group(weight + i, size)), size);
    }
}

static void l2_normalize(float *x, uint32_t n, float eps, float factor)
{
    wide length = wide_set(sqrtf(dot(x, x, n) + eps));
    wide factors = wide_set(factor);
    for (size_t i = 0; i < n; i += NJ_LANES) {
        size_t size = group_size(n, i);
        wide unit = wide_div(load_group(x + i, size), length);
        store_group(x + i, wide_mul(unit, factors), size);
    }
}

static void add(float *y, const float *x, uint32_t n)
{
    for (size_t i = 0; i < n; i += NJ_LANES) {
        size_t size = group_size(n, i);
        store_group(y + i, wide_add(load_group(y + i, size), load_group(x + i, size)), size);
    }
}

static void scale(float *y, float factor, uint32_t n)
{
    wide factors = wide_set(factor);
    for (size_t i = 0; i < n; i += NJ_LANES) {
        size_t size = group_size(n, i);
        store_group(y + i, wide_mul(load_group(y + i, size), factors), size);
    }
}

static void accumulate(float *y, const float *x, float factor, uint32_t n)
{
    wide factors = wide_set(factor);
    for (size_t i = 0; i < n; i += NJ_LANES) {
        size_t size = group_size(n, i);
        wide v = wide_fma(factors, load_group(x + i, size), load_group(y + i, size));
        store_group(y + i, v, size);
    }
}

static void multiply_sigmoid(float *y, const float *gate, uint32_t n)
{
    for (size_t i = 0; i < n; i += NJ_LANES) {
        size_t size = group_size(n, i);
        wide opening = wide_sigmoid(load_group(gate + i, size));
        store_group(y + i, wide_mul(load_group(y + i, size), opening), size);
    }
}

static void situ(const float *gate, const float *up, float beta, float linear_beta, uint32_t n,
                 float *y)
{
    wide betas = wide_set(beta);
    wide linear_betas = wide_set(linear_beta);
    for (size_t i = 0; i < n; i += NJ_LANES) {
        size_t size = group_size(n, i);
        wide v = wide_situ(load_group(gate + i, size), load_group(up + i, size), betas,
                           linear_betas);
        store_group(y + i, v, size);
    }
}

static void swiglu(const float *gate, const float *up, uint32_t n, float *y)
{
    for (size_t i = 0; i < n; i += NJ_LANES) {
        size_t size = group_size(n, i);
        wide opening = wide_silu(load_group(gate + i, size));
        store_group(y + i, wide_mul(opening, load_group(up + i, size)), size);
    }
}

static float exp_minus(const float *s, float maximum, uint32_t n, float *p)
{
    wide maxima = wide_set(maximum);
    wide lanes = wide_set(0.0F);
    for (size_t i = 0; i < n; i += NJ_LANES) {
        size_t size = group_size(n, i);
        wide v = wide_exp(wide_sub(load_group(s + i, size), maxima));
        store_group(p + i, v, size);
        lanes = wide_select(wide_first(size), wide_add(lanes, v), lanes);
    }
    return wide_fold(lanes);
}

WIDE_INLINE wide load_taps(const float *taps, uint32_t n_taps, size_t size)
{
    if (size == NJ_LANES) {
        return wide_load_strided(taps, n_taps);
    }
    float values[NJ_LANES] = {0};
    for (size_t c = 0; c < size; c++) {
        values[c] = taps[c * n_taps];
    }
    return wide_load(values);
}

static void conv_step(const float *taps, uint32_t n_channels, uint32_t n_taps, float *history,
                      const float *x, float *y)
{
    for (size_t c = 0; c < n_channels; c += NJ_LANES) {
        size_t size = group_size(n_channels, c);
        const float *group_taps = taps + c * n_taps;
        float *slot = history + c;
        wide chain = wide_set(0.0F);
        for (uint32_t t = 0; t + 1 < n_taps; t++) {
            wide past = load_group(slot, size);
            chain = wide_fma(load_taps(group_taps + t, n_taps, size), past, chain);
            if (t > 0) {
                store_group(slot - n_channels, past, size);
            }
            slot += n_channels;
        }
        wide newest = load_group(x + c, size);
        chain = wide_fma(load_taps(group_taps + n_taps - 1, n_taps, size), newest, chain);
        if (n_taps > 1) {
            store_group(slot - n_channels, newest, size);
        }
        store_group(y + c, wide_silu(chain), size);
    }
}

/* The columns of one group or of several abreast: in one go over the keys u is gathered while S
 * decays, in a second S is updated and read. The second finds its columns in L1. */
WIDE_INLINE void kda_columns(float *state, uint32_t n_keys, size_t n_values, const float *q,
                             const float *k, const float *v, const float *decay, float beta,
                             float *work, float *o, size_t n_groups, size_t size)
{
    wide chain[N_ABREAST];
    wide update[N_ABREAST];
    WIDE_UNROLL
    for (size_t g = 0; g < n_groups; g++) {
        chain[g] = wide_set(0.0F);
    }
    for (uint32_t i = 0; i < n_keys; i++) {
        float *row = state + i * n_values;
        wide decays = wide_set(decay[i]);
        wide keys = wide_set(k[i]);
        WIDE_UNROLL
        for (size_t g = 0; g < n_groups; g++) {
            wide s = wide_mul(load_group(row + g * NJ_LANES, size), decays);
            store_group(row + g * NJ_LANES, s, size);
            chain[g] = wide_fma(keys, s, chain[g]);
        }
    }
    WIDE_UNROLL
    for (size_t g = 0; g < n_groups; g++) {
        wide difference = wide_sub(load_group(v + g * NJ_LANES, size), chain[g]);
        update[g] = wide_mul(wide_set(beta), difference);
        store_group(work + g * NJ_LANES, update[g], size);
        chain[g] = wide_set(0.0F);
    }
    for (uint32_t i = 0; i < n_keys; i++) {
        float *row = state + i * n_values;
        wide queries = wide_set(q[i]);
        wide keys = wide_set(k[i]);
        WIDE_UNROLL
        for (size_t g = 0; g < n_groups; g++) {
            wide s = wide_fma(keys, update[g], load_group(row + g * NJ_LANES, size));
            store_group(row + g * NJ_LANES, s, size);
            chain[g] = wide_fma(queries, s, chain[g]);
        }
    }
    WIDE_UNROLL
    for (size_t g = 0; g < n_groups; g++) {
        store_group(o + g * NJ_LANES, chain[g], size);
    }
}

static void kda_step(float *state, uint32_t n_keys, uint32_t n_values, const float *q,
                     const float *k, const float *v, const float *decay, float beta,
                     float *work, float *o)
{
    size_t j = 0;
    for (; j + VALUES_ABREAST <= n_values; j += VALUES_ABREAST) {
        kda_columns(state + j, n_keys, n_values, q, k, v + j, decay, beta, work + j, o + j,
                    N_ABREAST, NJ_LANES);
    }
    for (; j + NJ_LANES <= n_values; j += NJ_LANES) {
        kda_columns(state + j, n_keys, n_values, q, k, v + j, decay, beta, work + j, o + j, 1,
                    NJ_LANES);
    }
    if (j < n_values) {
        kda_columns(state + j, n_keys, n_values, q, k, v + j, decay, beta, work + j, o + j, 1,
                    n_values - j);
    }
}

/* 0 - x would turn +0 into +0. */
WIDE_INLINE wide negated(wide x)
{
    return wide_mul(wide_set(-1.0F), x);
}

static void decay(const float *z, const float *bias, float rate, float lower_bound, uint32_t n,
                  float *alpha)
{
    wide rates = wide_set(rate);
    wide bounds = wide_set(lower_bound);
    for (size_t i = 0; i < n; i += NJ_LANES) {
        size_t size = group_size(n, i);
        wide biased = wide_add(load_group(z + i, size), load_group(bias + i, size));
        wide log_alpha = lower_bound < 0.0F
                             ? wide_mul(bounds, wide_sigmoid(wide_mul(rates, biased)))
                             : negated(wide_mul(rates, wide_softplus(biased)));
        store_group(alpha + i, wide_exp(log_alpha), size);
    }
}

#endif
