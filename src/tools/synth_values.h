/* The values of made-up tensors, at the speed of memory.
 *
 * Drawing 20 GB of normal values one by one takes many minutes. So one pool of each kind is
 * drawn once, and a tensor is filled in chunks: each is a window of the pool at its own random
 * place, its signs and lowest bits flipped by its own random mask. No two rows of a matrix are
 * alike, nothing compresses, and a chunk is a pure function of (seed, name of the tensor, its
 * number), so that any part of a tensor can be made on its own.
 *
 * Threads: one owner.
 */
#ifndef NJ_TOOLS_SYNTH_VALUES_H
#define NJ_TOOLS_SYNTH_VALUES_H

#include <stdint.h>

#include "base/status.h"
#include "tools/synth_tensors.h"

struct nj_synth_values;

/* Caller owns `*values`. NJ_E_MEMORY. */
enum nj_status nj_synth_values_create(uint32_t seed, struct nj_synth_values **values,
                                      struct nj_error *err);
void nj_synth_values_destroy(struct nj_synth_values *values);

/* Bytes [offset_bytes, offset_bytes + length_bytes) of the tensor. NJ_E_MEMORY. */
enum nj_status nj_synth_values_fill(struct nj_synth_values *values,
                                    const struct nj_synth_tensor *tensor, uint64_t offset_bytes,
                                    uint8_t *out, uint64_t length_bytes, struct nj_error *err);

#endif
