/* Every call of the file layer fails once, writes come up short: a run says so, loses nothing,
 * and ends with the same bytes when it is continued. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crash/tiny_run.h"
#include "support/check.h"
#include "support/faulty_files.h"

static const char job[] = "nightjar: 1\n"
                          "name: small\n"
                          "sampling: {temperature: 0.9, max_tokens: 3, seed: 1}\n"
                          "prompts:\n"
                          "  - {id: a, ids: [1, 2, 3]}\n"
                          "  - {id: b, ids: [4, 5], sampling: {max_tokens: 2}}\n";

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

static void check_continues(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = {.folder = "faulty", .job = job};
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);
    char *results = tiny_run_read("faulty", "results.jsonl", NULL);
    CHECK_TEXT(results, wanted);
    CHECK(tiny_run_has("faulty", "manifest.json"));
    free(results);
}

/* Fails the n-th call of one kind for n = 1, 2, ... until none is left; returns how many. */
static unsigned long fail_every(enum faulty_call call, int error_number)
{
    for (unsigned long n = 1;; n++) {
        struct faulty_files faulty;
        struct nj_run_report report;
        struct nj_error err = {0};
        struct tiny_run run = {.folder = "faulty", .job = job, .fs = &faulty.table};
        faulty_files_init(&faulty, tiny_run_files());
        faulty_files_fail(&faulty, call, n, error_number);
        tiny_run_remove("faulty");

        enum nj_status status = tiny_run(&run, &report, &err);

        if (!faulty_files_fired(&faulty)) {
            CHECK_EQ(status, NJ_OK);
            return n - 1;
        }
        if (status != NJ_OK) {
            CHECK(err.text[0] != '\0');
        }
        check_continues();
    }
}

static void a_full_disk_at_any_write_loses_nothing(void)
{
    CHECK(fail_every(FAULTY_WRITE, ENOSPC) > 10);
}

static void a_failed_sync_anywhere_loses_nothing(void)
{
    CHECK(fail_every(FAULTY_DATA_SYNC, EIO) > 5);
    CHECK(fail_every(FAULTY_SYNC, EIO) > 5);
}

static void a_failed_rename_or_cut_loses_nothing(void)
{
    CHECK(fail_every(FAULTY_RENAME, EIO) > 2);
    (void)fail_every(FAULTY_TRUNCATE, EIO);
}

static void a_failed_open_loses_nothing(void)
{
    CHECK(fail_every(FAULTY_OPEN, EMFILE) > 10);
}

static void short_writes_change_nothing(void)
{
    for (unsigned long n = 1;; n++) {
        struct faulty_files faulty;
        struct nj_run_report report;
        struct nj_error err;
        struct tiny_run run = {.folder = "faulty", .job = job, .fs = &faulty.table};
        faulty_files_init(&faulty, tiny_run_files());
        faulty_files_cut(&faulty, FAULTY_WRITE, n);
        tiny_run_remove("faulty");
        REQUIRE_OK(tiny_run(&run, &report, &err), &err);
        char *results = tiny_run_read("faulty", "results.jsonl", NULL);
        CHECK_TEXT(results, wanted);
        free(results);
        if (!faulty_files_fired(&faulty)) {
            return;
        }
    }
}

static struct faulty_files full; /* a disk that is full until somebody waited three times */
static unsigned n_waits;

static void wait_and_make_room(void *context, uint64_t duration_ns)
{
    (void)context;
    (void)duration_ns;
    if (++n_waits == 3) {
        full.rules[FAULTY_WRITE] = (struct faulty_rule){.effect = FAULTY_NONE};
    }
}

static void fill_disk(unsigned long at)
{
    tiny_run_remove("faulty");
    n_waits = 0;
    faulty_files_init(&full, tiny_run_files());
    faulty_files_fail_for_ever(&full, FAULTY_WRITE, at, ENOSPC);
}

static void on_a_disk_that_fills_up_a_run_waits_for_room_and_goes_on(void)
{
    bool was_told = false;
    for (unsigned long n = 1;; n++) {
        struct nj_run_report report;
        struct nj_error err;
        struct tiny_run run = {
            .folder = "faulty", .job = job, .fs = &full.table, .wait = wait_and_make_room};
        fill_disk(n);

        REQUIRE_OK(tiny_run(&run, &report, &err), &err);

        char *results = tiny_run_read("faulty", "results.jsonl", NULL);
        char *manifest = tiny_run_read("faulty", "manifest.json", NULL);
        CHECK_TEXT(results, wanted);
        CHECK(!tiny_run_has("faulty", "disk.ballast"));
        was_told = was_told || strstr(manifest, "\"event\":\"paused\"") != NULL;
        free(results);
        free(manifest);
        if (!faulty_files_fired(&full)) {
            CHECK(n > 10);
            CHECK(was_told);
            return;
        }
    }
}

static void wait_in_vain(void *context, uint64_t duration_ns)
{
    (void)context;
    (void)duration_ns;
    n_waits++;
}

static void a_run_that_waits_for_room_can_be_stopped(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = {.folder = "faulty",
                           .job = job,
                           .fs = &full.table,
                           .wait = wait_in_vain,
                           .stop_after_sweeps = 9};
    fill_disk(27);

    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);

    CHECK(n_waits > 2);
    CHECK_CONTAINS(err.text, "room on the disk");
    check_continues();
}

static void wait_and_remove(void *context, uint64_t duration_ns)
{
    (void)context;
    (void)duration_ns;
    tiny_run_remove("faulty");
}

/* What is being computed into nowhere ends at the next sweep. */
static void a_folder_that_is_removed_ends_the_run(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = {
        .folder = "faulty", .job = job, .fs = &full.table, .wait = wait_and_remove};
    fill_disk(27);

    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STORAGE);

    full.rules[FAULTY_WRITE] = (struct faulty_rule){.effect = FAULTY_NONE};
    check_continues();
}

int main(void)
{
    RUN(prepare);
    RUN(a_full_disk_at_any_write_loses_nothing);
    RUN(a_failed_sync_anywhere_loses_nothing);
    RUN(a_failed_rename_or_cut_loses_nothing);
    RUN(a_failed_open_loses_nothing);
    RUN(short_writes_change_nothing);
    RUN(on_a_disk_that_fills_up_a_run_waits_for_room_and_goes_on);
    RUN(a_run_that_waits_for_room_can_be_stopped);
    RUN(a_folder_that_is_removed_ends_the_run);
    free(wanted);
    return test_result();
}
