#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/checksum.h"
#include "format/record_log.h"
#include "support/check.h"

/* A log of a few records of different lengths, built in memory. */
enum { N_RECORDS = 5, LOG_CAPACITY_BYTES = 1024 };

static const char *const payloads[N_RECORDS] = {"", "a", "eight by", "nightjar",
                                                "the last one"};

struct log {
    uint8_t data[LOG_CAPACITY_BYTES];
    size_t length_bytes;
    size_t ends[N_RECORDS + 1]; /* ends[i] is where record i begins and record i - 1 ends */
    struct nj_record_cursor cursor;
};

static const struct nj_record_log_identity identity = {
    .kind = 'T' | 'O' << 8 | 'K' << 16 | 'S' << 24,
    .format_version = 1,
    .salt = UINT64_C(0x1122334455667788),
    .fingerprint = {1, 2, 3},
};

static void append(struct log *log, uint32_t type, const char *payload)
{
    struct nj_bytes bytes = {(const uint8_t *)payload, strlen(payload)};
    nj_record_encode(&log->cursor, type, bytes, log->data + log->length_bytes);
    log->length_bytes += nj_record_encoded_bytes(bytes.length_bytes);
}

static struct log make_log(uint64_t salt)
{
    struct log log = {.length_bytes = NJ_RECORD_LOG_HEADER_BYTES};
    struct nj_record_log_identity salted = identity;
    salted.salt = salt;
    nj_record_log_encode_header(&salted, log.data, &log.cursor);
    for (uint32_t i = 0; i < N_RECORDS; i++) {
        log.ends[i] = log.length_bytes;
        append(&log, 100 + i, payloads[i]);
    }
    log.ends[N_RECORDS] = log.length_bytes;
    return log;
}

static struct log whole_log(void)
{
    return make_log(identity.salt);
}

/* Counts the records and checks that each is the one that was written in its place. */
static enum nj_status check_visit(void *context, const struct nj_record *record,
                                  struct nj_error *err)
{
    size_t *n_seen = context;
    (void)err;
    CHECK_EQ(record->sequence, *n_seen);
    if (*n_seen < N_RECORDS) {
        CHECK_EQ(record->type, 100 + *n_seen);
        CHECK_EQ(record->payload.length_bytes, strlen(payloads[*n_seen]));
        CHECK_BYTES(record->payload.data, payloads[*n_seen], record->payload.length_bytes);
    }
    *n_seen += 1;
    return NJ_OK;
}

/* Scans a copy of exactly that length, so that a sanitizer sees a read past its end. */
static struct nj_record_log_scan scan(const uint8_t *data, size_t length_bytes)
{
    struct nj_record_log_scan result;
    size_t n_seen = 0;
    uint8_t *copy = malloc(length_bytes + 1);
    memcpy(copy, data, length_bytes);
    struct nj_bytes bytes = {copy, length_bytes};
    CHECK_EQ(nj_record_log_scan(bytes, 1, check_visit, &n_seen, &result, NULL), NJ_OK);
    CHECK_EQ(result.n_records, n_seen);
    free(copy);
    return result;
}

/* Which record holds the byte at `offset`. */
static size_t record_at(const struct log *log, size_t offset)
{
    size_t i = 0;
    while (log->ends[i + 1] <= offset) {
        i++;
    }
    return i;
}

static void whole_log_is_read_back(void)
{
    struct log log = whole_log();
    struct nj_record_log_scan result = scan(log.data, log.length_bytes);

    CHECK_EQ(result.end, NJ_LOG_END_CLEAN);
    CHECK_EQ(result.n_records, N_RECORDS);
    CHECK_EQ(result.valid_bytes, log.length_bytes);
    CHECK_TEXT(result.complaint, "");
    CHECK_EQ(result.identity.kind, identity.kind);
    CHECK_EQ(result.identity.format_version, 1);
    CHECK(result.identity.salt == identity.salt);
    CHECK_BYTES(result.identity.fingerprint, identity.fingerprint, 32);
    CHECK_EQ(result.cursor.sequence, log.cursor.sequence);
    CHECK_EQ(result.cursor.chain, log.cursor.chain);
    CHECK_EQ(result.cursor.salt_low, log.cursor.salt_low);
}

