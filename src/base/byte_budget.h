/* The hard ceiling on memory that large things may hold.
 *
 * Every weight buffer, state page and scratch area is paid for here before it is allocated, so
 * a job that does not fit is refused up front instead of pushing the machine into swap. A
 * budget never blocks: a caller that is refused gives something back or fails.
 *
 * Threads: used by its owner's thread only; there is no lock inside.
 */
#ifndef NJ_BASE_BYTE_BUDGET_H
#define NJ_BASE_BYTE_BUDGET_H

#include <stdint.h>

#include "base/status.h"

/* Invariant: held_bytes <= peak_bytes <= ceiling_bytes. */
struct nj_byte_budget {
    uint64_t ceiling_bytes;
    uint64_t held_bytes;
    uint64_t peak_bytes; /* largest held_bytes since init, for the run report */
};

/* UINT64_MAX means no ceiling. */
void nj_byte_budget_init(struct nj_byte_budget *budget, uint64_t ceiling_bytes);

/* Everything taken must have been given back; anything else is a caller's bug. */
void nj_byte_budget_deinit(struct nj_byte_budget *budget);

/* NJ_E_BUDGET when fewer than `bytes` are left; the budget is then unchanged. */
enum nj_status nj_byte_budget_take(struct nj_byte_budget *budget, uint64_t bytes,
                                   struct nj_error *err);

/* `bytes` must not exceed what is held. */
void nj_byte_budget_give_back(struct nj_byte_budget *budget, uint64_t bytes);

#endif
