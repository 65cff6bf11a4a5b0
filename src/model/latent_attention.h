/* Multi-head latent attention without positions, always in its absorbed form.
 *
 * A position is remembered as its normed latent and k_r (kv_rank + n_rope values), never as
 * expanded keys and values. Per head: the query's first n_nope values go through the key rows
 * of kv_b_proj (axpy form) and give q~ of kv_rank; [q~ | q_rope] is then compared with whole
 * cached positions by one dot, and the mixed latent goes through the value rows (dot form).
 * One method for prompts and single tokens, never picked by length or width.
 *
 * Softmax runs online over blocks of 64 by absolute position, in rising order:
 *
 *     m' = max(m, block maximum);  c = exp(m - m')
 *     p  = exp(s - m');  l = l * c + sum(p);  acc = acc * c, then axpy over the positions
 *
 * and at the end acc * (1 / l). The first block starts from l = 0 and acc = 0 without a
 * correction. A row sees positions up to its own, also those written by earlier rows of the
 * same sweep.
 */
#ifndef NJ_MODEL_LATENT_ATTENTION_H
#define NJ_MODEL_LATENT_ATTENTION_H

#include "model/compute.h"
#include "model/dims.h"
#include "model/rows.h"
#include "model/weights.h"
#include "model/workspace.h"

/* Block scratch of one thread. */
uint64_t nj_latent_thread_bytes(const struct nj_dims *dims);
/* Most rows that one nj_kernels.multiply of the scores gets. */
uint32_t nj_latent_score_rows(void);
/* Takes what nj_latent_attention will take, to measure it. */
void nj_latent_measure(struct nj_workspace *workspace, const struct nj_dims *dims,
                       uint32_t n_rows);

/* out (n_rows, hidden) from x (n_rows, hidden); appends the rows to the states of `layer`,
 * whose pages have been reserved. */
enum nj_status nj_latent_attention(const struct nj_compute *compute,
                                   const struct nj_latent_weights *weights,
                                   const struct nj_dims *dims, uint32_t layer,
                                   const struct nj_runs *runs, const float *x, uint32_t n_rows,
                                   struct nj_workspace *workspace, float *out,
                                   struct nj_error *err);

#endif
