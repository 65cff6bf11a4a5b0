/* Adds the experts' outputs of each row in the order that its router chose them. */
#ifndef NJ_MODEL_COMBINE_H
#define NJ_MODEL_COMBINE_H

#include "model/compute.h"
#include "model/dims.h"
#include "model/router.h"

/* y (n_rows, n_latent): from 0, y = fma(weight, output, y) for slots 0 .. n_chosen - 1 in that
 * order, whatever order the outputs (by group position) were made in. */
void nj_combine(const struct nj_compute *compute, const struct nj_dims *dims,
                const struct nj_routing *routing, const float *outputs, uint32_t n_rows,
                float *y);

#endif
