/* Threads, batch width, prefill chunk and instruction set change no byte of the results. */
#include <stdlib.h>
#include <string.h>

#include "crash/tiny_run.h"
#include "kernels/kernels.h"
#include "support/check.h"

static char *wanted;

static void prepare(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = {.folder = "wanted", .cpu_level = "scalar"};
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);
    wanted = tiny_run_read("wanted", "results.jsonl", NULL);
    REQUIRE(wanted != NULL);
}

static void check_same(struct tiny_run run)
{
    struct nj_run_report report;
    struct nj_error err;
    run.folder = "compared";
    run.mode = NJ_RUN_CONTINUE;
    tiny_run_remove("compared");
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);
    char *results = tiny_run_read("compared", "results.jsonl", NULL);
    CHECK_TEXT(results, wanted);
    free(results);
}

static void threads_change_no_byte(void)
{
    check_same((struct tiny_run){.n_threads = 2});
    check_same((struct tiny_run){.n_threads = 3});
}

static void batch_width_changes_no_byte(void)
{
    check_same((struct tiny_run){.batch = 1});
    check_same((struct tiny_run){.batch = 3});
    check_same((struct tiny_run){.batch = 16});
}

static void prefill_chunk_changes_no_byte(void)
{
    check_same((struct tiny_run){.prefill_chunk = 1});
    check_same((struct tiny_run){.prefill_chunk = 2, .batch = 2});
    check_same((struct tiny_run){.prefill_chunk = 17});
}

static void instruction_set_changes_no_byte(void)
{
    for (int level = NJ_CPU_SCALAR; level < NJ_CPU_LEVELS; level++) {
        if (nj_cpu_level_is_available((enum nj_cpu_level)level)) {
            check_same(
                (struct tiny_run){.cpu_level = nj_cpu_level_name((enum nj_cpu_level)level),
                                  .n_threads = 2,
                                  .prefill_chunk = 5});
        }
    }
}

/* The comparison would be blind if results never changed. */
static void another_seed_or_epsilon_changes_bytes(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run seed = {.folder = "seed", .entropy = 1 << 22};
    struct tiny_run eps = {.folder = "eps", .latent_norm_eps = 1e-2};
    REQUIRE_OK(tiny_run(&seed, &report, &err), &err);
    REQUIRE_OK(tiny_run(&eps, &report, &err), &err);

    char *by_seed = tiny_run_read("seed", "results.jsonl", NULL);
    char *by_eps = tiny_run_read("eps", "results.jsonl", NULL);
    CHECK(by_seed != NULL && strcmp(by_seed, wanted) != 0);
    CHECK(by_eps != NULL && strcmp(by_eps, wanted) != 0);
    free(by_seed);
    free(by_eps);
}

int main(void)
{
    RUN(prepare);
    RUN(threads_change_no_byte);
    RUN(batch_width_changes_no_byte);
    RUN(prefill_chunk_changes_no_byte);
    RUN(instruction_set_changes_no_byte);
    RUN(another_seed_or_epsilon_changes_bytes);
    free(wanted);
    return test_result();
}
