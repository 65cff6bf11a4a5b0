/* What the contract says, worked out a second time and in another order of loops, or in double.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/bits.h"
#include "kernels/level.h"
#include "kernels/patterns.h"
#include "support/check.h"

enum { LANES = 16 };

/* Lane by lane instead of element by element; the tree by recursion. */
static float lane_chain(const float *a, const float *b, uint32_t n, uint32_t lane)
{
    float chain = 0.0F;
    for (uint32_t i = lane; i < n; i += LANES) {
        chain = fmaf(a[i], b[i], chain);
    }
    return chain;
}

/* Lanes first, first + stride, first + 2 * stride ... The lanes 8 apart meet first. */
static float tree(const float *lanes, uint32_t first, uint32_t stride)
{
    if (stride == LANES) {
        return lanes[first];
    }
    return tree(lanes, first, stride * 2) + tree(lanes, first + stride, stride * 2);
}

static float contract_dot(const float *a, const float *b, uint32_t n)
{
    float lanes[LANES];
    for (uint32_t l = 0; l < LANES; l++) {
        lanes[l] = lane_chain(a, b, n, l);
    }
    return tree(lanes, 0, 1);
}

static void dot_is_sixteen_chains_and_a_fixed_tree(void)
{
    float a[200];
    float b[200];
    for (uint32_t n = 0; n <= 200; n++) {
        pattern_fill(PATTERN_PLAIN, n, a, n);
        pattern_fill(PATTERN_PLAIN, n + 1000, b, n);
        float actual = level_under_test()->dot(a, b, n);
        float wanted = contract_dot(a, b, n);
        (void)check_same_values(&actual, &wanted, 1, "dot");
    }
}

static float tree_with_two_steps_swapped(const float *a, const float *b, uint32_t n)
{
    float lanes[LANES];
    for (uint32_t l = 0; l < LANES; l++) {
        lanes[l] = lane_chain(a, b, n, l);
    }
    static const int widths[4] = {4, 8, 2, 1}; /* of the steps 8, 4, 2, 1 */
    float sums[LANES];
    for (int step = 0; step < 4; step++) {
        for (int l = 0; l < LANES; l++) {
            sums[l] = lanes[l] + lanes[(l + widths[step]) % LANES];
        }
        memcpy(lanes, sums, sizeof lanes);
    }
    return lanes[0];
}

/* The inputs used here would be no use if another order gave the same bits. */
static void another_order_of_the_fold_shows(void)
{
    uint32_t n_different = 0;
    float a[96];
    float b[96];
    for (uint32_t seed = 0; seed < 100; seed++) {
        pattern_fill(PATTERN_PLAIN, seed, a, 96);
        pattern_fill(PATTERN_PLAIN, seed + 1000, b, 96);
        n_different +=
            level_under_test()->dot(a, b, 96) != tree_with_two_steps_swapped(a, b, 96) ? 1 : 0;
    }
    CHECK(n_different > 20);
}

/* Every product rounds to -0. Padding a tail with zeros would turn its lanes into +0. */
static void lanes_that_hold_minus_zero_keep_it_beside_a_tail(void)
{
    float a[20];
    float b[20];
    for (int i = 0; i < 20; i++) {
        a[i] = -0x1p-100F;
        b[i] = 0x1p-100F;
    }
    CHECK(signbit(level_under_test()->dot(a, b, 20)));
    float y = 1.0F;
    struct nj_matrix matrix = {NJ_MATRIX_F32, 1, 20, a, NULL};
    static _Alignas(64) float scratch[1 << 18];
    CHECK(sizeof scratch >= nj_kernels_scratch_bytes(20, 1));
    level_under_test()->multiply(&matrix, b, 20, 1, &y, 1, scratch);
    CHECK(y == 0.0F && signbit(y));
}

static void sums_of_nothing_are_plus_zero(void)
{
    float y = 7.0F;
    float unused = 1.0F;
    CHECK_EQ(signbit(level_under_test()->dot(&unused, &unused, 0)), 0);
    CHECK(level_under_test()->dot(&unused, &unused, 0) == 0.0F);
    CHECK(level_under_test()->sum(&unused, 0) == 0.0F);
    CHECK(level_under_test()->exp_minus(&unused, 0.0F, 0, &y) == 0.0F);
    CHECK(y == 7.0F);
}

