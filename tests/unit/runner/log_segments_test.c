/* A log whose storage fails under it goes on in a new segment, and reads as if it had not. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash/tiny_run.h"
#include "runner/log_file.h"
#include "support/check.h"
#include "support/faulty_files.h"

enum { KIND = 'T' | 'E' << 8 | 'S' << 16 | 'T' << 24 };

static int directory_fd = -1;

/* The letters of all records, in order. */
struct letters {
    char text[64];
    size_t n;
};

static enum nj_status see(void *context, const struct nj_record *record, struct nj_error *err)
{
    struct letters *letters = context;
    (void)err;
    if (letters->n + 1 < sizeof letters->text) {
        letters->text[letters->n++] = (char)record->payload.data[0];
    }
    return NJ_OK;
}

static struct nj_log_file_place place_of(const struct nj_file_system *fs)
{
    return (struct nj_log_file_place){
        .fs = fs,
        .directory_fd = directory_fd,
        .name = "test.log",
        .identity = {.kind = KIND, .format_version = 1, .salt = 0x1234567890abcdef}};
}

static void remove_all(void)
{
    (void)unlinkat(directory_fd, "test.log", 0);
    for (unsigned number = 2; number < 8; number++) {
        char name[32];
        (void)snprintf(name, sizeof name, "test.log.%u", number);
        (void)unlinkat(directory_fd, name, 0);
    }
}

static bool exists(const char *name)
{
    return faccessat(directory_fd, name, F_OK, 0) == 0;
}

static enum nj_status append(struct nj_log_file *file, const char *letters,
                             struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (; *letters != '\0' && status == NJ_OK; letters++) {
        struct nj_bytes payload = {.data = (const uint8_t *)letters, .length_bytes = 1};
        status = nj_log_file_append(file, 1, payload, NULL, err);
    }
    return status;
}

static enum nj_status open_log(struct nj_log_file *file, const struct nj_file_system *fs,
                               struct letters *letters, struct nj_error *err)
{
    struct nj_log_file_place place = place_of(fs);
    *letters = (struct letters){.n = 0};
    return nj_log_file_open(file, &place, see, letters, err);
}

static void check_log(const char *wanted)
{
    struct letters letters = {.n = 0};
    struct nj_log_found found;
    struct nj_error err;
    struct nj_log_file_place place = place_of(tiny_run_files());
    REQUIRE_OK(nj_log_file_read(&place, see, &letters, &found, &err), &err);
    CHECK_TEXT(letters.text, wanted);
}

/* Three batches, each synced; the log is closed also after a failure. */
static enum nj_status write_batches(const struct nj_file_system *fs, struct nj_error *err)
{
    static const char *const batches[] = {"ab", "cde", "f"};
    struct nj_log_file file;
    struct letters letters;
    enum nj_status status = open_log(&file, fs, &letters, err);
    for (size_t i = 0; i < 3 && status == NJ_OK; i++) {
        status = append(&file, batches[i], err);
        if (status == NJ_OK) {
            status = nj_log_file_sync(&file, err);
        }
    }
    nj_log_file_close(&file);
    return status;
}

/* Every call of one kind fails once: the writer never hears of it, and nothing is lost or
 * doubled. Returns how many there are. */
static unsigned long fail_every(enum faulty_call call)
{
    for (unsigned long n = 1;; n++) {
        struct faulty_files faulty;
        struct nj_log_file file;
        struct letters letters;
        struct nj_error err = {0};
        remove_all();
        faulty_files_init(&faulty, tiny_run_files());
        faulty_files_fail(&faulty, call, n, EIO);

        CHECK_EQ(write_batches(&faulty.table, &err), NJ_OK);
        CHECK_TEXT(err.text, "");
        check_log("abcdef");
        if (!faulty_files_fired(&faulty)) {
            CHECK(!exists("test.log.2"));
            return n - 1;
        }

        CHECK(exists("test.log.2"));
        CHECK_EQ(open_log(&file, tiny_run_files(), &letters, &err), NJ_OK);
        CHECK_EQ(append(&file, "gh", &err), NJ_OK);
        nj_log_file_close(&file);
        check_log("abcdefgh");
    }
}

static void a_write_that_fails_anywhere_is_made_good_in_a_new_segment(void)
{
    CHECK_EQ(fail_every(FAULTY_WRITE), 1 + 6);
}

static void a_sync_that_fails_anywhere_is_made_good_in_a_new_segment(void)
{
    CHECK_EQ(fail_every(FAULTY_DATA_SYNC), 1 + 3);
    CHECK(fail_every(FAULTY_SYNC) > 0);
}

