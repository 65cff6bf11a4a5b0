#include "format/record_log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "format/checksum.h"

/* The carriage return and the line feed show a log that went through a text-mode copy. */
static const uint8_t magic[8] = {'N', 'J', 'L', 'O', 'G', 0x1A, '\r', '\n'};

enum {
    BYTE_ORDER_MARK = 0x0A0B0C0D,
    HEADER_CHECKED_BYTES = NJ_RECORD_LOG_HEADER_BYTES - 4,
    RECORD_CHECKED_BYTES = NJ_RECORD_HEADER_BYTES - 4,
    ALIGNMENT_BYTES = 8,
    STRIDE_BYTES = 64 * 1024 /* that zeros are looked at in */
};

/* --- writing --- */

void nj_record_log_encode_header(const struct nj_record_log_identity *identity,
                                 uint8_t header[NJ_RECORD_LOG_HEADER_BYTES],
                                 struct nj_record_cursor *cursor)
{
    struct nj_byte_writer writer;
    struct nj_bytes checked = {header, HEADER_CHECKED_BYTES};
    struct nj_bytes magic_span = {magic, sizeof magic};
    struct nj_bytes fingerprint = {identity->fingerprint, sizeof identity->fingerprint};
    nj_byte_writer_init(&writer, header, NJ_RECORD_LOG_HEADER_BYTES);
    nj_write_span(&writer, magic_span);
    nj_write_u32(&writer, identity->kind);
    nj_write_u32(&writer, identity->format_version);
    nj_write_u64(&writer, identity->salt);
    nj_write_span(&writer, fingerprint);
    nj_write_u32(&writer, BYTE_ORDER_MARK);
    uint32_t checksum = nj_crc32(0, checked);
    nj_write_u32(&writer, checksum);
    assert(!writer.failed && writer.offset == NJ_RECORD_LOG_HEADER_BYTES);

    cursor->sequence = 0;
    cursor->chain = checksum;
    cursor->salt_low = (uint32_t)identity->salt;
}

size_t nj_record_encoded_bytes(size_t payload_bytes)
{
    size_t padded = (payload_bytes + ALIGNMENT_BYTES - 1) & ~(size_t)(ALIGNMENT_BYTES - 1);
    return NJ_RECORD_HEADER_BYTES + padded;
}

void nj_record_encode(struct nj_record_cursor *cursor, uint32_t type, struct nj_bytes payload,
                      uint8_t *out)
{
    assert(payload.length_bytes <= NJ_RECORD_PAYLOAD_LIMIT_BYTES);
    size_t encoded_bytes = nj_record_encoded_bytes(payload.length_bytes);
    struct nj_bytes checked = {out, RECORD_CHECKED_BYTES};
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, out, encoded_bytes);
    nj_write_u32(&writer, type);
    nj_write_u32(&writer, (uint32_t)payload.length_bytes);
    nj_write_u64(&writer, cursor->sequence);
    nj_write_u32(&writer, cursor->salt_low);
    nj_write_u32(&writer, cursor->chain);
    nj_write_u32(&writer, nj_crc32(0, payload));
    uint32_t checksum = nj_crc32(0, checked);
    nj_write_u32(&writer, checksum);
    nj_write_span(&writer, payload);
    memset(out + writer.offset, 0, encoded_bytes - writer.offset);

    /* The header checksum covers the payload's and the chain so far, so it is the next link. */
    cursor->chain = checksum;
    cursor->sequence++;
}

/* --- reading --- */

struct record_header {
    uint32_t type;
    uint32_t payload_bytes;
    uint64_t sequence;
    uint32_t salt_low;
    uint32_t chain;
    uint32_t payload_crc32;
    uint32_t header_crc32;
};

/* The log being read. A source that fails once is not asked again: everything then looks
 * unreadable, and the scan fails with what it said. */
struct log {
    const struct nj_record_source *source;
    enum nj_status status;
    struct nj_error *err;
};

/* NULL when the source failed. The caller has checked that the bytes are inside the log. */
static const uint8_t *view(struct log *log, uint64_t offset, size_t n_bytes)
{
    const uint8_t *data = NULL;
    if (log->status == NJ_OK) {
        log->status = log->source->view(log->source->context, offset, n_bytes, &data, log->err);
    }
    return log->status == NJ_OK ? data : NULL;
}

