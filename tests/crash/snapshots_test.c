/* A run that is killed goes on from its snapshots: the same results, and no more computed again
 * than since the last of them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

    CHECK_EQ(n_segments("tidy", "0", ".snap"), 0);
    CHECK_EQ(n_segments("tidy", "1", ".snap"), 0);
    check_results("tidy");
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

    run.stop_after_sweeps = 0;
    end_well(run, &report);

    CHECK_EQ(n_segments("damaged", "0", ".bad"), 2);
    CHECK(report.n_positions_restored > 0); /* the other items never noticed */
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

    run.stop_after_sweeps = 0;
    end_well(run, &report);

    CHECK(n_segments("swapped", "0", ".bad") > 0);
    CHECK(n_segments("swapped", "1", ".bad") > 0);
    check_results("swapped");
}

int main(void)
{
    tiny_run_model("model");
    RUN(killed_after_any_sweep_no_more_than_the_interval_is_read_again);
    RUN(a_run_that_is_stopped_reads_nothing_again);
    RUN(a_finished_item_keeps_no_segment_and_a_running_one_two_snapshots);
    RUN(damaged_segments_cost_time_and_no_bit);
    RUN(segments_swapped_between_items_are_put_aside);
    return test_result();
}
