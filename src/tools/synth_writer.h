/* Writes shards of made-up tensors at the speed of the disk: while one buffer is written, past
 * the page cache where the file system allows it, the next one is filled.
 *
 * Memory: two buffers of 8 MiB, the header of one shard, and the pools of values.
 *
 * Threads: one owner; it works with one thread of its own.
 */
#ifndef NJ_TOOLS_SYNTH_WRITER_H
#define NJ_TOOLS_SYNTH_WRITER_H

#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "tools/synth_tensors.h"

struct nj_synth_writer;

/* Caller owns `*writer`; `fs` is borrowed for its life. NJ_E_MEMORY. */
enum nj_status nj_synth_writer_create(const struct nj_file_system *fs, uint32_t seed,
                                      struct nj_synth_writer **writer, struct nj_error *err);
void nj_synth_writer_destroy(struct nj_synth_writer *writer);

/* Makes the file `name`, which must not exist: header, then the tensors one after another,
 * synced. Adds its length to `*file_bytes`. NJ_E_STORAGE, NJ_E_MEMORY; what was written of a
 * failed file stays for the caller to remove. */
enum nj_status nj_synth_writer_shard(struct nj_synth_writer *writer, int directory_fd,
                                     const char *name, const struct nj_synth_tensor *tensors,
                                     uint32_t n_tensors, uint64_t *file_bytes,
                                     struct nj_error *err);

#endif
