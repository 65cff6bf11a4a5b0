/* A run that is killed at the n-th durable step, or inside the n-th write, for every n, goes on
 * to the same results; also when it is killed again while it recovers. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "crash/log_census.h"
#include "crash/tiny_run.h"
#include "support/check.h"
#include "support/faulty_files.h"

/* Items of different lengths, so that in most sweeps somebody begins or ends. */
static const char job[] =
    "nightjar: 1\n"
    "name: steps\n"
    "sampling: {temperature: 0.8, top_p: 0.95, max_tokens: 8, logprobs: 2}\n"
    "prompts:\n"
    "  - id: short\n"
    "    ids: [1, 2, 3]\n"
    "    sampling: {max_tokens: 3}\n"
    "  - id: greedy\n"
    "    ids: [7, 8, 9, 10]\n"
    "    sampling: {temperature: 0, max_tokens: 9}\n"
    "  - id: twice, with penalties\n"
    "    ids: [11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]\n"
    "    sampling: {n: 2, repeat_penalty: 1.3, presence_penalty: 0.5,\n"
    "               frequency_penalty: 0.5}\n"
    "  - id: single\n"
    "    ids: [40, 41, 42]\n"
    "    sampling: {max_tokens: 1}\n"
    "  - id: last\n"
    "    ids: [50, 60, 70]\n";

static char *wanted; /* results.jsonl of a run that nothing disturbed */

/* The names of all durable steps of a run, "[NAME][NAME]...". */
struct names {
    char text[16384];
    size_t length_bytes;
};

static void hear(void *context, const char *name)
{
    struct names *names = context;
    size_t room = sizeof names->text - names->length_bytes;
    int n = snprintf(names->text + names->length_bytes, room, "[%s]", name);
    names->length_bytes += n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* Runs to the end in this folder; its steps are heard of. */
static uint64_t run_to_the_end(const char *folder, struct names *names)
{
    static struct faulty_files faulty;
    struct nj_run_report report = {0};
    struct nj_error err = {0};
    struct tiny_run run = {.folder = folder, .job = job, .batch = 3, .fs = &faulty.table};
    faulty_files_init(&faulty, tiny_run_files());
    if (names != NULL) {
        faulty.hear_step = hear;
        faulty.hear_context = names;
    }
    if (!CHECK_EQ(tiny_run(&run, &report, &err), NJ_OK)) {
        test_fail(__FILE__, __LINE__, "%s", err.text);
    }
    CHECK_EQ(report.n_items_ok, 6);
    return report.n_tokens_restored;
}

/* The tests below kill at each step of these sequences, so they reach every file. */
static void the_steps_of_a_run_are_those_of_all_its_files(void)
{
    static struct names names;
    CHECK_EQ(run_to_the_end("undisturbed", &names), 0);
    wanted = tiny_run_read("undisturbed", "results.jsonl", NULL);
    REQUIRE(wanted != NULL);
    CHECK_CONTAINS(names.text, "[tokens.log]");
    CHECK_CONTAINS(names.text, "[results.log]");
    CHECK_CONTAINS(names.text, "[journal.log]");
    CHECK_CONTAINS(names.text, "[spec.yaml]");
    CHECK_CONTAINS(names.text, "[results.jsonl]");
    CHECK_CONTAINS(names.text, "[manifest.json]");
    (void)printf("steps: %s\n", names.text);
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
    struct tiny_run run = {.folder = folder, .job = job, .batch = 3, .fs = &faulty.table};
    int status = tiny_run_in_child(&run);
    bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    CHECK(was_killed || status == 0);
    return was_killed;
}

/* What was under way is restored, and nothing is done twice. */
static uint64_t finish_and_compare(const char *folder)
{
    uint64_t n_restored = run_to_the_end(folder, NULL);
    char *results = tiny_run_read(folder, "results.jsonl", NULL);
    char *manifest = tiny_run_read(folder, "manifest.json", NULL);
    struct log_census census;
    CHECK_TEXT(results, wanted);
    CHECK_CONTAINS(manifest != NULL ? manifest : "none", "\"event\":\"finished\"");
    CHECK(log_census_take(tiny_run_path(folder, ""), &census));
    CHECK_EQ(census.n_ids_twice, 0);
    CHECK_EQ(census.n_under_way, 0);
    CHECK_EQ(census.n_results, 6);
    free(results);
    free(manifest);
    return n_restored;
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

/* Killed within the fifth record of tokens.log: some ids are durable, the tail is torn. */
static void half_done(const char *folder)
{
    static struct faulty_files faulty;
    struct tiny_run run = {.folder = folder, .job = job, .batch = 3, .fs = &faulty.table};
    tiny_run_remove(folder);
    faulty_files_init(&faulty, tiny_run_files());
    faulty.only_suffix = "tokens.log";
    faulty_files_kill_at_call(&faulty, FAULTY_WRITE, 7);
    CHECK(WIFSIGNALED(tiny_run_in_child(&run)));
}

/* As far as the first steps of new work: those after them are the same in any run. */
static void kill_recovery_at_every(enum where where)
{
    enum { N_STEPS = 14 };
    for (unsigned long n = 1; n <= N_STEPS; n++) {
        half_done("twice");
        CHECK(run_and_kill("twice", where, n));
        (void)finish_and_compare("twice");
    }
}

/* The first kill leaves work half done and a torn tail; the second comes at every step of
 * taking that up again. */
static void killed_again_while_it_recovers_a_run_ends_with_the_same_results(void)
{
    static struct names names;
    half_done("recovered");
    CHECK(run_to_the_end("recovered", &names) > 0);
    CHECK_CONTAINS(names.text, "[tokens.log.bad-");
    (void)printf("steps: %s\n", names.text);

    kill_recovery_at_every(AT_STEP);
    kill_recovery_at_every(IN_WRITE);
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
    RUN(the_steps_of_a_run_are_those_of_all_its_files);
    RUN(killed_at_every_durable_step_a_run_ends_with_the_same_results);
    RUN(killed_inside_every_write_a_run_ends_with_the_same_results);
    RUN(killed_before_every_rename_a_run_ends_with_the_same_results);
    RUN(killed_again_while_it_recovers_a_run_ends_with_the_same_results);
    RUN(killed_again_and_again_a_run_still_gets_done);
    free(wanted);
    return test_result();
}
