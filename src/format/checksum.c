#include "format/checksum.h"

#include <zlib.h>

uint32_t nj_crc32(uint32_t seed, struct nj_bytes bytes)
{
    if (bytes.length_bytes == 0) {
        return seed; /* zlib takes a NULL pointer for "give the initial value" */
    }
    return (uint32_t)crc32_z(seed, bytes.data, bytes.length_bytes);
}
