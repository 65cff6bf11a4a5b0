/* One error of the storage, wherever it comes, does not end a run: what was not durable is
 * written again elsewhere, and nothing is lost or doubled. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash/tiny_run.h"
#include "support/check.h"
#include "support/faulty_files.h"

static const char job[] = "nightjar: 1\n"
                          "name: small\n"
                          "sampling: {temperature: 0.9, max_tokens: 3, seed: 1, logprobs: 1}\n"
                          "prompts:\n"
                          "  - {id: a, ids: [1, 2, 3]}\n"
                          "  - {id: b, ids: [4, 5], sampling: {max_tokens: 2}}\n"
                          "  - {id: c, ids: [6], sampling: {max_tokens: 1}}\n";

static char *wanted;

static void prepare(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = {.folder = "undisturbed", .job = job};
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);
    wanted = tiny_run_read("undisturbed", "results.jsonl", NULL);
    REQUIRE(wanted != NULL);
}

static size_t n_lines(const char *folder, const char *name)
{
    size_t n = 0;
    char *text = tiny_run_read(folder, name, NULL);
    for (const char *c = text; c != NULL && *c != '\0'; c++) {
        n += *c == '\n';
    }
    free(text);
    return n;
}

static void check_results(void)
{
    char *results = tiny_run_read("faulty", "results.jsonl", NULL);
    CHECK_TEXT(results, wanted);
    CHECK_EQ(n_lines("faulty", "live.jsonl"), 3);
    free(results);
}

/* Fails the n-th call once for n = 1, 2, ... until none is left; returns how many there are. */
static unsigned long fail_every(enum faulty_call call)
{
    for (unsigned long n = 1;; n++) {
        struct faulty_files faulty;
        struct nj_run_report report;
        struct nj_error err = {0};
        struct tiny_run run = {.folder = "faulty", .job = job, .fs = &faulty.table, .batch = 2};
        faulty_files_init(&faulty, tiny_run_files());
        faulty_files_fail(&faulty, call, n, EIO);
        tiny_run_remove("faulty");

        if (tiny_run(&run, &report, &err) != NJ_OK) {
            test_fail(__FILE__, __LINE__, "call %lu: %s", n, err.text);
        }
        CHECK_EQ(report.n_tokens_generated, 6);
        check_results();
        if (!faulty_files_fired(&faulty)) {
            return n - 1;
        }

        struct tiny_run again = {.folder = "faulty", .job = job};
        CHECK_EQ(tiny_run(&again, &report, &err), NJ_OK);
        CHECK_EQ(report.n_items_kept, 3);
        CHECK_EQ(report.n_tokens_generated, 0);
        check_results();
    }
}

static void no_failed_write_ends_a_run(void)
{
    CHECK(fail_every(FAULTY_WRITE) > 20);
}

static void no_failed_data_sync_ends_a_run(void)
{
    CHECK(fail_every(FAULTY_DATA_SYNC) > 10);
}

static void a_run_whose_storage_fails_in_two_places_goes_on_from_both(void)
{
    for (unsigned long n = 4; n < 10; n++) {
        struct faulty_files faulty;
        struct nj_run_report report;
        struct nj_error err = {0};
        struct tiny_run run = {.folder = "faulty", .job = job, .fs = &faulty.table, .batch = 2};
        faulty_files_init(&faulty, tiny_run_files());
        faulty_files_fail(&faulty, FAULTY_DATA_SYNC, n, EIO);
        faulty_files_fail(&faulty, FAULTY_WRITE, 3 * n + 9, EIO);
        tiny_run_remove("faulty");

        REQUIRE_OK(tiny_run(&run, &report, &err), &err);

        check_results();
    }
}

static void storage_that_keeps_failing_ends_the_run_and_the_same_command_continues(void)
{
    for (unsigned long n = 1; n < 16; n++) {
        struct faulty_files faulty;
        struct nj_run_report report;
        struct nj_error err = {0};
        struct tiny_run run = {.folder = "faulty", .job = job, .fs = &faulty.table, .batch = 2};
        faulty_files_init(&faulty, tiny_run_files());
        faulty_files_fail_for_ever(&faulty, FAULTY_DATA_SYNC, n, EIO);
        tiny_run_remove("faulty");

        enum nj_status status = tiny_run(&run, &report, &err);
        if (!faulty_files_fired(&faulty)) {
            break;
        }
        CHECK_EQ(status, NJ_E_STORAGE);
        CHECK_CONTAINS(err.text, "a new segment did not help");

        struct tiny_run again = {.folder = "faulty", .job = job};
        REQUIRE_OK(tiny_run(&again, &report, &err), &err);
        check_results();
    }
}

static const char *forbidden; /* the name that this user may not open */

/* As of a folder that belongs to somebody else. */
static int open_what_is_allowed(void *context, int directory_fd, const char *name, int flags,
                                mode_t mode)
{
    if (strcmp(name, forbidden) == 0) {
        errno = EACCES;
        return -1;
    }
    return tiny_run_files()->open_at(context, directory_fd, name, flags, mode);
}

static void a_folder_of_somebody_else_is_named_and_is_no_failure_of_the_storage(void)
{
    static const struct {
        const char *name, *wanted;
    } files[] = {{"results.jsonl.tmp", "create results.jsonl.tmp: Permission denied"},
                 {"tokens.log", "open tokens.log: Permission denied"}};
    struct nj_file_system strict = *tiny_run_files();
    struct nj_run_report report;
    struct nj_error err = {0};
    strict.open_at = open_what_is_allowed;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct tiny_run run = {.folder = "foreign", .job = job};
        REQUIRE_OK(tiny_run(&run, &report, &err), &err);
        CHECK_EQ(unlink(tiny_run_path("foreign", "results.jsonl")), 0);
        run.fs = &strict;
        forbidden = files[i].name;

        CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_PERMISSION);

        CHECK_CONTAINS(err.text, files[i].wanted);
        CHECK_CONTAINS(err.text, tiny_run_path("foreign", ""));
    }
}

int main(void)
{
    RUN(prepare);
    RUN(no_failed_write_ends_a_run);
    RUN(no_failed_data_sync_ends_a_run);
    RUN(a_run_whose_storage_fails_in_two_places_goes_on_from_both);
    RUN(storage_that_keeps_failing_ends_the_run_and_the_same_command_continues);
    RUN(a_folder_of_somebody_else_is_named_and_is_no_failure_of_the_storage);
    free(wanted);
    return test_result();
}
