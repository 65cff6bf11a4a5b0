/* A run that is killed goes on from its snapshots: the same results, and no more computed again
 * than since the last of them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash/tiny_run.h"
#include "support/check.h"

/* Three items at once with prompts of some length, sampled and greedy, n = 2. */
#define ITEMS                                                                                  \
    "nightjar: 1\n"                                                                            \
    "name: kept\n"                                                                             \
    "sampling: {temperature: 0.8, max_tokens: 14, n: 2, seed: 5, repeat_penalty: 1.1}\n"       \
    "prompts:\n"                                                                               \
    "  - ids: [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]\n"                   \
    "  - {ids: [9, 8, 7], sampling: {temperature: 0, n: 1}}\n"

static const char without[] = ITEMS;
static const char every_two_sweeps[] = ITEMS "snapshot: {every: 2 sweeps}\n";
static const char uncompressed[] = ITEMS "snapshot: {every: 1 sweep, compress: off}\n";

enum { BATCH = 3, CHUNK = 4 };

static struct tiny_run run_of(const char *folder, const char *job)
{
    return (struct tiny_run){
        .folder = folder, .job = job, .batch = BATCH, .prefill_chunk = CHUNK};
}

static void end_well(struct tiny_run run, struct nj_run_report *report)
{
    struct nj_error err = {.text = ""};
    CHECK_EQ(tiny_run(&run, report, &err), NJ_OK);
    CHECK_TEXT(err.text, "");
}

static char *straight_results(void)
{
    struct nj_run_report report;
    if (!tiny_run_has("straight", "results.jsonl")) {
        end_well(run_of("straight", without), &report);
        CHECK_EQ(report.n_snapshots, 0); /* so short a run comes to none by itself */
    }
    return tiny_run_read("straight", "results.jsonl", NULL);
}

static void check_results(const char *folder)
{
    char *wanted = straight_results();
    char *found = tiny_run_read(folder, "results.jsonl", NULL);
    CHECK_TEXT(found, wanted);
    free(wanted);
    free(found);
}

/* Killed after every number of sweeps, and continued with another width and chunk. */
static void killed_after_any_sweep_no_more_than_the_interval_is_read_again(void)
{
    uint64_t n_positions = 0;
    for (uint32_t n_sweeps = 1; n_sweeps <= 16; n_sweeps++) {
        struct nj_run_report report;
        struct tiny_run run = run_of("killed", every_two_sweeps);
        tiny_run_remove("killed");
        run.stop_after_sweeps = n_sweeps;
        run.is_killed = true;
        CHECK(tiny_run_in_child(&run) != 0);

        end_well(run_of("killed", every_two_sweeps), &report);

        n_positions += report.n_positions_restored;
        CHECK(n_sweeps < 3 || report.n_positions_restored > 0);
        check_results("killed");
    }
    CHECK(n_positions > 100);
}

static void a_run_that_is_stopped_reads_nothing_again(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = run_of("stopped", without);
    tiny_run_remove("stopped");
    run.stop_after_sweeps = 7;
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);
    CHECK_EQ(report.n_snapshots, BATCH);
    uint64_t n_rows = report.n_rows;

    run.stop_after_sweeps = 0;
    run.prefill_chunk = 0;
    run.cpu_level = "scalar";
    end_well(run, &report);

    check_results("stopped");
    CHECK(report.n_positions_restored > 0);
    /* Together as many rows as one run that is never stopped. */
    struct nj_run_report straight;
    tiny_run_remove("once");
    end_well(run_of("once", without), &straight);
    CHECK_EQ(n_rows + report.n_rows, straight.n_rows);
    tiny_run_remove("stopped");
}

/* Segments in a run's folder of an item. */
static size_t n_segments(const char *folder, const char *item, const char *ending)
{
    char name[64];
    size_t n = 0;
    (void)snprintf(name, sizeof name, "items/%s", item);
    DIR *directory = opendir(tiny_run_path(folder, name));
    for (struct dirent *entry = NULL;
         directory != NULL && (entry = readdir(directory)) != NULL;) {
        size_t length = strlen(entry->d_name);
        n += length > strlen(ending) &&
             strcmp(entry->d_name + length - strlen(ending), ending) == 0;
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return n;
}

static void copy_segment(const char *folder, const char *item, const char *to)
{
    size_t n_bytes = 0;
    char name[64];
    char *bytes = NULL;
    for (int number = 1; number < 30 && bytes == NULL; number++) {
        (void)snprintf(name, sizeof name, "%s/segment-%06d.snap", item, number);
        bytes = tiny_run_read(folder, name, &n_bytes);
    }
    FILE *file = fopen(tiny_run_path(folder, to), "wb");
    REQUIRE(bytes != NULL && file != NULL);
    CHECK_EQ(fwrite(bytes, 1, n_bytes, file), n_bytes);
    CHECK_EQ(fclose(file), 0);
    free(bytes);
}

static void a_finished_item_keeps_no_segment_and_a_running_one_two_snapshots(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = run_of("tidy", uncompressed);
    tiny_run_remove("tidy");
    run.stop_after_sweeps = 9;
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);
    CHECK(report.n_snapshots > (uint64_t)3 * BATCH);
    CHECK_EQ(n_segments("tidy", "0", ".snap"), 2);

    run.stop_after_sweeps = 0;
    end_well(run, &report);

    CHECK(!tiny_run_has("tidy", "items")); /* with all that was in it */
    check_results("tidy");
}

