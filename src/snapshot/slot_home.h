/* States on disk: between sweeps, and while other layers run, the values of all sequences lie
 * in a file of slots, and that file is their checkpoint.
 *
 *     nj_slot_home_create(&options, &home, err);
 *     nj_model_set_state_home(model, nj_slot_home_table(home));
 *     ... sequences are made, sweeps run ...
 *     ... the ids that a sweep chose are synced in the token log ...
 *     nj_slot_home_commit(home, entries, n_entries, sweep, err);
 *     ... before the next commit, or whenever it is over ...
 *     nj_slot_home_settle(home, &number, err);           then the journal
 *
 * A layer's recurrent parts are read from the slot that is current and written to the other
 * one; latents are appended behind those of before. So a sweep that breaks off has changed
 * nothing that counts, and one that ends becomes the checkpoint by a table of a few bytes for
 * each layer and sequence: nothing is written twice. Windows of memory, paid by the creator,
 * bound how much of a layer is in memory at once; one thread reads ahead, one writes behind and
 * syncs, and the engine thread waits for neither's sync, only for room.
 *
 * Whatever is read back is compared with the checksum that was made when it was written.
 *
 * Threads: all calls are the engine thread's.
 */
#ifndef NJ_SNAPSHOT_SLOT_HOME_H
#define NJ_SNAPSHOT_SLOT_HOME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "generate/sequence.h"
#include "model/dims.h"
#include "model/state_home.h"
#include "snapshot/fingerprint.h"

struct nj_slot_home;

/* Zero means the default; the first five are required. */
struct nj_slot_home_options {
    const struct nj_file_system *fs; /* used by the home's threads too */
    /* The file's room is reserved through this one, which may wait for it; NULL: `fs`. */
    const struct nj_file_system *reserving_fs;
    int directory_fd;                       /* borrowed for the home's life */
    const struct nj_dims *dims;             /* ditto */
    const struct nj_snapshot_identity *run; /* weights, numerics, template; items' own not */
    uint32_t n_seats;
    uint32_t n_positions;  /* of the longest sequence */
    uint64_t file_number;  /* of its name; from 1, higher than any that is there; 0: 1 */
    uint64_t entropy;      /* for the file's salt */
    uint64_t window_bytes; /* of each window; 0, or too few: the least */
    uint32_t n_windows;    /* 0: 3, one read, one used, one written */
};

/* One running sequence in a commit. */
struct nj_slot_commit_entry {
    const struct nj_sequence *sequence;
    const struct nj_snapshot_identity *identity;
};

struct nj_slot_stats {
    uint64_t read_bytes;
    uint64_t written_bytes;
    uint64_t n_commits; /* durable */
};

/* What a window must hold: the recurrent part of a layer, or a layer's latents of a sequence.
 */
uint64_t nj_slot_home_least_window_bytes(const struct nj_dims *dims, uint32_t n_positions);
/* What a home holds in memory with such windows. */
uint64_t nj_slot_home_memory_bytes(const struct nj_dims *dims, uint32_t n_seats,
                                   uint64_t window_bytes, uint32_t n_windows);
/* What a sequence takes on disk, and what it writes in a sweep that reads one token. */
uint64_t nj_slot_home_seat_bytes(const struct nj_dims *dims, uint32_t n_positions);
uint64_t nj_slot_home_sweep_bytes(const struct nj_dims *dims);

/* Makes the file, 0600, with all its room reserved. NJ_E_STORAGE with the bytes needed,
 * NJ_E_MEMORY, NJ_E_USAGE. Caller owns `*home`. */
enum nj_status nj_slot_home_create(const struct nj_slot_home_options *options,
                                   struct nj_slot_home **home, struct nj_error *err);
/* No state may live in it any more. A commit under way is waited for; the file stays. NULL is
 * allowed. */
void nj_slot_home_destroy(struct nj_slot_home *home);

/* Valid as long as the home. */
const struct nj_state_home *nj_slot_home_table(const struct nj_slot_home *home);

/* What every one of these sequences has read so far is to be durable: their states are what the
 * last sweep left, and the token log knows their ids. Returns at once; one commit at a time.
 * Sequences that are finished or have read nothing are left out. NJ_E_INTERNAL. */
enum nj_status nj_slot_home_commit(struct nj_slot_home *home,
                                   const struct nj_slot_commit_entry *entries,
                                   uint32_t n_entries, uint64_t sweep, struct nj_error *err);
bool nj_slot_home_is_committing(const struct nj_slot_home *home);
/* Waits for the commit under way; `*number` is that of the newest durable one, 0: none. After
 * a failure (NJ_E_STORAGE) nothing of this file is used any more. */
enum nj_status nj_slot_home_settle(struct nj_slot_home *home, uint64_t *number,
                                   struct nj_error *err);

struct nj_slot_stats nj_slot_home_stats(const struct nj_slot_home *home);
/* "states-000001.slots" */
const char *nj_slot_home_file_name(const struct nj_slot_home *home);

#endif