static void cursor_of_a_scan_continues_the_log(void)
{
    struct log log = whole_log();
    size_t cut = log.ends[3];
    struct nj_record_log_scan result = scan(log.data, cut);
    CHECK_EQ(result.end, NJ_LOG_END_CLEAN);

    struct log resumed = log;
    memset(resumed.data + cut, 0xEE, sizeof resumed.data - cut);
    resumed.length_bytes = cut;
    resumed.cursor = result.cursor;
    append(&resumed, 103, payloads[3]);
    append(&resumed, 104, payloads[4]);

    CHECK_EQ(resumed.length_bytes, log.length_bytes);
    CHECK_BYTES(resumed.data, log.data, log.length_bytes);
}

static void log_cut_at_every_length_keeps_its_whole_records(void)
{
    struct log log = whole_log();
    for (size_t cut = 0; cut < log.length_bytes; cut++) {
        struct nj_record_log_scan result = scan(log.data, cut);
        if (cut < NJ_RECORD_LOG_HEADER_BYTES) {
            CHECK_EQ(result.end, NJ_LOG_END_NO_HEADER);
            CHECK_EQ(result.valid_bytes, 0);
            continue;
        }
        size_t n_whole = record_at(&log, cut);
        CHECK_EQ(result.n_records, n_whole);
        CHECK_EQ(result.valid_bytes, log.ends[n_whole]);
        /* The first bytes of a record's type and length are zero for no record here. */
        CHECK_EQ(result.end, cut == log.ends[n_whole] ? NJ_LOG_END_CLEAN : NJ_LOG_END_TORN);
    }
}

/* Any other value in any byte. */
static void every_flipped_byte_is_noticed_and_what_lies_before_it_kept(void)
{
    struct log log = whole_log();
    for (size_t i = 0; i < log.length_bytes; i++) {
        for (unsigned flip = 1; flip < 256; flip = flip * 2 + 1) {
            struct log flipped = log;
            flipped.data[i] = (uint8_t)(flipped.data[i] ^ flip);
            struct nj_record_log_scan result = scan(flipped.data, flipped.length_bytes);
            if (i < NJ_RECORD_LOG_HEADER_BYTES) {
                CHECK_EQ(result.n_records, 0);
                CHECK_EQ(result.end, NJ_LOG_END_DAMAGED);
                continue;
            }
            size_t broken = record_at(&log, i);
            CHECK_EQ(result.n_records, broken);
            CHECK_EQ(result.valid_bytes, log.ends[broken]);
            CHECK_EQ(result.end,
                     broken == N_RECORDS - 1 ? NJ_LOG_END_TORN : NJ_LOG_END_DAMAGED);
            CHECK(result.complaint[0] != '\0');
        }
    }
}

static void zeros_behind_the_last_record_are_a_clean_end(void)
{
    struct log log = whole_log();
    for (size_t n_zeros = 1; n_zeros < 100; n_zeros++) {
        struct nj_record_log_scan result = scan(log.data, log.length_bytes + n_zeros);
        CHECK_EQ(result.end, NJ_LOG_END_CLEAN);
        CHECK_EQ(result.valid_bytes, log.length_bytes);
        CHECK_EQ(result.n_records, N_RECORDS);
    }
}

static void record_cut_into_zeros_is_a_torn_tail(void)
{
    struct log log = whole_log();
    for (size_t cut = log.ends[3] + 1; cut < log.ends[4]; cut++) {
        struct log zeroed = log;
        memset(zeroed.data + cut, 0, sizeof zeroed.data - cut);
        if (memcmp(zeroed.data, log.data, log.ends[4]) == 0) {
            continue; /* only padding was cut: the record is whole */
        }
        struct nj_record_log_scan result = scan(zeroed.data, sizeof zeroed.data);
        CHECK_EQ(result.end, NJ_LOG_END_TORN);
        CHECK_EQ(result.n_records, 3);
        CHECK_EQ(result.valid_bytes, log.ends[3]);
    }
}

static void repeated_tail_is_cut_because_nothing_is_lost_with_it(void)
{
    struct log log = whole_log();
    size_t tail = log.length_bytes - log.ends[4];
    memcpy(log.data + log.length_bytes, log.data + log.ends[4], tail);

    struct nj_record_log_scan result = scan(log.data, log.length_bytes + tail);

    CHECK_EQ(result.end, NJ_LOG_END_TORN);
    CHECK_EQ(result.n_records, N_RECORDS);
    CHECK_EQ(result.valid_bytes, log.length_bytes);
    CHECK_CONTAINS(result.complaint, "out of sequence at byte");
}

