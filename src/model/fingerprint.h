/* Which model this is: one digest over everything that can change a bit of its output.
 *
 * Config, tokenizer files, every shard's header and size, and tensor bytes: all of them up to
 * 1 GiB of model; above it the first 4 KiB of each of 4,096 tensors spread over all shards,
 * because hashing 1.5 TB at every start would take 22 minutes. docs/formats/fingerprint.md has
 * the exact bytes. Threads, memory and instruction set are not in it: they change no bit.
 */
#ifndef NJ_MODEL_FINGERPRINT_H
#define NJ_MODEL_FINGERPRINT_H

#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"
#include "format/weight_index.h"

/* NJ_E_NOT_FOUND, NJ_E_IO, NJ_E_MEMORY. */
enum nj_status nj_fingerprint_make(const struct nj_file_system *fs, const char *directory,
                                   const struct nj_weight_index *index,
                                   struct nj_digest *fingerprint, struct nj_error *err);

#endif
