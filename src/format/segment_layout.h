/* Fixed places of a segment, for its encoder and its reader only. */
#ifndef NJ_FORMAT_SEGMENT_LAYOUT_H
#define NJ_FORMAT_SEGMENT_LAYOUT_H

#include <stdint.h>

#include "format/segment.h"

/* The carriage return and the line feed show a file that went through a text-mode copy. */
#define NJ_SEGMENT_MAGIC "NJSEG\x1a\r\n"

enum {
    NJ_SEGMENT_MAGIC_BYTES = 8,
    NJ_SEGMENT_BYTE_ORDER_MARK = 0x0A0B0C0D,
    NJ_SEGMENT_CRC_BYTES = 4,
    NJ_SEGMENT_ALIGNMENT_BYTES = 8,
    NJ_SEGMENT_FLAG_PACKED = 1,
    NJ_SEGMENT_COMMIT_BYTES = 3 * 8 + NJ_DIGEST_BYTES
};

struct nj_segment_record_header {
    uint32_t type;
    uint32_t flags;
    uint64_t payload_bytes;
    uint64_t raw_bytes;
    uint64_t sequence;
    uint32_t salt_low;
    uint32_t chain;
    uint32_t layer;
    uint32_t first;
    uint32_t count;
    uint32_t header_crc32;
};

/* Header, payload, checksum and padding of one record. */
static inline uint64_t nj_segment_record_bytes(uint64_t payload_bytes)
{
    uint64_t used = NJ_SEGMENT_RECORD_HEADER_BYTES + payload_bytes + NJ_SEGMENT_CRC_BYTES;
    return (used + NJ_SEGMENT_ALIGNMENT_BYTES - 1) &
           ~(uint64_t)(NJ_SEGMENT_ALIGNMENT_BYTES - 1);
}

/* The chain value of a record: over its two checksums, which cover all of it. The same eight
 * bytes of every record are what the commit's SHA-256 is taken over. */
struct nj_segment_link {
    uint8_t bytes[8];
    uint32_t chain;
};

struct nj_segment_link nj_segment_link_of(uint32_t header_crc32, uint32_t payload_crc32);

/* Writes the header's 184 bytes and returns their checksum, the chain's first value. */
uint32_t nj_segment_header_encode(const struct nj_segment_header *header,
                                  uint8_t bytes[NJ_SEGMENT_HEADER_BYTES]);

/* Writes 56 bytes; returns their checksum. `header_crc32` of the argument is not looked at. */
uint32_t nj_segment_record_header_encode(const struct nj_segment_record_header *header,
                                         uint8_t bytes[NJ_SEGMENT_RECORD_HEADER_BYTES]);

/* Reads 56 bytes; false when their checksum is wrong. */
bool nj_segment_record_header_decode(const uint8_t bytes[NJ_SEGMENT_RECORD_HEADER_BYTES],
                                     struct nj_segment_record_header *header);

/* Reads 184 bytes; false when they are no header. Of another version only the version. */
bool nj_segment_header_decode(const uint8_t bytes[NJ_SEGMENT_HEADER_BYTES],
                              struct nj_segment_header *header, uint32_t *format_version,
                              uint32_t *header_crc32);

#endif
