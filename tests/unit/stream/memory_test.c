#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stream/stream.h"
#include "support/check.h"
#include "support/failing_malloc.h"
#include "support/faulty_files.h"

/* Two files whose every byte tells its file and offset. */
enum { FILE_BYTES = 10000, N_FILES = 2, N_RECORDS = 5 };

static char paths[N_FILES][PATH_MAX];
static struct nj_stream_file files[N_FILES];

static uint8_t byte_of(uint32_t file, uint64_t offset)
{
    return (uint8_t)(UINT64_C(131) * file + offset * 7 + offset / 256);
}

static void write_files(void)
{
    for (uint32_t i = 0; i < N_FILES; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/shard%u", test_folder(), i);
        FILE *file = fopen(paths[i], "wb");
        for (uint64_t offset = 0; offset < FILE_BYTES; offset++) {
            CHECK(fputc(byte_of(i, offset), file) != EOF);
        }
        CHECK_EQ(fclose(file), 0);
        files[i] = (struct nj_stream_file){paths[i], FILE_BYTES};
    }
}

/* Neither in file order nor aligned; two overlap, the last ends with its file. */
static const struct nj_extent extents[N_RECORDS] = {
    {.file = 1, .offset_bytes = 4097, .length_bytes = 3000},
    {.file = 0, .offset_bytes = 0, .length_bytes = 1},
    {.file = 1, .offset_bytes = 13, .length_bytes = 4500},
    {.file = 0, .offset_bytes = 777, .length_bytes = 5000},
    {.file = 1, .offset_bytes = FILE_BYTES - 1, .length_bytes = 1},
};

static struct nj_stream_options options_with(const struct nj_file_system *fs,
                                             struct nj_byte_budget *budget)
{
    struct nj_stream_options options = {
        .fs = fs,
        .budget = budget,
        .files = files,
        .n_files = N_FILES,
        .extents = extents,
        .n_records = N_RECORDS,
    };
    return options;
}

static void check_refused(const struct nj_stream_options *options, enum nj_status wanted,
                          const char *complaint)
{
    struct nj_stream *stream = NULL;
    struct nj_error error = {NJ_OK, ""};
    CHECK_EQ(nj_stream_open(options, &stream, &error), wanted);
    CHECK_EQ(error.status, wanted);
    CHECK_CONTAINS(error.text, complaint);
    CHECK(stream == NULL);
    CHECK_EQ(options->budget->held_bytes, 0);
}

static void pinned_records_hold_the_bytes_of_their_extents(void)
{
    struct nj_byte_budget budget;
    struct nj_stream *stream = NULL;
    struct nj_error error;
    nj_byte_budget_init(&budget, UINT64_MAX);
    struct nj_stream_options options = options_with(nj_file_system_real(), &budget);
    REQUIRE_OK(nj_stream_open(&options, &stream, &error), &error);

    for (uint32_t record = 0; record < N_RECORDS; record++) {
        struct nj_pinned pinned = {NULL, 99};
        nj_stream_want(stream, &record, 1);
        REQUIRE_OK(nj_stream_pin(stream, record, &pinned, &error), &error);
        CHECK_EQ(pinned.device, 0);
        for (uint64_t i = 0; i < extents[record].length_bytes; i++) {
            uint8_t wanted = byte_of(extents[record].file, extents[record].offset_bytes + i);
            if (pinned.bytes[i] != wanted) {
                CHECK_EQ(pinned.bytes[i], wanted);
                break;
            }
        }
        nj_stream_unpin(stream, record);
    }
    CHECK_EQ(nj_stream_read_bytes(stream), 3000 + 1 + 4500 + 5000 + 1);
    nj_stream_close(stream);
    nj_byte_budget_deinit(&budget);
}

