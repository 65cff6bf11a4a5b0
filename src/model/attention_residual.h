/* Attention residuals: what a sublayer reads is a mix of the running prefix and the snapshots.
 *
 * Per row, with sources v_0 .. v_m (snapshots, oldest first, then the prefix):
 *
 *     w   = norm * projection                                    element-wise, once at open
 *     s_i = dot(v_i, w) * (1 / sqrt(dot(v_i, v_i) / hidden + eps))
 *     p   = softmax(s_0 .. s_m)
 *     out = sum p_i * v_i                                        the raw sources, axpy form
 *
 * The mix only feeds a sublayer; it never enters the accumulator.
 */
#ifndef NJ_MODEL_ATTENTION_RESIDUAL_H
#define NJ_MODEL_ATTENTION_RESIDUAL_H

#include "model/compute.h"
#include "model/weights.h"

/* Most sources of one mix: the softmax is one block. */
enum { NJ_RESIDUAL_SOURCES_LIMIT = 64 };

/* Fills weights->product; before the first mix. */
void nj_residual_mix_prepare(struct nj_residual_mix_weights *weights, uint32_t n_hidden);

/* out (n_rows, hidden) from sources (n_sources, source_stride / hidden rows, hidden), of which
 * rows [0, n_rows) are mixed. 1 <= n_sources <= 64. */
struct nj_residual_sources {
    const float *values;
    size_t stride; /* from one source to the next, in values */
    uint32_t n_sources;
};

void nj_residual_mix(const struct nj_compute *compute,
                     const struct nj_residual_mix_weights *weights,
                     const struct nj_residual_sources *sources, uint32_t n_rows,
                     uint32_t n_hidden, float eps, float *out);

#endif
