/* Derived files follow the results log: what was lost or changed comes back, what belongs to
 * another job goes away, and a finished run has all of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash/tiny_run.h"
#include "support/check.h"
#include "support/faulty_files.h"

#define BEGINNING                                                                              \
    "nightjar: 1\n"                                                                            \
    "name: pair\n"                                                                             \
    "sampling: {temperature: 0.9, max_tokens: 4, seed: 1}\n"                                   \
    "prompts:\n"                                                                               \
    "  - {id: a, ids: [1, 2, 3]}\n"

static const char one_item[] = BEGINNING;
static const char two_items[] = BEGINNING "  - {id: b, ids: [4, 5, 6]}\n";
static const char changed_item[] = BEGINNING "  - {id: b, ids: [4, 5, 66]}\n";

static struct nj_run_report report;
static struct nj_error err;

static enum nj_status run(const char *folder, const char *job)
{
    struct tiny_run tiny = {.folder = folder, .job = job};
    return tiny_run(&tiny, &report, &err);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    FILE *file = fopen(tiny_run_path(folder, name), "wb");
    REQUIRE(file != NULL);
    CHECK_EQ(fwrite(text, 1, strlen(text), file), strlen(text));
    CHECK_EQ(fclose(file), 0);
}

static void check_same(const char *folder, const char *name, const char *wanted)
{
    char *found = tiny_run_read(folder, name, NULL);
    CHECK_TEXT(found, wanted);
    free(found);
}

static void what_is_missing_or_changed_in_a_finished_folder_comes_back(void)
{
    static const char *const names[] = {"results.jsonl", "manifest.json"};
    REQUIRE_OK(run("mended", two_items), &err);
    char *results = tiny_run_read("mended", "results.jsonl", NULL);
    for (size_t i = 0; i < 2; i++) {
        for (unsigned way = 0; way < 4; way++) {
            char *whole = tiny_run_read("mended", names[i], NULL);
            CHECK_EQ(unlink(tiny_run_path("mended", names[i])), 0);
            if (way > 0) {
                whole[way == 1 ? 0 : way == 2 ? strlen(whole) / 2 : strlen(whole) - 4] = '\0';
                write_file("mended", names[i], whole);
            }
            free(whole);

            REQUIRE_OK(run("mended", two_items), &err);

            CHECK_EQ(report.n_sweeps, 0);
            check_same("mended", "results.jsonl", results);
            char *manifest = tiny_run_read("mended", "manifest.json", NULL);
            CHECK_CONTAINS(manifest, "\"results_sha256\"");
            CHECK_CONTAINS(manifest, "\"event\":\"finished\"");
            CHECK(manifest[strlen(manifest) - 1] == '\n');
            free(manifest);
        }
    }
    free(results);
}

/* Somebody may have worked on them. */
static void what_was_changed_in_a_finished_folder_is_kept_under_another_name(void)
{
    static const char job[] = BEGINNING "output: {formats: [jsonl, markdown]}\n";
    REQUIRE_OK(run("worked_on", job), &err);
    char *results = tiny_run_read("worked_on", "results.jsonl", NULL);
    write_file("worked_on", "items/0000-a.md", "my notes");
    write_file("worked_on", "items/ideas.md", "mine");
    for (unsigned i = 0; i < 2; i++) {
        write_file("worked_on", "results.jsonl", i == 0 ? "first" : "second");
        REQUIRE_OK(run("worked_on", job), &err);
    }

    check_same("worked_on", "results.jsonl", results);
    check_same("worked_on", "results.jsonl.kept-1", "first");
    check_same("worked_on", "results.jsonl.kept-2", "second");
    check_same("worked_on", "items/0000-a.md.kept-1", "my notes");
    check_same("worked_on", "items/ideas.md.kept-1", "mine");
    CHECK(!tiny_run_has("worked_on", "items/ideas.md"));
    CHECK(tiny_run_has("worked_on", "items/0000-a.md"));
    CHECK(!tiny_run_has("worked_on", "manifest.json.kept-1"));
    free(results);
}

