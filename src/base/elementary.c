#include "base/elementary.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/elementary_constants.h"

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* value * 2^k for k in [-254, 254] as two products, so that a denormal result is rounded once
 * and 2^128 is reached by way of finite factors. */
static float times_power_of_two(float value, uint32_t k)
{
    uint32_t biased = k + 256U; /* positive, so halving it is a plain shift */
    uint32_t half = biased >> 1;
    uint32_t rest = biased - half;
    return (value * from_bits((half - 1U) << 23)) * from_bits((rest - 1U) << 23);
}

float nj_exp(float x)
{
    if (isnan(x)) {
        return x + x;
    }
    x = x < NJ_EXP_LOWEST ? NJ_EXP_LOWEST : x;
    x = x > NJ_EXP_HIGHEST ? NJ_EXP_HIGHEST : x;
    float shifted = fmaf(x, NJ_LOG2_E, NJ_ROUNDER);
    uint32_t k = bits_of(shifted) - NJ_ROUNDER_BITS;
    float n = shifted - NJ_ROUNDER;
    float r = fmaf(-n, NJ_LN2_HIGH, x);
    r = fmaf(-n, NJ_LN2_LOW, r);
    float p = NJ_EXP_C6;
    p = fmaf(p, r, NJ_EXP_C5);
    p = fmaf(p, r, NJ_EXP_C4);
    p = fmaf(p, r, NJ_EXP_C3);
    p = fmaf(p, r, NJ_EXP_C2);
    p = fmaf(p, r, 1.0F);
    p = fmaf(p, r, 1.0F);
    return times_power_of_two(p, k);
}

/* f - f^2 / 2 + f^3 P(f) + low, the large term last. */
static float log1p_near_zero(float f, float low)
{
    float p = NJ_LOG_L8;
    p = fmaf(p, f, NJ_LOG_L7);
    p = fmaf(p, f, NJ_LOG_L6);
    p = fmaf(p, f, NJ_LOG_L5);
    p = fmaf(p, f, NJ_LOG_L4);
    p = fmaf(p, f, NJ_LOG_L3);
    p = fmaf(p, f, NJ_LOG_L2);
    p = fmaf(p, f, NJ_LOG_L1);
    p = fmaf(p, f, NJ_LOG_L0);
    float square = f * f;
    float tail = fmaf(f * square, p, low);
    tail = fmaf(-0.5F, square, tail);
    return f + tail;
}

float nj_log(float x)
{
    if (isnan(x) || x < 0.0F) {
        return NAN;
    }
    if (x == 0.0F || isinf(x)) {
        return x == 0.0F ? -INFINITY : x;
    }
    float bias = 0.0F;
    if (x < 0x1p-126F) { /* denormal: no exponent field to read, so lift it */
        x *= 0x1p23F;
        bias = 23.0F;
    }
    uint32_t above = bits_of(x) - NJ_SQRT_HALF_BITS;
    uint32_t exponent_bits = above & 0xff800000U;
    int32_t exponent = (int32_t)exponent_bits / (1 << 23); /* exact: its low bits are zero */
    float e = (float)exponent - bias;
    float f = from_bits(bits_of(x) - exponent_bits) - 1.0F;
    return fmaf(e, NJ_LN2_HIGH, log1p_near_zero(f, e * NJ_LN2_LOW));
}

float nj_sigmoid(float x)
{
    float t = nj_exp(-fabsf(x));
    float numerator = x < 0.0F ? t : 1.0F;
    return numerator / (1.0F + t);
}

float nj_tanh(float x)
{
    float a = fabsf(x);
    float y;
    if (a < NJ_TANH_SMALL) {
        float s = a * a;
        float p = NJ_TANH_T4;
        p = fmaf(p, s, NJ_TANH_T3);
        p = fmaf(p, s, NJ_TANH_T2);
        p = fmaf(p, s, NJ_TANH_T1);
        p = fmaf(p, s, NJ_TANH_T0);
        y = fmaf(a * s, p, a);
    } else {
        y = 1.0F - 2.0F / (nj_exp(2.0F * a) + 1.0F);
    }
    return copysignf(y, x); /* worked on |x|, so -0 keeps its sign */
}

float nj_softplus(float x)
{
    float t = nj_exp(-fabsf(x));
    float l;
    if (t > NJ_LOG1P_SPLIT) {
        float f = fmaf(0.5F, t, -0.5F);
        l = NJ_LN2_HIGH + log1p_near_zero(f, NJ_LN2_LOW);
    } else {
        l = log1p_near_zero(t, 0.0F);
    }
    return (x > 0.0F ? x : 0.0F) + l;
}

float nj_silu(float x)
{
    return x * nj_sigmoid(x);
}

float nj_situ(float gate, float up, float beta, float linear_beta)
{
    float bounded_gate = beta * nj_tanh(gate / beta) * nj_sigmoid(gate);
    return bounded_gate * linear_beta * nj_tanh(up / linear_beta);
}
