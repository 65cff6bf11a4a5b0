/* `budget` and `stop_on_failures`, in a run whose clock goes forward one second a sweep. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "crash/tiny_run.h"
#include "job/spec_yaml.h"
#include "runner/limits.h"
#include "runner/run.h"
#include "support/check.h"

struct timed_run {
    const char *folder;
    const char *job;
    const char *overridden; /* the job after --set; NULL: as in the file */
    uint32_t batch;
    enum nj_run_mode mode;
    uint32_t stop_after_sweeps; /* 0: never */
    enum nj_run_control stop_with;
};

static struct nj_run_report report;
static struct nj_error err;
static char warnings[4096];
static char notes[4096];
static char last_pause[64];
static uint64_t n_rows;
static uint64_t n_prefill_rows;

/* Of the whole test, so that a run begins later than the one before ended. */
struct world {
    uint64_t now_ns;
    uint32_t n_sweeps;
    const struct timed_run *run;
};

static uint64_t monotonic_ns(void *context)
{
    const struct world *world = context;
    return world->now_ns;
}

static int64_t unix_ms(void *context)
{
    const struct world *world = context;
    return (int64_t)(world->now_ns / 1000000);
}

static enum nj_run_control pass_a_second(void *context)
{
    struct world *world = context;
    world->now_ns += 1000000000;
    return world->run->stop_after_sweeps > 0 &&
                   world->n_sweeps++ == world->run->stop_after_sweeps
               ? world->run->stop_with
               : NJ_RUN_GO_ON;
}

static void note_event(void *context, const struct nj_event *event)
{
    (void)context;
    n_rows += event->n_rows;
    n_prefill_rows += event->n_prefill_rows;
    if (event->type == NJ_EVENT_RUN_PAUSED) {
        (void)snprintf(last_pause, sizeof last_pause, "%.*s", (int)event->text.length_bytes,
                       event->text.data);
    }
}

static void note_line(void *context, enum nj_log_level level, const char *line)
{
    (void)context;
    char *lines = level == NJ_LOG_WARNING ? warnings : notes;
    size_t length = strlen(lines);
    (void)snprintf(lines + length, sizeof warnings - length, "%s\n", line);
}

static enum nj_status run_spec(const struct nj_job_spec *spec, const struct timed_run *run)
{
    static struct world world = {.now_ns = 5000000000};
    char model_path[512];
    char folder_path[512];
    const struct nj_log log = {.level = NJ_LOG_INFO, .sink = note_line};
    const struct nj_run_observer observer = {
        .context = &world, .event = note_event, .poll = pass_a_second};
    world.n_sweeps = 0;
    world.run = run;
    struct nj_run_environment environment = {
        .fs = tiny_run_files(),
        .clock = {.context = &world, .monotonic_ns = monotonic_ns, .unix_ms = unix_ms},
        .entropy = 1 << 20,
        .log = &log,
        .observer = &observer};
    (void)snprintf(model_path, sizeof model_path, "%s", tiny_run_path("model", ""));
    (void)snprintf(folder_path, sizeof folder_path, "%s", tiny_run_path(run->folder, ""));
    struct nj_run_options options = {.job_path = "timed.yaml",
                                     .model_path = model_path,
                                     .output_directory = folder_path,
                                     .mode = run->mode,
                                     .n_threads = 1,
                                     .batch = run->batch};
    struct nj_bytes content = {.data = (const uint8_t *)run->job,
                               .length_bytes = strlen(run->job)};
    return nj_run_job(&environment, spec, content, &options, &report, &err);
}

static enum nj_status timed_run(const struct timed_run *run)
{
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    const struct nj_job_spec *spec = NULL;
    const char *job = run->overridden != NULL ? run->overridden : run->job;
    struct nj_bytes content = {.data = (const uint8_t *)job, .length_bytes = strlen(job)};
    tiny_run_model("model");
    warnings[0] = '\0';
    notes[0] = '\0';
    last_pause[0] = '\0';
    n_rows = 0;
    n_prefill_rows = 0;
    err.text[0] = '\0';
    nj_diagnostics_init(&diagnostics, &arena);
    enum nj_status status =
        nj_job_spec_read("timed.yaml", content, &arena, &diagnostics, &spec, &err);
    if (status == NJ_OK) {
        status = run_spec(spec, run);
    }
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
    return status;
}