static unsigned n_warnings;

static void count_warnings(void *context, enum nj_log_level level, const char *line)
{
    (void)context;
    n_warnings += level == NJ_LOG_WARNING;
    if (level == NJ_LOG_WARNING) {
        CHECK_CONTAINS(line, "results.csv (kept as results.csv.kept-1)");
        CHECK(strstr(line, "manifest.json") == NULL && strstr(line, "missing") == NULL);
    }
}

/* Another limit and other formats: the same items, and other files. */
static void what_only_a_run_wrote_makes_way_without_a_word(void)
{
    static const char *const jobs[] = {
        BEGINNING, BEGINNING "output: {formats: [jsonl, csv, markdown]}\n",
        BEGINNING "budget: {max_items: 1}\n", BEGINNING "output: {formats: [jsonl, csv]}\n"};
    static const struct nj_log log = {.level = NJ_LOG_INFO, .sink = count_warnings};
    struct tiny_run tiny = {.folder = "turned", .log = &log};
    n_warnings = 0;
    for (size_t i = 0; i < 4; i++) {
        tiny.job = jobs[i];
        REQUIRE_OK(tiny_run(&tiny, &report, &err), &err);
        CHECK_EQ(report.n_sweeps == 0, i > 0);
        CHECK_EQ(tiny_run_has("turned", "results.csv"), i % 2 == 1);
        CHECK_EQ(tiny_run_has("turned", "items/0000-a.md"), i == 1);
        CHECK(!tiny_run_has("turned", "manifest.json.kept-1"));
        CHECK(!tiny_run_has("turned", "results.csv.kept-1"));
    }
    CHECK_EQ(n_warnings, 0);

    write_file("turned", "results.csv", "edited");
    tiny.job = jobs[0];
    REQUIRE_OK(tiny_run(&tiny, &report, &err), &err);

    CHECK_EQ(n_warnings, 1);
    CHECK(!tiny_run_has("turned", "results.csv"));
    check_same("turned", "results.csv.kept-1", "edited");
}

/* Without descriptors nothing can be read, and that is no reason to take it for changed. */
static void what_cannot_be_looked_at_stays_where_it_is(void)
{
    unsigned long n_opened = 0;
    bool has_ended = false;
    REQUIRE_OK(run("crowded", two_items), &err);
    char *results = tiny_run_read("crowded", "results.jsonl", NULL);
    while (!has_ended) {
        struct faulty_files faulty;
        struct tiny_run tiny = {.folder = "crowded", .job = two_items, .fs = &faulty.table};
        faulty_files_init(&faulty, tiny_run_files());
        faulty.only_suffix = "results.jsonl";
        faulty_files_fail_for_ever(&faulty, FAULTY_OPEN, ++n_opened, EMFILE);
        has_ended = tiny_run(&tiny, &report, &err) == NJ_OK;
        check_same("crowded", "results.jsonl", results);
        CHECK(!tiny_run_has("crowded", "results.jsonl.kept-1"));
    }
    CHECK(n_opened > 1);
    free(results);
}

/* A job that goes on with other items removes the results before it, and nobody's notes. */
static void what_no_run_wrote_is_kept_when_the_job_changes(void)
{
    static const char first[] = BEGINNING "output: {formats: [jsonl, markdown]}\n";
    static const char more[] =
        BEGINNING "  - {id: b, ids: [4, 5, 6]}\noutput: {formats: [jsonl, markdown]}\n";
    REQUIRE_OK(run("notes", first), &err);
    write_file("notes", "items/ideas.md", "mine");
    write_file("notes", "results.jsonl", "edited");

    REQUIRE_OK(run("notes", more), &err);

    check_same("notes", "items/ideas.md.kept-1", "mine");
    check_same("notes", "results.jsonl.kept-1", "edited");
    CHECK(tiny_run_has("notes", "items/0001-b.md"));
    CHECK(!tiny_run_has("notes", "items/0000-a.md.kept-1"));
}

