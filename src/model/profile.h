/* Where the time of sweeps goes, by operation: for `nightjar bench model`, off otherwise.
 *
 * Laps on the engine thread: each operation ends with one, and what passed since the lap before
 * is its own. So all of a sweep is accounted for, with what lies between two operations counted
 * to the later one. Time in which the engine stood still for weights is kept apart. Nothing is
 * computed with it: no bit can depend on a profile.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_MODEL_PROFILE_H
#define NJ_MODEL_PROFILE_H

#include <stdint.h>

#include "base/clock.h"
#include "model/compute.h"
#include "model/model.h"

enum nj_operation {
    NJ_OPERATION_EMBEDDING,
    NJ_OPERATION_DELTA_PRODUCTS,  /* every matrix of delta attention */
    NJ_OPERATION_CONVOLUTION,     /* with its SiLU */
    NJ_OPERATION_DELTA_STEP,      /* with decay, norms and gate of each head */
    NJ_OPERATION_LATENT_PRODUCTS, /* the matrices of latent attention but kv_b_proj */
    NJ_OPERATION_ABSORPTION,      /* kv_b_proj, into queries and out of mixed latents */
    NJ_OPERATION_ATTENTION,       /* scores, softmax and mixing over the cached positions */
    NJ_OPERATION_ROUTER_PRODUCT,
    NJ_OPERATION_ROUTING,          /* scores to chosen experts, and their groups */
    NJ_OPERATION_DOWN_UP_PRODUCTS, /* into the latent of the experts, and out of it */
    NJ_OPERATION_EXPERT_PRODUCTS,  /* with gathering their rows */
    NJ_OPERATION_FORWARD_PRODUCTS, /* shared expert and dense layers */
    NJ_OPERATION_ACTIVATION,       /* SiTU or SwiGLU */
    NJ_OPERATION_COMBINATION,      /* weighted sum of the experts' outputs */
    NJ_OPERATION_NORM,
    NJ_OPERATION_RESIDUAL_MIX,
    NJ_OPERATION_ADDITION, /* to the residual stream, and checking it for infinities */
    NJ_OPERATION_GATE,     /* of latent attention */
    NJ_OPERATION_HEAD_PRODUCT,
    NJ_OPERATION_OUTSIDE, /* between sweeps: choosing tokens, planning rows */
    NJ_OPERATION_WAITING, /* for weights */
    NJ_OPERATIONS
};

struct nj_profile {
    struct nj_clock clock;
    uint64_t last_ns;        /* when the last lap ended */
    uint64_t last_waited_ns; /* the stream's count then */
    uint64_t spent_ns[NJ_OPERATIONS];
};

/* "delta products" and so on; a constant. */
const char *nj_operation_name(enum nj_operation operation);

/* Empties the profile and attaches it: from now on the model's sweeps add to it. NULL detaches.
 * Borrowed until then. */
void nj_profile_attach(struct nj_model *model, struct nj_profile *profile,
                       struct nj_clock clock);

/* What passed since the last lap was `operation`. Without a profile it does nothing. */
void nj_profile_lap(const struct nj_compute *compute, enum nj_operation operation);

#endif
