/* All tensors of a model directory in one table: name, type, shape, and where its bytes lie.
 *
 * Built from every `*.safetensors` shard of a directory, with or without
 * `model.safetensors.index.json`. With an index file its list must agree with the shards,
 * except that shards which hold only tensors that nobody asks for (vision) may be absent: a
 * missing shard is an error only when one of its tensors is looked up.
 *
 * Memory: about 100 bytes a tensor plus its name.
 */
#ifndef NJ_FORMAT_WEIGHT_INDEX_H
#define NJ_FORMAT_WEIGHT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "base/value_types.h"
#include "format/safetensors.h"

struct nj_weight_index;

/* Invariant: length_bytes equals the product of the shape times the type's bytes, and
 * [offset_bytes, offset_bytes + length_bytes) lies inside the file. */
struct nj_weight {
    const char *name;
    enum nj_value_type type;
    uint32_t n_dimensions;
    uint64_t shape[NJ_TENSOR_MAX_DIMENSIONS];
    uint32_t file; /* index for nj_weight_index_file */
    uint64_t offset_bytes;
    uint64_t length_bytes;
};

struct nj_weight_file {
    const char *name; /* relative to the model directory */
    uint64_t length_bytes;
    uint64_t header_bytes; /* JSON text, without the 8 bytes before it */
    uint8_t header_sha256[32];
};

/* Caller owns `*index`. NJ_E_WEIGHTS for anything wrong in a shard (file, tensor, offset
 * named), NJ_E_NOT_FOUND when the directory has no shard. */
enum nj_status nj_weight_index_open(const struct nj_file_system *fs, const char *directory,
                                    struct nj_weight_index **index, struct nj_error *err);
void nj_weight_index_close(struct nj_weight_index *index);

size_t nj_weight_index_count(const struct nj_weight_index *index);
/* In (file name, offset) order. Valid until close. */
const struct nj_weight *nj_weight_index_at(const struct nj_weight_index *index, size_t i);
/* NULL when absent. */
const struct nj_weight *nj_weight_index_find(const struct nj_weight_index *index,
                                             const char *name);
/* When `name` is listed in the index file but its shard is absent, that shard's name; else
 * NULL. */
const char *nj_weight_index_missing_shard(const struct nj_weight_index *index,
                                          const char *name);

size_t nj_weight_index_file_count(const struct nj_weight_index *index);
const struct nj_weight_file *nj_weight_index_file(const struct nj_weight_index *index,
                                                  size_t i);

#endif