static void swapped_records_are_damage(void)
{
    struct log log = whole_log();
    struct log swapped = log;
    size_t first = log.ends[4] - log.ends[3];
    size_t second = log.ends[5] - log.ends[4];
    memcpy(swapped.data + log.ends[3], log.data + log.ends[4], second);
    memcpy(swapped.data + log.ends[3] + second, log.data + log.ends[3], first);

    struct nj_record_log_scan result = scan(swapped.data, swapped.length_bytes);

    CHECK_EQ(result.end, NJ_LOG_END_DAMAGED);
    CHECK_EQ(result.n_records, 3);
    CHECK_EQ(result.valid_bytes, log.ends[3]);
}

static void missing_record_inside_is_damage(void)
{
    struct log log = whole_log();
    memmove(log.data + log.ends[2], log.data + log.ends[3], log.length_bytes - log.ends[3]);
    size_t length = log.length_bytes - (log.ends[3] - log.ends[2]);

    struct nj_record_log_scan result = scan(log.data, length);

    CHECK_EQ(result.end, NJ_LOG_END_DAMAGED);
    CHECK_EQ(result.n_records, 2);
}

/* What a reused file holds behind our last record: whole records, but of its former life. */
static void stale_records_of_another_salt_are_not_taken_for_ours(void)
{
    struct log log = whole_log();
    struct log stale = make_log(identity.salt + 1);
    size_t cut = log.ends[2];
    memcpy(log.data + cut, stale.data + cut, log.length_bytes - cut);

    struct nj_record_log_scan result = scan(log.data, log.length_bytes);

    CHECK_EQ(result.end, NJ_LOG_END_TORN);
    CHECK_EQ(result.n_records, 2);
    CHECK_EQ(result.valid_bytes, cut);
    CHECK_CONTAINS(result.complaint, "belongs to another log");
}

/* The salt's upper half is not in the records; the chain from the file header covers it. */
static void records_of_a_log_with_another_fingerprint_do_not_chain(void)
{
    struct log log = whole_log();
    struct nj_record_log_identity other = identity;
    struct nj_record_cursor cursor;
    other.fingerprint[31] = 9;
    nj_record_log_encode_header(&other, log.data, &cursor);

    struct nj_record_log_scan result = scan(log.data, log.length_bytes);

    CHECK_EQ(result.n_records, 0);
    CHECK_EQ(result.end, NJ_LOG_END_DAMAGED);
    CHECK_CONTAINS(result.complaint, "does not follow the one before it");
}

static void newer_version_is_not_read(void)
{
    struct log log = {.length_bytes = NJ_RECORD_LOG_HEADER_BYTES};
    struct nj_record_log_identity newer = identity;
    newer.format_version = 2;
    nj_record_log_encode_header(&newer, log.data, &log.cursor);
    append(&log, 100, "");

    struct nj_record_log_scan result = scan(log.data, log.length_bytes);

    CHECK_EQ(result.end, NJ_LOG_END_NEWER);
    CHECK_EQ(result.n_records, 0);
    CHECK_EQ(result.identity.format_version, 2);
}

static void header_without_records_behind_it_may_be_written_anew(void)
{
    uint8_t data[200] = {0};
    CHECK_EQ(scan(data, 0).end, NJ_LOG_END_NO_HEADER);
    CHECK_EQ(scan(data, sizeof data).end, NJ_LOG_END_NO_HEADER);
    struct log log = whole_log();
    memcpy(data, log.data, 40);
    CHECK_EQ(scan(data, sizeof data).end, NJ_LOG_END_NO_HEADER);
    CHECK_EQ(scan(data, 40).end, NJ_LOG_END_NO_HEADER);
}

static void broken_header_before_records_is_damage(void)
{
    struct log log = whole_log();
    memset(log.data, 0, NJ_RECORD_LOG_HEADER_BYTES);
    CHECK_EQ(scan(log.data, log.length_bytes).end, NJ_LOG_END_DAMAGED);
}

