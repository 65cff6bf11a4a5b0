#include <stdint.h>

#include "base/random.h"
#include "support/check.h"

static void check_philox(const uint32_t counter[4], const uint32_t key[2],
                         const uint32_t wanted[4])
{
    uint32_t out[4];
    nj_philox4x32_10(counter, key, out);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(out[i], wanted[i]);
    }
}

/* kat_vectors of Random123. */
static void philox_equals_the_published_vectors(void)
{
    check_philox((const uint32_t[4]){0, 0, 0, 0}, (const uint32_t[2]){0, 0},
                 (const uint32_t[4]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    check_philox((const uint32_t[4]){0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                 (const uint32_t[2]){0xffffffff, 0xffffffff},
                 (const uint32_t[4]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    check_philox((const uint32_t[4]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                 (const uint32_t[2]){0xa4093822, 0x299f31d0},
                 (const uint32_t[4]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

/* With everything zero the first vector gives the bits of the draw. */
static void draw_is_the_upper_53_bits_of_the_first_two_words(void)
{
    uint64_t bits = UINT64_C(0xe169c58d6627e8d5) >> 11;
    CHECK(nj_draw_uniform(0, 0, 0, 0) == (double)bits / 9007199254740992.0);
}

static void every_part_of_the_address_changes_the_draw(void)
{
    double base = nj_draw_uniform(7, 1, 5, 0);
    CHECK(base == nj_draw_uniform(7, 1, 5, 0));
    CHECK(base != nj_draw_uniform(8, 1, 5, 0));
    CHECK(base != nj_draw_uniform(7 + (UINT64_C(1) << 32), 1, 5, 0));
    CHECK(base != nj_draw_uniform(7, 2, 5, 0));
    CHECK(base != nj_draw_uniform(7, 1, 6, 0));
    CHECK(base != nj_draw_uniform(7, 1, 5 + (UINT64_C(1) << 32), 0));
    CHECK(base != nj_draw_uniform(7, 1, 5, 1));
}

static void draws_lie_in_the_unit_interval_and_spread_over_it(void)
{
    enum { DRAWS = 16000, BINS = 16 };
    unsigned counts[BINS] = {0};
    for (unsigned i = 0; i < DRAWS; i++) {
        double draw = nj_draw_uniform(2026, 0, i, 0);
        REQUIRE(draw >= 0.0 && draw < 1.0);
        counts[(unsigned)(draw * BINS)]++;
    }
    /* 1000 expected a bin, standard deviation 31: 6 of them either way. */
    for (unsigned bin = 0; bin < BINS; bin++) {
        CHECK(counts[bin] > 814 && counts[bin] < 1186);
    }
}

int main(void)
{
    RUN(philox_equals_the_published_vectors);
    RUN(draw_is_the_upper_53_bits_of_the_first_two_words);
    RUN(every_part_of_the_address_changes_the_draw);
    RUN(draws_lie_in_the_unit_interval_and_spread_over_it);
    return test_result();
}
