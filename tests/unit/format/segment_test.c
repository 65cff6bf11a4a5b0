#include "format/segment.h"

#include <stdlib.h>
#include <string.h>

#include "format/checksum.h"
#include "format/segment_encoder.h"
#include "support/check.h"

enum { CAPACITY_BYTES = 4096, N_RECORDS = 6, N_VALUES = 100 };

/* A small segment and where its records begin; the last place is its end. */
struct small {
    uint8_t bytes[CAPACITY_BYTES];
    size_t length_bytes;
    size_t places[N_RECORDS + 2];
    uint32_t chain;
};

static struct nj_segment_header header_of(uint64_t salt)
{
    struct nj_segment_header header = {.item_index = 7,
                                       .sample = 2,
                                       .numerics_version = 1,
                                       .kv_type = NJ_SEGMENT_KV_F32,
                                       .latent_norm_eps = 1e-6F,
                                       .number = 17,
                                       .previous_number = 16,
                                       .previous_chain = 0x1234,
                                       .salt = salt};
    memcpy(header.job, "a job's 16 bytes", NJ_SEGMENT_JOB_BYTES);
    memset(header.item.bytes, 1, NJ_DIGEST_BYTES);
    memset(header.weights.bytes, 2, NJ_DIGEST_BYTES);
    memset(header.template.bytes, 3, NJ_DIGEST_BYTES);
    return header;
}

static float values[N_VALUES];

/* Records of every type that a snapshot has; the recurrent one is packed. */
static const struct nj_segment_section sections[N_RECORDS] = {
    {NJ_SEGMENT_SNAP_BEGIN, 0, 0, 0}, {NJ_SEGMENT_RECURRENT, 1, 0, N_VALUES},
    {NJ_SEGMENT_KV, 2, 5, 3},         {NJ_SEGMENT_TOKENS, 0, 0, 8},
    {NJ_SEGMENT_SAMPLER, 0, 0, 0},    {NJ_SEGMENT_OUTPUT_MARK, 0, 0, 0}};
static const size_t raw_lengths[N_RECORDS] = {24, sizeof values, 36, 32, 13, 0};

static void add(struct small *small, struct nj_bytes bytes)
{
    memcpy(small->bytes + small->length_bytes, bytes.data, bytes.length_bytes);
    small->length_bytes += bytes.length_bytes;
}

static void write_small(struct small *small, uint64_t salt)
{
    struct nj_segment_encoder *encoder = NULL;
    struct nj_segment_file file;
    struct nj_segment_header header = header_of(salt);
    struct nj_error error;
    uint8_t commit[NJ_SEGMENT_COMMIT_LIMIT_BYTES];
    size_t n_commit = 0;
    memset(small, 0, sizeof *small);
    for (size_t i = 0; i < N_VALUES; i++) {
        values[i] = 1.0F + (float)i / 128.0F;
    }
    REQUIRE_OK(nj_segment_encoder_create(NJ_PACK_AUTO, &encoder, &error), &error);
    REQUIRE_OK(nj_segment_file_begin(&file, &header, small->bytes, &error), &error);
    small->length_bytes = NJ_SEGMENT_HEADER_BYTES;
    for (size_t i = 0; i < N_RECORDS; i++) {
        struct nj_bytes raw = {.data = (const uint8_t *)values, .length_bytes = raw_lengths[i]};
        small->places[i] = small->length_bytes;
        add(small, nj_segment_encoder_record(encoder, &file, &sections[i], raw));
    }
    small->places[N_RECORDS] = small->length_bytes;
    REQUIRE_OK(nj_segment_file_commit(&file, commit, &n_commit, &small->chain, &error), &error);
    add(small, (struct nj_bytes){commit, n_commit});
    small->places[N_RECORDS + 1] = small->length_bytes - 64; /* the end mark */
    nj_segment_file_deinit(&file);
    nj_segment_encoder_destroy(encoder);
}

