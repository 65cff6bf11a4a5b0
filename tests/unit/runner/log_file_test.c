#include "runner/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash/tiny_run.h"
#include "support/check.h"
#include "support/faulty_files.h"

enum { KIND = 'T' | 'E' << 8 | 'S' << 16 | 'T' << 24, N_RECORDS = 5 };

/* Sum and number of the records' first bytes, to know which were visited. */
struct seen {
    unsigned n_records;
    char last;
};

static enum nj_status see(void *context, const struct nj_record *record, struct nj_error *err)
{
    struct seen *seen = context;
    (void)err;
    seen->n_records++;
    seen->last = (char)record->payload.data[0];
    return NJ_OK;
}

static int directory_fd = -1;

static struct nj_log_file_place place_of(const struct nj_file_system *fs, uint32_t version)
{
    return (struct nj_log_file_place){
        .fs = fs,
        .directory_fd = directory_fd,
        .name = "test.log",
        .identity = {.kind = KIND, .format_version = version, .salt = 0x1234567890abcdef}};
}

static enum nj_status open_log(struct nj_log_file *file, struct seen *seen,
                               struct nj_error *err)
{
    struct nj_log_file_place place = place_of(tiny_run_files(), 1);
    *seen = (struct seen){0};
    return nj_log_file_open(file, &place, see, seen, err);
}

static void append_letter(struct nj_log_file *file, char letter)
{
    struct nj_error err;
    char text[10];
    memset(text, letter, sizeof text);
    struct nj_bytes payload = {.data = (const uint8_t *)text, .length_bytes = sizeof text};
    REQUIRE_OK(nj_log_file_append(file, 1, payload, NULL, &err), &err);
}

/* A fresh log of records a, b, c, d, e; returns its length. */
static uint64_t write_log(void)
{
    struct nj_log_file file;
    struct seen seen;
    struct nj_error err;
    (void)unlinkat(directory_fd, "test.log", 0);
    CHECK_EQ(open_log(&file, &seen, &err), NJ_OK);
    for (int i = 0; i < N_RECORDS; i++) {
        append_letter(&file, (char)('a' + i));
    }
    nj_log_file_close(&file);
    return file.length_bytes;
}

static uint64_t length_of(const char *name)
{
    struct stat status;
    return fstatat(directory_fd, name, &status, 0) == 0 ? (uint64_t)status.st_size : 0;
}

