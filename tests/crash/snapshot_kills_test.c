/* A run that takes snapshots is killed at every durable step of every phase: reading prompts,
 * choosing, writing and removing snapshots, taking itself up again. It ends with the same
 * bytes, and computes no more again than since its last snapshot.
 *
 *     snapshot_kills_test          each so many-th step
 *     snapshot_kills_test long     every step
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "crash/log_census.h"
#include "crash/tiny_run.h"
#include "nightjar/snapshot.h"
#include "support/check.h"
#include "support/faulty_files.h"

/* Prompts of several chunks and of one; samples, penalties, log-probabilities; an item that is
 * done with its first id, one that ends in a sweep with a snapshot and one behind it. */
#define ITEMS                                                                                  \
    "nightjar: 1\n"                                                                            \
    "name: kills\n"                                                                            \
    "sampling: {temperature: 0.8, top_p: 0.95, max_tokens: 7, seed: 3, logprobs: 2,\n"         \
    "           repeat_penalty: 1.2, presence_penalty: 0.4}\n"                                 \
    "prompts:\n"                                                                               \
    "  - {ids: [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], sampling: {n: 2}}\n"               \
    "  - {ids: [9, 8, 7], sampling: {temperature: 0, max_tokens: 6}}\n"                        \
    "  - {ids: [40, 41], sampling: {max_tokens: 1}}\n"                                         \
    "  - {ids: [50, 60, 70], sampling: {max_tokens: 5}}\n"

static const char every_sweep[] = ITEMS "snapshot: {every: 1 sweep}\n";
static const char every_two_sweeps[] = ITEMS "snapshot: {every: 2 sweeps}\n";

enum { N_ITEMS = 5, BATCH = 3, CHUNK = 5, SHORT_STRIDE = 9, RECOVERY_STEPS = 12 };

static bool is_long;
static char *wanted; /* results.jsonl of a run that nothing disturbed */

static struct tiny_run run_of(const char *folder, const char *job)
{
    return (struct tiny_run){
        .folder = folder, .job = job, .batch = BATCH, .prefill_chunk = CHUNK};
}

/* --- how much is computed --- */

enum { SWEEPS_LIMIT = 64 };
static uint64_t rows[SWEEPS_LIMIT]; /* of each sweep of the run that is heard */
static uint32_t n_sweeps;

static void hear(void *context, const struct nj_event *event)
{
    (void)context;
    if (event->type == NJ_EVENT_SWEEP_DONE && n_sweeps < SWEEPS_LIMIT) {
        rows[n_sweeps++] = event->n_rows;
    }
}

static void a_run_that_nothing_disturbs_comes_first(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = run_of("undisturbed", ITEMS);
    run.hear = hear;
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);
    wanted = tiny_run_read("undisturbed", "results.jsonl", NULL);
    REQUIRE(wanted != NULL);
    CHECK_EQ(report.n_items_ok, N_ITEMS);
    CHECK(n_sweeps > 8 && n_sweeps < SWEEPS_LIMIT);
}

static uint64_t sum_of_rows(uint32_t first, uint32_t end)
{
    uint64_t n = 0;
    for (uint32_t i = first; i < end; i++) {
        n += rows[i];
    }
    return n;
}

static enum nj_status refuse(void *context, const struct nj_snapshot_info *info,
                             struct nj_error *err)
{
    (void)context;
    return nj_fail(err, NJ_E_STATE, "%s is left", info->file);
}

/* Nobody has to clean up: what a kill tore is nobody's evidence of anything. */
static void check_no_segments(const char *folder)
{
    struct nj_error err = {.text = ""};
    CHECK_EQ(nj_snapshot_list(tiny_run_path(folder, ""), refuse, NULL, &err), NJ_OK);
    CHECK_TEXT(err.text, "");
    CHECK(!tiny_run_has(folder, "items"));
}

static uint64_t finish_and_compare(const char *folder, const char *job, uint64_t *n_rows)
{
    struct nj_run_report report = {0};
    struct nj_error err = {0};
    struct log_census census;
    struct tiny_run run = run_of(folder, job);
    if (!CHECK_EQ(tiny_run(&run, &report, &err), NJ_OK)) {
        test_fail(__FILE__, __LINE__, "%s", err.text);
    }
    char *results = tiny_run_read(folder, "results.jsonl", NULL);
    CHECK_TEXT(results, wanted);
    free(results);
    CHECK(log_census_take(tiny_run_path(folder, ""), &census));
    CHECK_EQ(census.n_ids_twice, 0);
    CHECK_EQ(census.n_results, N_ITEMS);
    check_no_segments(folder);
    if (n_rows != NULL) {
        *n_rows = report.n_rows;
    }
    return report.n_positions_restored;
}

