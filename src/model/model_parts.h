/* The inside of an open model, for the files that work on it: opening.c brings it into memory,
 * model.c makes and releases it, sweep.c walks it.
 */
#ifndef NJ_MODEL_MODEL_PARTS_H
#define NJ_MODEL_MODEL_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byte_budget.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "model/compute.h"
#include "model/dims.h"
#include "model/memory_plan.h"
#include "model/scale_check.h"
#include "model/state_home.h"
#include "model/sweep_memory.h"
#include "model/weights.h"
#include "model/workspace.h"
#include "stream/stream.h"

struct nj_model {
    struct nj_dims dims;
    uint32_t max_rows;
    struct nj_memory_plan plan;
    struct nj_sweep_memory sweep_memory;
    struct nj_byte_budget budget; /* pays for all below, and for states */
    uint64_t paid_bytes;          /* by the model itself; the stream pays for its own */
    struct nj_weights weights;
    struct nj_scale_check scale_check;
    struct nj_stream *stream;
    struct nj_pool *pool;
    struct nj_compute compute;
    struct nj_workspace workspace;
    uint8_t *thread_memory;
    const struct nj_state_home *home; /* of states that are made; NULL: memory */
    int32_t *first_bad_layer;         /* (max_rows), of the last sweep */
    char fingerprint[NJ_DIGEST_HEX_BYTES];
    const struct nj_file_system *fs; /* borrowed */
    char *path;
    bool is_suspect; /* the last sweep failed for its weights: reexamine.h */
};

/* Takes what a sweep of `n_rows` will take, to measure it (sweep.c). */
void nj_sweep_measure(struct nj_workspace *workspace, const struct nj_dims *dims,
                      uint32_t n_rows);

#endif
