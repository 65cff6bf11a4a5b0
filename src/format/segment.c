#include "format/segment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/checksum.h"
#include "format/segment_layout.h"

enum { STRIDE_BYTES = 64 * 1024 /* that zeros are looked at in */ };

/* The segment being read. A source that fails once is not asked again: everything then looks
 * unreadable, and the scan fails with what it said. */
struct reading {
    const struct nj_record_source *source;
    enum nj_status status;
    struct nj_error *err;
    struct nj_segment_cursor cursor;
    struct nj_digest_stream *checksums;
    struct nj_segment_scan *scan;
};

static const char unreadable[] = "the file cannot be read";

/* NULL when the source failed. The caller has checked that the bytes are inside the file. */
static const uint8_t *view(struct reading *reading, uint64_t offset, size_t n_bytes)
{
    const uint8_t *data = NULL;
    const struct nj_record_source *source = reading->source;
    if (reading->status == NJ_OK) {
        reading->status = source->view(source->context, offset, n_bytes, &data, reading->err);
    }
    return reading->status == NJ_OK ? data : NULL;
}

static uint64_t n_left(const struct reading *reading, uint64_t offset)
{
    return reading->source->length_bytes - offset;
}

static bool all_zero(const uint8_t *data, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) {
        if (data[i] != 0) {
            return false;
        }
    }
    return true;
}

static bool is_zero_behind(struct reading *reading, uint64_t offset)
{
    while (n_left(reading, offset) > 0) {
        uint64_t left = n_left(reading, offset);
        size_t n_bytes = left < STRIDE_BYTES ? (size_t)left : STRIDE_BYTES;
        const uint8_t *data = view(reading, offset, n_bytes);
        if (data == NULL || !all_zero(data, n_bytes)) {
            return false;
        }
        offset += n_bytes;
    }
    return true;
}

static bool lengths_agree(const struct nj_segment_record_header *header)
{
    if (header->flags == NJ_SEGMENT_FLAG_PACKED) {
        return header->payload_bytes < header->raw_bytes;
    }
    return header->flags == 0 && header->payload_bytes == header->raw_bytes;
}

/* Reads the record header at `offset` and judges it by itself. What is wrong, NULL for nothing.
 */
static const char *read_record_header(struct reading *reading, uint64_t offset,
                                      struct nj_segment_record_header *header)
{
    if (n_left(reading, offset) < NJ_SEGMENT_RECORD_HEADER_BYTES) {
        return "a record header is cut off";
    }
    const uint8_t *data = view(reading, offset, NJ_SEGMENT_RECORD_HEADER_BYTES);
    if (data == NULL) {
        return unreadable;
    }
    if (!nj_segment_record_header_decode(data, header)) {
        return "a record header has a wrong checksum";
    }
    if (header->payload_bytes > NJ_SEGMENT_PAYLOAD_LIMIT_BYTES ||
        header->raw_bytes > NJ_SEGMENT_PAYLOAD_LIMIT_BYTES || !lengths_agree(header)) {
        return "a record has lengths that records cannot have";
    }
    if (nj_segment_record_bytes(header->payload_bytes) > n_left(reading, offset)) {
        return "a record is cut off";
    }
    return NULL;
}

