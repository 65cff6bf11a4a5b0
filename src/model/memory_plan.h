/* What a model takes in memory, computed before any of it is taken.
 *
 * The floor is what opening the model and running one sequence of one page takes; below it the
 * model is refused with both figures. The useful amount is what a full sweep of single-token
 * rows takes; memory beyond it only buys longer texts.
 */
#ifndef NJ_MODEL_MEMORY_PLAN_H
#define NJ_MODEL_MEMORY_PLAN_H

#include <stdint.h>

#include "base/status.h"
#include "model/dims.h"
#include "model/weights.h"

struct nj_memory_plan {
    uint64_t record_bytes;     /* all weights in the stream */
    uint64_t resident_bytes;   /* vectors in F32, and where records lie */
    uint64_t workspace_bytes;  /* buffers of a sweep of max_rows */
    uint64_t kernel_bytes;     /* scratch of one thread: kernels */
    uint64_t block_bytes;      /* scratch of one thread: blocks */
    uint64_t all_thread_bytes; /* both, of all threads */
    uint64_t sequence_bytes;   /* recurrent parts and one page */
    uint64_t floor_bytes;
    uint64_t useful_bytes;
};

/* `weights` need only be bound. */
void nj_memory_plan_make(const struct nj_dims *dims, const struct nj_weights *weights,
                         uint32_t max_rows, uint32_t n_threads, struct nj_memory_plan *plan);

/* NJ_E_BUDGET when `ceiling_bytes` is below the floor. */
enum nj_status nj_memory_plan_check(const struct nj_memory_plan *plan, uint64_t ceiling_bytes,
                                    struct nj_error *err);

#endif
