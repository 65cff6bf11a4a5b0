/* The loop that matters: claim, sweep, make durable, tell; until there is no more or somebody
 * says stop.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_RUNNER_LOOP_H
#define NJ_RUNNER_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/status.h"
#include "runner/checkpoint.h"
#include "runner/disk_states.h"
#include "runner/host.h"
#include "runner/limits.h"
#include "runner/slot.h"
#include "runner/snapshots.h"

/* What this process did, for the report. */
struct nj_loop_counts {
    uint64_t n_generated; /* ids chosen */
    uint64_t n_prompt;    /* prompt ids of the items begun */
    uint64_t n_restored;  /* ids taken from the token log */
    uint64_t n_resumed;   /* items that had some */
    uint64_t n_under_way; /* in the batch now */
    uint64_t n_fed_again; /* ids that an earlier run had fed, and that no snapshot spared */
    uint64_t n_sweeps;
};

/* Everything but `slots`, which the loop owns while it runs, is borrowed. */
struct nj_loop {
    const struct nj_run_host *host;
    struct nj_slot_supply supply;
    struct nj_checkpoint *checkpoint;
    struct nj_run_snapshots *snapshots;
    struct nj_disk_states *states;
    struct nj_clock clock;
    struct nj_slot *slots; /* (n_slots), zeroed */
    uint32_t n_slots;
    struct nj_step_event *events; /* (n_slots) */
    uint64_t n_items_kept;        /* finished by earlier runs */
    struct nj_loop_counts counts;
    struct nj_run_limits limits;
    uint64_t began_ns;       /* monotonic; set by the loop */
    bool was_stopped;        /* by the host, with items left */
    enum nj_run_limit limit; /* that ended it, with items left */
};

/* On return no slot is in use, whatever the status; everything that was told is durable. */
enum nj_status nj_loop_run(struct nj_loop *loop, struct nj_error *err);

#endif
