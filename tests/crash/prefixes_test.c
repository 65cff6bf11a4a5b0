/* Items that begin alike read it once, and not a byte of the results says so: in any batch and
 * chunk, on every instruction set, killed and continued in the middle of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash/tiny_run.h"
#include "kernels/kernels.h"
#include "support/check.h"

/* 70 ids that all but one begin with, beyond a page; two longer beginnings that some share;
 * samples of one prompt; a prompt that is a beginning of others; one that shares nothing. */
#define COMMON                                                                                 \
    "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,"  \
    "33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,1,2,3,4,5,6,7,8,9,10,11,12,13,14,"  \
    "15,16,17,18,19,20"
#define FIRST_HALF  ",60,61,62,63,64,65,66,67,68,69"
#define SECOND_HALF ",50,49,48,47,46,45,44,43,42,41"

#define ITEMS                                                                                  \
    "nightjar: 1\n"                                                                            \
    "name: alike\n"                                                                            \
    "sampling: {temperature: 0.8, max_tokens: 6}\n"                                            \
    "prompts:\n"                                                                               \
    "  - ids: [" COMMON FIRST_HALF ",7,8]\n"                                                   \
    "  - ids: [" COMMON SECOND_HALF ",9]\n"                                                    \
    "  - {ids: [" COMMON FIRST_HALF ",3,4,5,6,7], sampling: {n: 3}}\n"                         \
    "  - {ids: [9, 8, 7], sampling: {temperature: 0}}\n"                                       \
    "  - ids: [" COMMON SECOND_HALF ",11,12,13,14]\n"                                          \
    "  - {ids: [" COMMON "], sampling: {temperature: 0, repeat_penalty: 1.2}}\n"               \
    "  - ids: [" COMMON FIRST_HALF "]\n"

static const char items[] = ITEMS;
static const char with_snapshots[] = ITEMS "snapshot: {every: 1 sweep}\n";

enum {
    N_COMMON = 70,
    LEAST_IDS = 4,
    /* Nobody shares its last id, so the prompts that are beginnings of others end one id before
     * these part: at 69 for all, and from there at 79 for one half and 80 for the other. */
    N_ROWS_SHARED = 69 + 10 + 11,
    /* The ends of the prompts, in their order; of the three samples a fork comes first. */
    N_ROWS_APART = 3 + 1 + (5 + 3 * 1) + 3 + 4 + 1 + 1,
    N_ROWS_CHOSEN = 9 * 5
};

static struct tiny_run run_of(const char *folder, uint32_t share_prefixes)
{
    return (struct tiny_run){.folder = folder, .job = items, .share_prefixes = share_prefixes};
}

static void end_well(struct tiny_run run, struct nj_run_report *report)
{
    struct nj_error err = {.text = ""};
    CHECK_EQ(tiny_run(&run, report, &err), NJ_OK);
    CHECK_TEXT(err.text, "");
}

static void check_results(const char *folder)
{
    struct nj_run_report report;
    if (!tiny_run_has("apart", "results.jsonl")) {
        end_well(run_of("apart", NJ_SHARE_NOTHING), &report);
        CHECK_EQ(report.n_prefix_forks, 0);
    }
    char *wanted = tiny_run_read("apart", "results.jsonl", NULL);
    char *found = tiny_run_read(folder, "results.jsonl", NULL);
    CHECK(wanted != NULL);
    CHECK_TEXT(found, wanted);
    free(wanted);
    free(found);
}

static void no_batch_and_no_chunk_changes_a_byte(void)
{
    static const uint32_t batches[] = {1, 2, 16};
    static const uint32_t chunks[] = {0, 3, 64};
    for (size_t b = 0; b < 3; b++) {
        for (size_t c = 0; c < 3; c++) {
            struct nj_run_report report;
            struct tiny_run run = run_of("alike", LEAST_IDS);
            tiny_run_remove("alike");
            run.batch = batches[b];
            run.prefill_chunk = chunks[c];

            end_well(run, &report);

            check_results("alike");
            CHECK(report.n_prefix_forks >= 7);
            CHECK(report.n_prefix_tokens_spared >= 7 * N_COMMON);
        }
    }
}

