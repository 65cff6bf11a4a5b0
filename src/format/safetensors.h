/* Reads the header of one safetensors file: names, types, shapes and extents, no weight bytes.
 *
 * A real shard of Kimi K3 lists 5,400 tensors and the whole model half a million, for which a
 * general JSON parser takes 2.5 s and 588 MB; this is a bounded scanner over the header text
 * instead. It accepts what the format allows and nothing else: every extent inside the file, no
 * overlap, no gap, length equal to shape times type. No I/O here: the caller hands over the
 * bytes.
 *
 * File: docs/formats/safetensors.md.
 */
#ifndef NJ_FORMAT_SAFETENSORS_H
#define NJ_FORMAT_SAFETENSORS_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "base/text.h"
#include "base/value_types.h"

enum {
    NJ_TENSOR_MAX_DIMENSIONS = 8,
    NJ_SAFETENSORS_PREFIX_BYTES = 8,
    NJ_SAFETENSORS_HEADER_LIMIT_BYTES = 100 * 1000 * 1000
};

/* One tensor as the header tells it. Views into the header text. */
struct nj_tensor_entry {
    struct nj_text
        name; /* escapes already resolved; a name with escapes is copied by the scanner */
    enum nj_value_type type;
    uint32_t n_dimensions;
    uint64_t shape[NJ_TENSOR_MAX_DIMENSIONS];
    uint64_t begin_bytes; /* relative to the first data byte */
    uint64_t end_bytes;
};

/* Called once per tensor in header order; a status other than NJ_OK ends the scan with it. */
typedef enum nj_status nj_safetensors_visit(void *context, const struct nj_tensor_entry *entry,
                                            struct nj_error *err);

/* The header's length from the first 8 bytes of a file of `file_bytes`. NJ_E_WEIGHTS when it
 * cannot be true. */
enum nj_status nj_safetensors_header_length(const uint8_t prefix[NJ_SAFETENSORS_PREFIX_BYTES],
                                            uint64_t file_bytes, uint64_t *header_bytes,
                                            struct nj_error *err);

/* Scans `header` (the JSON text, without the 8 bytes before it). `file_bytes` is the length of
 * the whole file. Errors carry the byte offset in the file and the tensor's name. Gaps,
 * overlaps and duplicate names are found too (they need all entries, so they are reported at
 * the end). */
enum nj_status nj_safetensors_scan(struct nj_bytes header, uint64_t file_bytes,
                                   nj_safetensors_visit *visit, void *context,
                                   struct nj_error *err);

#endif