/* What a kill between a result and the removal of its states leaves behind. */
static void segments_of_items_that_were_finished_before_are_removed(void)
{
    static const char job[] = "nightjar: 1\n"
                              "name: uneven\n"
                              "sampling: {temperature: 0.8, max_tokens: 9, seed: 5}\n"
                              "prompts:\n"
                              "  - {ids: [5, 6, 7]}\n"
                              "  - {ids: [9, 8, 7], sampling: {max_tokens: 2}}\n"
                              "snapshot: {every: 1 sweep}\n";
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = {.folder = "leftover", .job = job, .stop_after_sweeps = 4};
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);
    REQUIRE(report.n_items_ok == 1);
    CHECK(tiny_run_has("leftover", "items/0"));
    CHECK(!tiny_run_has("leftover", "items/1"));
    CHECK_EQ(mkdir(tiny_run_path("leftover", "items/1"), 0700), 0);
    copy_segment("leftover", "items/0", "items/1/segment-000001.snap");

    run.stop_after_sweeps = 1;
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);

    CHECK(tiny_run_has("leftover", "items/0"));
    CHECK(!tiny_run_has("leftover", "items/1"));
    run.stop_after_sweeps = 0;
    end_well(run, &report);
    CHECK(report.n_positions_restored > 0);
    CHECK(!tiny_run_has("leftover", "items"));
}

/* --- room on the disk --- */

static uint64_t n_free;
static unsigned n_warnings;

static uint64_t tell_free(void *context, const char *path)
{
    (void)context;
    (void)path;
    return n_free;
}

static void count_warnings(void *context, enum nj_log_level level, const char *line)
{
    (void)context;
    if (level == NJ_LOG_WARNING) {
        n_warnings++;
        CHECK_CONTAINS(line, "no snapshots for want of room");
    }
}

/* Tokens and results come first: a disk that is nearly full gets no snapshots, is not asked
 * twice in a row what it has been told, and gets them again when there is room. */
static void without_room_a_run_takes_no_snapshots_and_says_so_once(void)
{
    static const struct nj_log log = {.level = NJ_LOG_INFO, .sink = count_warnings};
    struct nj_run_report report;
    struct tiny_run run = run_of("full", uncompressed);
    tiny_run_remove("full");
    run.free_bytes = tell_free;
    run.log = &log;
    n_free = UINT64_C(64) << 20; /* all of it is for ids and results */
    n_warnings = 0;

    end_well(run, &report);

    CHECK_EQ(report.n_snapshots, 0);
    CHECK_EQ(n_warnings, 1);
    check_results("full");

    tiny_run_remove("full");
    n_free = UINT64_C(256) << 20;
    end_well(run, &report);
    CHECK(report.n_snapshots > 0);
    CHECK_EQ(n_warnings, 1);
}

/* --- how items were taken up again --- */

static struct nj_event resumed[8];
static unsigned n_resumed;

static void hear(void *context, const struct nj_event *event)
{
    (void)context;
    if (event->type == NJ_EVENT_ITEM_RESUMED && n_resumed < 8) {
        resumed[n_resumed] = *event;
        resumed[n_resumed].item_id = (struct nj_text){.data = NULL};
        n_resumed++;
    }
}

static void each_item_taken_up_again_is_told_with_what_it_cost(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = run_of("told", uncompressed);
    tiny_run_remove("told");
    run.stop_after_sweeps = 6;
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);
    n_resumed = 0;
    run.hear = hear;
    run.stop_after_sweeps = 0;

    end_well(run, &report);

    CHECK_EQ(n_resumed, BATCH);
    uint64_t n_from_snapshots = 0;
    for (unsigned i = 0; i < n_resumed; i++) {
        CHECK(resumed[i].n_from_snapshot > 0);
        CHECK(resumed[i].n_snapshot_bytes > resumed[i].n_from_snapshot);
        /* Stopped between sweeps, so all is restored but the id that was just chosen. */
        CHECK(resumed[i].n_tokens_restored == 0 || resumed[i].n_fed_again == 1);
        n_from_snapshots += resumed[i].n_from_snapshot;
    }
    CHECK_EQ(n_from_snapshots, report.n_positions_restored);
    char *manifest = tiny_run_read("told", "manifest.json", NULL);
    REQUIRE(manifest != NULL);
    char wanted[160];
    (void)snprintf(wanted, sizeof wanted,
                   "\"items_resumed\":[{\"item_index\":0,\"sample\":0,\"tokens_restored\":%llu,"
                   "\"tokens_from_snapshot\":%llu,\"tokens_fed_again\":%llu,",
                   (unsigned long long)resumed[0].n_tokens_restored,
                   (unsigned long long)resumed[0].n_from_snapshot,
                   (unsigned long long)resumed[0].n_fed_again);
    CHECK_CONTAINS(manifest, wanted);
    CHECK_CONTAINS(manifest, "\"items_resumed\":[]"); /* of the first start */
    free(manifest);
    check_results("told");
}