static void record_stays_while_one_of_its_pins_is_left(void)
{
    struct nj_byte_budget budget;
    struct nj_stream *stream = NULL;
    struct nj_error error;
    struct nj_pinned first;
    struct nj_pinned second;
    nj_byte_budget_init(&budget, UINT64_MAX);
    struct nj_stream_options options = options_with(nj_file_system_real(), &budget);
    REQUIRE_OK(nj_stream_open(&options, &stream, &error), &error);
    REQUIRE_OK(nj_stream_pin(stream, 3, &first, &error), &error);
    REQUIRE_OK(nj_stream_pin(stream, 3, &second, &error), &error);

    nj_stream_unpin(stream, 3);

    CHECK(first.bytes == second.bytes);
    CHECK_EQ(second.bytes[4999], byte_of(0, 777 + 4999));
    nj_stream_unpin(stream, 3);
    nj_stream_close(stream);
    nj_byte_budget_deinit(&budget);
}

static void memory_is_paid_for_and_given_back(void)
{
    struct nj_byte_budget budget;
    struct nj_stream *stream = NULL;
    struct nj_error error;
    nj_byte_budget_init(&budget, 16384);
    struct nj_stream_options options = options_with(nj_file_system_real(), &budget);
    REQUIRE_OK(nj_stream_open(&options, &stream, &error), &error);
    CHECK_EQ(budget.held_bytes, 16384);
    nj_stream_close(stream);
    CHECK_EQ(budget.held_bytes, 0);
    nj_byte_budget_deinit(&budget);
}

static void budget_too_small_is_refused_with_both_figures_before_a_byte_is_read(void)
{
    struct nj_byte_budget budget;
    struct faulty_files faulty;
    nj_byte_budget_init(&budget, 16383);
    faulty_files_init(&faulty, nj_file_system_real());
    struct nj_stream_options options = options_with(&faulty.table, &budget);

    check_refused(&options, NJ_E_BUDGET,
                  "hold the weights in memory: needs 16384 bytes, but 16383 of the budget of "
                  "16383 bytes are left (1 missing)");
    CHECK_EQ(faulty.n_calls[FAULTY_READ], 0);
    nj_byte_budget_deinit(&budget);
}

static void file_of_another_length_than_indexed_is_refused(void)
{
    struct nj_byte_budget budget;
    nj_byte_budget_init(&budget, UINT64_MAX);
    struct nj_stream_options options = options_with(nj_file_system_real(), &budget);
    files[1].length_bytes = FILE_BYTES + 1;
    check_refused(&options, NJ_E_WEIGHTS,
                  "shard1: has 10000 bytes, wanted the 10001 it had when its header was read");
    files[1].length_bytes = FILE_BYTES;
    CHECK_EQ(truncate(paths[0], FILE_BYTES - 1), 0);
    check_refused(&options, NJ_E_WEIGHTS, "shard0: has 9999 bytes");
    CHECK_EQ(unlink(paths[0]), 0);
    check_refused(&options, NJ_E_WEIGHTS, "shard0: No such file or directory");
    write_files();
    nj_byte_budget_deinit(&budget);
}

/* The file shrinks between asking for its length and reading it. */
static ssize_t nothing_read(void *context, int fd, void *data, size_t length_bytes,
                            off_t offset)
{
    (void)context;
    (void)fd;
    (void)data;
    (void)length_bytes;
    return offset < 777 ? 1 : 0;
}

static void short_file_is_refused_with_offset_wanted_and_found(void)
{
    struct nj_byte_budget budget;
    struct nj_file_system shrinking = *nj_file_system_real();
    shrinking.read_at = nothing_read;
    nj_byte_budget_init(&budget, UINT64_MAX);
    struct nj_stream_options options = options_with(&shrinking, &budget);
    check_refused(&options, NJ_E_WEIGHTS, "shard0 at offset 777: wanted 5000 bytes, found 0");
    nj_byte_budget_deinit(&budget);
}

