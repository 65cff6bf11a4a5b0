/* Sixteen lanes as two AVX2 registers: lanes 0 to 7 and 8 to 15. Only for files compiled for
 * that processor.
 *
 * The names are those of wide_avx512.h, which see: wide_elementary.inc and wide_operations.inc
 * are written once, over either.
 */
#ifndef NJ_KERNELS_WIDE_AVX2_H
#define NJ_KERNELS_WIDE_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/inlining.h"
#include "kernels/lanes.h"

typedef struct {
    __m256 low;
    __m256 high;
} wide;

typedef struct {
    __m256i low;
    __m256i high;
} wide_bits;

typedef wide wide_mask;

WIDE_INLINE wide wide_set(float value)
{
    return (wide){_mm256_set1_ps(value), _mm256_set1_ps(value)};
}

/* A window of sixteen over sixteen ones and sixteen zeros. */
WIDE_INLINE wide_bits wide_first_bits(size_t n)
{
    static const int32_t ones_then_zeros[2 * NJ_LANES] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                          -1, -1, -1, -1, -1, -1, -1, -1};
    const int32_t *window = ones_then_zeros + (NJ_LANES - n);
    return (wide_bits){_mm256_loadu_si256((const void *)window),
                       _mm256_loadu_si256((const void *)(window + 8))};
}

WIDE_INLINE wide_mask wide_first(size_t n)
{
    wide_bits bits = wide_first_bits(n);
    return (wide_mask){_mm256_castsi256_ps(bits.low), _mm256_castsi256_ps(bits.high)};
}

WIDE_INLINE wide wide_load(const float *p)
{
    return (wide){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}

WIDE_INLINE wide wide_load_first(const float *p, size_t n)
{
    wide_bits mask = wide_first_bits(n);
    return (wide){_mm256_maskload_ps(p, mask.low), _mm256_maskload_ps(p + 8, mask.high)};
}

WIDE_INLINE void wide_store(float *p, wide v)
{
    _mm256_storeu_ps(p, v.low);
    _mm256_storeu_ps(p + 8, v.high);
}

WIDE_INLINE void wide_store_first(float *p, wide v, size_t n)
{
    wide_bits mask = wide_first_bits(n);
    _mm256_maskstore_ps(p, mask.low, v.low);
    _mm256_maskstore_ps(p + 8, mask.high, v.high);
}

WIDE_INLINE __m256 wide_widen_bf16_half(__m128i values)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(values), 16));
}

WIDE_INLINE wide wide_load_bf16(const void *p)
{
    const uint8_t *bytes = p;
    return (wide){wide_widen_bf16_half(_mm_loadu_si128((const void *)bytes)),
                  wide_widen_bf16_half(_mm_loadu_si128((const void *)(bytes + 16)))};
}

/* AVX2 has no masked load of 16-bit values. */
WIDE_INLINE wide wide_load_bf16_first(const void *p, size_t n)
{
    uint16_t values[NJ_LANES] = {0};
    memcpy(values, p, n * sizeof values[0]);
    return wide_load_bf16(values);
}

WIDE_INLINE wide wide_load_strided(const float *p, uint32_t stride)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i index = _mm256_mullo_epi32(lane, _mm256_set1_epi32((int)stride));
    const float *upper = p + (size_t)8 * stride;
    return (wide){_mm256_i32gather_ps(p, index, 4), _mm256_i32gather_ps(upper, index, 4)};
}

WIDE_INLINE wide wide_add(wide a, wide b)
{
    return (wide){_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}

WIDE_INLINE wide wide_sub(wide a, wide b)
{
    return (wide){_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}

WIDE_INLINE wide wide_mul(wide a, wide b)
{
    return (wide){_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}

WIDE_INLINE wide wide_div(wide a, wide b)
{
    return (wide){_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}

WIDE_INLINE wide wide_fma(wide a, wide b, wide c)
{
    return (wide){_mm256_fmadd_ps(a.low, b.low, c.low),
                  _mm256_fmadd_ps(a.high, b.high, c.high)};
}

WIDE_INLINE wide_mask wide_less(wide a, wide b)
{
    return (wide_mask){_mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ),
                       _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ)};
}

WIDE_INLINE wide wide_select(wide_mask mask, wide yes, wide no)
{
    return (wide){_mm256_blendv_ps(no.low, yes.low, mask.low),
                  _mm256_blendv_ps(no.high, yes.high, mask.high)};
}

WIDE_INLINE wide_bits wide_bits_of(wide v)
{
    return (wide_bits){_mm256_castps_si256(v.low), _mm256_castps_si256(v.high)};
}

WIDE_INLINE wide wide_from_bits(wide_bits bits)
{
    return (wide){_mm256_castsi256_ps(bits.low), _mm256_castsi256_ps(bits.high)};
}

WIDE_INLINE wide_bits wide_bits_set(uint32_t value)
{
    return (wide_bits){_mm256_set1_epi32((int)value), _mm256_set1_epi32((int)value)};
}

WIDE_INLINE wide_bits wide_bits_add(wide_bits a, wide_bits b)
{
    return (wide_bits){_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}

WIDE_INLINE wide_bits wide_bits_sub(wide_bits a, wide_bits b)
{
    return (wide_bits){_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
}

WIDE_INLINE wide_bits wide_bits_and(wide_bits a, wide_bits b)
{
    return (wide_bits){_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)};
}

WIDE_INLINE wide_bits wide_bits_or(wide_bits a, wide_bits b)
{
    return (wide_bits){_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)};
}

WIDE_INLINE wide_bits wide_bits_halve(wide_bits a)
{
    return (wide_bits){_mm256_srli_epi32(a.low, 1), _mm256_srli_epi32(a.high, 1)};
}

WIDE_INLINE wide_bits wide_bits_to_exponent(wide_bits a)
{
    return (wide_bits){_mm256_slli_epi32(a.low, 23), _mm256_slli_epi32(a.high, 23)};
}

/* The tree of lanes.h. */
WIDE_INLINE float wide_fold(wide lanes)
{
    __m256 eight = _mm256_add_ps(lanes.low, lanes.high);
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

#endif
