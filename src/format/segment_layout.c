#include "format/segment_layout.h"

#include <assert.h>
#include <string.h>

#include "format/checksum.h"

enum {
    HEADER_CHECKED_BYTES = NJ_SEGMENT_HEADER_BYTES - NJ_SEGMENT_CRC_BYTES,
    RECORD_CHECKED_BYTES = NJ_SEGMENT_RECORD_HEADER_BYTES - NJ_SEGMENT_CRC_BYTES
};

struct nj_segment_link nj_segment_link_of(uint32_t header_crc32, uint32_t payload_crc32)
{
    struct nj_segment_link link;
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, link.bytes, sizeof link.bytes);
    nj_write_u32(&writer, header_crc32);
    nj_write_u32(&writer, payload_crc32);
    link.chain = nj_crc32(0, (struct nj_bytes){link.bytes, sizeof link.bytes});
    return link;
}

uint32_t nj_segment_header_encode(const struct nj_segment_header *header,
                                  uint8_t bytes[NJ_SEGMENT_HEADER_BYTES])
{
    struct nj_byte_writer writer;
    struct nj_bytes magic = {(const uint8_t *)NJ_SEGMENT_MAGIC, NJ_SEGMENT_MAGIC_BYTES};
    nj_byte_writer_init(&writer, bytes, NJ_SEGMENT_HEADER_BYTES);
    nj_write_span(&writer, magic);
    nj_write_u32(&writer, NJ_SEGMENT_VERSION);
    nj_write_u32(&writer, NJ_SEGMENT_BYTE_ORDER_MARK);
    nj_write_span(&writer, (struct nj_bytes){header->job, sizeof header->job});
    nj_write_u64(&writer, header->item_index);
    nj_write_span(&writer, (struct nj_bytes){header->item.bytes, NJ_DIGEST_BYTES});
    nj_write_u32(&writer, header->sample);
    nj_write_u32(&writer, header->numerics_version);
    nj_write_u32(&writer, header->kv_type);
    nj_write_f32(&writer, header->latent_norm_eps);
    nj_write_u64(&writer, header->number);
    nj_write_u64(&writer, header->previous_number);
    nj_write_u64(&writer, header->salt);
    nj_write_span(&writer, (struct nj_bytes){header->weights.bytes, NJ_DIGEST_BYTES});
    nj_write_span(&writer, (struct nj_bytes){header->template.bytes, NJ_DIGEST_BYTES});
    nj_write_u32(&writer, header->previous_chain);
    uint32_t checksum = nj_crc32(0, (struct nj_bytes){bytes, HEADER_CHECKED_BYTES});
    nj_write_u32(&writer, checksum);
    assert(!writer.failed && writer.offset == NJ_SEGMENT_HEADER_BYTES);
    return checksum;
}

static void read_digest(struct nj_byte_reader *reader, struct nj_digest *digest)
{
    struct nj_bytes span = nj_read_span(reader, NJ_DIGEST_BYTES);
    memcpy(digest->bytes, span.data, NJ_DIGEST_BYTES);
}

static void read_header_fields(struct nj_byte_reader *reader, struct nj_segment_header *header)
{
    struct nj_bytes job = nj_read_span(reader, NJ_SEGMENT_JOB_BYTES);
    memcpy(header->job, job.data, sizeof header->job);
    header->item_index = nj_read_u64(reader);
    read_digest(reader, &header->item);
    header->sample = nj_read_u32(reader);
    header->numerics_version = nj_read_u32(reader);
    header->kv_type = nj_read_u32(reader);
    header->latent_norm_eps = nj_read_f32(reader);
    header->number = nj_read_u64(reader);
    header->previous_number = nj_read_u64(reader);
    header->salt = nj_read_u64(reader);
    read_digest(reader, &header->weights);
    read_digest(reader, &header->template);
    header->previous_chain = nj_read_u32(reader);
}

bool nj_segment_header_decode(const uint8_t bytes[NJ_SEGMENT_HEADER_BYTES],
                              struct nj_segment_header *header, uint32_t *format_version,
                              uint32_t *header_crc32)
{
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, (struct nj_bytes){bytes, NJ_SEGMENT_HEADER_BYTES});
    struct nj_bytes magic = nj_read_span(&reader, NJ_SEGMENT_MAGIC_BYTES);
    *format_version = nj_read_u32(&reader);
    uint32_t byte_order_mark = nj_read_u32(&reader);
    *header = (struct nj_segment_header){.number = 0};
    if (*format_version == NJ_SEGMENT_VERSION) {
        read_header_fields(&reader, header);
    }
    nj_byte_reader_init(&reader,
                        (struct nj_bytes){bytes + HEADER_CHECKED_BYTES, NJ_SEGMENT_CRC_BYTES});
    *header_crc32 = nj_read_u32(&reader);
    return memcmp(magic.data, NJ_SEGMENT_MAGIC, NJ_SEGMENT_MAGIC_BYTES) == 0 &&
           byte_order_mark == NJ_SEGMENT_BYTE_ORDER_MARK &&
           nj_crc32(0, (struct nj_bytes){bytes, HEADER_CHECKED_BYTES}) == *header_crc32;
}

uint32_t nj_segment_record_header_encode(const struct nj_segment_record_header *header,
                                         uint8_t bytes[NJ_SEGMENT_RECORD_HEADER_BYTES])
{
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, bytes, NJ_SEGMENT_RECORD_HEADER_BYTES);
    nj_write_u32(&writer, header->type);
    nj_write_u32(&writer, header->flags);
    nj_write_u64(&writer, header->payload_bytes);
    nj_write_u64(&writer, header->raw_bytes);
    nj_write_u64(&writer, header->sequence);
    nj_write_u32(&writer, header->salt_low);
    nj_write_u32(&writer, header->chain);
    nj_write_u32(&writer, header->layer);
    nj_write_u32(&writer, header->first);
    nj_write_u32(&writer, header->count);
    uint32_t checksum = nj_crc32(0, (struct nj_bytes){bytes, RECORD_CHECKED_BYTES});
    nj_write_u32(&writer, checksum);
    assert(!writer.failed && writer.offset == NJ_SEGMENT_RECORD_HEADER_BYTES);
    return checksum;
}

bool nj_segment_record_header_decode(const uint8_t bytes[NJ_SEGMENT_RECORD_HEADER_BYTES],
                                     struct nj_segment_record_header *header)
{
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, (struct nj_bytes){bytes, NJ_SEGMENT_RECORD_HEADER_BYTES});
    header->type = nj_read_u32(&reader);
    header->flags = nj_read_u32(&reader);
    header->payload_bytes = nj_read_u64(&reader);
    header->raw_bytes = nj_read_u64(&reader);
    header->sequence = nj_read_u64(&reader);
    header->salt_low = nj_read_u32(&reader);
    header->chain = nj_read_u32(&reader);
    header->layer = nj_read_u32(&reader);
    header->first = nj_read_u32(&reader);
    header->count = nj_read_u32(&reader);
    header->header_crc32 = nj_read_u32(&reader);
    return nj_crc32(0, (struct nj_bytes){bytes, RECORD_CHECKED_BYTES}) == header->header_crc32;
}