static enum nj_status run(const char *folder, const char *job)
{
    const struct timed_run plain = {.folder = folder, .job = job};
    return timed_run(&plain);
}

static char *results_of(const char *folder)
{
    return tiny_run_read(folder, "results.jsonl", NULL);
}

#define FOUR_ITEMS                                                                             \
    "name: four\n"                                                                             \
    "sampling: {temperature: 0.9, max_tokens: 5, seed: 1}\n"                                   \
    "prompts:\n"                                                                               \
    "  - {id: a, ids: [1, 2, 3]}\n"                                                            \
    "  - {id: b, ids: [4, 5], sampling: {n: 2, max_tokens: 3}}\n"                              \
    "  - {id: c, ids: [6]}\n"                                                                  \
    "  - {id: d, ids: [7], sampling: {max_tokens: 1}}\n"

static void a_token_budget_is_reserved_in_input_order(void)
{
    struct timed_run narrow = {.folder = "budget 1",
                               .job =
                                   "nightjar: 1\nbudget: {max_output_tokens: 15}\n" FOUR_ITEMS,
                               .batch = 1};
    struct timed_run wide = narrow;
    struct timed_run stopped = narrow;
    wide.folder = "budget 4";
    wide.batch = 4;
    stopped.folder = "budget stopped";
    stopped.stop_after_sweeps = 4;
    stopped.stop_with = NJ_RUN_DRAIN;

    REQUIRE_OK(timed_run(&narrow), &err);
    CHECK_EQ(report.n_items, 3); /* a takes 5, b twice 3; c's 5 do not fit into 15 */
    CHECK_CONTAINS(warnings, "first 3 items; 2 behind them are left out");
    REQUIRE_OK(timed_run(&wide), &err);
    CHECK_EQ(timed_run(&stopped), NJ_E_STOPPED);
    REQUIRE_OK(run("budget stopped", narrow.job), &err);

    char *wanted = results_of("budget 1");
    char *of_wide = results_of("budget 4");
    char *of_stopped = results_of("budget stopped");
    CHECK(strstr(wanted, "\"id\":\"d\"") == NULL);
    CHECK_TEXT(of_wide, wanted);
    CHECK_TEXT(of_stopped, wanted);
    free(wanted);
    free(of_wide);
    free(of_stopped);
}

static void a_raised_token_budget_goes_on_with_the_items_behind(void)
{
    REQUIRE_OK(run("raised", "nightjar: 1\nbudget: {max_output_tokens: 11}\n" FOUR_ITEMS),
               &err);
    CHECK_EQ(report.n_items, 3);

    REQUIRE_OK(run("raised", "nightjar: 1\nbudget: {max_output_tokens: 16}\n" FOUR_ITEMS),
               &err);

    CHECK_EQ(report.n_items, 4);
    CHECK_EQ(report.n_items_kept, 3);
    REQUIRE_OK(run("raised", "nightjar: 1\n" FOUR_ITEMS), &err);
    CHECK_EQ(report.n_items, 5);
    REQUIRE_OK(run("no budget", "nightjar: 1\n" FOUR_ITEMS), &err);
    char *raised = results_of("raised");
    char *wanted = results_of("no budget");
    CHECK_TEXT(raised, wanted);
    free(raised);
    free(wanted);
}

static void a_token_budget_without_room_for_anything_is_refused(void)
{
    CHECK_EQ(run("none", "nightjar: 1\nbudget: {max_output_tokens: 4}\n" FOUR_ITEMS),
             NJ_E_INPUT);
    CHECK_CONTAINS(err.text, "timed.yaml:2:29: `budget.max_output_tokens` of 4");
    CHECK(!tiny_run_has("none", ""));
}

