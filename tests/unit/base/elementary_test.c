#include "base/elementary.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"

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

/* Size of one unit in the last place of the F32 nearest to `exact`. */
static double unit_in_last_place(double exact)
{
    if (fabs(exact) < 0x1p-126) {
        return 0x1p-149;
    }
    return ldexp(1.0, ilogb(exact) - 23);
}

/* Largest error over every 4993rd bit pattern (a prime: all exponents and most mantissa bits
 * come by), against the C library in double. Also requires NaN and infinity where the exact
 * answer is one. */
static double largest_error_ulp(const char *name, float (*function)(float),
                                double (*exact_function)(double))
{
    double largest = 0.0;
    float where = 0.0F;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4993) {
        float x = from_bits((uint32_t)bits);
        float y = function(x);
        double exact = exact_function((double)x);
        if (isnan(exact) || isinf((float)exact)) {
            CHECK(isnan(exact) ? isnan(y) : y == (float)exact);
            continue;
        }
        double error = fabs((double)y - exact) / unit_in_last_place(exact);
        if (!(error <= largest)) {
            largest = error;
            where = x;
        }
    }
    (void)printf("     %s: at most %.3f ulp, at %a\n", name, largest, (double)where);
    return largest;
}

static double exact_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double exact_softplus(double x)
{
    return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x)));
}

static void every_function_is_accurate_to_a_few_units_in_the_last_place(void)
{
    CHECK(largest_error_ulp("exp", nj_exp, exp) < 1.0);
    CHECK(largest_error_ulp("log", nj_log, log) < 1.0);
    CHECK(largest_error_ulp("sigmoid", nj_sigmoid, exact_sigmoid) < 2.5);
    CHECK(largest_error_ulp("tanh", nj_tanh, tanh) < 1.5);
    CHECK(largest_error_ulp("softplus", nj_softplus, exact_softplus) < 2.0);
}

static void exact_answers_are_exact(void)
{
    CHECK_EQ(bits_of(nj_exp(0.0F)), bits_of(1.0F));
    CHECK_EQ(bits_of(nj_exp(-0.0F)), bits_of(1.0F));
    CHECK_EQ(bits_of(nj_log(1.0F)), bits_of(0.0F));
    CHECK_EQ(bits_of(nj_sigmoid(0.0F)), bits_of(0.5F));
    CHECK_EQ(bits_of(nj_sigmoid(-0.0F)), bits_of(0.5F));
    CHECK_EQ(bits_of(nj_tanh(0.0F)), bits_of(0.0F));
    CHECK_EQ(bits_of(nj_silu(-0.0F)), bits_of(-0.0F));
}

static void tanh_keeps_the_sign_of_zero_and_of_denormals(void)
{
    CHECK_EQ(bits_of(nj_tanh(-0.0F)), bits_of(-0.0F));
    CHECK_EQ(bits_of(nj_tanh(-0x1p-149F)), bits_of(-0x1p-149F));
    CHECK_EQ(bits_of(nj_tanh(0x1.8p-130F)), bits_of(0x1.8p-130F));
}

static void infinities_give_limits(void)
{
    CHECK_EQ(bits_of(nj_exp(INFINITY)), bits_of(INFINITY));
    CHECK_EQ(bits_of(nj_exp(-INFINITY)), bits_of(0.0F));
    CHECK_EQ(bits_of(nj_log(INFINITY)), bits_of(INFINITY));
    CHECK_EQ(bits_of(nj_log(0.0F)), bits_of(-INFINITY));
    CHECK_EQ(bits_of(nj_log(-0.0F)), bits_of(-INFINITY));
    CHECK(isnan(nj_log(-1.0F)));
    CHECK_EQ(bits_of(nj_sigmoid(INFINITY)), bits_of(1.0F));
    CHECK_EQ(bits_of(nj_sigmoid(-INFINITY)), bits_of(0.0F));
    CHECK_EQ(bits_of(nj_tanh(INFINITY)), bits_of(1.0F));
    CHECK_EQ(bits_of(nj_tanh(-INFINITY)), bits_of(-1.0F));
    CHECK_EQ(bits_of(nj_softplus(INFINITY)), bits_of(INFINITY));
    CHECK_EQ(bits_of(nj_softplus(-INFINITY)), bits_of(0.0F));
}