struct heard {
    size_t n;
    struct nj_segment_section sections[N_RECORDS + 2];
    size_t n_packed;
    bool is_as_written;
};

static enum nj_status hear(void *context, const struct nj_segment_record *record,
                           struct nj_error *err)
{
    struct heard *heard = context;
    (void)err;
    if (heard->n < N_RECORDS && !record->is_packed) {
        heard->is_as_written = heard->is_as_written &&
                               record->raw_bytes == raw_lengths[heard->n] &&
                               (record->raw_bytes == 0 ||
                                memcmp(record->payload.data, values, record->raw_bytes) == 0);
    }
    heard->n_packed += record->is_packed;
    if (heard->n < N_RECORDS + 2) {
        heard->sections[heard->n] = record->section;
    }
    heard->n++;
    return NJ_OK;
}

/* Scans a copy of exactly this length, so that a sanitizer sees a read past its end. */
static struct nj_segment_scan scan(const uint8_t *bytes, size_t length_bytes,
                                   struct heard *heard)
{
    struct nj_segment_scan found = {.verdict = NJ_SEGMENT_EMPTY};
    struct nj_error error;
    uint8_t *exact = malloc(length_bytes + 1);
    *heard = (struct heard){.is_as_written = true};
    if (exact == NULL) {
        test_fail(__FILE__, __LINE__, "out of memory");
        return found;
    }
    memcpy(exact, bytes, length_bytes);
    struct nj_bytes view = {.data = exact, .length_bytes = length_bytes};
    CHECK_EQ(nj_segment_scan(view, hear, heard, &found, &error), NJ_OK);
    free(exact);
    return found;
}

static bool is_committed(const struct nj_segment_scan *found)
{
    return found->verdict == NJ_SEGMENT_WHOLE || found->verdict == NJ_SEGMENT_TAILED;
}

static void what_was_written_is_read(void)
{
    static struct small small;
    struct heard heard;
    write_small(&small, 99);

    struct nj_segment_scan found = scan(small.bytes, small.length_bytes, &heard);

    CHECK_EQ(found.verdict, NJ_SEGMENT_WHOLE);
    CHECK_TEXT(found.complaint, "");
    CHECK_EQ(found.valid_bytes, small.length_bytes);
    CHECK_EQ(found.commit_chain, small.chain);
    CHECK_EQ(heard.n, N_RECORDS + 1);
    CHECK(heard.is_as_written);
    CHECK_EQ(heard.n_packed, 1);
    for (size_t i = 0; i < N_RECORDS; i++) {
        CHECK_EQ(heard.sections[i].type, sections[i].type);
        CHECK_EQ(heard.sections[i].layer, sections[i].layer);
        CHECK_EQ(heard.sections[i].first, sections[i].first);
        CHECK_EQ(heard.sections[i].count, sections[i].count);
    }
    struct nj_segment_header wanted = header_of(99);
    CHECK_EQ(found.header.number, 17);
    CHECK_EQ(found.header.previous_number, 16);
    CHECK_EQ(found.header.previous_chain, 0x1234);
    CHECK_EQ(found.header.item_index, 7);
    CHECK_EQ(found.header.sample, 2);
    CHECK_EQ(found.header.salt, 99);
    CHECK(found.header.latent_norm_eps == 1e-6F);
    CHECK_BYTES(found.header.job, wanted.job, NJ_SEGMENT_JOB_BYTES);
    CHECK_BYTES(found.header.item.bytes, wanted.item.bytes, NJ_DIGEST_BYTES);
    CHECK_BYTES(found.header.weights.bytes, wanted.weights.bytes, NJ_DIGEST_BYTES);
    CHECK_BYTES(found.header.template.bytes, wanted.template.bytes, NJ_DIGEST_BYTES);
}