static uint64_t n_left(const struct log *log, uint64_t offset)
{
    return log->source->length_bytes - offset;
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

static bool is_zero_behind(struct log *log, uint64_t offset)
{
    while (n_left(log, offset) > 0) {
        size_t n_bytes =
            n_left(log, offset) < STRIDE_BYTES ? (size_t)n_left(log, offset) : STRIDE_BYTES;
        const uint8_t *data = view(log, offset, n_bytes);
        if (data == NULL || !all_zero(data, n_bytes)) {
            return false;
        }
        offset += n_bytes;
    }
    return true;
}

static const char unreadable[] = "log cannot be read";

/* Reads the header at `offset` and judges it by itself: checksum, and a length that fits. Gives
 * what is wrong, NULL for nothing. */
static const char *read_record_header(struct log *log, uint64_t offset,
                                      struct record_header *header)
{
    if (n_left(log, offset) < NJ_RECORD_HEADER_BYTES) {
        return "record header is cut off";
    }
    const uint8_t *data = view(log, offset, NJ_RECORD_HEADER_BYTES);
    if (data == NULL) {
        return unreadable;
    }
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, (struct nj_bytes){data, NJ_RECORD_HEADER_BYTES});
    header->type = nj_read_u32(&reader);
    header->payload_bytes = nj_read_u32(&reader);
    header->sequence = nj_read_u64(&reader);
    header->salt_low = nj_read_u32(&reader);
    header->chain = nj_read_u32(&reader);
    header->payload_crc32 = nj_read_u32(&reader);
    header->header_crc32 = nj_read_u32(&reader);
    struct nj_bytes checked = {data, RECORD_CHECKED_BYTES};
    if (nj_crc32(0, checked) != header->header_crc32) {
        return "record header has a wrong checksum";
    }
    if (header->payload_bytes > NJ_RECORD_PAYLOAD_LIMIT_BYTES) {
        return "record is longer than records may be";
    }
    if (nj_record_encoded_bytes(header->payload_bytes) > n_left(log, offset)) {
        return "record is cut off";
    }
    return NULL;
}

/* Judges payload and padding of a record whose header is good; shows the payload. */
static const char *check_payload(struct log *log, uint64_t offset,
                                 const struct record_header *header, struct nj_bytes *payload)
{
    size_t encoded_bytes = nj_record_encoded_bytes(header->payload_bytes);
    const uint8_t *data = view(log, offset, encoded_bytes);
    if (data == NULL) {
        return unreadable;
    }
    *payload = (struct nj_bytes){data + NJ_RECORD_HEADER_BYTES, header->payload_bytes};
    if (nj_crc32(0, *payload) != header->payload_crc32) {
        return "record payload has a wrong checksum";
    }
    size_t used = NJ_RECORD_HEADER_BYTES + (size_t)header->payload_bytes;
    return all_zero(data + used, encoded_bytes - used) ? NULL : "record padding is not zero";
}

/* Is this whole record the one that must stand here? */
static const char *check_record(struct log *log, uint64_t offset,
                                const struct nj_record_cursor *cursor,
                                struct record_header *header, struct nj_bytes *payload)
{
    const char *fault = read_record_header(log, offset, header);
    if (fault != NULL) {
        return fault;
    }
    if (header->salt_low != cursor->salt_low) {
        return "record belongs to another log";
    }
    if (header->sequence != cursor->sequence) {
        return "record is out of sequence";
    }
    if (header->chain != cursor->chain) {
        return "record does not follow the one before it";
    }
    return check_payload(log, offset, header, payload);
}

/* Is there a whole record of this log at or behind `offset` that is not one of those already
 * read? Such a record was durable once, so what is missing before it is damage and not merely a
 * write that did not finish. Records begin at multiples of 8.
 *
 * Each payload is read at most a few times over in an honest log; a log made to repeat the work
 * for ever is called damaged when it has cost eight times its length. */
static bool has_later_record(struct log *log, uint64_t offset,
                             const struct nj_record_cursor *cursor)
{
    uint64_t effort_bytes = 0;
    for (; n_left(log, offset) >= NJ_RECORD_HEADER_BYTES && log->status == NJ_OK;
         offset += ALIGNMENT_BYTES) {
        struct record_header header;
        struct nj_bytes payload;
        if (read_record_header(log, offset, &header) != NULL ||
            header.salt_low != cursor->salt_low || header.sequence < cursor->sequence) {
            continue;
        }
        effort_bytes += header.payload_bytes;
        if (check_payload(log, offset, &header, &payload) == NULL ||
            effort_bytes / ALIGNMENT_BYTES > log->source->length_bytes) {
            return true;
        }
    }
    return false;
}

static void set_end(struct nj_record_log_scan *scan, enum nj_log_end end, const char *fault,
                    uint64_t offset)
{
    scan->end = end;
    (void)snprintf(scan->complaint, sizeof scan->complaint, "%s at byte %" PRIu64, fault,
                   offset);
}