static void a_limit_of_milliseconds_is_told_with_them(void)
{
    const struct nj_run_limits limits = {.max_runtime_ns = 100000000, .used_ns = 60000000};
    CHECK_EQ(nj_run_limits_fail(&limits, NJ_RUN_LIMIT_RUNTIME, 0, 43000000, &err), NJ_E_LIMIT);
    CHECK_CONTAINS(err.text, "is used up: 0.103 of 0.100 seconds");
}

/* At most so many seconds over all runs; answers are never cut. */
static void the_time_of_all_runs_together_is_limited_and_can_be_raised(void)
{
    static const char limited[] = "nightjar: 1\nbudget: {max_runtime: 6s}\n" FOUR_ITEMS;
    static const char raised[] = "nightjar: 1\nbudget: {max_runtime: 60s}\n" FOUR_ITEMS;
    struct timed_run tiny = {.folder = "runtime",
                             .job = limited,
                             .batch = 1,
                             .stop_after_sweeps = 3,
                             .stop_with = NJ_RUN_DRAIN};
    CHECK_EQ(timed_run(&tiny), NJ_E_STOPPED);
    tiny.stop_after_sweeps = 0;

    CHECK_EQ(timed_run(&tiny), NJ_E_LIMIT);

    CHECK_CONTAINS(err.text, "`budget.max_runtime` is used up: 6 of 6 seconds");
    CHECK_TEXT(last_pause, "max_runtime");
    CHECK(!tiny_run_has("runtime", "results.jsonl"));
    CHECK_EQ(timed_run(&tiny), NJ_E_LIMIT);
    CHECK_EQ(report.n_sweeps, 0);
    tiny.job = raised;
    REQUIRE_OK(timed_run(&tiny), &err);
    REQUIRE_OK(run("unlimited", "nightjar: 1\n" FOUR_ITEMS), &err);
    char *results = results_of("runtime");
    char *wanted = results_of("unlimited");
    CHECK_TEXT(results, wanted);
    free(results);
    free(wanted);
}

static void an_item_over_its_time_fails_and_the_others_do_not(void)
{
    static const char limited[] = "nightjar: 1\nbudget: {item_timeout: 4s}\n" FOUR_ITEMS;
    static const char raised[] = "nightjar: 1\nbudget: {item_timeout: 9s}\n" FOUR_ITEMS;
    struct timed_run tiny = {.folder = "timeout", .job = limited, .batch = 1};

    REQUIRE_OK(timed_run(&tiny), &err);

    CHECK_EQ(report.n_items_ok, 3);
    CHECK_EQ(report.n_items_failed, 2);
    char *errors = tiny_run_read("timeout", "errors.jsonl", NULL);
    CHECK_CONTAINS(errors, "\"reasoning\":null,\"response\":null,\"ids\":null,"
                           "\"finish_reason\":\"expired\",\"stop_reason\":null");
    CHECK_CONTAINS(errors, "\"error\":{\"code\":\"timeout\",\"message\":\"not done within "
                           "`budget.item_timeout`, which is 4.000 seconds\"}");
    free(errors);
    REQUIRE_OK(timed_run(&tiny), &err);
    CHECK_EQ(report.n_items_kept, 5); /* it is their result */

    tiny.job = raised;
    REQUIRE_OK(timed_run(&tiny), &err);

    CHECK_EQ(report.n_items_kept, 3);
    CHECK_EQ(report.n_items_failed, 0);
    CHECK_EQ(report.n_tokens_restored, 8); /* nothing is chosen again */
    CHECK_EQ(report.n_tokens_generated, 2);
    CHECK(!tiny_run_has("timeout", "errors.jsonl"));
    REQUIRE_OK(run("in time", "nightjar: 1\n" FOUR_ITEMS), &err);
    char *results = results_of("timeout");
    char *wanted = results_of("in time");
    CHECK_TEXT(results, wanted);
    free(results);
    free(wanted);
}

