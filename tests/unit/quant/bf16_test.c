#include "quant/bf16.h"

#include <math.h>

#include "support/check.h"

static void widening_and_rounding_every_pattern_gives_it_back(void)
{
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        float value = nj_bf16_widen((uint16_t)bits);
        if (isnan(value)) {
            CHECK(isnan(nj_bf16_widen(nj_bf16_round(value))));
        } else {
            CHECK_EQ(nj_bf16_round(value), bits);
        }
    }
}

static void ties_go_to_the_even_neighbour(void)
{
    CHECK_EQ(nj_bf16_round(0x1.01p0F), 0x3f80);     /* middle of 3f80 and 3f81 */
    CHECK_EQ(nj_bf16_round(0x1.03p0F), 0x3f82);     /* middle of 3f81 and 3f82 */
    CHECK_EQ(nj_bf16_round(0x1.010002p0F), 0x3f81); /* just above a middle */
    CHECK_EQ(nj_bf16_round(0x1.02fffep0F), 0x3f81); /* just below one */
}

static void beyond_the_largest_value_is_infinite(void)
{
    CHECK_EQ(nj_bf16_round(0x1.fep127F), 0x7f7f);
    CHECK_EQ(nj_bf16_round(0x1.ffp127F), 0x7f80);
    CHECK_EQ(nj_bf16_round(-INFINITY), 0xff80);
}

static void a_nan_whose_upper_half_is_empty_stays_a_nan(void)
{
    uint32_t bits = 0x7f800001U;
    float signalling;
    memcpy(&signalling, &bits, sizeof signalling);
    CHECK(isnan(nj_bf16_widen(nj_bf16_round(signalling))));
}

int main(void)
{
    RUN(widening_and_rounding_every_pattern_gives_it_back);
    RUN(ties_go_to_the_even_neighbour);
    RUN(beyond_the_largest_value_is_infinite);
    RUN(a_nan_whose_upper_half_is_empty_stays_a_nan);
    return test_result();
}
