/* The states of a run's items when they live on disk (snapshot/slot_home), and what earlier
 * runs left of such (snapshot/slot_store), wherever this run's states live.
 *
 * After each sweep whose ids are in the token log, the states that it left become durable: they
 * lie in their slots already, and a table names them. The journal hears of it when that is on
 * disk, which is before the next one begins.
 *
 * Order: tokens.log, slots, table, journal. Files of earlier runs go when all of their items
 * have been taken up and a later table names what became of these, and when the run ends.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_RUNNER_DISK_STATES_H
#define NJ_RUNNER_DISK_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "model/model.h"
#include "runner/ledger.h"
#include "runner/log_file.h"
#include "runner/slot.h"
#include "runner/snapshots.h"
#include "snapshot/slot_home.h"
#include "snapshot/slot_store.h"

/* All borrowed. */
struct nj_disk_states_place {
    const struct nj_file_system *fs;         /* used by threads too: nothing that waits */
    const struct nj_file_system *patient_fs; /* reserves the room, and may wait for it */
    int run_directory_fd;
    struct nj_clock clock;
    const struct nj_log *log;
    struct nj_log_file *journal;
    const struct nj_ledger *ledger;
    struct nj_model *model;
    const struct nj_digest *weights; /* the model's fingerprint */
    uint64_t entropy;
    uint32_t n_slots;
    uint32_t most_positions; /* of the longest item */
    bool is_on_disk;         /* this run's states */
    uint64_t window_bytes;   /* of its home, paid for when the model was opened */
    uint64_t bytes_per_hour; /* the write budget; 0: the default */
    bool is_width_bound;     /* the write budget limits how many items are under way */
};

/* Zeroed is closed, and then every call but open does nothing. */
struct nj_disk_states {
    struct nj_disk_states_place place;
    bool is_open;
    struct nj_slot_home *home; /* NULL: in memory */
    struct nj_slot_store *store;
    bool *is_taken_up;                       /* by item of the store */
    struct nj_snapshot_identity *identities; /* (n_slots) */
    struct nj_slot_commit_entry *entries;    /* (n_slots), scratch */
    uint64_t n_commits;                      /* begun */
    uint64_t n_logged;                       /* that the journal has */
    uint64_t commit_items;                   /* in the one under way */
    uint64_t store_ends_with;                /* this commit makes the store superfluous */
    uint64_t n_positions;                    /* that restored states spared reading again */
    uint64_t n_sweeps;
    uint64_t began_ns;
    uint64_t sweep_began_ns;
    uint64_t sweep_ns; /* the last sweep took, with its checkpoint; 0: there was none */
};

/* NJ_E_STORAGE (room: with the bytes needed), NJ_E_IO, NJ_E_MEMORY. States made by the model
 * from now on live where the place says. Close it also after a failure. */
enum nj_status nj_disk_states_open(struct nj_disk_states *states,
                                   const struct nj_disk_states_place *place,
                                   struct nj_error *err);
/* No sequence may be left. Files stay. */
void nj_disk_states_close(struct nj_disk_states *states);

/* Whether one more item may join so many: the write budget of an hour holds what they would
 * write at the speed of the last sweep. Always true for the first. */
bool nj_disk_states_have_room(const struct nj_disk_states *states, uint32_t n_running);

/* A slot begins an item, segments have been looked at: takes up what an earlier run left on
 * disk, if that has read more, and then says so in the restoration. NJ_E_STORAGE from this
 * run's own file. */
enum nj_status nj_disk_states_begin_item(struct nj_disk_states *states, uint32_t slot_index,
                                         const struct nj_slot *slot,
                                         struct nj_item_restoration *restoration,
                                         struct nj_error *err);

void nj_disk_states_before_sweep(struct nj_disk_states *states);
/* The ids of the sweep are in the token log. NJ_E_STORAGE: of an earlier commit, too. */
enum nj_status nj_disk_states_after_sweep(struct nj_disk_states *states,
                                          const struct nj_slot *slots, struct nj_error *err);
/* No sweep will follow: waits for the last commit, and tells the journal. */
enum nj_status nj_disk_states_stop(struct nj_disk_states *states, struct nj_error *err);

/* Nothing is left to do: all files of states in the folder go. NJ_E_STORAGE, NJ_E_IO. */
enum nj_status nj_disk_states_remove_all(const struct nj_file_system *fs, int run_directory_fd,
                                         struct nj_error *err);

#endif
