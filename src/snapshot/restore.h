/* Fills a state from a verified generation, on all threads.
 */
#ifndef NJ_SNAPSHOT_RESTORE_H
#define NJ_SNAPSHOT_RESTORE_H

#include "base/byte_budget.h"
#include "base/pool.h"
#include "base/status.h"
#include "model/state.h"
#include "snapshot/generation.h"

/* `state` is empty and nobody's sweep knows it. It counts as broken until everything is in its
 * place, and is empty again on failure: NJ_E_STATE when a file is not any more what was
 * verified, NJ_E_BUDGET, NJ_E_MEMORY. `pool` may be NULL. */
enum nj_status nj_generation_restore(const struct nj_generation *generation,
                                     struct nj_state *state, struct nj_pool *pool,
                                     struct nj_byte_budget *budget, struct nj_error *err);

#endif