/* A snapshot that was begun in the second sweep of an interval is of its end. It may be under
 * way when the kill comes, so the one before it is what is sure. */
static void no_more_than_the_interval_is_computed_again(void)
{
    enum { INTERVAL = 2 };
    uint64_t n_all = sum_of_rows(0, n_sweeps);
    uint64_t n_most = 0;
    for (uint32_t killed_after = 1; killed_after < n_sweeps; killed_after++) {
        uint64_t n_rows = 0;
        struct tiny_run run = run_of("counted", every_two_sweeps);
        tiny_run_remove("counted");
        run.stop_after_sweeps = killed_after;
        run.is_killed = true;
        CHECK(WIFSIGNALED(tiny_run_in_child(&run)));
        (void)finish_and_compare("counted", every_two_sweeps, &n_rows);

        uint64_t n_again = n_rows - (n_all - sum_of_rows(0, killed_after));
        uint32_t first = killed_after > INTERVAL ? killed_after - INTERVAL : 0;
        n_most = n_again > n_most ? n_again : n_most;
        if (n_again > sum_of_rows(first, killed_after)) {
            test_fail(__FILE__, __LINE__,
                      "killed after %u sweeps, %llu rows were computed again",
                      (unsigned)killed_after, (unsigned long long)n_again);
        }
    }
    (void)printf("rows computed again after a kill: at most %llu of %llu\n",
                 (unsigned long long)n_most, (unsigned long long)n_all);
    CHECK(n_most > 0);
}

/* --- steps --- */

struct names {
    pthread_mutex_t lock; /* the writer's thread takes steps too */
    char text[32768];
    size_t length_bytes;
};

static void hear_step(void *context, const char *name)
{
    struct names *names = context;
    (void)pthread_mutex_lock(&names->lock);
    size_t room = sizeof names->text - names->length_bytes;
    int n = snprintf(names->text + names->length_bytes, room, "[%s]", name);
    names->length_bytes += n > 0 && (size_t)n < room ? (size_t)n : 0;
    (void)pthread_mutex_unlock(&names->lock);
}

/* The kills below come at each of these. */
static void the_steps_of_such_a_run_are_those_of_its_snapshots_too(void)
{
    static struct faulty_files faulty;
    static struct names names = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = run_of("steps", every_sweep);
    faulty_files_init(&faulty, tiny_run_files());
    faulty.hear_step = hear_step;
    faulty.hear_context = &names;
    run.fs = &faulty.table;
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);
    CHECK_CONTAINS(names.text, "[segment-000003.snap][segment-000003.snap]");
    CHECK_CONTAINS(names.text, "[tokens.log]");
    CHECK_CONTAINS(names.text, "[journal.log]");
    CHECK(report.n_snapshots > 10);
    (void)printf("%lu durable steps\n", faulty.n_durable_steps);
}

enum where { AT_STEP, IN_WRITE, BEFORE_UNLINK };

/* True when the child was killed; false when it came to its end first. */
static bool run_and_kill(const char *folder, enum where where, unsigned long n)
{
    struct faulty_files faulty;
    faulty_files_init(&faulty, tiny_run_files());
    switch (where) {
    case AT_STEP:
        faulty_files_kill_at_step(&faulty, n);
        break;
    case IN_WRITE:
        faulty_files_kill_at_call(&faulty, FAULTY_WRITE, n);
        break;
    case BEFORE_UNLINK:
        faulty_files_kill_at_call(&faulty, FAULTY_UNLINK, n);
        break;
    }
    struct tiny_run run = run_of(folder, every_sweep);
    run.fs = &faulty.table;
    int status = tiny_run_in_child(&run);
    bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    CHECK(was_killed || status == 0);
    return was_killed;
}