/* What came behind the failed sync may read well today and be gone tomorrow. */
static void what_was_not_durable_in_the_old_segment_does_not_count(void)
{
    struct faulty_files faulty;
    struct nj_log_file file;
    struct letters letters;
    struct nj_error err;
    remove_all();
    faulty_files_init(&faulty, tiny_run_files());
    REQUIRE_OK(open_log(&file, &faulty.table, &letters, &err), &err);
    REQUIRE_OK(append(&file, "ab", &err), &err);
    REQUIRE_OK(nj_log_file_sync(&file, &err), &err);
    uint64_t durable_bytes = file.length_bytes;
    REQUIRE_OK(append(&file, "cd", &err), &err);
    faulty_files_fail(&faulty, FAULTY_DATA_SYNC, 1, EIO);
    REQUIRE_OK(nj_log_file_sync(&file, &err), &err);
    CHECK_EQ(nj_log_file_spot(&file, 1).segment, 2);
    nj_log_file_close(&file);
    check_log("abcd");

    int fd = openat(directory_fd, "test.log", O_WRONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    CHECK_EQ(ftruncate(fd, (off_t)durable_bytes), 0);
    (void)close(fd);

    check_log("abcd");
}

static void when_the_new_segment_fails_too_the_log_takes_nothing_more(void)
{
    struct faulty_files faulty;
    struct nj_log_file file;
    struct letters letters;
    struct nj_error err;
    remove_all();
    faulty_files_init(&faulty, tiny_run_files());
    REQUIRE_OK(open_log(&file, &faulty.table, &letters, &err), &err);
    REQUIRE_OK(append(&file, "ab", &err), &err);
    faulty_files_fail_for_ever(&faulty, FAULTY_DATA_SYNC, 1, EIO);

    CHECK_EQ(nj_log_file_sync(&file, &err), NJ_E_STORAGE);
    CHECK_CONTAINS(err.text, "a new segment did not help");
    CHECK_EQ(append(&file, "c", &err), NJ_E_STORAGE);
    CHECK_CONTAINS(err.text, "earlier write or sync failed");
    CHECK_EQ(nj_log_file_sync(&file, &err), NJ_E_STORAGE);
    nj_log_file_close(&file);
}

static void segments_follow_each_other_as_often_as_the_storage_fails(void)
{
    struct nj_error err;
    struct nj_log_file file;
    remove_all();
    for (unsigned i = 0; i < 3; i++) {
        struct faulty_files faulty;
        struct letters letters;
        faulty_files_init(&faulty, tiny_run_files());
        REQUIRE_OK(open_log(&file, &faulty.table, &letters, &err), &err);
        REQUIRE_OK(append(&file, "x", &err), &err);
        faulty_files_fail(&faulty, FAULTY_DATA_SYNC, 1, EIO);
        REQUIRE_OK(nj_log_file_sync(&file, &err), &err);
        REQUIRE_OK(append(&file, "y", &err), &err);
        nj_log_file_close(&file);
    }
    CHECK_EQ(file.segment, 4);
    check_log("xyxyxy");
}

/* Somebody died while the segment was being made, or its beginning was damaged since. */
static void a_segment_that_does_not_begin_well_is_passed_over_and_never_used(void)
{
    struct nj_log_file file;
    struct letters letters;
    struct nj_error err;
    remove_all();
    REQUIRE_OK(write_batches(tiny_run_files(), &err), &err);
    int fd = openat(directory_fd, "test.log.2", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    CHECK_EQ(write(fd, "half a header", 13), 13);
    (void)close(fd);

    REQUIRE_OK(open_log(&file, tiny_run_files(), &letters, &err), &err);
    REQUIRE_OK(append(&file, "g", &err), &err);
    nj_log_file_close(&file);

    CHECK_TEXT(letters.text, "abcdef");
    CHECK(exists("test.log.3"));
    check_log("abcdefg");
    struct stat status;
    CHECK_EQ(fstatat(directory_fd, "test.log.2", &status, 0), 0);
    CHECK_EQ(status.st_size, 13);
}

static void damage_in_an_old_segment_costs_only_what_stood_behind_it_there(void)
{
    struct faulty_files faulty;
    struct nj_log_found found;
    struct letters letters = {.n = 0};
    struct nj_error err = {0};
    struct nj_log_file_place place = place_of(tiny_run_files());
    remove_all();
    faulty_files_init(&faulty, tiny_run_files());
    faulty_files_fail(&faulty, FAULTY_DATA_SYNC, 4, EIO); /* that of "f" */
    REQUIRE_OK(write_batches(&faulty.table, &err), &err);
    int fd = openat(directory_fd, "test.log", O_WRONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    off_t third = NJ_RECORD_LOG_HEADER_BYTES + 2 * (off_t)nj_record_encoded_bytes(1);
    CHECK_EQ(pwrite(fd, "?", 1, third + NJ_RECORD_HEADER_BYTES), 1);
    (void)close(fd);

    REQUIRE_OK(nj_log_file_read(&place, see, &letters, &found, &err), &err);

    CHECK_TEXT(letters.text, "abf");
    CHECK_EQ(found.n_damaged, 1);
    CHECK_EQ(found.damaged, 1);
    CHECK(found.complaint[0] != '\0');
}

static void a_segment_of_a_newer_version_is_refused(void)
{
    struct faulty_files faulty;
    struct letters letters = {.n = 0};
    struct nj_log_found found;
    struct nj_error err = {0};
    struct nj_log_file_place newer = place_of(tiny_run_files());
    remove_all();
    faulty_files_init(&faulty, tiny_run_files());
    faulty_files_fail(&faulty, FAULTY_DATA_SYNC, 2, EIO);
    REQUIRE_OK(write_batches(&faulty.table, &err), &err);
    newer.identity.format_version = 0; /* this nightjar knows none as new as the files' */

    CHECK_EQ(nj_log_file_read(&newer, see, &letters, &found, &err), NJ_E_STATE);
    CHECK_EQ(letters.n, 0);
}

int main(void)
{
    directory_fd = open(test_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    RUN(a_write_that_fails_anywhere_is_made_good_in_a_new_segment);
    RUN(a_sync_that_fails_anywhere_is_made_good_in_a_new_segment);
    RUN(what_was_not_durable_in_the_old_segment_does_not_count);
    RUN(when_the_new_segment_fails_too_the_log_takes_nothing_more);
    RUN(segments_follow_each_other_as_often_as_the_storage_fails);
    RUN(a_segment_that_does_not_begin_well_is_passed_over_and_never_used);
    RUN(damage_in_an_old_segment_costs_only_what_stood_behind_it_there);
    RUN(a_segment_of_a_newer_version_is_refused);
    return test_result();
}