static void each_beginning_is_read_once(void)
{
    struct nj_run_report apart;
    struct nj_run_report alike;
    struct tiny_run run = run_of("alike", LEAST_IDS);
    tiny_run_remove("alike");
    tiny_run_remove("apart");
    run.batch = 1;

    end_well(run_of("apart", NJ_SHARE_NOTHING), &apart);
    end_well(run, &alike);

    CHECK_EQ(alike.n_prompt_tokens, apart.n_prompt_tokens);
    CHECK_EQ(apart.n_rows, apart.n_prompt_tokens + N_ROWS_CHOSEN);
    CHECK_EQ(apart.n_rows - alike.n_rows, alike.n_prefix_tokens_spared);
    CHECK_EQ(alike.n_prefix_tokens, N_ROWS_SHARED + 5);
    CHECK_EQ(alike.n_rows, N_ROWS_SHARED + N_ROWS_APART + N_ROWS_CHOSEN);
}

static void instruction_set_and_threads_change_no_byte(void)
{
    for (int level = NJ_CPU_SCALAR; level < NJ_CPU_LEVELS; level++) {
        if (nj_cpu_level_is_available((enum nj_cpu_level)level)) {
            struct nj_run_report report;
            struct tiny_run run = run_of("alike", LEAST_IDS);
            tiny_run_remove("alike");
            run.cpu_level = nj_cpu_level_name((enum nj_cpu_level)level);
            run.batch = 3;
            run.n_threads = 2;
            end_well(run, &report);
            check_results("alike");
        }
    }
}

/* What is shared is only a cache: whoever is killed has lost it, and another width, chunk and
 * choice of sharing go on from tokens and snapshots. */
static void killed_after_any_sweep_it_goes_on_to_the_same_bytes(void)
{
    uint64_t n_forks = 0;
    uint64_t n_positions = 0;
    for (uint32_t n_sweeps = 1; n_sweeps <= 17; n_sweeps += 1 + n_sweeps / 2) {
        struct nj_run_report report;
        struct tiny_run run = run_of("killed", LEAST_IDS);
        tiny_run_remove("killed");
        run.job = with_snapshots;
        run.batch = 1 + n_sweeps % 4;
        run.prefill_chunk = 24;
        run.stop_after_sweeps = n_sweeps;
        run.is_killed = true;
        CHECK(tiny_run_in_child(&run) != 0);

        struct tiny_run next = run_of("killed", n_sweeps % 3 == 0 ? NJ_SHARE_NOTHING : 1);
        next.job = with_snapshots;
        next.batch = 1 + n_sweeps % 5;
        next.prefill_chunk = n_sweeps % 2 == 0 ? 0 : 7;
        end_well(next, &report);

        check_results("killed");
        n_forks += report.n_prefix_forks;
        n_positions += report.n_positions_restored;
    }
    CHECK(n_forks > 10);
    CHECK(n_positions > 100);
}

/* A state that shares pages is written whole: a snapshot of a fork needs nothing of the other.
 */
static void a_fork_that_is_stopped_is_restored_from_its_own_snapshot(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = run_of("stopped", LEAST_IDS);
    tiny_run_remove("stopped");
    run.batch = 9;
    run.stop_after_sweeps = 3;
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);
    CHECK(report.n_prefix_forks >= 7);

    run.stop_after_sweeps = 0;
    run.share_prefixes = NJ_SHARE_NOTHING;
    end_well(run, &report);

    CHECK(report.n_positions_restored >= 8 * N_COMMON);
    check_results("stopped");
}

int main(void)
{
    RUN(no_batch_and_no_chunk_changes_a_byte);
    RUN(each_beginning_is_read_once);
    RUN(instruction_set_and_threads_change_no_byte);
    RUN(killed_after_any_sweep_it_goes_on_to_the_same_bytes);
    RUN(a_fork_that_is_stopped_is_restored_from_its_own_snapshot);
    return test_result();
}