/* By --set, which leaves the job file and so the journal's marks. */
static void items_whose_timeout_changed_are_not_taken_for_damage(void)
{
    static const char limited[] = "nightjar: 1\nbudget: {item_timeout: 4s}\n" FOUR_ITEMS;
    struct timed_run tiny = {.folder = "lifted", .job = limited, .batch = 1};
    REQUIRE_OK(timed_run(&tiny), &err);
    tiny.overridden = "nightjar: 1\n" FOUR_ITEMS;

    REQUIRE_OK(timed_run(&tiny), &err);

    CHECK_EQ(report.n_items_failed, 0);
    CHECK_TEXT(warnings, "");
    CHECK_CONTAINS(notes, "2 items had timed out under another `budget.item_timeout` (the "
                          "first is item ");
}

static void failed_items_end_the_run_when_there_are_enough(void)
{
#define HASTY "budget: {item_timeout: 2s}\n" FOUR_ITEMS
    struct timed_run tiny = {
        .folder = "failures", .job = "nightjar: 1\nstop_on_failures: 2\n" HASTY, .batch = 1};

    CHECK_EQ(timed_run(&tiny), NJ_E_LIMIT);

    CHECK_EQ(report.n_items_failed, 2);
    CHECK_EQ(report.n_items_ok, 0);
    CHECK_CONTAINS(err.text, "2 items failed, and `stop_on_failures` ends the run at 2");
    CHECK_TEXT(last_pause, "stop_on_failures");
    CHECK_EQ(timed_run(&tiny), NJ_E_LIMIT);
    CHECK_EQ(report.n_sweeps, 0);
    tiny.job = "nightjar: 1\nstop_on_failures: 41%\n" HASTY;
    CHECK_EQ(timed_run(&tiny), NJ_E_LIMIT);
    CHECK_EQ(report.n_items_failed, 3); /* of 5 */
    tiny.job = "nightjar: 1\nstop_on_failures: 100%\n" HASTY;
    REQUIRE_OK(timed_run(&tiny), &err);
    CHECK_EQ(report.n_items_failed, 4);
    CHECK_EQ(report.n_items_ok, 1);
}

static void a_run_can_be_made_to_end_as_by_a_bug(void)
{
    struct timed_run tiny = {.folder = "bug",
                             .job = "nightjar: 1\n" FOUR_ITEMS,
                             .stop_after_sweeps = 2,
                             .stop_with = NJ_RUN_BREAK};
    CHECK_EQ(timed_run(&tiny), NJ_E_INTERNAL);
    tiny.stop_after_sweeps = 0;
    REQUIRE_OK(timed_run(&tiny), &err);
    CHECK(report.n_tokens_restored > 0);
}

/* After a run that ended without a word, and so without a snapshot, everything is read again.
 */
static void rows_that_read_what_was_given_are_told_apart(void)
{
    struct timed_run tiny = {.folder = "rows",
                             .job = "nightjar: 1\nsnapshot: {every: 100h}\n" FOUR_ITEMS,
                             .stop_after_sweeps = 2,
                             .stop_with = NJ_RUN_BREAK};
    CHECK_EQ(timed_run(&tiny), NJ_E_INTERNAL);
    CHECK_EQ(n_prefill_rows, 3 + 2 + 2 + 1 + 1);
    CHECK_EQ(n_rows, n_prefill_rows + 4); /* d was done with its first id */
    tiny.stop_after_sweeps = 0;

    REQUIRE_OK(timed_run(&tiny), &err);

    CHECK_EQ(n_prefill_rows, 3 + 2 + 2 + 1 + 4 * 2); /* with the restored ids */
    CHECK_EQ(n_rows, n_prefill_rows + 2 + 2);
}