static void every_failing_call_ends_the_opening_and_releases_everything(void)
{
    static const enum faulty_call calls[] = {FAULTY_OPEN, FAULTY_STATUS, FAULTY_READ};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        unsigned long n = 1;
        for (;; n++) {
            struct nj_byte_budget budget;
            struct faulty_files faulty;
            struct nj_stream *stream = NULL;
            struct nj_error error;
            nj_byte_budget_init(&budget, UINT64_MAX);
            faulty_files_init(&faulty, nj_file_system_real());
            faulty_files_fail(&faulty, calls[i], n, EIO);
            struct nj_stream_options options = options_with(&faulty.table, &budget);
            enum nj_status status = nj_stream_open(&options, &stream, &error);
            if (!faulty_files_fired(&faulty)) {
                CHECK_EQ(status, NJ_OK);
                nj_stream_close(stream);
                break;
            }
            CHECK_EQ(status, NJ_E_WEIGHTS);
            CHECK_CONTAINS(error.text, "Input/output error");
            CHECK_CONTAINS(error.text, "shard");
            CHECK_EQ(faulty.n_calls[FAULTY_CLOSE],
                     faulty.n_calls[FAULTY_OPEN] - (calls[i] == FAULTY_OPEN ? 1 : 0));
            nj_byte_budget_deinit(&budget);
        }
        CHECK(n > N_FILES);
    }
}

static void short_reads_are_continued(void)
{
    for (unsigned long n = 1; n <= N_RECORDS; n++) {
        struct nj_byte_budget budget;
        struct faulty_files faulty;
        struct nj_stream *stream = NULL;
        struct nj_error error;
        struct nj_pinned pinned;
        nj_byte_budget_init(&budget, UINT64_MAX);
        faulty_files_init(&faulty, nj_file_system_real());
        faulty_files_cut(&faulty, FAULTY_READ, n);
        struct nj_stream_options options = options_with(&faulty.table, &budget);
        REQUIRE_OK(nj_stream_open(&options, &stream, &error), &error);
        REQUIRE_OK(nj_stream_pin(stream, 0, &pinned, &error), &error);
        CHECK_EQ(pinned.bytes[2999], byte_of(1, 4097 + 2999));
        nj_stream_unpin(stream, 0);
        nj_stream_close(stream);
        nj_byte_budget_deinit(&budget);
    }
}

static void check_extent_refused(struct nj_extent extent, const char *complaint)
{
    struct nj_byte_budget budget;
    nj_byte_budget_init(&budget, UINT64_MAX);
    struct nj_stream_options options = options_with(nj_file_system_real(), &budget);
    options.extents = &extent;
    options.n_records = 1;
    check_refused(&options, NJ_E_INTERNAL, complaint);
    nj_byte_budget_deinit(&budget);
}

static void extents_outside_their_file_are_refused(void)
{
    check_extent_refused((struct nj_extent){.file = 2, .length_bytes = 1}, "file 2 of 2");
    check_extent_refused((struct nj_extent){.length_bytes = 0}, "record 0: 0 bytes");
    check_extent_refused((struct nj_extent){.length_bytes = FILE_BYTES + 1}, "10001 bytes");
    check_extent_refused((struct nj_extent){.offset_bytes = FILE_BYTES, .length_bytes = 1},
                         "1 bytes at offset 10000");
    check_extent_refused((struct nj_extent){.offset_bytes = UINT64_MAX, .length_bytes = 2},
                         "at offset 18446744073709551615");
    files[0].length_bytes = UINT64_MAX;
    check_extent_refused(
        (struct nj_extent){.length_bytes = (uint64_t)NJ_RECORD_LIMIT_BYTES + 1}, "67108865");
    files[0].length_bytes = FILE_BYTES;
}

static void stream_without_records_costs_nothing(void)
{
    struct nj_byte_budget budget;
    struct nj_stream *stream = NULL;
    struct nj_error error;
    nj_byte_budget_init(&budget, 0);
    struct nj_stream_options options = options_with(nj_file_system_real(), &budget);
    options.n_records = 0;
    REQUIRE_OK(nj_stream_open(&options, &stream, &error), &error);
    CHECK_EQ(nj_stream_read_bytes(stream), 0);
    nj_stream_close(stream);
    nj_stream_close(NULL);
    nj_byte_budget_deinit(&budget);
}

