/* Every call of the file layer fails once, writes come up short: a run says so, loses nothing,
 * and ends with the same bytes when it is continued. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "crash/log_census.h"
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

static void check_results(void)
{
    char *results = tiny_run_read("faulty", "results.jsonl", NULL);
    CHECK_TEXT(results, wanted);
    CHECK(tiny_run_has("faulty", "manifest.json"));
    free(results);
}

/* What is durable is kept, and the end is the same. */
static void check_continues(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct log_census census;
    struct tiny_run run = {.folder = "faulty", .job = job};
    CHECK(log_census_take(tiny_run_path("faulty", ""), &census));
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);
    check_results();
    CHECK(report.n_items_kept >= census.n_results);
}

static bool is_long; /* everything in all ways */

/* A folder in which a run was killed within a write: half done, with a torn tail. */
static void prepare_folder(bool is_half_done)
{
    tiny_run_remove("faulty");
    if (is_half_done) {
        static struct faulty_files faulty;
        struct tiny_run run = {.folder = "faulty", .job = job, .fs = &faulty.table};
        faulty_files_init(&faulty, tiny_run_files());
        faulty.only_suffix = "tokens.log";
        faulty_files_kill_at_call(&faulty, FAULTY_WRITE, 4);
        CHECK(WIFSIGNALED(tiny_run_in_child(&run)));
    }
}

struct fault {
    enum faulty_call call;
    int error_number;
    bool for_ever; /* from the n-th call on, else at that one alone */
    bool is_half_done;
};

static void set_fault(struct faulty_files *faulty, const struct fault *fault, unsigned long n)
{
    faulty_files_init(faulty, tiny_run_files());
    faulty->spared_suffix = ".safetensors"; /* read a thousand times: below */
    if (fault->for_ever) {
        faulty_files_fail_for_ever(faulty, fault->call, n, fault->error_number);
    } else {
        faulty_files_fail(faulty, fault->call, n, fault->error_number);
    }
}

/* How a run may end that the storage let down: exit codes 0 and 13 of nightjar(1), 12 for a
 * model that cannot be read. */
static void check_end(const struct fault *fault, unsigned long n, enum nj_status status,
                      const struct nj_error *err)
{
    bool is_model =
        status == NJ_E_WEIGHTS && (fault->call == FAULTY_OPEN || fault->call == FAULTY_READ ||
                                   fault->call == FAULTY_STATUS);
    bool is_documented =
        status == NJ_OK || status == NJ_E_STORAGE || status == NJ_E_IO || is_model;
    if (!is_documented || (status != NJ_OK && err->text[0] == '\0')) {
        test_fail(__FILE__, __LINE__, "call %d, number %lu, %s%s: status %d, \"%s\"",
                  (int)fault->call, n, strerror(fault->error_number),
                  fault->for_ever ? " for ever" : "", (int)status, err->text);
    }
}

static bool fail_one(const struct fault *fault, unsigned long n)
{
    static struct faulty_files faulty;
    struct nj_run_report report;
    struct nj_error err = {0};
    struct tiny_run run = {.folder = "faulty", .job = job, .fs = &faulty.table};
    prepare_folder(fault->is_half_done);
    set_fault(&faulty, fault, n);

    enum nj_status status = tiny_run(&run, &report, &err);

    if (!faulty_files_fired(&faulty)) {
        CHECK_EQ(status, NJ_OK);
        return false;
    }
    check_end(fault, n, status, &err);
    if (status == NJ_OK) {
        check_results();
    } else {
        check_continues();
    }
    return true;
}

/* The n-th call of one kind fails, for n = 1, 2, ... until there is none; returns how many. Of
 * reads, which are hundreds, only the long form takes each. */
static unsigned long fail_every(const struct fault *fault)
{
    unsigned long stride = fault->call == FAULTY_READ && !is_long ? 7 : 1;
    unsigned long n_failed = 0;
    while (fail_one(fault, 1 + n_failed * stride)) {
        n_failed++;
    }
    return n_failed;
}

/* In the short form: once; for ever too where a write or sync fails; in a folder that is taken
 * up again where that is other code. */
static bool is_worth_it(const struct fault *fault)
{
    bool is_writing = fault->call == FAULTY_WRITE || fault->call == FAULTY_DATA_SYNC ||
                      fault->call == FAULTY_SYNC;
    bool is_recovering = fault->call == FAULTY_TRUNCATE || fault->call == FAULTY_WRITE;
    return is_long || (fault->for_ever ? is_writing && !fault->is_half_done
                                       : is_recovering || !fault->is_half_done);
}

/* Once and for ever, in a new folder and in one that is taken up again. */
static unsigned long fail_every_in_all_ways(enum faulty_call call, int error_number)
{
    unsigned long n_failed = 0;
    for (unsigned way = 0; way < 4; way++) {
        struct fault fault = {.call = call,
                              .error_number = error_number,
                              .for_ever = (way & 1) != 0,
                              .is_half_done = (way & 2) != 0};
        if (is_worth_it(&fault)) {
            n_failed += fail_every(&fault);
        }
    }
    (void)printf("%lu calls of kind %d failed: %s\n", n_failed, (int)call,
                 strerror(error_number));
    return n_failed;
}

