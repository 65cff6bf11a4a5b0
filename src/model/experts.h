/* Runs the chosen experts, each once for all rows that chose it.
 *
 * Experts go in the order of the routing's active list and in waves, whose records are pinned
 * together: of several, so that small ones keep all threads busy, but of no more than that
 * takes and memory allows, so that the next ones are read meanwhile. Every (row, slot) pair
 * gets its own output and nothing is summed here, so neither the order of experts nor the size
 * of a wave can change a bit (combine.h adds).
 */
#ifndef NJ_MODEL_EXPERTS_H
#define NJ_MODEL_EXPERTS_H

#include "model/compute.h"
#include "model/dims.h"
#include "model/router.h"
#include "model/weights.h"
#include "model/workspace.h"

/* The most experts whose records are in memory together. */
enum { NJ_EXPERTS_PER_WAVE = 8 };

/* Takes what nj_experts_run will take, to measure it. */
void nj_experts_measure(struct nj_workspace *workspace, const struct nj_dims *dims,
                        uint32_t n_rows);

/* outputs (n_rows * n_chosen, n_latent) by group position, from z (n_rows, n_latent). */
enum nj_status nj_experts_run(const struct nj_compute *compute,
                              const struct nj_moe_weights *moe, const struct nj_dims *dims,
                              const struct nj_routing *routing, const float *z, uint32_t n_rows,
                              struct nj_workspace *workspace, float *outputs,
                              struct nj_error *err);

#endif
