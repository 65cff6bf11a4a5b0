#include "quant/mxfp4.h"

#include <math.h>
#include <string.h>

#include "support/check.h"

enum { N = NJ_MXFP4_BLOCK_VALUES };

static const double magnitudes[8] = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};

/* Swapped nibbles leave every statistic of a block as it is: only a known answer shows them. */
static void the_low_nibble_is_the_even_column(void)
{
    uint8_t packed[16] = {0x21, 0x43, 0x65, 0x87, 0xa9, 0xcb, 0xed, 0x0f};
    uint8_t scale = 128; /* 2 */
    const float wanted[16] = {1, 2, 3, 4, 6, 8, 12, -0.0F, -1, -2, -3, -4, -6, -8, -12, 0};
    float values[N];

    nj_mxfp4_expand(packed, &scale, N, values);

    CHECK_BYTES(values, wanted, sizeof wanted);
    for (int i = 16; i < N; i++) {
        CHECK_EQ(values[i] == 0.0F, 1);
    }
}

static void every_nibble_under_every_scale_is_exact_or_infinite(void)
{
    for (int scale = 0; scale < 255; scale++) {
        CHECK((double)nj_mxfp4_scale((uint8_t)scale) == ldexp(1.0, scale - 127));
        for (uint8_t nibble = 0; nibble < 16; nibble++) {
            uint8_t packed[16];
            uint8_t byte = (uint8_t)scale;
            float values[N];
            memset(packed, nibble | nibble << 4, sizeof packed);
            nj_mxfp4_expand(packed, &byte, N, values);
            double exact = ldexp(magnitudes[nibble & 7], scale - 127);
            double wanted = exact > 0x1.fffffep127 ? INFINITY : exact;
            CHECK((double)values[N - 1] == (nibble > 7 ? -wanted : wanted));
            CHECK_EQ(signbit(values[0]) != 0, nibble > 7);
        }
    }
}

static void the_scale_that_is_not_a_number_is_found(void)
{
    uint8_t scales[5] = {0, 254, 127, 255, 255};
    size_t bad = 99;
    CHECK(nj_mxfp4_scales_are_numbers(scales, 3, &bad));
    CHECK_EQ(bad, 99);
    CHECK(!nj_mxfp4_scales_are_numbers(scales, 5, &bad));
    CHECK_EQ(bad, 3);
    CHECK(isnan(nj_mxfp4_scale(255)));
}

static void packing_what_was_expanded_gives_the_same_values(void)
{
    for (int scale = 1; scale < 250; scale++) {
        float values[N];
        for (int i = 0; i < N; i++) {
            values[i] = (float)ldexp(magnitudes[i & 7], scale - 127) * (i < 16 ? 1.0F : -1.0F);
        }
        uint8_t packed[16];
        uint8_t byte;
        float again[N];

        nj_mxfp4_pack(values, N, packed, &byte);
        nj_mxfp4_expand(packed, &byte, N, again);

        CHECK_EQ(byte, scale);
        for (int i = 0; i < N; i++) {
            CHECK(again[i] == values[i]);
        }
    }
}

static void ties_go_to_the_even_code(void)
{
    float values[N] = {6.0F, 0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5.0F, -0.25F, -5.0F};
    const float wanted[10] = {6.0F, 0.0F, 1.0F, 1.0F, 2.0F, 2.0F, 4.0F, 4.0F, 0.0F, -4.0F};
    uint8_t packed[16];
    uint8_t scale;
    float again[N];

    nj_mxfp4_pack(values, N, packed, &scale);
    nj_mxfp4_expand(packed, &scale, N, again);

    CHECK_EQ(scale, 127);
    CHECK_BYTES(again, wanted, sizeof wanted);
}

static void the_scale_is_the_smallest_that_holds_the_largest_value(void)
{
    float values[N] = {0};
    uint8_t packed[16];
    uint8_t scale;
    const struct {
        float largest;
        uint8_t scale;
    } cases[] = {{6.0F, 127}, {0x1.800002p2F, 128}, {3.0F, 126},  {-12.0F, 128},
                 {0.0F, 127}, {0x1p-149F, 0},       {1e38F, 251}, {0x1.8p-126F, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        values[17] = cases[i].largest;
        nj_mxfp4_pack(values, N, packed, &scale);
        CHECK_EQ(scale, cases[i].scale);
    }
}

static void blocks_of_a_row_have_their_own_scales(void)
{
    float values[2 * N];
    for (int i = 0; i < 2 * N; i++) {
        values[i] = i < N ? 0.5F : 96.0F;
    }
    uint8_t packed[32];
    uint8_t scales[2];
    float again[2 * N];

    nj_mxfp4_pack(values, (size_t)2 * N, packed, scales);
    nj_mxfp4_expand(packed, scales, (size_t)2 * N, again);

    CHECK(scales[0] < scales[1]);
    CHECK_BYTES(again, values, sizeof values);
}

int main(void)
{
    RUN(the_low_nibble_is_the_even_column);
    RUN(every_nibble_under_every_scale_is_exact_or_infinite);
    RUN(the_scale_that_is_not_a_number_is_found);
    RUN(packing_what_was_expanded_gives_the_same_values);
    RUN(ties_go_to_the_even_code);
    RUN(the_scale_is_the_smallest_that_holds_the_largest_value);
    RUN(blocks_of_a_row_have_their_own_scales);
    return test_result();
}