static void errors_that_no_item_had_go_away(void)
{
    REQUIRE_OK(run("errors", two_items), &err);
    write_file("errors", "errors.jsonl", "{\"status\":\"failed\"}\n");

    REQUIRE_OK(run("errors", two_items), &err);

    CHECK(!tiny_run_has("errors", "errors.jsonl"));
}

static void results_of_another_job_do_not_stay_while_this_one_is_under_way(void)
{
    struct tiny_run tiny = {
        .folder = "stale", .job = changed_item, .mode = NJ_RUN_RESTART, .stop_after_sweeps = 1};
    REQUIRE_OK(run("stale", two_items), &err);
    write_file("stale", "errors.jsonl", "{\"status\":\"failed\"}\n");

    CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STOPPED);

    CHECK(!tiny_run_has("stale", "results.jsonl"));
    CHECK(!tiny_run_has("stale", "errors.jsonl"));
    CHECK(!tiny_run_has("stale", "manifest.json"));
    REQUIRE_OK(run("stale", changed_item), &err);
    CHECK(tiny_run_has("stale", "results.jsonl"));
    CHECK(tiny_run_has("stale", "manifest.json"));
}

/* The results of this same run are not thrown away because its log was damaged. */
static void results_stay_while_what_a_damaged_log_lost_is_done_again(void)
{
    struct tiny_run tiny = {.folder = "kept", .job = two_items, .stop_after_sweeps = 1};
    REQUIRE_OK(run("kept", two_items), &err);
    char *results = tiny_run_read("kept", "results.jsonl", NULL);
    CHECK_EQ(unlink(tiny_run_path("kept", "results.log")), 0);
    CHECK_EQ(unlink(tiny_run_path("kept", "tokens.log")), 0);

    CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STOPPED);
    check_same("kept", "results.jsonl", results);
    REQUIRE_OK(run("kept", two_items), &err);
    check_same("kept", "results.jsonl", results);
    free(results);
}

/* Nothing is left to compute, and yet the files must become those of the shorter job. */
static void a_restart_with_fewer_items_has_their_results_only(void)
{
    struct tiny_run tiny = {.folder = "shorter", .job = one_item, .mode = NJ_RUN_RESTART};
    REQUIRE_OK(run("shorter", two_items), &err);
    REQUIRE_OK(run("one", one_item), &err);
    char *wanted = tiny_run_read("one", "results.jsonl", NULL);

    REQUIRE_OK(tiny_run(&tiny, &report, &err), &err);

    CHECK_EQ(report.n_sweeps, 0);
    check_same("shorter", "results.jsonl", wanted);
    char *manifest = tiny_run_read("shorter", "manifest.json", NULL);
    CHECK_CONTAINS(manifest, "\"items\":1,");
    free(manifest);
    free(wanted);
}

static void the_copy_of_the_job_file_comes_back(void)
{
    REQUIRE_OK(run("spec", two_items), &err);
    write_file("spec", "spec.yaml", "something else");
    REQUIRE_OK(run("spec", two_items), &err);
    check_same("spec", "spec.yaml", two_items);
}

int main(void)
{
    RUN(what_is_missing_or_changed_in_a_finished_folder_comes_back);
    RUN(what_was_changed_in_a_finished_folder_is_kept_under_another_name);
    RUN(what_only_a_run_wrote_makes_way_without_a_word);
    RUN(what_cannot_be_looked_at_stays_where_it_is);
    RUN(what_no_run_wrote_is_kept_when_the_job_changes);
    RUN(errors_that_no_item_had_go_away);
    RUN(results_of_another_job_do_not_stay_while_this_one_is_under_way);
    RUN(results_stay_while_what_a_damaged_log_lost_is_done_again);
    RUN(a_restart_with_fewer_items_has_their_results_only);
    RUN(the_copy_of_the_job_file_comes_back);
    return test_result();
}
