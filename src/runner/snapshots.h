/* The states of a run's items on disk: when they are written, and how an item is taken up
 * again.
 *
 * The token log is the truth and a snapshot a cache of it, so nothing here can fail a run: what
 * cannot be written is said in a warning and tried again at the next turn, and what cannot be
 * read is computed again. Snapshots are taken
 *
 *   - in a sweep, when the interval since the last ones is over (snapshot/interval) or so many
 *     sweeps are, the write budget allows it, and the writer is idle;
 *   - between sweeps, when the run stops with items under way,
 *
 * and only while the disk has twice the room that they may take, and a floor beside it: tokens
 * and results, without which the run would have to wait, come first.
 *
 * Order: the sweep's ids are synced in the token log before the snapshot is committed; its
 * record is synced in the journal before anything older is removed.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_RUNNER_SNAPSHOTS_H
#define NJ_RUNNER_SNAPSHOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "generate/generator.h"
#include "job/spec.h"
#include "runner/folder_host.h"
#include "runner/history.h"
#include "runner/log_file.h"
#include "runner/slot.h"
#include "snapshot/interval.h"
#include "snapshot/loader.h"
#include "snapshot/writer.h"

/* All borrowed. */
struct nj_run_snapshots_place {
    const struct nj_file_system *fs; /* used by the writer's thread too: nothing that waits */
    int run_directory_fd;
    struct nj_clock clock;
    const struct nj_log *log;
    struct nj_log_file *journal;
    struct nj_history *history;             /* hears what the journal is told */
    const struct nj_run_observer *observer; /* tells how much room there is; may be NULL */
    const char *folder_path;
    struct nj_model *model;
    const struct nj_digest *weights; /* the model's fingerprint */
    uint64_t entropy;
    uint32_t n_slots;
    uint64_t buffer_bytes; /* of the writer, paid for when the model was opened */
    bool only_reads; /* the states are on disk (runner/disk_states): segments are not written */
};

/* One slot's item: its folder, and what it holds. */
struct nj_item_snapshots {
    struct nj_snapshot_identity identity;
    struct nj_snapshot_chain chain;
    int directory_fd; /* -1: the item has no folder, as yet */
    bool is_off;      /* its folder cannot be used */
};

struct nj_run_snapshots_counts {
    uint64_t n_positions; /* that restored states spared reading again */
    uint64_t n_put_aside;
    uint64_t n_unfinished; /* that a kill had left, removed */
    uint64_t n_durable;
};

/* Zeroed is closed, and then every call but open does nothing. */
struct nj_run_snapshots {
    struct nj_run_snapshots_place place;
    struct nj_job_snapshot wanted;
    struct nj_snapshot_writer *writer; /* NULL: it only reads */
    struct nj_sweep_hooks hooks;
    struct nj_item_snapshots *items;    /* (n_slots) */
    uint32_t *round;                    /* (n_slots): slots of the round under way */
    struct nj_snapshot_target *targets; /* (n_slots), scratch */
    uint32_t n_round;
    bool is_in_sweep;  /* the round waits for its sweep to end */
    bool is_unsettled; /* the round's outcomes have not been looked at */
    uint64_t round_began_ns;
    uint64_t copied_before_ns;
    uint64_t last_ns;  /* when the last round began, or the run */
    uint64_t cost_ns;  /* of the last round to the engine thread; a guess before it */
    uint64_t n_sweeps; /* since the last round began */
    bool has_told_unfinished;
    bool lacks_room; /* the last round that was due was left out for want of room, and so said
                      */
    struct nj_write_budget budget;
    struct nj_run_snapshots_counts counts;
};

/* NJ_E_MEMORY, NJ_E_USAGE. Sets the hooks of `generator`. */
enum nj_status nj_run_snapshots_open(struct nj_run_snapshots *snapshots,
                                     const struct nj_run_snapshots_place *place,
                                     const struct nj_job_snapshot *wanted,
                                     struct nj_generator *generator, struct nj_error *err);
/* Gives up what is under way. */
void nj_run_snapshots_close(struct nj_run_snapshots *snapshots);

/* How an item was taken up. */
struct nj_item_restoration {
    bool is_resumed;           /* an earlier run left ids, a state or segments of no use */
    uint64_t n_from_snapshot;  /* ids that the restored state has read */
    uint64_t n_fed_again;      /* of those that an earlier run knew; 0 for a fresh item */
    uint64_t n_snapshot_bytes; /* of the segments that the state was read from */
    uint64_t restore_ns;
};

/* A slot begins an item: loads the newest state that serves, on all threads, and notes in the
 * journal how the item was taken up, unless it is a fresh one. NJ_E_STORAGE from the journal.
 */
enum nj_status nj_run_snapshots_begin_item(struct nj_run_snapshots *snapshots,
                                           uint32_t slot_index, const struct nj_slot *slot,
                                           struct nj_item_restoration *restoration,
                                           struct nj_error *err);
/* A slot's item is finished, and its result durable: its segments go. */
void nj_run_snapshots_end_item(struct nj_run_snapshots *snapshots, uint32_t slot_index);

/* Around each sweep. After one that failed: `abandon`. NJ_E_STORAGE from the journal. */
enum nj_status nj_run_snapshots_before_sweep(struct nj_run_snapshots *snapshots,
                                             const struct nj_slot *slots, struct nj_error *err);
void nj_run_snapshots_after_sweep(struct nj_run_snapshots *snapshots);
void nj_run_snapshots_abandon(struct nj_run_snapshots *snapshots);

/* The run stops: the states of all items under way are durable when this returns, as far as
 * they can be. NJ_E_STORAGE from the journal. */
enum nj_status nj_run_snapshots_stop(struct nj_run_snapshots *snapshots,
                                     const struct nj_slot *slots, struct nj_error *err);

/* Every item is done: returns when nothing is being written or removed any more. */
void nj_run_snapshots_rest(struct nj_run_snapshots *snapshots);

#endif
