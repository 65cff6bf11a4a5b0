#include "runner/export_format.h"

#include <stdio.h>
#include <string.h>

static bool part_is_safe(const char *part, size_t length)
{
    bool is_dots =
        (length == 1 && part[0] == '.') || (length == 2 && part[0] == '.' && part[1] == '.');
    return length > 0 && length <= 255 && !is_dots;
}

bool nj_export_name_is_safe(struct nj_text name)
{
    size_t begin = 0;
    if (name.length_bytes == 0 || name.length_bytes > NJ_EXPORT_NAME_LIMIT_BYTES ||
        memchr(name.data, '\0', name.length_bytes) != NULL) {
        return false;
    }
    for (size_t i = 0; i <= name.length_bytes; i++) {
        if (i == name.length_bytes || name.data[i] == '/') {
            if (!part_is_safe(name.data + begin, i - begin)) {
                return false;
            }
            begin = i + 1;
        }
    }
    return true;
}

static enum nj_status refuse(struct nj_error *err, const char *why)
{
    return nj_fail(err, NJ_E_STATE, "%s", why);
}

static enum nj_status end_file(struct nj_export_reader *reader, struct nj_error *err)
{
    const struct nj_export_visitor *visitor = &reader->visitor;
    if (!reader->is_in_file) {
        return NJ_OK;
    }
    if (reader->n_bytes_left > 0) {
        return refuse(err, "a file ends before its length");
    }
    reader->is_in_file = false;
    return visitor->end_file == NULL ? NJ_OK : visitor->end_file(visitor->context, err);
}

static enum nj_status take_head(struct nj_export_reader *reader, struct nj_bytes payload,
                                struct nj_error *err)
{
    const struct nj_export_visitor *visitor = &reader->visitor;
    struct nj_text json = {(const char *)payload.data, payload.length_bytes};
    if (reader->has_head || payload.length_bytes > NJ_EXPORT_HEAD_LIMIT_BYTES) {
        return refuse(err, "a second head, or too long a one");
    }
    reader->has_head = true;
    return visitor->head == NULL ? NJ_OK : visitor->head(visitor->context, json, err);
}

static enum nj_status take_file(struct nj_export_reader *reader, struct nj_bytes payload,
                                struct nj_error *err)
{
    const struct nj_export_visitor *visitor = &reader->visitor;
    struct nj_byte_reader bytes;
    nj_byte_reader_init(&bytes, payload);
    uint64_t n_bytes = nj_read_u64(&bytes);
    if (bytes.failed) {
        return refuse(err, "a file without length");
    }
    struct nj_text name = {(const char *)payload.data + bytes.offset,
                           payload.length_bytes - bytes.offset};
    if (!nj_export_name_is_safe(name)) {
        return refuse(err, "a file whose name leads out of its folder");
    }
    enum nj_status status = end_file(reader, err);
    if (status != NJ_OK) {
        return status;
    }
    (void)snprintf(reader->name, sizeof reader->name, "%.*s", (int)name.length_bytes,
                   name.data);
    reader->is_in_file = true;
    reader->n_bytes_left = n_bytes;
    reader->n_files += 1;
    return visitor->begin_file == NULL
               ? NJ_OK
               : visitor->begin_file(visitor->context, reader->name, n_bytes, err);
}

static enum nj_status take_bytes(struct nj_export_reader *reader, struct nj_bytes payload,
                                 struct nj_error *err)
{
    const struct nj_export_visitor *visitor = &reader->visitor;
    if (!reader->is_in_file || payload.length_bytes == 0 ||
        payload.length_bytes > NJ_EXPORT_PIECE_BYTES ||
        payload.length_bytes > reader->n_bytes_left) {
        return refuse(err, "bytes that belong to no file");
    }
    reader->n_bytes_left -= payload.length_bytes;
    reader->n_bytes += payload.length_bytes;
    return visitor->bytes == NULL ? NJ_OK : visitor->bytes(visitor->context, payload, err);
}

static enum nj_status take_end(struct nj_export_reader *reader, struct nj_bytes payload,
                               struct nj_error *err)
{
    uint8_t wanted[NJ_EXPORT_END_BYTES];
    struct nj_digest digest;
    enum nj_status status = end_file(reader, err);
    if (status == NJ_OK) {
        status = nj_digest_stream_finish(reader->digest, &digest, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    nj_export_end_encode(reader->n_files, reader->n_bytes, &digest, wanted);
    if (payload.length_bytes != sizeof wanted ||
        memcmp(payload.data, wanted, sizeof wanted) != 0) {
        return refuse(err, "its end does not agree with its files");
    }
    reader->has_end = true;
    return NJ_OK;
}

static enum nj_status take(struct nj_export_reader *reader, const struct nj_record *record,
                           struct nj_error *err)
{
    if (reader->has_end || (!reader->has_head && record->type != NJ_EXPORT_HEAD)) {
        return refuse(err, "its records are out of order");
    }
    switch (record->type) {
    case NJ_EXPORT_HEAD:
        return take_head(reader, record->payload, err);
    case NJ_EXPORT_FILE:
        return take_file(reader, record->payload, err);
    case NJ_EXPORT_BYTES:
        return take_bytes(reader, record->payload, err);
    case NJ_EXPORT_END:
        return take_end(reader, record->payload, err);
    default:
        return refuse(err, "a record of a kind that no export has");
    }
}

enum nj_status nj_export_take(void *context, const struct nj_record *record,
                              struct nj_error *err)
{
    struct nj_export_reader *reader = context;
    enum nj_status status =
        reader->digest == NULL ? nj_digest_stream_create(&reader->digest, err) : NJ_OK;
    if (status == NJ_OK) {
        status = take(reader, record, err);
    }
    if (status == NJ_OK && !reader->has_end) {
        nj_digest_stream_add(reader->digest, record->payload.data,
                             record->payload.length_bytes);
    }
    return status;
}

void nj_export_reader_deinit(struct nj_export_reader *reader)
{
    nj_digest_stream_destroy(reader->digest);
    reader->digest = NULL;
}

void nj_export_end_encode(uint64_t n_files, uint64_t n_bytes, const struct nj_digest *digest,
                          uint8_t payload[NJ_EXPORT_END_BYTES])
{
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, payload, NJ_EXPORT_END_BYTES);
    nj_write_u64(&writer, n_files);
    nj_write_u64(&writer, n_bytes);
    nj_write_span(&writer, (struct nj_bytes){digest->bytes, NJ_DIGEST_BYTES});
}
