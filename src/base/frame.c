#include "base/frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

enum {
    MAGIC = 'N' | 'J' << 8 | 'F' << 16 | '1' << 24,
    CHECKED_HEADER_BYTES = NJ_FRAME_HEADER_BYTES - 4
};

/* CRC-32 with the polynomial of zlib and gzip, four bits at a time: messages are short, and
 * base has no zlib. */
static uint32_t crc32_of(struct nj_bytes bytes)
{
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                       0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                       0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes.length_bytes; i++) {
        crc ^= bytes.data[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

void nj_frame_write_header(const struct nj_frame *frame, uint8_t header[NJ_FRAME_HEADER_BYTES])
{
    struct nj_byte_writer writer;
    assert(frame->payload.length_bytes <= NJ_FRAME_PAYLOAD_LIMIT_BYTES);
    nj_byte_writer_init(&writer, header, NJ_FRAME_HEADER_BYTES);
    nj_write_u32(&writer, (uint32_t)MAGIC);
    nj_write_u16(&writer, frame->type);
    nj_write_u16(&writer, 0); /* reserved */
    nj_write_u32(&writer, (uint32_t)frame->payload.length_bytes);
    nj_write_u32(&writer, crc32_of(frame->payload));
    nj_write_u32(&writer, crc32_of((struct nj_bytes){header, CHECKED_HEADER_BYTES}));
}

void nj_frame_reader_deinit(struct nj_frame_reader *reader)
{
    free(reader->bytes);
    *reader = (struct nj_frame_reader){.bytes = NULL};
}

enum nj_status nj_frame_reader_add(struct nj_frame_reader *reader, struct nj_bytes bytes,
                                   struct nj_error *err)
{
    size_t n_left = reader->end - reader->begin;
    if (bytes.length_bytes == 0) {
        return NJ_OK;
    }
    enum nj_status status = nj_vector_reserve(&reader->bytes, &reader->capacity, 1,
                                              n_left + bytes.length_bytes, err);
    if (status != NJ_OK) {
        return status;
    }
    memmove(reader->bytes, reader->bytes + reader->begin, n_left);
    memcpy(reader->bytes + n_left, bytes.data, bytes.length_bytes);
    reader->begin = 0;
    reader->end = n_left + bytes.length_bytes;
    return NJ_OK;
}

static enum nj_status give_up(struct nj_frame_reader *reader, const char *why,
                              struct nj_error *err)
{
    reader->is_broken = true;
    return nj_fail(err, NJ_E_INPUT, "message on the pipe: %s", why);
}

/* Of a header that verifies. */
struct header {
    uint16_t type;
    uint32_t length_bytes;
    uint32_t payload_crc;
};

static enum nj_status read_header(struct nj_frame_reader *reader, struct header *header,
                                  struct nj_error *err)
{
    struct nj_bytes span = {reader->bytes + reader->begin, NJ_FRAME_HEADER_BYTES};
    struct nj_byte_reader fields;
    nj_byte_reader_init(&fields, span);
    if (nj_read_u32(&fields) != (uint32_t)MAGIC) {
        return give_up(reader, "these bytes are none", err);
    }
    header->type = nj_read_u16(&fields);
    uint16_t reserved = nj_read_u16(&fields);
    header->length_bytes = nj_read_u32(&fields);
    header->payload_crc = nj_read_u32(&fields);
    if (nj_read_u32(&fields) != crc32_of((struct nj_bytes){span.data, CHECKED_HEADER_BYTES})) {
        return give_up(reader, "its header does not verify", err);
    }
    if (reserved != 0 || header->length_bytes > NJ_FRAME_PAYLOAD_LIMIT_BYTES) {
        return give_up(reader, "it is none of ours", err);
    }
    return NJ_OK;
}

enum nj_status nj_frame_reader_next(struct nj_frame_reader *reader, struct nj_frame *frame,
                                    bool *has_frame, struct nj_error *err)
{
    size_t n_left = reader->end - reader->begin;
    struct header header = {0};
    *has_frame = false;
    if (reader->is_broken) {
        return give_up(reader, "one before was damaged", err);
    }
    if (n_left < NJ_FRAME_HEADER_BYTES) {
        return NJ_OK;
    }
    enum nj_status status = read_header(reader, &header, err);
    if (status != NJ_OK || n_left - NJ_FRAME_HEADER_BYTES < header.length_bytes) {
        return status;
    }
    struct nj_bytes payload = {reader->bytes + reader->begin + NJ_FRAME_HEADER_BYTES,
                               header.length_bytes};
    if (crc32_of(payload) != header.payload_crc) {
        return give_up(reader, "its content does not verify", err);
    }
    reader->begin += NJ_FRAME_HEADER_BYTES + header.length_bytes;
    *frame = (struct nj_frame){.type = header.type, .payload = payload};
    *has_frame = true;
    return NJ_OK;
}

bool nj_frame_reader_is_torn(const struct nj_frame_reader *reader)
{
    return reader->end > reader->begin;
}