static void a_full_disk_at_any_call_loses_nothing(void)
{
    CHECK(fail_every_in_all_ways(FAULTY_WRITE, ENOSPC) > 40);
    CHECK(fail_every_in_all_ways(FAULTY_DATA_SYNC, ENOSPC) > 20);
    CHECK(fail_every_in_all_ways(FAULTY_RENAME, ENOSPC) > 2);
    CHECK(fail_every_in_all_ways(FAULTY_MAKE_DIRECTORY, ENOSPC) > 0);
}

static void a_failed_write_anywhere_loses_nothing(void)
{
    CHECK(fail_every_in_all_ways(FAULTY_WRITE, EIO) > 40);
}

static void a_failed_sync_anywhere_loses_nothing(void)
{
    CHECK(fail_every_in_all_ways(FAULTY_DATA_SYNC, EIO) > 20);
    CHECK(fail_every_in_all_ways(FAULTY_SYNC, EIO) > 10);
}

static void a_failed_change_of_a_name_or_cut_loses_nothing(void)
{
    CHECK(fail_every_in_all_ways(FAULTY_RENAME, EIO) > 2);
    CHECK(fail_every_in_all_ways(FAULTY_UNLINK, EIO) > 0);
    CHECK(fail_every_in_all_ways(FAULTY_TRUNCATE, EIO) > 0);
}

static void a_failed_open_loses_nothing(void)
{
    CHECK(fail_every_in_all_ways(FAULTY_OPEN, EMFILE) > 20);
}

static void a_failed_read_or_close_loses_nothing(void)
{
    CHECK(fail_every_in_all_ways(FAULTY_READ, EIO) > 10);
    CHECK(fail_every_in_all_ways(FAULTY_STATUS, EIO) > 10);
    CHECK(fail_every_in_all_ways(FAULTY_CLOSE, EIO) > 20);
}

/* One of the first, then fewer and fewer: they are all read by the same few lines. */
static void a_failed_read_of_the_model_changes_nothing(void)
{
    for (unsigned long n = 1; n < 10000; n += 1 + n / 4) {
        static struct faulty_files faulty;
        struct nj_run_report report;
        struct nj_error err = {0};
        struct tiny_run run = {.folder = "faulty", .job = job, .fs = &faulty.table};
        prepare_folder(false);
        faulty_files_init(&faulty, tiny_run_files());
        faulty_files_fail(&faulty, FAULTY_READ, n, EIO);

        enum nj_status status = tiny_run(&run, &report, &err);

        if (!faulty_files_fired(&faulty)) {
            CHECK(n > 100);
            return;
        }
        CHECK(status == NJ_E_WEIGHTS || status == NJ_E_IO || status == NJ_E_STORAGE);
        CHECK(err.text[0] != '\0');
        check_continues();
    }
}

/* The n-th call of this kind does half of what was asked. */
static void cut_every(enum faulty_call call)
{
    unsigned long stride = call == FAULTY_READ && !is_long ? 7 : 1;
    for (unsigned long n = 1;; n += stride) {
        static struct faulty_files faulty;
        struct nj_run_report report;
        struct nj_error err;
        struct tiny_run run = {.folder = "faulty", .job = job, .fs = &faulty.table};
        faulty_files_init(&faulty, tiny_run_files());
        faulty.spared_suffix = ".safetensors";
        faulty_files_cut(&faulty, call, n);
        tiny_run_remove("faulty");
        REQUIRE_OK(tiny_run(&run, &report, &err), &err);
        check_results();
        if (!faulty_files_fired(&faulty)) {
            CHECK(n > 10);
            return;
        }
    }
}

static void short_writes_and_reads_change_nothing(void)
{
    cut_every(FAULTY_WRITE);
    cut_every(FAULTY_READ);
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

int main(int argc, char **argv)
{
    is_long = argc > 1 && strcmp(argv[1], "long") == 0;
    RUN(prepare);
    RUN(a_full_disk_at_any_call_loses_nothing);
    RUN(a_failed_write_anywhere_loses_nothing);
    RUN(a_failed_sync_anywhere_loses_nothing);
    RUN(a_failed_change_of_a_name_or_cut_loses_nothing);
    RUN(a_failed_open_loses_nothing);
    RUN(a_failed_read_or_close_loses_nothing);
    RUN(a_failed_read_of_the_model_changes_nothing);
    RUN(short_writes_and_reads_change_nothing);
    RUN(on_a_disk_that_fills_up_a_run_waits_for_room_and_goes_on);
    RUN(a_run_that_waits_for_room_can_be_stopped);
    RUN(a_folder_that_is_removed_ends_the_run);
    free(wanted);
    return test_result();
}
