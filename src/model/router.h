/* The router: which experts a row goes to, with what weight, and which rows an expert gets.
 *
 * score_e = sigmoid(gate_e . x), in F32 from the full-width input. Slot s of a row is the s-th
 * largest of score + correction bias, ties to the lower id; the bias chooses and has no part in
 * the weights. Nothing but the row decides: never what is in memory, never the other rows.
 */
#ifndef NJ_MODEL_ROUTER_H
#define NJ_MODEL_ROUTER_H

#include "model/compute.h"
#include "model/dims.h"
#include "model/weights.h"
#include "model/workspace.h"

struct nj_ranked {
    float score;
    uint32_t id;
};

/* The choice of every row, and the same (row, slot) pairs grouped by expert: group position p
 * in [first[e], first[e + 1]) belongs to expert e, rows rising inside a group. */
struct nj_routing {
    uint32_t *experts;   /* (n_rows, n_chosen) in slot order */
    float *weights;      /* (n_rows, n_chosen) */
    uint32_t *positions; /* (n_rows, n_chosen): group position of the pair */
    uint32_t *rows;      /* (n_rows * n_chosen): row of a group position */
    uint32_t *first;     /* (n_experts + 1) */
    uint32_t *active;    /* (n_experts): those that have rows, in the order they will run */
    uint32_t n_active;
    /* Work of the choice. */
    float *scores;            /* (n_rows, n_experts) */
    float *biased;            /* (n_rows, n_experts) */
    struct nj_ranked *best;   /* (n_rows, n_chosen) */
    struct nj_ranked *groups; /* (n_rows, n_chosen_groups) */
};

struct nj_routing nj_routing_lay_out(struct nj_workspace *workspace, const struct nj_dims *dims,
                                     uint32_t n_rows);

/* Chooses for one row: `scores` are sigmoids. Writes n_chosen ids and weights in slot order.
 * `biased` has room for n_experts, `best` for n_chosen, `groups` for n_chosen_groups. */
void nj_router_choose_row(const struct nj_dims *dims, const float *scores,
                          const float *correction_bias, float *biased, struct nj_ranked *best,
                          struct nj_ranked *groups, uint32_t *experts, float *weights);

/* Fills `routing` for x (n_rows, hidden); the active experts come as they lie in the files. */
enum nj_status nj_router_choose(const struct nj_compute *compute,
                                const struct nj_moe_weights *weights,
                                const struct nj_dims *dims, const float *x, uint32_t n_rows,
                                struct nj_routing *routing, struct nj_error *err);

#endif