static void write_at(uint64_t offset, const void *bytes, size_t n_bytes)
{
    int fd = openat(directory_fd, "test.log", O_WRONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    CHECK_EQ(pwrite(fd, bytes, n_bytes, (off_t)offset), (ssize_t)n_bytes);
    (void)close(fd);
}

static void cut_at(uint64_t length_bytes)
{
    int fd = openat(directory_fd, "test.log", O_WRONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    CHECK_EQ(ftruncate(fd, (off_t)length_bytes), 0);
    (void)close(fd);
}

static void what_was_appended_is_visited_in_order(void)
{
    struct nj_log_file file;
    struct seen seen;
    struct nj_error err;
    (void)write_log();

    REQUIRE_OK(open_log(&file, &seen, &err), &err);
    CHECK_EQ(seen.n_records, N_RECORDS);
    CHECK_EQ(seen.last, 'e');
    append_letter(&file, 'f');
    nj_log_file_close(&file);

    REQUIRE_OK(open_log(&file, &seen, &err), &err);
    CHECK_EQ(seen.n_records, N_RECORDS + 1);
    CHECK_EQ(seen.last, 'f');
    nj_log_file_close(&file);
}

static void after_a_sync_it_is_known_where_each_payload_lies(void)
{
    struct nj_log_file file;
    struct seen seen;
    struct nj_error err;
    size_t ordinals[2] = {9, 9};
    char found[3];
    struct nj_bytes payload = {.data = (const uint8_t *)"xyz", .length_bytes = 3};
    (void)write_log();
    REQUIRE_OK(open_log(&file, &seen, &err), &err);

    append_letter(&file, 'q');
    REQUIRE_OK(nj_log_file_sync(&file, &err), &err);
    REQUIRE_OK(nj_log_file_append(&file, 1, (struct nj_bytes){0}, &ordinals[0], &err), &err);
    REQUIRE_OK(nj_log_file_append(&file, 1, payload, &ordinals[1], &err), &err);
    REQUIRE_OK(nj_log_file_sync(&file, &err), &err);

    CHECK_EQ(ordinals[0], 0);
    CHECK_EQ(ordinals[1], 1);
    struct nj_log_spot spot = nj_log_file_spot(&file, ordinals[1]);
    CHECK_EQ(spot.segment, 1);
    CHECK_EQ(spot.n_bytes, 3);
    REQUIRE_OK(nj_file_read_exactly(tiny_run_files(), file.fd, found, 3, spot.offset_bytes,
                                    "test.log", &err),
               &err);
    CHECK_BYTES(found, "xyz", 3);
    nj_log_file_close(&file);
}

/* At every length: what is whole stays, the rest is copied away and cut, appending works, and a
 * second opening finds nothing to do. */
static void a_log_cut_at_any_byte_keeps_its_whole_records(void)
{
    uint64_t whole = write_log();
    uint64_t record = (whole - NJ_RECORD_LOG_HEADER_BYTES) / N_RECORDS;
    for (uint64_t length = 0; length < whole; length++) {
        struct nj_log_file file;
        struct seen seen;
        struct nj_error err;
        (void)write_log();
        cut_at(length);
        uint64_t n_whole = length < NJ_RECORD_LOG_HEADER_BYTES
                               ? 0
                               : (length - NJ_RECORD_LOG_HEADER_BYTES) / record;

        REQUIRE_OK(open_log(&file, &seen, &err), &err);
        CHECK_EQ(seen.n_records, n_whole);
        CHECK_EQ(length_of("test.log"), NJ_RECORD_LOG_HEADER_BYTES + n_whole * record);
        append_letter(&file, 'z');
        nj_log_file_close(&file);

        REQUIRE_OK(open_log(&file, &seen, &err), &err);
        CHECK_EQ(seen.n_records, n_whole + 1);
        CHECK_EQ(seen.last, 'z');
        nj_log_file_close(&file);
    }
}

static void a_flipped_byte_keeps_the_records_before_it_and_quarantines_the_rest(void)
{
    uint64_t whole = write_log();
    uint64_t record = (whole - NJ_RECORD_LOG_HEADER_BYTES) / N_RECORDS;
    for (uint64_t at = NJ_RECORD_LOG_HEADER_BYTES; at < whole; at += 7) {
        struct nj_log_file file;
        struct seen seen;
        struct nj_error err;
        char name[64];
        uint64_t n_before = (at - NJ_RECORD_LOG_HEADER_BYTES) / record;
        uint64_t kept = NJ_RECORD_LOG_HEADER_BYTES + n_before * record;
        uint8_t flipped = 0;
        (void)write_log();
        int fd = openat(directory_fd, "test.log", O_RDONLY | O_CLOEXEC);
        CHECK_EQ(pread(fd, &flipped, 1, (off_t)at), 1);
        (void)close(fd);
        flipped ^= 0x40;
        write_at(at, &flipped, 1);
        (void)snprintf(name, sizeof name, "test.log.bad-%llu", (unsigned long long)kept);
        (void)unlinkat(directory_fd, name, 0);

        REQUIRE_OK(open_log(&file, &seen, &err), &err);

        /* Padding behind a payload belongs to no checksum that hides it: all is verified. */
        CHECK_EQ(seen.n_records, n_before);
        CHECK_EQ(length_of("test.log"), kept);
        CHECK_EQ(length_of(name), whole - kept);
        nj_log_file_close(&file);
    }
}

static void a_damaged_header_begins_the_log_anew_and_keeps_the_old_bytes_aside(void)
{
    struct nj_log_file file;
    struct seen seen;
    struct nj_error err;
    uint64_t whole = write_log();
    (void)unlinkat(directory_fd, "test.log.bad-0", 0);
    write_at(12, "?", 1);

    REQUIRE_OK(open_log(&file, &seen, &err), &err);

    CHECK_EQ(seen.n_records, 0);
    CHECK_EQ(length_of("test.log"), NJ_RECORD_LOG_HEADER_BYTES);
    CHECK_EQ(length_of("test.log.bad-0"), whole);
    append_letter(&file, 'z');
    nj_log_file_close(&file);
    REQUIRE_OK(open_log(&file, &seen, &err), &err);
    CHECK_EQ(seen.last, 'z');
    nj_log_file_close(&file);
}

static void zeros_at_the_end_are_cut_without_a_word(void)
{
    static const char zeros[1000];
    struct nj_log_file file;
    struct seen seen;
    struct nj_error err;
    char name[64];
    uint64_t whole = write_log();
    write_at(whole, zeros, sizeof zeros);
    (void)snprintf(name, sizeof name, "test.log.bad-%llu", (unsigned long long)whole);
    (void)unlinkat(directory_fd, name, 0);

    REQUIRE_OK(open_log(&file, &seen, &err), &err);

    CHECK_EQ(seen.n_records, N_RECORDS);
    CHECK_EQ(length_of("test.log"), whole);
    CHECK_EQ(length_of(name), 0);
    nj_log_file_close(&file);
}

static void a_newer_version_is_refused_and_not_touched(void)
{
    struct nj_log_file file;
    struct seen seen = {0};
    struct nj_error err;
    struct nj_log_file_place newer = place_of(tiny_run_files(), 2);
    (void)unlinkat(directory_fd, "test.log", 0);
    REQUIRE_OK(nj_log_file_open(&file, &newer, see, &seen, &err), &err);
    append_letter(&file, 'a');
    nj_log_file_close(&file);
    uint64_t length_bytes = length_of("test.log");

    CHECK_EQ(open_log(&file, &seen, &err), NJ_E_STATE);

    CHECK_CONTAINS(err.text, "newer nightjar");
    CHECK_EQ(length_of("test.log"), length_bytes);
}

static void another_kind_of_log_is_refused_and_not_touched(void)
{
    struct nj_log_file file;
    struct seen seen = {0};
    struct nj_error err;
    struct nj_log_file_place other = place_of(tiny_run_files(), 1);
    uint64_t length_bytes = write_log();
    other.identity.kind = KIND + 1;

    CHECK_EQ(nj_log_file_open(&file, &other, see, &seen, &err), NJ_E_STATE);

    CHECK_EQ(length_of("test.log"), length_bytes);
}

/* Damaged twice at the same place, with other bytes: both are evidence. */
static void quarantined_bytes_are_never_overwritten(void)
{
    struct nj_log_file file;
    struct seen seen;
    struct nj_error err;
    char first[64];
    char second[80];
    uint64_t whole = write_log();
    uint64_t record = (whole - NJ_RECORD_LOG_HEADER_BYTES) / N_RECORDS;
    uint64_t kept = whole - record;
    (void)snprintf(first, sizeof first, "test.log.bad-%llu", (unsigned long long)kept);
    (void)snprintf(second, sizeof second, "%s.2", first);
    (void)unlinkat(directory_fd, first, 0);
    (void)unlinkat(directory_fd, second, 0);
    write_at(kept + 40, "?", 1);
    REQUIRE_OK(open_log(&file, &seen, &err), &err);
    nj_log_file_close(&file);
    CHECK_EQ(length_of(first), record);

    (void)write_log();
    cut_at(whole - 1);
    write_at(kept + 40, "!", 1);
    REQUIRE_OK(open_log(&file, &seen, &err), &err);
    nj_log_file_close(&file);

    CHECK_EQ(length_of(first), record);
    CHECK_EQ(length_of(second), record - 1);
}

/* Dying between the copy and the cut. */
static void the_same_bytes_are_quarantined_once(void)
{
    struct faulty_files faulty;
    struct nj_log_file file;
    struct seen seen = {0};
    struct nj_error err;
    char name[64];
    char again[80];
    uint64_t whole = write_log();
    uint64_t kept = whole - (whole - NJ_RECORD_LOG_HEADER_BYTES) / N_RECORDS;
    (void)snprintf(name, sizeof name, "test.log.bad-%llu", (unsigned long long)kept);
    (void)snprintf(again, sizeof again, "%s.2", name);
    (void)unlinkat(directory_fd, name, 0);
    (void)unlinkat(directory_fd, again, 0);
    cut_at(whole - 1);
    faulty_files_init(&faulty, tiny_run_files());
    struct nj_log_file_place place = place_of(&faulty.table, 1);
    faulty_files_fail(&faulty, FAULTY_TRUNCATE, 1, EIO);
    faulty_files_fail_for_ever(&faulty, FAULTY_DATA_SYNC, 1, EIO);
    CHECK_EQ(nj_log_file_open(&file, &place, see, &seen, &err), NJ_E_STORAGE);
    CHECK(length_of(name) > 0);

    REQUIRE_OK(open_log(&file, &seen, &err), &err);

    CHECK_EQ(length_of(again), 0);
    nj_log_file_close(&file);
}

/* Records that cross the pieces in which a log is read, and one longer than a piece. */
static void a_log_larger_than_what_is_read_at_once_is_read_whole(void)
{
    enum { LONG_BYTES = 700 * 1000, N_LONG = 7, LONGEST_BYTES = 3 << 20 };
    struct nj_log_file file;
    struct seen seen;
    struct nj_error err;
    char *text = malloc(LONGEST_BYTES);
    REQUIRE(text != NULL);
    (void)unlinkat(directory_fd, "test.log", 0);
    CHECK_EQ(open_log(&file, &seen, &err), NJ_OK);
    for (int i = 0; i < N_LONG; i++) {
        memset(text, 'a' + i, LONGEST_BYTES);
        struct nj_bytes payload = {.data = (const uint8_t *)text,
                                   .length_bytes = i == 3 ? LONGEST_BYTES : LONG_BYTES};
        REQUIRE_OK(nj_log_file_append(&file, 1, payload, NULL, &err), &err);
    }
    uint64_t whole = file.length_bytes;
    nj_log_file_close(&file);
    free(text);

    REQUIRE_OK(open_log(&file, &seen, &err), &err);
    CHECK_EQ(seen.n_records, N_LONG);
    CHECK_EQ(seen.last, 'g');
    nj_log_file_close(&file);

    write_at(whole - 2 * LONG_BYTES, "?", 1);
    REQUIRE_OK(open_log(&file, &seen, &err), &err);
    CHECK_EQ(seen.n_records, N_LONG - 2);
    char name[64];
    (void)snprintf(name, sizeof name, "test.log.bad-%llu",
                   (unsigned long long)file.length_bytes);
    CHECK_EQ(length_of(name), whole - file.length_bytes);
    nj_log_file_close(&file);
}

static enum nj_status doubt_c(void *context, const struct nj_record *record,
                              struct nj_error *err)
{
    if (record->payload.data[0] == 'c') {
        return nj_fail(err, NJ_E_STATE, "a record that cannot be true");
    }
    return see(context, record, err);
}

static void a_record_that_cannot_be_true_is_damage(void)
{
    struct nj_log_file file;
    struct seen seen = {0};
    struct nj_error err;
    struct nj_log_file_place place = place_of(tiny_run_files(), 1);
    (void)write_log();

    REQUIRE_OK(nj_log_file_open(&file, &place, doubt_c, &seen, &err), &err);
    append_letter(&file, 'x');
    nj_log_file_close(&file);

    REQUIRE_OK(open_log(&file, &seen, &err), &err);
    CHECK_EQ(seen.n_records, 3);
    CHECK_EQ(seen.last, 'x');
    nj_log_file_close(&file);
}

static void looking_at_a_log_changes_nothing(void)
{
    struct nj_log_found found;
    struct seen seen = {0};
    struct nj_error err;
    struct nj_log_file_place place = place_of(tiny_run_files(), 1);
    uint64_t whole = write_log();
    cut_at(whole - 3);

    REQUIRE_OK(nj_log_file_read(&place, see, &seen, &found, &err), &err);

    CHECK_EQ(seen.n_records, N_RECORDS - 1);
    CHECK_EQ(found.scan.end, NJ_LOG_END_TORN);
    CHECK_EQ(length_of("test.log"), whole - 3);
    (void)unlinkat(directory_fd, "test.log", 0);
    REQUIRE_OK(nj_log_file_read(&place, see, &seen, &found, &err), &err);
    CHECK(!found.exists);
    CHECK_EQ(length_of("test.log"), 0);
}

int main(void)
{
    directory_fd = open(test_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    RUN(what_was_appended_is_visited_in_order);
    RUN(after_a_sync_it_is_known_where_each_payload_lies);
    RUN(a_log_cut_at_any_byte_keeps_its_whole_records);
    RUN(a_flipped_byte_keeps_the_records_before_it_and_quarantines_the_rest);
    RUN(a_damaged_header_begins_the_log_anew_and_keeps_the_old_bytes_aside);
    RUN(zeros_at_the_end_are_cut_without_a_word);
    RUN(a_newer_version_is_refused_and_not_touched);
    RUN(another_kind_of_log_is_refused_and_not_touched);
    RUN(quarantined_bytes_are_never_overwritten);
    RUN(the_same_bytes_are_quarantined_once);
    RUN(a_log_larger_than_what_is_read_at_once_is_read_whole);
    RUN(a_record_that_cannot_be_true_is_damage);
    RUN(looking_at_a_log_changes_nothing);
    return test_result();
}
