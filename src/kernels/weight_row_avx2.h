/* A weight row as AVX2 code decodes it: eight values at a time, half of the sixteen lanes.
 *
 * Threads: pure functions.
 */
#ifndef NJ_KERNELS_WEIGHT_ROW_AVX2_H
#define NJ_KERNELS_WEIGHT_ROW_AVX2_H

#include "kernels/weight_row.h"
#include "kernels/wide_avx2.h"

enum { NJ_HALF_LANES = NJ_LANES / 2 };

/* Eight nibbles: the low three bits look up a magnitude under the block's scale, the fourth is
 * its sign. */
WIDE_INLINE __m256 decode_mxfp4(struct weight_row row, size_t group, size_t half)
{
    const __m256i places = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i sign_bit = _mm256_set1_epi32(INT32_MIN);
    int32_t packed;
    memcpy(&packed, row.values + group * (NJ_LANES / 2) + half * (NJ_HALF_LANES / 2),
           sizeof packed);
    __m256 codebook = _mm256_load_ps(nj_mxfp4_codebooks[row.scales[group / 2]]);
    __m256i nibbles = _mm256_srlv_epi32(_mm256_set1_epi32(packed), places);
    __m256 size = _mm256_permutevar8x32_ps(codebook, nibbles);
    __m256i sign = _mm256_and_si256(_mm256_slli_epi32(nibbles, 28), sign_bit);
    return _mm256_xor_ps(size, _mm256_castsi256_ps(sign));
}

/* Eight weights of a group of sixteen, as F32. */
WIDE_INLINE __m256 decode(enum nj_matrix_type type, struct weight_row row, size_t group,
                          size_t half)
{
    size_t first = group * NJ_LANES + half * NJ_HALF_LANES;
    switch (type) {
    case NJ_MATRIX_BF16:
        return wide_widen_bf16_half(_mm_loadu_si128((const void *)(row.values + first * 2)));
    case NJ_MATRIX_MXFP4:
        return decode_mxfp4(row, group, half);
    case NJ_MATRIX_F32:
        break;
    }
    return _mm256_loadu_ps((const void *)(row.values + first * 4));
}

/* The last n_inputs % 16 weights of a row, padded with -0: against an activation of +0 the
 * product is -0, and adding that leaves every lane as it is, a lane of -0 included. */
WIDE_INLINE wide decode_tail(const struct nj_matrix *matrix, struct weight_row row)
{
    size_t n = matrix->n_inputs % NJ_LANES;
    size_t first = matrix->n_inputs - n;
    wide weights = matrix->type == NJ_MATRIX_BF16
                       ? wide_load_bf16_first(row.values + first * 2, n)
                       : wide_load_first((const void *)(row.values + first * 4), n);
    return wide_select(wide_first(n), weights, wide_set(-0.0F));
}

/* Keeps an activation in its register: the compiler would rather fold the load into each of the
 * multiply-adds that use it, and run out of loads. */
WIDE_INLINE __m256 pin(__m256 v)
{
    __asm__("" : "+x"(v));
    return v;
}

#endif
