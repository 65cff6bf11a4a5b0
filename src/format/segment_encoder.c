#include "format/segment_encoder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "format/checksum.h"
#include "format/segment_layout.h"

struct nj_segment_encoder {
    struct nj_packer *packer;
    uint8_t record[NJ_SEGMENT_RECORD_LIMIT_BYTES];
};

enum nj_status nj_segment_encoder_create(int pack_level, struct nj_segment_encoder **encoder,
                                         struct nj_error *err)
{
    struct nj_segment_encoder *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "create an encoder of segments: out of memory");
    }
    enum nj_status status = nj_packer_create(pack_level, &made->packer, err);
    if (status != NJ_OK) {
        free(made);
        return status;
    }
    *encoder = made;
    return NJ_OK;
}

void nj_segment_encoder_destroy(struct nj_segment_encoder *encoder)
{
    if (encoder == NULL) {
        return;
    }
    nj_packer_destroy(encoder->packer);
    free(encoder);
}

enum nj_status nj_segment_file_begin(struct nj_segment_file *file,
                                     const struct nj_segment_header *header,
                                     uint8_t bytes[NJ_SEGMENT_HEADER_BYTES],
                                     struct nj_error *err)
{
    *file = (struct nj_segment_file){.n_bytes = NJ_SEGMENT_HEADER_BYTES};
    enum nj_status status = nj_digest_stream_create(&file->checksums, err);
    if (status != NJ_OK) {
        return status;
    }
    file->cursor.chain = nj_segment_header_encode(header, bytes);
    file->cursor.salt_low = (uint32_t)header->salt;
    return NJ_OK;
}

void nj_segment_file_deinit(struct nj_segment_file *file)
{
    nj_digest_stream_destroy(file->checksums);
    file->checksums = NULL;
}

/* Encodes the record whose payload already stands in its place in `bytes`, which has room for
 * all of it, and moves the file's cursor on. Returns the record's length. */
static size_t seal(struct nj_segment_file *file, struct nj_segment_record_header *header,
                   uint8_t *bytes)
{
    uint8_t *payload = bytes + NJ_SEGMENT_RECORD_HEADER_BYTES;
    size_t n_payload = (size_t)header->payload_bytes;
    size_t n_bytes = (size_t)nj_segment_record_bytes(n_payload);
    struct nj_byte_writer writer;
    header->sequence = file->cursor.sequence;
    header->salt_low = file->cursor.salt_low;
    header->chain = file->cursor.chain;
    uint32_t header_crc32 = nj_segment_record_header_encode(header, bytes);
    uint32_t payload_crc32 = nj_crc32(0, (struct nj_bytes){payload, n_payload});
    memset(payload + n_payload, 0, n_bytes - NJ_SEGMENT_RECORD_HEADER_BYTES - n_payload);
    nj_byte_writer_init(&writer, payload + n_payload, NJ_SEGMENT_CRC_BYTES);
    nj_write_u32(&writer, payload_crc32);

    struct nj_segment_link link = nj_segment_link_of(header_crc32, payload_crc32);
    if (file->checksums != NULL) { /* commit and end mark are not part of what is committed */
        nj_digest_stream_add(file->checksums, link.bytes, sizeof link.bytes);
    }
    file->cursor.chain = link.chain;
    file->cursor.sequence += 1;
    file->n_bytes += n_bytes;
    return n_bytes;
}

struct nj_bytes nj_segment_encoder_record(struct nj_segment_encoder *encoder,
                                          struct nj_segment_file *file,
                                          const struct nj_segment_section *section,
                                          struct nj_bytes raw)
{
    assert(raw.length_bytes <= NJ_SEGMENT_PAYLOAD_LIMIT_BYTES);
    uint8_t *payload = encoder->record + NJ_SEGMENT_RECORD_HEADER_BYTES;
    size_t n_packed = 0;
    if (section->type == NJ_SEGMENT_KV || section->type == NJ_SEGMENT_RECURRENT) {
        n_packed = nj_packer_pack(encoder->packer, raw, payload);
    }
    if (n_packed == 0 && raw.length_bytes > 0) {
        memcpy(payload, raw.data, raw.length_bytes);
    }
    struct nj_segment_record_header header = {
        .type = (uint32_t)section->type,
        .flags = n_packed > 0 ? NJ_SEGMENT_FLAG_PACKED : 0,
        .payload_bytes = n_packed > 0 ? n_packed : raw.length_bytes,
        .raw_bytes = raw.length_bytes,
        .layer = section->layer,
        .first = section->first,
        .count = section->count};
    size_t n_bytes = seal(file, &header, encoder->record);
    return (struct nj_bytes){.data = encoder->record, .length_bytes = n_bytes};
}

static void write_commit(const struct nj_segment_file *file, const struct nj_digest *digest,
                         uint8_t *payload)
{
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, payload, NJ_SEGMENT_COMMIT_BYTES);
    nj_write_u64(&writer, 0);
    nj_write_u64(&writer, file->cursor.sequence - 1);
    nj_write_u64(&writer, file->n_bytes - NJ_SEGMENT_HEADER_BYTES);
    nj_write_span(&writer, (struct nj_bytes){digest->bytes, NJ_DIGEST_BYTES});
}

enum nj_status nj_segment_file_commit(struct nj_segment_file *file,
                                      uint8_t bytes[NJ_SEGMENT_COMMIT_LIMIT_BYTES],
                                      size_t *length_bytes, uint32_t *chain,
                                      struct nj_error *err)
{
    struct nj_digest digest;
    enum nj_status status = nj_digest_stream_finish(file->checksums, &digest, err);
    nj_segment_file_deinit(file);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_segment_record_header header = {.type = NJ_SEGMENT_SNAP_COMMIT,
                                              .payload_bytes = NJ_SEGMENT_COMMIT_BYTES,
                                              .raw_bytes = NJ_SEGMENT_COMMIT_BYTES};
    write_commit(file, &digest, bytes + NJ_SEGMENT_RECORD_HEADER_BYTES);
    size_t n_bytes = seal(file, &header, bytes);
    *chain = file->cursor.chain;
    struct nj_segment_record_header end = {.type = NJ_SEGMENT_END};
    *length_bytes = n_bytes + seal(file, &end, bytes + n_bytes);
    assert(*length_bytes <= NJ_SEGMENT_COMMIT_LIMIT_BYTES);
    return NJ_OK;
}