/* Of each of the four items only the id that was chosen last. */
static void after_a_stop_only_what_no_snapshot_holds_is_read_again(void)
{
    struct timed_run tiny = {.folder = "spared",
                             .job = "nightjar: 1\nsnapshot: {every: 100h}\n" FOUR_ITEMS,
                             .stop_after_sweeps = 2,
                             .stop_with = NJ_RUN_DRAIN};
    CHECK_EQ(timed_run(&tiny), NJ_E_STOPPED);
    CHECK_EQ(report.n_snapshots, 4);
    tiny.stop_after_sweeps = 0;

    REQUIRE_OK(timed_run(&tiny), &err);

    CHECK_EQ(n_prefill_rows, 4);
    CHECK_EQ(n_rows, n_prefill_rows + 2 + 2);
}

static double number_of(const struct nj_json_value *object, const char *key)
{
    double value = -1.0;
    (void)nj_json_as_number(nj_json_get(object, key), &value);
    return value;
}

/* A run that ended without a word is known by its last sign of life. */
static void the_history_tells_what_every_run_did_and_how_long(void)
{
    static const char *const wanted[] = {"started", "interrupted", "started",
                                         "stopped", "started",     "finished"};
    static const double seconds[] = {-1, 10, -1, 2, -1, 20};
    static const double generated[] = {-1, 10, -1, 1, -1, 20};
    static const double fed_again[] = {-1, 0, -1, 14, -1, 1}; /* a stop spares */
    struct nj_json *document = NULL;
    struct timed_run tiny = {.folder = "history",
                             .job = "nightjar: 1\nids: [1, 2, 3]\n"
                                    "snapshot: {every: 100h}\n"
                                    "sampling: {temperature: 1, seed: 3, max_tokens: 32}\n",
                             .stop_after_sweeps = 11,
                             .stop_with = NJ_RUN_BREAK};
    CHECK_EQ(timed_run(&tiny), NJ_E_INTERNAL);
    tiny.stop_after_sweeps = 1;
    tiny.stop_with = NJ_RUN_DRAIN;
    CHECK_EQ(timed_run(&tiny), NJ_E_STOPPED);
    tiny.stop_after_sweeps = 0;
    REQUIRE_OK(timed_run(&tiny), &err);

    char *text = tiny_run_read("history", "manifest.json", NULL);
    REQUIRE_OK(nj_json_parse(nj_text_from(text), "manifest.json", &document, &err), &err);
    const struct nj_json_value *history = nj_json_get(nj_json_root(document), "history");
    CHECK_EQ(nj_json_count(history), 6);
    for (size_t i = 0; i < 6; i++) {
        const struct nj_json_value *turn = nj_json_at(history, i);
        struct nj_text event = {0};
        CHECK(nj_json_as_text(nj_json_get(turn, "event"), &event));
        CHECK(nj_text_equals(event, wanted[i]));
        CHECK_EQ((long long)number_of(turn, "seconds"), (long long)seconds[i]);
        CHECK_EQ((long long)number_of(turn, "tokens_generated"), (long long)generated[i]);
        CHECK_EQ((long long)number_of(turn, "tokens_fed_again"), (long long)fed_again[i]);
    }
    CHECK_EQ((long long)number_of(nj_json_at(history, 2), "tokens_restored"), 11);
    CHECK_EQ((long long)number_of(nj_json_at(history, 4), "tokens_restored"), 12);
    nj_json_destroy(document);
    free(text);
}

int main(void)
{
    RUN(a_token_budget_is_reserved_in_input_order);
    RUN(a_raised_token_budget_goes_on_with_the_items_behind);
    RUN(a_token_budget_without_room_for_anything_is_refused);
    RUN(a_limit_of_milliseconds_is_told_with_them);
    RUN(the_time_of_all_runs_together_is_limited_and_can_be_raised);
    RUN(an_item_over_its_time_fails_and_the_others_do_not);
    RUN(items_whose_timeout_changed_are_not_taken_for_damage);
    RUN(failed_items_end_the_run_when_there_are_enough);
    RUN(a_run_can_be_made_to_end_as_by_a_bug);
    RUN(rows_that_read_what_was_given_are_told_apart);
    RUN(after_a_stop_only_what_no_snapshot_holds_is_read_again);
    RUN(the_history_tells_what_every_run_did_and_how_long);
    return test_result();
}
