/* The elementary functions on sixteen lanes: step by step those of base/elementary.c, whose
 * bits they must equal. Where that one branches, both answers are worked out and one is
 * selected.
 *
 * Include after wide_avx2.h or wide_avx512.h.
 */
#ifndef NJ_KERNELS_WIDE_ELEMENTARY_H
#define NJ_KERNELS_WIDE_ELEMENTARY_H

#include "base/elementary_constants.h"

#define WIDE_SIGN_BIT 0x80000000U

WIDE_INLINE wide wide_abs(wide x)
{
    return wide_from_bits(wide_bits_and(wide_bits_of(x), wide_bits_set(~WIDE_SIGN_BIT)));
}

WIDE_INLINE wide wide_negated_abs(wide x)
{
    return wide_from_bits(wide_bits_or(wide_bits_of(x), wide_bits_set(WIDE_SIGN_BIT)));
}

/* `size` (not negative) with the sign of `x`. */
WIDE_INLINE wide wide_with_sign_of(wide size, wide x)
{
    wide_bits sign = wide_bits_and(wide_bits_of(x), wide_bits_set(WIDE_SIGN_BIT));
    return wide_from_bits(wide_bits_or(wide_bits_of(size), sign));
}

WIDE_INLINE wide wide_times_power_of_two(wide value, wide_bits k)
{
    wide_bits one = wide_bits_set(1);
    wide_bits biased = wide_bits_add(k, wide_bits_set(256));
    wide_bits half = wide_bits_halve(biased);
    wide_bits rest = wide_bits_sub(biased, half);
    wide first = wide_from_bits(wide_bits_to_exponent(wide_bits_sub(half, one)));
    wide second = wide_from_bits(wide_bits_to_exponent(wide_bits_sub(rest, one)));
    return wide_mul(wide_mul(value, first), second);
}

/* A NaN needs no care: it fails both comparisons, and passes through every product. */
WIDE_INLINE wide wide_exp(wide x)
{
    wide lowest = wide_set(NJ_EXP_LOWEST);
    wide highest = wide_set(NJ_EXP_HIGHEST);
    x = wide_select(wide_less(x, lowest), lowest, x);
    x = wide_select(wide_less(highest, x), highest, x);
    wide shifted = wide_fma(x, wide_set(NJ_LOG2_E), wide_set(NJ_ROUNDER));
    wide_bits k = wide_bits_sub(wide_bits_of(shifted), wide_bits_set(NJ_ROUNDER_BITS));
    wide n = wide_sub(shifted, wide_set(NJ_ROUNDER));
    wide r = wide_fma(n, wide_set(-NJ_LN2_HIGH), x);
    r = wide_fma(n, wide_set(-NJ_LN2_LOW), r);
    wide p = wide_set(NJ_EXP_C6);
    p = wide_fma(p, r, wide_set(NJ_EXP_C5));
    p = wide_fma(p, r, wide_set(NJ_EXP_C4));
    p = wide_fma(p, r, wide_set(NJ_EXP_C3));
    p = wide_fma(p, r, wide_set(NJ_EXP_C2));
    p = wide_fma(p, r, wide_set(1.0F));
    p = wide_fma(p, r, wide_set(1.0F));
    return wide_times_power_of_two(p, k);
}

WIDE_INLINE wide wide_log1p_near_zero(wide f, wide low)
{
    wide p = wide_set(NJ_LOG_L8);
    p = wide_fma(p, f, wide_set(NJ_LOG_L7));
    p = wide_fma(p, f, wide_set(NJ_LOG_L6));
    p = wide_fma(p, f, wide_set(NJ_LOG_L5));
    p = wide_fma(p, f, wide_set(NJ_LOG_L4));
    p = wide_fma(p, f, wide_set(NJ_LOG_L3));
    p = wide_fma(p, f, wide_set(NJ_LOG_L2));
    p = wide_fma(p, f, wide_set(NJ_LOG_L1));
    p = wide_fma(p, f, wide_set(NJ_LOG_L0));
    wide square = wide_mul(f, f);
    wide tail = wide_fma(wide_mul(f, square), p, low);
    tail = wide_fma(wide_set(-0.5F), square, tail);
    return wide_add(f, tail);
}

WIDE_INLINE wide wide_sigmoid(wide x)
{
    wide one = wide_set(1.0F);
    wide t = wide_exp(wide_negated_abs(x));
    wide numerator = wide_select(wide_less(x, wide_set(0.0F)), t, one);
    return wide_div(numerator, wide_add(one, t));
}

WIDE_INLINE wide wide_silu(wide x)
{
    return wide_mul(x, wide_sigmoid(x));
}

WIDE_INLINE wide wide_tanh(wide x)
{
    wide a = wide_abs(x);
    wide s = wide_mul(a, a);
    wide p = wide_set(NJ_TANH_T4);
    p = wide_fma(p, s, wide_set(NJ_TANH_T3));
    p = wide_fma(p, s, wide_set(NJ_TANH_T2));
    p = wide_fma(p, s, wide_set(NJ_TANH_T1));
    p = wide_fma(p, s, wide_set(NJ_TANH_T0));
    wide small = wide_fma(wide_mul(a, s), p, a);

    wide one = wide_set(1.0F);
    wide two = wide_set(2.0F);
    wide e = wide_exp(wide_mul(two, a));
    wide large = wide_sub(one, wide_div(two, wide_add(e, one)));

    wide size = wide_select(wide_less(a, wide_set(NJ_TANH_SMALL)), small, large);
    return wide_with_sign_of(size, x);
}

WIDE_INLINE wide wide_softplus(wide x)
{
    wide zero = wide_set(0.0F);
    wide t = wide_exp(wide_negated_abs(x));
    wide f = wide_fma(wide_set(0.5F), t, wide_set(-0.5F));
    wide from_two =
        wide_add(wide_set(NJ_LN2_HIGH), wide_log1p_near_zero(f, wide_set(NJ_LN2_LOW)));
    wide from_one = wide_log1p_near_zero(t, zero);
    wide l = wide_select(wide_less(wide_set(NJ_LOG1P_SPLIT), t), from_two, from_one);
    return wide_add(wide_select(wide_less(zero, x), x, zero), l);
}

WIDE_INLINE wide wide_situ(wide gate, wide up, wide beta, wide linear_beta)
{
    wide bounded_gate =
        wide_mul(wide_mul(beta, wide_tanh(wide_div(gate, beta))), wide_sigmoid(gate));
    wide bounded_up = wide_tanh(wide_div(up, linear_beta));
    return wide_mul(wide_mul(bounded_gate, linear_beta), bounded_up);
}

#endif