/* Judges payload, its checksum and the padding of a record whose header is good. */
static const char *check_payload(struct reading *reading, uint64_t offset,
                                 const struct nj_segment_record_header *header,
                                 struct nj_segment_record *record)
{
    size_t n_payload = (size_t)header->payload_bytes;
    size_t n_bytes = (size_t)nj_segment_record_bytes(n_payload);
    const uint8_t *data = view(reading, offset, n_bytes);
    if (data == NULL) {
        return unreadable;
    }
    const uint8_t *behind = data + NJ_SEGMENT_RECORD_HEADER_BYTES + n_payload;
    size_t n_behind = n_bytes - NJ_SEGMENT_RECORD_HEADER_BYTES - n_payload;
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, (struct nj_bytes){behind, NJ_SEGMENT_CRC_BYTES});
    *record = (struct nj_segment_record){
        .section = {.type = (enum nj_segment_record_type)header->type,
                    .layer = header->layer,
                    .first = header->first,
                    .count = header->count},
        .is_packed = header->flags == NJ_SEGMENT_FLAG_PACKED,
        .raw_bytes = (uint32_t)header->raw_bytes,
        .payload = {.data = data + NJ_SEGMENT_RECORD_HEADER_BYTES, .length_bytes = n_payload},
        .payload_crc32 = nj_read_u32(&reader),
        .payload_offset = offset + NJ_SEGMENT_RECORD_HEADER_BYTES};
    if (nj_crc32(0, record->payload) != record->payload_crc32) {
        return "a payload has a wrong checksum";
    }
    return all_zero(behind + NJ_SEGMENT_CRC_BYTES, n_behind - NJ_SEGMENT_CRC_BYTES)
               ? NULL
               : "the padding of a record is not zero";
}

static bool is_type_in_place(const struct reading *reading, uint32_t type)
{
    bool is_first = reading->cursor.sequence == 0;
    return is_first ? type == NJ_SEGMENT_SNAP_BEGIN
                    : type > NJ_SEGMENT_SNAP_BEGIN && type <= NJ_SEGMENT_SNAP_COMMIT;
}

/* Is this whole record the one that must stand here? */
static const char *check_record(struct reading *reading, uint64_t offset,
                                struct nj_segment_record_header *header,
                                struct nj_segment_record *record)
{
    const struct nj_segment_cursor *cursor = &reading->cursor;
    const char *fault = read_record_header(reading, offset, header);
    if (fault != NULL) {
        return fault;
    }
    if (header->salt_low != cursor->salt_low) {
        return "a record belongs to another segment";
    }
    if (header->sequence != cursor->sequence) {
        return "a record is out of sequence";
    }
    if (header->chain != cursor->chain) {
        return "a record does not follow the one before it";
    }
    if (!is_type_in_place(reading, header->type)) {
        return "a record has a type that cannot stand here";
    }
    return check_payload(reading, offset, header, record);
}

/* Is there a whole record of this segment at or behind `offset` that is not one of those
 * already read? Then what is missing before it is damage, not a write that did not finish. A
 * file made to repeat the work for ever is called damaged when it has cost eight times its
 * length. */
static bool has_later_record(struct reading *reading, uint64_t offset)
{
    uint64_t effort_bytes = 0;
    const struct nj_segment_cursor *cursor = &reading->cursor;
    for (;
         n_left(reading, offset) >= NJ_SEGMENT_RECORD_HEADER_BYTES && reading->status == NJ_OK;
         offset += NJ_SEGMENT_ALIGNMENT_BYTES) {
        struct nj_segment_record_header header;
        struct nj_segment_record record;
        if (read_record_header(reading, offset, &header) != NULL ||
            header.salt_low != cursor->salt_low || header.sequence < cursor->sequence) {
            continue;
        }
        effort_bytes += header.payload_bytes;
        if (check_payload(reading, offset, &header, &record) == NULL ||
            effort_bytes / NJ_SEGMENT_ALIGNMENT_BYTES > reading->source->length_bytes) {
            return true;
        }
    }
    return false;
}

static void set_verdict(struct nj_segment_scan *scan, enum nj_segment_verdict verdict,
                        const char *fault, uint64_t offset)
{
    scan->verdict = verdict;
    (void)snprintf(scan->complaint, sizeof scan->complaint, "%s at byte %" PRIu64, fault,
                   offset);
}

/* Nothing verifies where records should go on, and there was no commit. */
static void judge_break(struct reading *reading, const char *fault)
{
    uint64_t offset = reading->scan->valid_bytes;
    bool is_damage = has_later_record(reading, offset);
    set_verdict(reading->scan, is_damage ? NJ_SEGMENT_DAMAGED : NJ_SEGMENT_TORN, fault, offset);
}

