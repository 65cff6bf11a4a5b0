/* A run that is killed at the n-th durable step, or inside the n-th write, for every n, goes on
 * to the same results; also when it is killed again while it recovers. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "crash/tiny_run.h"
#include "support/check.h"
#include "support/faulty_files.h"

static char *wanted; /* results.jsonl of a run that nothing disturbed */

static void prepare(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = {.folder = "undisturbed", .batch = 3};
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);
    wanted = tiny_run_read("undisturbed", "results.jsonl", NULL);
    REQUIRE(wanted != NULL);
    CHECK_EQ(report.n_items_ok, 7);
    CHECK(report.n_tokens_generated > 20);
}

enum where { AT_STEP, IN_WRITE, BEFORE_RENAME };

static void set_kill(struct faulty_files *faulty, enum where where, unsigned long n)
{
    faulty_files_init(faulty, tiny_run_files());
    switch (where) {
    case AT_STEP:
        faulty_files_kill_at_step(faulty, n);
        break;
    case IN_WRITE:
        faulty_files_kill_at_call(faulty, FAULTY_WRITE, n);
        break;
    case BEFORE_RENAME:
        faulty_files_kill_at_call(faulty, FAULTY_RENAME, n);
        break;
    }
}

/* True when the child was killed; false when it came to its end first. */
static bool run_and_kill(const char *folder, enum where where, unsigned long n)
{
    struct faulty_files faulty;
    set_kill(&faulty, where, n);
    struct tiny_run run = {.folder = folder, .batch = 3, .fs = &faulty.table};
    int status = tiny_run_in_child(&run);
    bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    CHECK(was_killed || status == 0);
    return was_killed;
}

/* What was under way is restored, and nothing is done twice. */
static uint64_t finish_and_compare(const char *folder)
{
    struct nj_run_report report = {0};
    struct nj_error err = {0};
    struct tiny_run run = {.folder = folder, .batch = 3};
    if (!CHECK_EQ(tiny_run(&run, &report, &err), NJ_OK)) {
        test_fail(__FILE__, __LINE__, "%s", err.text);
        return 0;
    }
    char *results = tiny_run_read(folder, "results.jsonl", NULL);
    CHECK_TEXT(results, wanted);
    free(results);
    char *manifest = tiny_run_read(folder, "manifest.json", NULL);
    CHECK_CONTAINS(manifest != NULL ? manifest : "none", "\"event\":\"finished\"");
    free(manifest);
    return report.n_tokens_restored;
}

/* Returns how many tokens were restored over all runs. */
static uint64_t kill_at_every(enum where where)
{
    uint64_t n_restored = 0;
    unsigned long n = 1;
    for (bool was_killed = true; was_killed; n++) {
        tiny_run_remove("killed");
        was_killed = run_and_kill("killed", where, n);
        n_restored += finish_and_compare("killed");
    }
    CHECK(n > 5);
    return n_restored;
}

static void killed_at_every_durable_step_a_run_ends_with_the_same_results(void)
{
    CHECK(kill_at_every(AT_STEP) > 0);
}

static void killed_inside_every_write_a_run_ends_with_the_same_results(void)
{
    CHECK(kill_at_every(IN_WRITE) > 0);
}

static void killed_before_every_rename_a_run_ends_with_the_same_results(void)
{
    (void)kill_at_every(BEFORE_RENAME);
}

/* The first kill leaves work half done and a torn tail; the second comes at every step of
 * taking that up again. */
static void killed_again_while_it_recovers_a_run_ends_with_the_same_results(void)
{
    unsigned long n = 1;
    for (bool was_killed = true; was_killed && n < 12; n++) {
        tiny_run_remove("twice");
        REQUIRE(run_and_kill("twice", IN_WRITE, 25));
        was_killed = run_and_kill("twice", n % 2 == 0 ? AT_STEP : IN_WRITE, (n + 1) / 2);
        (void)finish_and_compare("twice");
    }
    CHECK_EQ(n, 12);
}

/* Every life makes three more sweeps durable, then dies; no life may begin at nothing. */
static void killed_again_and_again_a_run_still_gets_done(void)
{
    unsigned n_lives = 0;
    tiny_run_remove("lives");
    while (n_lives < 60 && run_and_kill("lives", AT_STEP, 16)) {
        n_lives++;
    }
    CHECK(n_lives > 1);
    CHECK(n_lives < 60);
    (void)finish_and_compare("lives");
}

int main(void)
{
    RUN(prepare);
    RUN(killed_at_every_durable_step_a_run_ends_with_the_same_results);
    RUN(killed_inside_every_write_a_run_ends_with_the_same_results);
    RUN(killed_before_every_rename_a_run_ends_with_the_same_results);
    RUN(killed_again_while_it_recovers_a_run_ends_with_the_same_results);
    RUN(killed_again_and_again_a_run_still_gets_done);
    free(wanted);
    return test_result();
}
