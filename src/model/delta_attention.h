/* Kimi Delta Attention: a recurrent state per head, stepped token by token.
 *
 * From the normed input x: q, k, v through a causal convolution with SiLU; q and k normalised
 * to length 1, q also scaled by n_delta^-0.5; decay per key channel and beta per head from x;
 * one kda_step per token in rising position; RMS norm of each head's output, then its gate,
 * then the output projection. The chunked forms of the delta rule are equal in algebra but not
 * in bits, so there is one path for prompts and for single tokens.
 */
#ifndef NJ_MODEL_DELTA_ATTENTION_H
#define NJ_MODEL_DELTA_ATTENTION_H

#include "model/compute.h"
#include "model/dims.h"
#include "model/rows.h"
#include "model/weights.h"
#include "model/workspace.h"

/* Fills weights->rates; before the first sweep. */
void nj_delta_prepare(struct nj_delta_weights *weights, const struct nj_dims *dims);

/* Block scratch of one thread. */
uint64_t nj_delta_thread_bytes(const struct nj_dims *dims);
/* Takes what nj_delta_attention will take, to measure it. */
void nj_delta_measure(struct nj_workspace *workspace, const struct nj_dims *dims,
                      uint32_t n_rows);

/* out (n_rows, hidden) from x (n_rows, hidden); steps the states of `layer`. */
enum nj_status nj_delta_attention(const struct nj_compute *compute,
                                  const struct nj_delta_weights *weights,
                                  const struct nj_dims *dims, uint32_t layer,
                                  const struct nj_runs *runs, const float *x, uint32_t n_rows,
                                  struct nj_workspace *workspace, float *out,
                                  struct nj_error *err);

#endif