/* Reads the file header; false when there is none to go on from, with the verdict set. */
static bool read_file_header(struct reading *reading)
{
    struct nj_segment_scan *scan = reading->scan;
    if (is_zero_behind(reading, 0)) {
        set_verdict(scan, NJ_SEGMENT_EMPTY, "the file has no byte but zeros", 0);
        return false;
    }
    if (reading->source->length_bytes < NJ_SEGMENT_HEADER_BYTES) {
        set_verdict(scan, NJ_SEGMENT_NO_HEADER, "the file header is cut off",
                    reading->source->length_bytes);
        return false;
    }
    const uint8_t *data = view(reading, 0, NJ_SEGMENT_HEADER_BYTES);
    if (data == NULL) {
        return false;
    }
    uint32_t version = 0;
    if (!nj_segment_header_decode(data, &scan->header, &version, &reading->cursor.chain)) {
        scan->header = (struct nj_segment_header){.number = 0};
        set_verdict(scan, NJ_SEGMENT_NO_HEADER, "the file header does not verify", 0);
        return false;
    }
    scan->format_version = version;
    if (version != NJ_SEGMENT_VERSION) {
        const char *how = version > NJ_SEGMENT_VERSION
                              ? "the format version is newer than known"
                              : "the format version is older than known";
        set_verdict(scan, NJ_SEGMENT_OTHER_VERSION, how, NJ_SEGMENT_MAGIC_BYTES);
        return false;
    }
    reading->cursor.salt_low = (uint32_t)scan->header.salt;
    scan->valid_bytes = NJ_SEGMENT_HEADER_BYTES;
    return true;
}

static void move_on(struct reading *reading, const struct nj_segment_record_header *header,
                    const struct nj_segment_record *record)
{
    struct nj_segment_link link =
        nj_segment_link_of(header->header_crc32, record->payload_crc32);
    if (reading->checksums != NULL) { /* the commit itself is not part of what is committed */
        nj_digest_stream_add(reading->checksums, link.bytes, sizeof link.bytes);
    }
    reading->cursor.chain = link.chain;
    reading->cursor.sequence += 1;
    reading->scan->n_records += 1;
    reading->scan->valid_bytes += nj_segment_record_bytes(header->payload_bytes);
}

/* A commit that verifies as a record must also commit to exactly what was read. */
static const char *check_commit(struct reading *reading, const struct nj_segment_record *record)
{
    struct nj_segment_scan *scan = reading->scan;
    struct nj_byte_reader reader;
    struct nj_digest digest;
    nj_byte_reader_init(&reader, record->payload);
    uint64_t first = nj_read_u64(&reader);
    uint64_t last = nj_read_u64(&reader);
    uint64_t n_bytes = nj_read_u64(&reader);
    struct nj_bytes wanted = nj_read_span(&reader, NJ_DIGEST_BYTES);
    if (reader.failed || record->payload.length_bytes != NJ_SEGMENT_COMMIT_BYTES) {
        return "the commit has another length";
    }
    memcpy(scan->commit.bytes, wanted.data, NJ_DIGEST_BYTES);
    reading->status = nj_digest_stream_finish(reading->checksums, &digest, reading->err);
    nj_digest_stream_destroy(reading->checksums);
    reading->checksums = NULL;
    if (reading->status != NJ_OK) {
        return unreadable;
    }
    if (first != 0 || last + 1 != reading->cursor.sequence ||
        n_bytes != scan->valid_bytes - NJ_SEGMENT_HEADER_BYTES ||
        memcmp(digest.bytes, scan->commit.bytes, NJ_DIGEST_BYTES) != 0) {
        return "the commit is about other records";
    }
    return NULL;
}

/* Behind the commit: the end mark, then nothing but zeros. Nothing there can change the
 * snapshot. */
