/* Encodes a segment record by record, into memory of its own (format/segment.h).
 *
 *     nj_segment_encoder_create(NJ_PACK_AUTO, &encoder, err);        once, for all segments
 *     nj_segment_file_begin(&file, &header, bytes, err);             184 bytes to write
 *     nj_segment_encoder_record(encoder, &file, &section, raw);      bytes to write, and so on
 *     nj_segment_file_commit(&file, bytes, &length, err);            the last bytes to write
 *
 * The commit stands apart because everything before it must be on disk before it is written.
 * Several segments may be under way with one encoder.
 *
 * Threads: one owner.
 */
#ifndef NJ_FORMAT_SEGMENT_ENCODER_H
#define NJ_FORMAT_SEGMENT_ENCODER_H

#include "format/segment.h"

struct nj_segment_encoder;

/* One segment under way. Zeroed is valid to deinit. */
struct nj_segment_file {
    struct nj_segment_cursor cursor;
    struct nj_digest_stream *checksums; /* owned: over both checksums of every record */
    uint64_t n_bytes;                   /* encoded so far, file header included */
};

/* Memory that one encoder holds, for a budget. */
enum { NJ_SEGMENT_ENCODER_BYTES = NJ_PACKER_BYTES + NJ_SEGMENT_RECORD_LIMIT_BYTES };

/* `pack_level` as in format/planes.h. NJ_E_USAGE, NJ_E_MEMORY. Caller owns `*encoder`. */
enum nj_status nj_segment_encoder_create(int pack_level, struct nj_segment_encoder **encoder,
                                         struct nj_error *err);
void nj_segment_encoder_destroy(struct nj_segment_encoder *encoder);

enum nj_status nj_segment_file_begin(struct nj_segment_file *file,
                                     const struct nj_segment_header *header,
                                     uint8_t bytes[NJ_SEGMENT_HEADER_BYTES],
                                     struct nj_error *err);
void nj_segment_file_deinit(struct nj_segment_file *file);

/* One record of at most NJ_SEGMENT_PAYLOAD_LIMIT_BYTES. KV and RECURRENT are packed where that
 * pays. The bytes are valid until the next call with this encoder. */
struct nj_bytes nj_segment_encoder_record(struct nj_segment_encoder *encoder,
                                          struct nj_segment_file *file,
                                          const struct nj_segment_section *section,
                                          struct nj_bytes raw);

/* Room for SNAP_COMMIT and SEG_END. */
enum { NJ_SEGMENT_COMMIT_LIMIT_BYTES = 256 };

/* The commit over everything encoded, and the end mark; `*chain` is the chain value that a next
 * segment names. Afterwards the file can only be deinited. NJ_E_INTERNAL when the checksums
 * could not be digested. */
enum nj_status nj_segment_file_commit(struct nj_segment_file *file,
                                      uint8_t bytes[NJ_SEGMENT_COMMIT_LIMIT_BYTES],
                                      size_t *length_bytes, uint32_t *chain,
                                      struct nj_error *err);

#endif