/* Every bit of every byte before the end mark is covered; behind the commit nothing matters. */
static void no_flipped_byte_goes_unseen(void)
{
    static struct small small;
    struct heard heard;
    write_small(&small, 99);
    for (size_t i = 0; i < small.length_bytes; i++) {
        uint8_t mask = (uint8_t)(1U << i % 8);
        small.bytes[i] ^= mask;

        struct nj_segment_scan found = scan(small.bytes, small.length_bytes, &heard);

        bool is_behind_commit = i >= small.places[N_RECORDS + 1];
        CHECK_EQ(found.verdict == NJ_SEGMENT_TAILED, is_behind_commit);
        CHECK_EQ(is_committed(&found), is_behind_commit);
        CHECK(found.complaint[0] != '\0');
        CHECK(heard.is_as_written);
        small.bytes[i] ^= mask;
    }
}

static void a_flipped_record_before_others_is_damage_and_the_last_one_is_torn(void)
{
    static struct small small;
    struct heard heard;
    write_small(&small, 99);
    small.bytes[small.places[3] + 60] ^= 1;

    struct nj_segment_scan found = scan(small.bytes, small.length_bytes, &heard);
    CHECK_EQ(found.verdict, NJ_SEGMENT_DAMAGED);
    CHECK_EQ(found.valid_bytes, small.places[3]);
    CHECK_EQ(heard.n, 3);
    found = scan(small.bytes, small.places[4], &heard);
    CHECK_EQ(found.verdict, NJ_SEGMENT_TORN);
}

static void cut_anywhere_it_is_no_snapshot_until_its_commit_is_there(void)
{
    static struct small small;
    struct heard heard;
    write_small(&small, 99);
    for (size_t length = 0; length < small.length_bytes; length++) {
        struct nj_segment_scan found = scan(small.bytes, length, &heard);

        CHECK_EQ(is_committed(&found), length >= small.places[N_RECORDS + 1]);
        if (length == 0) {
            CHECK_EQ(found.verdict, NJ_SEGMENT_EMPTY);
        } else if (length < NJ_SEGMENT_HEADER_BYTES) {
            CHECK_EQ(found.verdict, NJ_SEGMENT_NO_HEADER);
        } else if (length < small.places[N_RECORDS + 1]) {
            CHECK_EQ(found.verdict, NJ_SEGMENT_TORN);
        }
    }
}

static void zeros_in_place_of_a_tail_are_an_end_without_a_commit(void)
{
    static struct small small;
    struct heard heard;
    for (size_t from = 0; from < CAPACITY_BYTES - 1024; from += 8) {
        write_small(&small, 99);
        if (from >= small.length_bytes) {
            break;
        }
        memset(small.bytes + from, 0, CAPACITY_BYTES - from);

        struct nj_segment_scan found = scan(small.bytes, small.length_bytes, &heard);

        CHECK_EQ(is_committed(&found), from >= small.places[N_RECORDS + 1]);
        CHECK_EQ(found.verdict == NJ_SEGMENT_EMPTY, from == 0);
    }
}

static void zeros_behind_a_segment_are_part_of_a_whole_one(void)
{
    static struct small small;
    struct heard heard;
    write_small(&small, 99);
    CHECK_EQ(scan(small.bytes, CAPACITY_BYTES, &heard).verdict, NJ_SEGMENT_WHOLE);
}

static void a_tail_that_is_there_twice_changes_nothing(void)
{
    static struct small small;
    struct heard heard;
    write_small(&small, 99);
    size_t n_tail = small.length_bytes - small.places[4];
    memcpy(small.bytes + small.length_bytes, small.bytes + small.places[4], n_tail);

    struct nj_segment_scan found = scan(small.bytes, small.length_bytes + n_tail, &heard);

    CHECK_EQ(found.verdict, NJ_SEGMENT_TAILED);
    CHECK_EQ(found.valid_bytes, small.length_bytes);
}

