/* kernels_test LEVEL [--record]: every operation of one level against the scalar definition,
 * bit for bit, and against the hashes recorded for this numerics version. --record prints those
 * instead. */
#include <stdio.h>
#include <string.h>

#include "kernels/bits.h"
#include "kernels/level.h"
#include "support/check.h"

static const struct nj_kernels *under_test;

const struct nj_kernels *level_under_test(void)
{
    return under_test;
}

const struct nj_kernels *definition(void)
{
    return under_test->level == NJ_CPU_SCALAR ? NULL : nj_kernels_scalar();
}

static void an_unknown_level_is_refused_with_the_known_ones(void)
{
    struct nj_error error;
    const struct nj_kernels *kernels = NULL;
    CHECK_EQ(nj_kernels_choose("sse9", &kernels, &error), NJ_E_USAGE);
    CHECK_CONTAINS(error.text, "avx2");
    CHECK(kernels == NULL);
}

static void auto_takes_the_best_level_that_is_available(void)
{
    const struct nj_kernels *kernels = NULL;
    CHECK_EQ(nj_kernels_choose("auto", &kernels, NULL), NJ_OK);
    for (int level = 0; level < NJ_CPU_LEVELS; level++) {
        if (nj_cpu_level_is_available((enum nj_cpu_level)level)) {
            CHECK(kernels->level >= (enum nj_cpu_level)level);
        }
    }
    CHECK(nj_cpu_level_is_available(kernels->level));
}

static void a_chosen_level_carries_its_name(void)
{
    const struct nj_kernels *kernels = NULL;
    const char *name = nj_cpu_level_name(under_test->level);
    CHECK_EQ(nj_kernels_choose(name, &kernels, NULL), NJ_OK);
    CHECK_EQ(kernels->level, under_test->level);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "usage: kernels_test scalar|avx2|avx512 [--record]\n");
        return 1;
    }
    struct nj_error error;
    enum nj_status status = nj_kernels_choose(argv[1], &under_test, &error);
    if (status == NJ_E_UNSUPPORTED) {
        test_skip(error.text);
    }
    if (status != NJ_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    if (argc > 2 && strcmp(argv[2], "--record") == 0) {
        record_hashes();
    }
    RUN(an_unknown_level_is_refused_with_the_known_ones);
    RUN(auto_takes_the_best_level_that_is_available);
    RUN(a_chosen_level_carries_its_name);
    run_definition_tests();
    run_vector_tests();
    run_chain_tests();
    run_multiply_tests();
    return test_result();
}
