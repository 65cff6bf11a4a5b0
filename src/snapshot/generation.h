/* One restorable state on disk: a segment and the chain that it needs, verified from end to end
 * before anything is done with it.
 *
 * Threads: one owner; pieces may be read by several threads at once.
 */
#ifndef NJ_SNAPSHOT_GENERATION_H
#define NJ_SNAPSHOT_GENERATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "generate/sequence.h"
#include "snapshot/chain.h"
#include "snapshot/fingerprint.h"
#include "snapshot/segment_source.h"
#include "snapshot/shape.h"

/* A part of the state as it lies in one of the files. */
struct nj_generation_piece {
    uint32_t source; /* which file */
    struct nj_segment_section section;
    bool is_packed;
    uint32_t raw_bytes;
    uint32_t stored_bytes;
    uint32_t crc32;
    uint64_t offset;
};

/* Zeroed is closed. `sources[0]` is the newest segment. */
struct nj_generation {
    struct nj_segment_source sources[NJ_CHAIN_SEGMENTS_LIMIT];
    uint32_t n_sources;
    struct nj_snapshot_shape shape; /* of the newest */
    uint32_t chain;                 /* ditto */
    struct nj_generation_piece *pieces;
    size_t n_pieces;
    size_t pieces_capacity;
    uint64_t n_bytes; /* of all files */
};

/* Whose state it must be. Borrowed. */
struct nj_generation_wanted {
    const struct nj_file_system *fs;
    int directory_fd;
    const struct nj_dims *dims;
    const struct nj_snapshot_identity *identity;
    const struct nj_sequence *sequence; /* that knows all ids of the token log */
};

/* Opens segment `number` and verifies it and what it chains to. NJ_E_STATE and a sentence when
 * it is of no use, for whatever reason that lies in the files; NJ_E_MEMORY. On failure it is
 * closed. */
enum nj_status nj_generation_open(struct nj_generation *generation,
                                  const struct nj_generation_wanted *wanted, uint64_t number,
                                  struct nj_error *err);
void nj_generation_close(struct nj_generation *generation);

#endif