static void not_a_number_stays_not_a_number(void)
{
    CHECK(isnan(nj_exp(NAN)));
    CHECK(isnan(nj_log(NAN)));
    CHECK(isnan(nj_sigmoid(NAN)));
    CHECK(isnan(nj_tanh(-NAN)));
    CHECK(isnan(nj_softplus(NAN)));
    CHECK(isnan(nj_silu(NAN)));
    CHECK(isnan(nj_situ(NAN, 1.0F, 4.0F, 25.0F)));
    CHECK(isnan(nj_situ(1.0F, NAN, 4.0F, 25.0F)));
}

static void exp_is_gradual_down_to_the_smallest_denormal(void)
{
    CHECK_EQ(bits_of(nj_exp(-103.9F)), 1);
    CHECK_EQ(bits_of(nj_exp(-103.98F)), 0);
    CHECK(nj_exp(-87.4F) > 0.0F && nj_exp(-87.4F) < 0x1p-126F);
    CHECK(isfinite(nj_exp(88.722F)));
    CHECK(isinf(nj_exp(88.723F)));
}

/* A step in the wrong direction where one piece of a function meets the next would be a bug
 * that an error bound of two units can hide. */
static void pieces_meet_without_a_backward_step(void)
{
    float x = from_bits(bits_of(0.625F) - 64);
    for (int i = 0; i < 128; i++) {
        float next = nextafterf(x, 2.0F);
        CHECK(nj_tanh(next) >= nj_tanh(x) - 0x1p-24F);
        x = next;
    }
    CHECK(nj_log(0x1.6a09e6p-1F) <= nj_log(0x1.6a09e8p-1F));
    CHECK(nj_log(0x1.fffffep-127F) <= nj_log(0x1p-126F));
}

/* Worked out in the model's specification with gate cap 4 and up cap 25. */
static void situ_matches_the_worked_examples(void)
{
    CHECK_NEAR((double)nj_situ(1.0F, 1.0F, 4.0F, 25.0F), 0.715817828, 2e-7);
    CHECK_NEAR((double)nj_situ(4.0F, 10.0F, 4.0F, 25.0F), 28.4162295, 6e-6);
    CHECK_NEAR((double)nj_situ(10.0F, -50.0F, 4.0F, 25.0F), -95.1080215, 2e-5);
    CHECK_NEAR((double)nj_situ(-4.0F, 2.0F, 4.0F, 25.0F), -0.109352354, 4e-8);
    CHECK_NEAR((double)nj_situ(-10.0F, 30.0F, 4.0F, 25.0F), -0.00373395452, 1e-9);
}

/* Every bit is part of the numerics version: these values were recorded with version 1. */
static void bits_are_those_of_this_numerics_version(void)
{
    uint64_t hash = 1469598103934665603ULL; /* FNV-1a */
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 1000003) {
        float x = from_bits((uint32_t)bits);
        float y[5] = {nj_exp(x), nj_log(x), nj_sigmoid(x), nj_tanh(x), nj_softplus(x)};
        for (int i = 0; i < 5; i++) {
            uint32_t pattern = isnan(y[i]) ? 0x7fc00000U : bits_of(y[i]);
            hash = (hash ^ pattern) * 1099511628211ULL;
        }
    }
    CHECK_EQ(hash, 0xa44e572bda3d9f9bULL);
}

int main(void)
{
    RUN(every_function_is_accurate_to_a_few_units_in_the_last_place);
    RUN(exact_answers_are_exact);
    RUN(tanh_keeps_the_sign_of_zero_and_of_denormals);
    RUN(infinities_give_limits);
    RUN(not_a_number_stays_not_a_number);
    RUN(exp_is_gradual_down_to_the_smallest_denormal);
    RUN(pieces_meet_without_a_backward_step);
    RUN(situ_matches_the_worked_examples);
    RUN(bits_are_those_of_this_numerics_version);
    return test_result();
}
