/* One walk over all matrices of a bound model, for whatever must be done or told once each. */
#ifndef NJ_MODEL_WEIGHT_WALK_H
#define NJ_MODEL_WEIGHT_WALK_H

#include <stdint.h>

#include "base/status.h"
#include "model/bound_matrix.h"
#include "model/dims.h"
#include "model/weights.h"

/* Called once per matrix of the model. `layer` is -1 for the embedding and the output head,
 * `expert` is -1 outside the routed experts. */
typedef enum nj_status nj_weight_visit(void *context, int32_t layer, int32_t expert,
                                       const struct nj_bound_matrix *matrix,
                                       struct nj_error *err);

/* In record order, until a visit fails. */
enum nj_status nj_weight_walk(const struct nj_weights *weights, const struct nj_dims *dims,
                              nj_weight_visit *visit, void *context, struct nj_error *err);

#endif