static void swapped_records_are_damage(void)
{
    static struct small small;
    struct heard heard;
    uint8_t swapped[CAPACITY_BYTES];
    write_small(&small, 99);
    size_t n_first = small.places[4] - small.places[3];
    size_t n_second = small.places[5] - small.places[4];
    memcpy(swapped, small.bytes, small.length_bytes);
    memcpy(swapped + small.places[3], small.bytes + small.places[4], n_second);
    memcpy(swapped + small.places[3] + n_second, small.bytes + small.places[3], n_first);

    CHECK_EQ(scan(swapped, small.length_bytes, &heard).verdict, NJ_SEGMENT_DAMAGED);
    CHECK_EQ(heard.n, 3);
}

static void the_tail_of_another_segment_is_not_taken_for_its_own(void)
{
    static struct small small;
    static struct small other;
    struct heard heard;
    write_small(&small, 99);
    write_small(&other, 100);
    REQUIRE(small.length_bytes == other.length_bytes);
    for (size_t i = 0; i <= N_RECORDS; i++) {
        uint8_t mixed[CAPACITY_BYTES];
        memcpy(mixed, small.bytes, small.places[i]);
        memcpy(mixed + small.places[i], other.bytes + small.places[i],
               small.length_bytes - small.places[i]);

        struct nj_segment_scan found = scan(mixed, small.length_bytes, &heard);

        CHECK_EQ(found.verdict, NJ_SEGMENT_TORN);
        CHECK_EQ(heard.n, i);
    }
}

static void a_newer_and_an_older_version_are_told(void)
{
    static struct small small;
    struct heard heard;
    for (uint8_t version = 0; version <= 2; version += 2) {
        write_small(&small, 99);
        small.bytes[8] = version;
        uint32_t crc = nj_crc32(0, (struct nj_bytes){small.bytes, NJ_SEGMENT_HEADER_BYTES - 4});
        struct nj_byte_writer writer;
        nj_byte_writer_init(&writer, small.bytes + NJ_SEGMENT_HEADER_BYTES - 4, 4);
        nj_write_u32(&writer, crc);

        struct nj_segment_scan found = scan(small.bytes, small.length_bytes, &heard);

        CHECK_EQ(found.verdict, NJ_SEGMENT_OTHER_VERSION);
        CHECK_EQ(found.format_version, version);
        CHECK_CONTAINS(found.complaint, version > 1 ? "newer" : "older");
        CHECK_EQ(heard.n, 0);
    }
}

static enum nj_status refuse(void *context, const struct nj_segment_record *record,
                             struct nj_error *err)
{
    (void)context;
    return record->section.type == NJ_SEGMENT_KV ? nj_fail(err, NJ_E_BUDGET, "no room") : NJ_OK;
}

static void a_visit_that_fails_ends_the_scan(void)
{
    static struct small small;
    struct nj_segment_scan found;
    struct nj_error error;
    write_small(&small, 99);
    struct nj_bytes view = {.data = small.bytes, .length_bytes = small.length_bytes};
    CHECK_EQ(nj_segment_scan(view, refuse, NULL, &found, &error), NJ_E_BUDGET);
    CHECK_TEXT(error.text, "no room");
    CHECK_EQ(found.valid_bytes, small.places[2]);
}

int main(void)
{
    RUN(what_was_written_is_read);
    RUN(no_flipped_byte_goes_unseen);
    RUN(a_flipped_record_before_others_is_damage_and_the_last_one_is_torn);
    RUN(cut_anywhere_it_is_no_snapshot_until_its_commit_is_there);
    RUN(zeros_in_place_of_a_tail_are_an_end_without_a_commit);
    RUN(zeros_behind_a_segment_are_part_of_a_whole_one);
    RUN(a_tail_that_is_there_twice_changes_nothing);
    RUN(swapped_records_are_damage);
    RUN(the_tail_of_another_segment_is_not_taken_for_its_own);
    RUN(a_newer_and_an_older_version_are_told);
    RUN(a_visit_that_fails_ends_the_scan);
    return test_result();
}