/* Nothing verifies at `offset`: says what kind of end that is. */
static void judge_end(struct log *log, uint64_t offset, const char *fault,
                      struct nj_record_log_scan *scan)
{
    if (is_zero_behind(log, offset)) {
        scan->end = NJ_LOG_END_CLEAN;
        return;
    }
    bool is_damage = has_later_record(log, offset, &scan->cursor);
    set_end(scan, is_damage ? NJ_LOG_END_DAMAGED : NJ_LOG_END_TORN, fault, offset);
}

/* Reads the file header; false when there is none to go on from, with `scan->end` set. */
static bool read_log_header(struct log *log, uint32_t newest_version,
                            struct nj_record_log_scan *scan)
{
    if (log->source->length_bytes < NJ_RECORD_LOG_HEADER_BYTES) {
        set_end(scan, NJ_LOG_END_NO_HEADER, "file header is cut off",
                log->source->length_bytes);
        return false;
    }
    const uint8_t *data = view(log, 0, NJ_RECORD_LOG_HEADER_BYTES);
    if (data == NULL) {
        return false;
    }
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, (struct nj_bytes){data, NJ_RECORD_LOG_HEADER_BYTES});
    struct nj_bytes found_magic = nj_read_span(&reader, sizeof magic);
    scan->identity.kind = nj_read_u32(&reader);
    scan->identity.format_version = nj_read_u32(&reader);
    scan->identity.salt = nj_read_u64(&reader);
    struct nj_bytes fingerprint = nj_read_span(&reader, sizeof scan->identity.fingerprint);
    memcpy(scan->identity.fingerprint, fingerprint.data, sizeof scan->identity.fingerprint);
    uint32_t byte_order = nj_read_u32(&reader);
    uint32_t checksum = nj_read_u32(&reader);
    struct nj_bytes checked = {data, HEADER_CHECKED_BYTES};

    bool is_sound = memcmp(found_magic.data, magic, sizeof magic) == 0 &&
                    nj_crc32(0, checked) == checksum && byte_order == BYTE_ORDER_MARK;
    if (!is_sound) {
        /* With records behind it this is no unfinished beginning: nobody may start afresh. */
        bool is_bare = is_zero_behind(log, NJ_RECORD_LOG_HEADER_BYTES);
        set_end(scan, is_bare ? NJ_LOG_END_NO_HEADER : NJ_LOG_END_DAMAGED,
                "file header does not verify", 0);
        memset(&scan->identity, 0, sizeof scan->identity);
        return false;
    }
    if (scan->identity.format_version > newest_version) {
        set_end(scan, NJ_LOG_END_NEWER, "format version is newer than known", 12);
        return false;
    }
    scan->cursor.chain = checksum;
    scan->cursor.salt_low = (uint32_t)scan->identity.salt;
    scan->valid_bytes = NJ_RECORD_LOG_HEADER_BYTES;
    return true;
}

enum nj_status nj_record_log_scan_source(const struct nj_record_source *source,
                                         uint32_t newest_version, nj_record_visit *visit,
                                         void *context, struct nj_record_log_scan *scan,
                                         struct nj_error *err)
{
    struct log log = {.source = source, .status = NJ_OK, .err = err};
    *scan = (struct nj_record_log_scan){.end = NJ_LOG_END_CLEAN};
    if (!read_log_header(&log, newest_version, scan)) {
        return log.status;
    }
    while (scan->valid_bytes < source->length_bytes) {
        struct record_header header;
        struct nj_record record = {.offset_bytes = scan->valid_bytes};
        const char *fault =
            check_record(&log, scan->valid_bytes, &scan->cursor, &header, &record.payload);
        if (fault != NULL) {
            judge_end(&log, scan->valid_bytes, fault, scan);
            return log.status;
        }
        record.type = header.type;
        record.sequence = header.sequence;
        enum nj_status status = visit(context, &record, err);
        if (status != NJ_OK) {
            return status;
        }
        scan->cursor.sequence++;
        scan->cursor.chain = header.header_crc32;
        scan->n_records++;
        scan->valid_bytes += nj_record_encoded_bytes(header.payload_bytes);
    }
    return NJ_OK;
}

static enum nj_status view_memory(void *context, uint64_t offset, size_t n_bytes,
                                  const uint8_t **data, struct nj_error *err)
{
    const struct nj_bytes *log = context;
    (void)n_bytes;
    (void)err; /* memory does not fail */
    *data = log->data + offset;
    return NJ_OK;
}

enum nj_status nj_record_log_scan(struct nj_bytes log, uint32_t newest_version,
                                  nj_record_visit *visit, void *context,
                                  struct nj_record_log_scan *scan, struct nj_error *err)
{
    struct nj_record_source source = {
        .context = &log, .length_bytes = log.length_bytes, .view = view_memory};
    return nj_record_log_scan_source(&source, newest_version, visit, context, scan, err);
}
