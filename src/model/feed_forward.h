/* The gated feed-forward block, dense or shared: down(activation(gate x, up x)).
 *
 * SiTU (Kimi K3): beta * tanh(g / beta) * sigmoid(g) * linear_beta * tanh(u / linear_beta), the
 * sigmoid taking the uncapped gate; or SwiGLU (Kimi-Linear): silu(g) * u.
 */
#ifndef NJ_MODEL_FEED_FORWARD_H
#define NJ_MODEL_FEED_FORWARD_H

#include "model/compute.h"
#include "model/dims.h"
#include "model/weights.h"
#include "model/workspace.h"

/* gate = activation(gate, up) for each row of (n_rows, n_values). */
void nj_activate_rows(const struct nj_compute *compute, const struct nj_dims *dims, float *gate,
                      const float *up, uint32_t n_rows, uint32_t n_values);

/* Takes what nj_feed_forward will take for a block of `width`, to measure it. */
void nj_feed_forward_measure(struct nj_workspace *workspace, uint32_t width, uint32_t n_rows);

/* out (n_rows, hidden) from x (n_rows, hidden). */
enum nj_status nj_feed_forward(const struct nj_compute *compute,
                               const struct nj_feed_forward_weights *weights,
                               const struct nj_dims *dims, const float *x, uint32_t n_rows,
                               struct nj_workspace *workspace, float *out,
                               struct nj_error *err);

#endif