static void judge_end(struct reading *reading)
{
    struct nj_segment_scan *scan = reading->scan;
    struct nj_segment_record_header header;
    struct nj_segment_record record;
    uint64_t offset = scan->valid_bytes;
    scan->verdict = NJ_SEGMENT_WHOLE;
    if (n_left(reading, offset) == 0) {
        return;
    }
    if (read_record_header(reading, offset, &header) == NULL && header.type == NJ_SEGMENT_END &&
        header.salt_low == reading->cursor.salt_low &&
        header.sequence == reading->cursor.sequence && header.chain == reading->cursor.chain &&
        check_payload(reading, offset, &header, &record) == NULL) {
        scan->n_records += 1;
        scan->valid_bytes += nj_segment_record_bytes(header.payload_bytes);
    }
    if (!is_zero_behind(reading, scan->valid_bytes)) {
        set_verdict(scan, NJ_SEGMENT_TAILED, "bytes that mean nothing follow the commit",
                    scan->valid_bytes);
    }
}

static enum nj_status read_records(struct reading *reading, nj_segment_visit *visit,
                                   void *context)
{
    struct nj_segment_scan *scan = reading->scan;
    for (;;) {
        struct nj_segment_record_header header;
        struct nj_segment_record record;
        const char *fault = check_record(reading, scan->valid_bytes, &header, &record);
        bool is_commit = fault == NULL && header.type == NJ_SEGMENT_SNAP_COMMIT;
        fault = is_commit ? check_commit(reading, &record) : fault;
        if (fault != NULL) {
            judge_break(reading, fault);
            return reading->status;
        }
        enum nj_status status = visit(context, &record, reading->err);
        if (status != NJ_OK) {
            return status;
        }
        move_on(reading, &header, &record);
        if (is_commit) {
            scan->commit_chain = reading->cursor.chain;
            judge_end(reading);
            return reading->status;
        }
    }
}

enum nj_status nj_segment_scan_source(const struct nj_record_source *source,
                                      nj_segment_visit *visit, void *context,
                                      struct nj_segment_scan *scan, struct nj_error *err)
{
    struct reading reading = {.source = source, .status = NJ_OK, .err = err, .scan = scan};
    *scan = (struct nj_segment_scan){.verdict = NJ_SEGMENT_EMPTY};
    if (!read_file_header(&reading)) {
        return reading.status;
    }
    enum nj_status status = nj_digest_stream_create(&reading.checksums, err);
    if (status == NJ_OK) {
        status = read_records(&reading, visit, context);
    }
    nj_digest_stream_destroy(reading.checksums);
    return status;
}

static enum nj_status view_memory(void *context, uint64_t offset, size_t n_bytes,
                                  const uint8_t **data, struct nj_error *err)
{
    const struct nj_bytes *segment = context;
    (void)n_bytes;
    (void)err; /* memory does not fail */
    *data = segment->data + offset;
    return NJ_OK;
}

enum nj_status nj_segment_scan(struct nj_bytes segment, nj_segment_visit *visit, void *context,
                               struct nj_segment_scan *scan, struct nj_error *err)
{
    struct nj_record_source source = {
        .context = &segment, .length_bytes = segment.length_bytes, .view = view_memory};
    return nj_segment_scan_source(&source, visit, context, scan, err);
}

const char *nj_segment_verdict_name(enum nj_segment_verdict verdict)
{
    switch (verdict) {
    case NJ_SEGMENT_WHOLE:
        return "whole";
    case NJ_SEGMENT_TAILED:
        return "followed by other bytes";
    case NJ_SEGMENT_TORN:
        return "torn";
    case NJ_SEGMENT_DAMAGED:
        return "damaged";
    case NJ_SEGMENT_EMPTY:
        return "empty";
    case NJ_SEGMENT_NO_HEADER:
        return "without a header";
    case NJ_SEGMENT_OTHER_VERSION:
        return "of another format version";
    }
    return "unknown";
}