struct seen_records {
    uint32_t n_seen;
    uint32_t refused; /* record, or UINT32_MAX */
};

static enum nj_status look_at_record(void *context, uint32_t record, const uint8_t *bytes,
                                     uint64_t length_bytes, struct nj_error *err)
{
    struct seen_records *seen = context;
    seen->n_seen++;
    CHECK_EQ(length_bytes, extents[record].length_bytes);
    CHECK_EQ(bytes[length_bytes - 1],
             byte_of(extents[record].file, extents[record].offset_bytes + length_bytes - 1));
    if (record == seen->refused) {
        return nj_fail(err, NJ_E_WEIGHTS, "record %u is not to be liked", record);
    }
    return NJ_OK;
}

static void every_record_is_looked_at_as_it_enters(void)
{
    struct nj_byte_budget budget;
    struct nj_stream *stream = NULL;
    struct nj_error error;
    struct seen_records seen = {.refused = UINT32_MAX};
    nj_byte_budget_init(&budget, UINT64_MAX);
    struct nj_stream_options options = options_with(nj_file_system_real(), &budget);
    options.check = look_at_record;
    options.check_context = &seen;
    REQUIRE_OK(nj_stream_open(&options, &stream, &error), &error);
    CHECK_EQ(seen.n_seen, N_RECORDS);
    nj_stream_close(stream);

    seen.refused = 3;
    check_refused(&options, NJ_E_WEIGHTS, "record 3 is not to be liked");
    nj_byte_budget_deinit(&budget);
}

static void report_of_a_stream_in_memory_counts_bytes_and_reads(void)
{
    struct nj_byte_budget budget;
    struct nj_stream *stream = NULL;
    struct nj_error error;
    struct nj_stream_report report;
    nj_byte_budget_init(&budget, UINT64_MAX);
    struct nj_stream_options options = options_with(nj_file_system_real(), &budget);
    REQUIRE_OK(nj_stream_open(&options, &stream, &error), &error);

    nj_stream_report(stream, &report);

    CHECK_EQ(report.read_bytes, 3000 + 1 + 4500 + 5000 + 1);
    CHECK_EQ(report.n_reads, N_RECORDS);
    CHECK_TEXT(report.reader, "memory");
    CHECK(report.note == NULL);
    CHECK_EQ(nj_stream_n_pinnable(stream), UINT32_MAX);
    nj_stream_close(stream);
    nj_byte_budget_deinit(&budget);
}

static void every_failing_allocation_is_reported(void)
{
    for (unsigned long n = 1;; n++) {
        struct nj_byte_budget budget;
        struct nj_stream *stream = NULL;
        nj_byte_budget_init(&budget, UINT64_MAX);
        struct nj_stream_options options = options_with(nj_file_system_real(), &budget);
        failing_malloc_arm(n);
        enum nj_status status = nj_stream_open(&options, &stream, NULL);
        if (!failing_malloc_disarm()) {
            CHECK_EQ(status, NJ_OK);
            CHECK(n > 3);
            nj_stream_close(stream);
            return;
        }
        CHECK_EQ(status, NJ_E_MEMORY);
        nj_byte_budget_deinit(&budget);
    }
}

int main(void)
{
    write_files();
    RUN(pinned_records_hold_the_bytes_of_their_extents);
    RUN(record_stays_while_one_of_its_pins_is_left);
    RUN(memory_is_paid_for_and_given_back);
    RUN(budget_too_small_is_refused_with_both_figures_before_a_byte_is_read);
    RUN(file_of_another_length_than_indexed_is_refused);
    RUN(short_file_is_refused_with_offset_wanted_and_found);
    RUN(every_failing_call_ends_the_opening_and_releases_everything);
    RUN(short_reads_are_continued);
    RUN(extents_outside_their_file_are_refused);
    RUN(stream_without_records_costs_nothing);
    RUN(every_record_is_looked_at_as_it_enters);
    RUN(report_of_a_stream_in_memory_counts_bytes_and_reads);
    RUN(every_failing_allocation_is_reported);
    return test_result();
}
