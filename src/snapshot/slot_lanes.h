/* Windows of memory that states pass through: filled by one thread, used by the engine thread,
 * emptied by another.
 *
 * What passes is known beforehand, so the reader is ahead of the engine and the writer behind
 * it by as many windows as there are. Windows keep their order. A commit is the writer's too:
 * what was written before it is on disk first, and what comes after waits for it, but the
 * engine thread does not.
 *
 * Threads: all calls are the engine thread's; the functions of the work are called by the
 * threads of the lanes, `next` and `read` by one, `write` and `commit` by the other.
 */
#ifndef NJ_SNAPSHOT_SLOT_LANES_H
#define NJ_SNAPSHOT_SLOT_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Passages [first, first + n_passages) of a layer. */
struct nj_slot_window {
    uint32_t layer;
    uint32_t first;
    uint32_t n_passages;
    float *values; /* one passage after another */
};

struct nj_slot_work {
    void *context;
    /* Describes the next window of the sweep but its memory; false when there is none. */
    bool (*next)(void *context, struct nj_slot_window *window);
    enum nj_status (*read)(void *context, const struct nj_slot_window *window,
                           struct nj_error *err);
    enum nj_status (*write)(void *context, const struct nj_slot_window *window,
                            struct nj_error *err);
    enum nj_status (*commit)(void *context, struct nj_error *err);
};

struct nj_slot_lanes;

/* At least two windows. NJ_E_MEMORY (threads too). Caller owns `*lanes`. */
enum nj_status nj_slot_lanes_create(const struct nj_slot_work *work, uint32_t n_windows,
                                    uint64_t window_bytes, struct nj_slot_lanes **lanes,
                                    struct nj_error *err);
/* Waits for what is under way. NULL is allowed. */
void nj_slot_lanes_destroy(struct nj_slot_lanes *lanes);

/* A sweep begins: its first windows are being read when this returns. */
void nj_slot_lanes_begin(struct nj_slot_lanes *lanes);
/* The next window, read; valid until left. The failure is that of any thread. */
enum nj_status nj_slot_lanes_enter(struct nj_slot_lanes *lanes, struct nj_slot_window *window,
                                   struct nj_error *err);
void nj_slot_lanes_leave(struct nj_slot_lanes *lanes);
/* Returns when every window that was left has been written, if all have been. */
enum nj_status nj_slot_lanes_end(struct nj_slot_lanes *lanes, struct nj_error *err);
/* Returns when neither thread is at work on the sweep; nothing more is written of it. */
void nj_slot_lanes_abandon(struct nj_slot_lanes *lanes);

/* Between sweeps, with no commit under way. A commit that failed is the last thing that the
 * writer did: every later sweep fails with its error. */
void nj_slot_lanes_commit(struct nj_slot_lanes *lanes);
bool nj_slot_lanes_is_committing(struct nj_slot_lanes *lanes);
/* Waits for it. The failure of this or an earlier one. */
enum nj_status nj_slot_lanes_settle(struct nj_slot_lanes *lanes, struct nj_error *err);

#endif
