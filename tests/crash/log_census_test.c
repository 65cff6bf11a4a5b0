/* The census counts what stands in all segments of a log, once. */
#include <errno.h>
#include <unistd.h>

#include "crash/log_census.h"
#include "crash/tiny_run.h"
#include "support/check.h"
#include "support/faulty_files.h"

static const char job[] = "nightjar: 1\n"
                          "name: small\n"
                          "sampling: {temperature: 0.9, max_tokens: 8, seed: 1}\n"
                          "prompts:\n"
                          "  - {id: a, ids: [1, 2, 3]}\n"
                          "  - {id: b, ids: [4, 5]}\n";

/* A run of which each log had to go on in a second segment, somewhere in the middle. */
static void prepare(void)
{
    static const char *const logs[] = {"tokens.log", "results.log", "journal.log"};
    struct nj_run_report report;
    struct nj_error err;
    struct faulty_files faulty[3];
    const struct nj_file_system *below = tiny_run_files();
    for (size_t i = 0; i < 3; i++) {
        faulty_files_init(&faulty[i], below);
        faulty[i].only_suffix = logs[i];
        faulty_files_fail(&faulty[i], FAULTY_DATA_SYNC, 4, EIO);
        below = &faulty[i].table;
    }
    struct tiny_run run = {.folder = "parts", .job = job, .fs = below, .batch = 1};
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);
    struct tiny_run whole = {.folder = "whole", .job = job};
    REQUIRE_OK(tiny_run(&whole, &report, &err), &err);
}

static void later_segments_are_counted_too(void)
{
    struct log_census parts;
    struct log_census whole;
    REQUIRE(tiny_run_has("parts", "tokens.log.2"));
    REQUIRE(tiny_run_has("parts", "results.log.2"));
    REQUIRE(tiny_run_has("parts", "journal.log.2"));

    CHECK(log_census_take(tiny_run_path("parts", ""), &parts));
    CHECK(log_census_take(tiny_run_path("whole", ""), &whole));

    CHECK(whole.n_ids > 8);
    CHECK_EQ(parts.n_ids, whole.n_ids);
    CHECK_EQ(parts.n_ids_twice, 0);
    CHECK_EQ(parts.n_results, 2);
    CHECK_EQ(parts.n_under_way, 0);
    CHECK_EQ(parts.n_finished, 1);
}

/* What a later segment continues is damage, not an end. */
static void a_segment_that_lost_what_was_continued_is_told(void)
{
    struct log_census census;
    CHECK_EQ(truncate(tiny_run_path("parts", "tokens.log"), 100), 0);
    CHECK(!log_census_take(tiny_run_path("parts", ""), &census));
}

int main(void)
{
    RUN(prepare);
    RUN(later_segments_are_counted_too);
    RUN(a_segment_that_lost_what_was_continued_is_told);
    return test_result();
}