/* Every segment of item 0 with a byte flipped: both generations are of no use. */
static void damaged_segments_cost_time_and_no_bit(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = run_of("damaged", uncompressed);
    tiny_run_remove("damaged");
    run.stop_after_sweeps = 9;
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);
    for (int number = 1; number < 30; number++) {
        char name[64];
        (void)snprintf(name, sizeof name, "items/0/segment-%06d.snap", number);
        if (!tiny_run_has("damaged", name)) {
            continue;
        }
        FILE *file = fopen(tiny_run_path("damaged", name), "r+b");
        REQUIRE(file != NULL);
        CHECK_EQ(fseek(file, 5000, SEEK_SET), 0);
        int byte = fgetc(file);
        CHECK_EQ(fseek(file, 5000, SEEK_SET), 0);
        CHECK(fputc(byte ^ 4, file) != EOF);
        CHECK_EQ(fclose(file), 0);
    }

    run.stop_after_sweeps = 1;
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);

    CHECK_EQ(n_segments("damaged", "0", ".bad"), 2);
    CHECK(report.n_positions_restored > 0); /* the other items never noticed */
    run.stop_after_sweeps = 0;
    end_well(run, &report);
    CHECK(!tiny_run_has("damaged", "items")); /* of no use to an item that is done */
    check_results("damaged");
}

static void segments_swapped_between_items_are_put_aside(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = run_of("swapped", every_two_sweeps);
    char first[512];
    tiny_run_remove("swapped");
    run.stop_after_sweeps = 9;
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);
    (void)snprintf(first, sizeof first, "%s", tiny_run_path("swapped", "items/0"));
    char aside[600];
    (void)snprintf(aside, sizeof aside, "%s-aside", first);
    CHECK_EQ(rename(first, aside), 0);
    CHECK_EQ(rename(tiny_run_path("swapped", "items/1"), first), 0);
    CHECK_EQ(rename(aside, tiny_run_path("swapped", "items/1")), 0);

    run.stop_after_sweeps = 1;
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);

    CHECK(n_segments("swapped", "0", ".bad") > 0);
    CHECK(n_segments("swapped", "1", ".bad") > 0);
    run.stop_after_sweeps = 0;
    end_well(run, &report);
    check_results("swapped");
}

/* --- what a kill within a snapshot leaves --- */

static unsigned n_told_unfinished;

static void hear_of_unfinished(void *context, enum nj_log_level level, const char *line)
{
    (void)context;
    CHECK_EQ(level, NJ_LOG_INFO);
    n_told_unfinished += strcmp(line, "3 snapshots were unfinished; going on from what was "
                                      "there before") == 0;
}

/* The newest segment of an item, cut short within its records. */
static void tear_newest(const char *folder, unsigned item)
{
    char name[64];
    char newest[64] = "";
    for (unsigned number = 1; number < 30; number++) {
        (void)snprintf(name, sizeof name, "items/%u/segment-%06u.snap", item, number);
        if (tiny_run_has(folder, name)) {
            memcpy(newest, name, sizeof newest);
        }
    }
    CHECK(newest[0] != '\0');
    CHECK_EQ(truncate(tiny_run_path(folder, newest), 5000), 0);
}

static void what_a_kill_left_unfinished_is_told_once_and_leaves_nothing(void)
{
    static const struct nj_log log = {.level = NJ_LOG_INFO, .sink = hear_of_unfinished};
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = run_of("torn", uncompressed);
    tiny_run_remove("torn");
    run.stop_after_sweeps = 9;
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);
    for (unsigned item = 0; item < BATCH; item++) {
        tear_newest("torn", item);
    }

    run.log = &log;
    run.stop_after_sweeps = 0;
    end_well(run, &report);

    CHECK_EQ(n_told_unfinished, 1);
    CHECK(report.n_positions_restored > 0);
    CHECK(!tiny_run_has("torn", "items"));
    check_results("torn");
}

int main(void)
{
    tiny_run_model("model");
    RUN(killed_after_any_sweep_no_more_than_the_interval_is_read_again);
    RUN(a_run_that_is_stopped_reads_nothing_again);
    RUN(a_finished_item_keeps_no_segment_and_a_running_one_two_snapshots);
    RUN(segments_of_items_that_were_finished_before_are_removed);
    RUN(without_room_a_run_takes_no_snapshots_and_says_so_once);
    RUN(each_item_taken_up_again_is_told_with_what_it_cost);
    RUN(damaged_segments_cost_time_and_no_bit);
    RUN(segments_swapped_between_items_are_put_aside);
    RUN(what_a_kill_left_unfinished_is_told_once_and_leaves_nothing);
    return test_result();
}
