/* One item, stopped after every single token and continued, has the text of one that never
 * stopped; so has a batch that is stopped after every sweep. */
#include <stdlib.h>

#include "crash/tiny_run.h"
#include "support/check.h"

static const char one_item[] = "nightjar: 1\n"
                               "name: one\n"
                               "ids: [5, 6, 7, 8, 9, 10, 11]\n"
                               "sampling: {temperature: 0.9, max_tokens: 40, seed: 12}\n";

static char *undisturbed(const char *folder, const char *job)
{
    struct nj_run_report report;
    struct nj_error err = {0};
    struct tiny_run run = {.folder = folder, .job = job};
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_OK);
    return tiny_run_read(folder, "results.jsonl", NULL);
}

/* Runs one sweep at a time until done; returns how many times it was continued. */
static unsigned run_by_single_sweeps(const char *folder, const char *job)
{
    unsigned n_stops = 0;
    uint64_t n_restored = 0;
    for (;;) {
        struct nj_run_report report;
        struct nj_error err = {0};
        struct tiny_run run = {.folder = folder, .job = job, .stop_after_sweeps = 1};
        enum nj_status status = tiny_run(&run, &report, &err);
        if (n_stops > 0 && status == NJ_E_STOPPED) {
            CHECK(report.n_tokens_restored >= n_restored || report.n_items_kept > 0);
        }
        n_restored = report.n_tokens_restored;
        if (status != NJ_E_STOPPED) {
            CHECK_EQ(status, NJ_OK);
            return n_stops;
        }
        n_stops++;
    }
}

static void restarted_at_every_token_an_item_has_the_same_text(void)
{
    char *wanted = undisturbed("straight", one_item);

    unsigned n_stops = run_by_single_sweeps("stopped", one_item);

    char *results = tiny_run_read("stopped", "results.jsonl", NULL);
    CHECK_EQ(n_stops, 39);
    CHECK_TEXT(results, wanted);
    free(results);
    free(wanted);
}

static void restarted_at_every_sweep_a_batch_has_the_same_results(void)
{
    char *wanted = undisturbed("batch", NULL);

    unsigned n_stops = run_by_single_sweeps("batch stopped", NULL);

    char *results = tiny_run_read("batch stopped", "results.jsonl", NULL);
    CHECK(n_stops >= 11);
    CHECK_TEXT(results, wanted);
    free(results);
    free(wanted);
}

int main(void)
{
    RUN(restarted_at_every_token_an_item_has_the_same_text);
    RUN(restarted_at_every_sweep_a_batch_has_the_same_results);
    return test_result();
}