static void rms_norm_divides_by_the_root_of_the_mean_square(void)
{
    const float x[4] = {1.0F, -2.0F, 3.0F, -4.0F};
    const float weight[4] = {1.0F, 2.0F, 0.5F, -1.0F};
    float y[4];
    level_under_test()->rms_norm(x, weight, 4, 0.5F, y);
    for (int i = 0; i < 4; i++) {
        CHECK_NEAR((double)y[i], (double)x[i] / sqrt(8.0) * (double)weight[i], 1e-6);
    }
}

static void l2_normalize_gives_the_wanted_length(void)
{
    float x[3] = {2.0F, -3.0F, 6.0F};
    level_under_test()->l2_normalize(x, 3, 0.0F, 0.5F);
    CHECK_NEAR((double)x[0], 1.0 / 7.0, 1e-7);
    CHECK_NEAR((double)x[1], -1.5 / 7.0, 1e-7);
    CHECK_NEAR((double)x[2], 3.0 / 7.0, 1e-7);
}

static void decay_follows_the_kind_of_its_bound(void)
{
    const float z[2] = {0.25F, -1.0F};
    const float bias[2] = {0.5F, -0.5F};
    float bounded[2];
    float open[2];
    level_under_test()->decay(z, bias, 2.0F, -5.0F, 2, bounded);
    level_under_test()->decay(z, bias, 2.0F, 0.0F, 2, open);
    for (int i = 0; i < 2; i++) {
        double sum = (double)(z[i] + bias[i]);
        CHECK_NEAR((double)bounded[i], exp(-5.0 / (1.0 + exp(-2.0 * sum))), 1e-6);
        CHECK_NEAR((double)open[i], exp(-2.0 * log1p(exp(sum))), 1e-6);
    }
}

static void conv_step_shifts_its_history_and_weighs_the_oldest_first(void)
{
    const float taps[2 * 3] = {1.0F, 10.0F, 100.0F, 0.5F, 0.25F, 0.125F};
    float history[2 * 2] = {1.0F, 2.0F, 3.0F, 4.0F}; /* oldest: 1, 2; newer: 3, 4 */
    const float x[2] = {0.001F, 8.0F};
    float y[2];
    level_under_test()->conv_step(taps, 2, 3, history, x, y);
    CHECK_NEAR((double)y[0], 31.1, 1e-5); /* silu of 1 + 30 + 0.1 is itself */
    double chain = 1.0 + 1.0 + 1.0;
    CHECK_NEAR((double)y[1], chain / (1.0 + exp(-chain)), 1e-6);
    const float wanted[4] = {3.0F, 4.0F, 0.001F, 8.0F};
    CHECK_BYTES(history, wanted, sizeof wanted);
}

static void kda_step_decays_corrects_and_reads(void)
{
    float state[2 * 1] = {2.0F, -1.0F};
    const float q[2] = {1.0F, 3.0F};
    const float k[2] = {0.5F, 0.25F};
    const float v[1] = {4.0F};
    const float decay[2] = {0.5F, 1.0F};
    float work[1];
    float o[1];
    level_under_test()->kda_step(state, 2, 1, q, k, v, decay, 0.5F, work, o);
    /* S decays to 1, -1; u = 0.5 - 0.25; w = 0.5 * (4 - 0.25) */
    CHECK(work[0] == 1.875F);
    CHECK(state[0] == 1.0F + 0.5F * 1.875F);
    CHECK(state[1] == -1.0F + 0.25F * 1.875F);
    CHECK(o[0] == state[0] + 3.0F * state[1]);
}

void run_definition_tests(void)
{
    RUN(dot_is_sixteen_chains_and_a_fixed_tree);
    RUN(another_order_of_the_fold_shows);
    RUN(lanes_that_hold_minus_zero_keep_it_beside_a_tail);
    RUN(sums_of_nothing_are_plus_zero);
    RUN(rms_norm_divides_by_the_root_of_the_mean_square);
    RUN(l2_normalize_gives_the_wanted_length);
    RUN(decay_follows_the_kind_of_its_bound);
    RUN(conv_step_shifts_its_history_and_weighs_the_oldest_first);
    RUN(kda_step_decays_corrects_and_reads);
}