/* Gives the record at `offset` another length and a header checksum that fits it. */
static void forge_length(struct log *log, size_t offset, uint32_t payload_bytes)
{
    struct nj_byte_writer writer;
    struct nj_bytes checked = {log->data + offset, NJ_RECORD_HEADER_BYTES - 4};
    nj_byte_writer_init(&writer, log->data + offset + 4, 4);
    nj_write_u32(&writer, payload_bytes);
    nj_byte_writer_init(&writer, log->data + offset + NJ_RECORD_HEADER_BYTES - 4, 4);
    nj_write_u32(&writer, nj_crc32(0, checked));
}

static void record_that_says_it_is_longer_than_file_or_limit_is_refused(void)
{
    struct log log = whole_log();
    size_t last = log.ends[N_RECORDS - 1];

    forge_length(&log, last, 500);
    struct nj_record_log_scan result = scan(log.data, log.length_bytes);
    CHECK_EQ(result.end, NJ_LOG_END_TORN);
    CHECK_CONTAINS(result.complaint, "record is cut off at byte ");

    forge_length(&log, last, (uint32_t)NJ_RECORD_PAYLOAD_LIMIT_BYTES + 1);
    result = scan(log.data, log.length_bytes);
    CHECK_EQ(result.end, NJ_LOG_END_TORN);
    CHECK_CONTAINS(result.complaint, "record is longer than records may be");

    forge_length(&log, last, UINT32_MAX);
    CHECK_EQ(scan(log.data, log.length_bytes).n_records, N_RECORDS - 1);
}

static enum nj_status stop_at_second(void *context, const struct nj_record *record,
                                     struct nj_error *err)
{
    (void)context;
    return record->sequence == 1 ? nj_fail(err, NJ_E_STOPPED, "enough") : NJ_OK;
}

static void status_of_the_visit_ends_the_scan(void)
{
    struct log log = whole_log();
    struct nj_record_log_scan result;
    struct nj_error error;
    struct nj_bytes bytes = {log.data, log.length_bytes};
    CHECK_EQ(nj_record_log_scan(bytes, 1, stop_at_second, NULL, &result, &error), NJ_E_STOPPED);
    CHECK_TEXT(error.text, "enough");
}

/* Bytes as docs/formats/record-log.md lays them out. */
static void bytes_are_as_specified(void)
{
    struct log log = {.length_bytes = NJ_RECORD_LOG_HEADER_BYTES};
    nj_record_log_encode_header(&identity, log.data, &log.cursor);
    append(&log, 0x01020304, "abc");

    static const uint8_t header[28] = {
        'N', 'J', 'L',  'O',  'G',  0x1A, '\r', '\n', 'T',  'O',  'K', 'S', 1, 0,
        0,   0,   0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 1,   2,   3, 0};
    static const uint8_t record[20] = {4, 3, 2, 1, 3, 0, 0,    0,    0,    0,
                                       0, 0, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55};
    CHECK_EQ(log.length_bytes, 64 + 40);
    CHECK_BYTES(log.data, header, sizeof header);
    CHECK_BYTES(log.data + 64, record, sizeof record);
    CHECK_BYTES(log.data + 84, log.data + 60, 4); /* the chain begins with the header's sum */
    CHECK_BYTES(log.data + 96, "abc\0\0\0\0\0", 8);
}

int main(void)
{
    RUN(whole_log_is_read_back);
    RUN(cursor_of_a_scan_continues_the_log);
    RUN(log_cut_at_every_length_keeps_its_whole_records);
    RUN(every_flipped_byte_is_noticed_and_what_lies_before_it_kept);
    RUN(zeros_behind_the_last_record_are_a_clean_end);
    RUN(record_cut_into_zeros_is_a_torn_tail);
    RUN(repeated_tail_is_cut_because_nothing_is_lost_with_it);
    RUN(swapped_records_are_damage);
    RUN(missing_record_inside_is_damage);
    RUN(stale_records_of_another_salt_are_not_taken_for_ours);
    RUN(records_of_a_log_with_another_fingerprint_do_not_chain);
    RUN(newer_version_is_not_read);
    RUN(header_without_records_behind_it_may_be_written_anew);
    RUN(broken_header_before_records_is_damage);
    RUN(record_that_says_it_is_longer_than_file_or_limit_is_refused);
    RUN(status_of_the_visit_ends_the_scan);
    RUN(bytes_are_as_specified);
    return test_result();
}