/* Writes are many, and most of them in the middle of a segment. */
static unsigned long stride_of(enum where where)
{
    switch (where) {
    case AT_STEP:
        return 2 * SHORT_STRIDE;
    case IN_WRITE:
        return 4 * SHORT_STRIDE;
    case BEFORE_UNLINK:
        break;
    }
    return SHORT_STRIDE;
}

static unsigned kill_at_every(enum where where)
{
    unsigned n_kills = 0;
    uint64_t n_positions = 0;
    unsigned long stride = is_long ? 1 : stride_of(where);
    bool was_killed = true;
    for (unsigned long n = 1; was_killed; n += stride) {
        tiny_run_remove("killed");
        was_killed = run_and_kill("killed", where, n);
        n_positions += finish_and_compare("killed", every_sweep, NULL);
        n_kills += was_killed ? 1 : 0;
    }
    CHECK(n_positions > 0);
    return n_kills;
}

static void killed_at_every_durable_step_it_ends_with_the_same_bytes(void)
{
    CHECK(kill_at_every(AT_STEP) > 5);
}

static void killed_inside_every_write_it_ends_with_the_same_bytes(void)
{
    CHECK(kill_at_every(IN_WRITE) > 5);
}

/* Segments that nothing needs any more, and folders of items that are done. */
static void killed_before_every_removal_it_ends_with_the_same_bytes(void)
{
    CHECK(kill_at_every(BEFORE_UNLINK) > 1);
}

/* The first kill comes with all items under way and snapshots half written; the second at every
 * step of taking that up again. */
static void killed_again_while_it_recovers_it_ends_with_the_same_bytes(void)
{
    enum { HALF_WAY = 60 };
    unsigned long stride = is_long ? 1 : 3;
    for (unsigned long n = 1; n <= RECOVERY_STEPS; n += stride) {
        tiny_run_remove("twice");
        CHECK(run_and_kill("twice", AT_STEP, HALF_WAY));
        CHECK(run_and_kill("twice", AT_STEP, n));
        CHECK(finish_and_compare("twice", every_sweep, NULL) > 0);
    }
}

/* --- resumed as it never ran before --- */

/* Stopped, or killed, as one machine would run it and continued as another one does. */
static void
resumed_with_other_threads_batch_memory_and_cpu_level_it_ends_with_the_same_bytes(void)
{
    static const struct tiny_run machines[] = {
        {.cpu_level = "auto", .n_threads = 2, .batch = 5, .memory_bytes = UINT64_C(256) << 20},
        {.cpu_level = "scalar", .n_threads = 1, .batch = 1, .prefill_chunk = 3},
        {.cpu_level = "scalar",
         .n_threads = 3,
         .batch = 2,
         .memory_bytes = UINT64_C(96) << 20}};
    enum { N_MACHINES = sizeof machines / sizeof machines[0] };
    for (uint32_t first = 0; first < N_MACHINES; first++) {
        for (uint32_t second = 0; second < N_MACHINES; second++) {
            struct nj_run_report report;
            struct nj_error err = {.text = ""};
            struct tiny_run run = machines[first];
            run.folder = "moved";
            run.job = every_sweep;
            run.stop_after_sweeps = 5;
            tiny_run_remove("moved");
            CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);
            CHECK(report.n_snapshots > 0);

            run = machines[second];
            run.folder = "moved";
            run.job = every_sweep;
            REQUIRE_OK(tiny_run(&run, &report, &err), &err);

            char *results = tiny_run_read("moved", "results.jsonl", NULL);
            CHECK_TEXT(results, wanted);
            CHECK(report.n_positions_restored > 0);
            free(results);
        }
    }
}

int main(int argc, char **argv)
{
    is_long = argc > 1 && strcmp(argv[1], "long") == 0;
    tiny_run_model("model");
    RUN(a_run_that_nothing_disturbs_comes_first);
    RUN(no_more_than_the_interval_is_computed_again);
    RUN(the_steps_of_such_a_run_are_those_of_its_snapshots_too);
    RUN(killed_at_every_durable_step_it_ends_with_the_same_bytes);
    RUN(killed_inside_every_write_it_ends_with_the_same_bytes);
    RUN(killed_before_every_removal_it_ends_with_the_same_bytes);
    RUN(killed_again_while_it_recovers_it_ends_with_the_same_bytes);
    RUN(resumed_with_other_threads_batch_memory_and_cpu_level_it_ends_with_the_same_bytes);
    free(wanted);
    return test_result();
}
