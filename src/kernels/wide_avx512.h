/* Sixteen lanes as one AVX-512 register. Only for files compiled for that processor.
 *
 * The names are those of wide_avx2.h: wide_elementary.inc and wide_operations.inc are written
 * once, over either.
 */
#ifndef NJ_KERNELS_WIDE_AVX512_H
#define NJ_KERNELS_WIDE_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/inlining.h"
#include "kernels/lanes.h"

typedef __m512 wide;
typedef __m512i wide_bits;
typedef __mmask16 wide_mask;

WIDE_INLINE wide wide_set(float value)
{
    return _mm512_set1_ps(value);
}

WIDE_INLINE wide_mask wide_first(size_t n)
{
    return (wide_mask)((1U << n) - 1U);
}

WIDE_INLINE wide wide_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

/* Lanes from n on are +0; their memory is not touched. */
WIDE_INLINE wide wide_load_first(const float *p, size_t n)
{
    return _mm512_maskz_loadu_ps(wide_first(n), p);
}

WIDE_INLINE void wide_store(float *p, wide v)
{
    _mm512_storeu_ps(p, v);
}

WIDE_INLINE void wide_store_first(float *p, wide v, size_t n)
{
    _mm512_mask_storeu_ps(p, wide_first(n), v);
}

WIDE_INLINE wide wide_widen_bf16(__m256i values)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(values), 16));
}

WIDE_INLINE wide wide_load_bf16(const void *p)
{
    return wide_widen_bf16(_mm256_loadu_si256(p));
}

WIDE_INLINE wide wide_load_bf16_first(const void *p, size_t n)
{
    return wide_widen_bf16(_mm256_maskz_loadu_epi16(wide_first(n), p));
}

/* p[0], p[stride], p[2 * stride] ... (Two gathers: the one of sixteen trips -Wconversion in gcc
 * without optimisation.) */
WIDE_INLINE wide wide_load_strided(const float *p, uint32_t stride)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i index = _mm256_mullo_epi32(lane, _mm256_set1_epi32((int)stride));
    __m256 low = _mm256_i32gather_ps(p, index, 4);
    __m256 high = _mm256_i32gather_ps(p + (size_t)8 * stride, index, 4);
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

WIDE_INLINE wide wide_add(wide a, wide b)
{
    return _mm512_add_ps(a, b);
}

WIDE_INLINE wide wide_sub(wide a, wide b)
{
    return _mm512_sub_ps(a, b);
}

WIDE_INLINE wide wide_mul(wide a, wide b)
{
    return _mm512_mul_ps(a, b);
}

WIDE_INLINE wide wide_div(wide a, wide b)
{
    return _mm512_div_ps(a, b);
}

/* a * b + c, rounded once. */
WIDE_INLINE wide wide_fma(wide a, wide b, wide c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* Keeps a value in its register: the compiler would rather fold its load into each of the
 * multiply-adds that use it, and loads run out. */
WIDE_INLINE wide wide_pin(wide v)
{
    __asm__("" : "+v"(v));
    return v;
}

/* False where either is a NaN. */
WIDE_INLINE wide_mask wide_less(wide a, wide b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

WIDE_INLINE wide wide_select(wide_mask mask, wide yes, wide no)
{
    return _mm512_mask_blend_ps(mask, no, yes);
}

WIDE_INLINE wide_bits wide_bits_of(wide v)
{
    return _mm512_castps_si512(v);
}

WIDE_INLINE wide wide_from_bits(wide_bits bits)
{
    return _mm512_castsi512_ps(bits);
}

WIDE_INLINE wide_bits wide_bits_set(uint32_t value)
{
    return _mm512_set1_epi32((int)value);
}

WIDE_INLINE wide_bits wide_bits_add(wide_bits a, wide_bits b)
{
    return _mm512_add_epi32(a, b);
}

WIDE_INLINE wide_bits wide_bits_sub(wide_bits a, wide_bits b)
{
    return _mm512_sub_epi32(a, b);
}

WIDE_INLINE wide_bits wide_bits_and(wide_bits a, wide_bits b)
{
    return _mm512_and_si512(a, b);
}

WIDE_INLINE wide_bits wide_bits_or(wide_bits a, wide_bits b)
{
    return _mm512_or_si512(a, b);
}

WIDE_INLINE wide_bits wide_bits_halve(wide_bits a)
{
    return _mm512_srli_epi32(a, 1);
}

/* Moves a biased exponent to where an F32 keeps it. */
WIDE_INLINE wide_bits wide_bits_to_exponent(wide_bits a)
{
    return _mm512_slli_epi32(a, 23);
}

/* The tree of lanes.h. */
WIDE_INLINE float wide_fold(wide lanes)
{
    __m256 eight =
        _mm256_add_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps(lanes, 1));
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

#endif
