/* Finds the newest state of an item that verifies and restores it.
 *
 * Everything is verified before the sequence's state is touched. A newest segment that was
 * never finished is what a kill leaves: it is removed without a word, and counted. Any other
 * that is of no use (damaged, foreign, of another item, of another format version, ahead of the
 * token log) is named in a warning and put aside. Then the one before it is tried; without any
 * the sequence stays as it was, and its ids are fed again. Either way the bits are the same.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_SNAPSHOT_LOADER_H
#define NJ_SNAPSHOT_LOADER_H

#include <stdint.h>

#include "base/byte_budget.h"
#include "base/file.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/status.h"
#include "generate/sequence.h"
#include "snapshot/chain.h"
#include "snapshot/fingerprint.h"

/* All borrowed. */
struct nj_snapshot_loader {
    const struct nj_file_system *fs;
    const struct nj_dims *dims;
    struct nj_pool *pool;          /* NULL: this thread only */
    struct nj_byte_budget *budget; /* NULL: not counted */
    const struct nj_log *log;      /* hears of what is put aside; may be NULL */
};

struct nj_snapshot_loaded {
    uint64_t number;      /* 0: none was usable */
    uint32_t n_positions; /* that need not be read again */
    uint64_t n_bytes;     /* of the files it came from */
    uint32_t n_put_aside;
    uint32_t n_unfinished; /* removed: at most the newest */
    char complaint[200];   /* about the last one put aside */
};

/* `sequence` has accepted all ids that the token log knows and has read none of them. `*chain`
 * receives what the folder holds for the next snapshot. NJ_E_BUDGET (no room for the state),
 * NJ_E_MEMORY, NJ_E_IO and NJ_E_STORAGE (the folder itself). On failure the sequence is as it
 * was. */
enum nj_status nj_snapshot_load(const struct nj_snapshot_loader *loader, int directory_fd,
                                const struct nj_snapshot_identity *identity,
                                struct nj_sequence *sequence, struct nj_snapshot_chain *chain,
                                struct nj_snapshot_loaded *loaded, struct nj_error *err);

#endif
