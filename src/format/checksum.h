/* CRC-32 (zlib's polynomial), against torn and flipped bytes. */
#ifndef NJ_FORMAT_CHECKSUM_H
#define NJ_FORMAT_CHECKSUM_H

#include <stdint.h>

#include "base/bytes.h"

/* `seed` is 0 to begin, or the value so far to go on. */
uint32_t nj_crc32(uint32_t seed, struct nj_bytes bytes);

#endif
