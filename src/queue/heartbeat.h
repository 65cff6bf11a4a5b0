/* Whether a worker hangs: its signs of life against the watcher's own.
 *
 * A worker sends one for each completed read and each tile of rows, so silence means something
 * whatever a sweep lasts. A watcher that was stopped itself (SIGSTOP, suspend, a machine that
 * swaps) has heard nothing either: after a gap between its own ticks the allowance begins anew.
 *
 * Times are nanoseconds of a clock that nobody sets. Plain values, one owner.
 */
#ifndef NJ_QUEUE_HEARTBEAT_H
#define NJ_QUEUE_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

struct nj_heartbeat {
    uint64_t allowance_ns; /* of silence */
    uint64_t tick_gap_ns;  /* between two ticks, more than which is a gap */
    uint64_t heard_ns;     /* when the last sign came, or the allowance began */
    uint64_t ticked_ns;
};

/* A worker was started now. */
void nj_heartbeat_begin(struct nj_heartbeat *heartbeat, uint64_t allowance_ns,
                        uint64_t tick_gap_ns, uint64_t now_ns);
void nj_heartbeat_hear(struct nj_heartbeat *heartbeat, uint64_t now_ns);

/* To be asked regularly, more often than `tick_gap_ns`: true when it was silent for too long.
 */
bool nj_heartbeat_tick(struct nj_heartbeat *heartbeat, uint64_t now_ns);

#endif
