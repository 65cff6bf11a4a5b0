#include "job/item_seed.h"

#include "support/check.h"

/* Recorded from Python: int.from_bytes(sha256(b"nightjar item seed 1" +
 * pack("<5Q", job_seed, prompt, row, cell, repeat)).digest()[:8], "little") >> 11. */
static void seeds_are_those_of_the_documented_recipe(void)
{
    static const struct {
        uint64_t job_seed;
        struct nj_item_identity identity;
        uint64_t wanted;
    } cases[] = {{UINT64_C(0), {0, 0, 0, 0}, UINT64_C(8026112704327524)},
                 {UINT64_C(7), {0, 0, 0, 0}, UINT64_C(5273806593889033)},
                 {UINT64_C(7), {1, 0, 0, 0}, UINT64_C(5649944044956920)},
                 {UINT64_C(7), {0, 1, 0, 0}, UINT64_C(4596115726346193)},
                 {UINT64_C(18446744073709551615), {2, 3, 4, 5}, UINT64_C(8259613412506346)}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t seed = 0;
        CHECK_EQ(nj_item_seed(cases[i].job_seed, &cases[i].identity, &seed, NULL), NJ_OK);
        CHECK(seed == cases[i].wanted);
    }
}

int main(void)
{
    RUN(seeds_are_those_of_the_documented_recipe);
    return test_result();
}
