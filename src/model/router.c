#include "model/router.h"

#include <string.h>

#include "base/elementary.h"
#include "model/profile.h"

/* Keeps the sum of chosen scores off zero when they are divided by it. */
static const float least_total = 1e-20F;

struct nj_routing nj_routing_lay_out(struct nj_workspace *workspace, const struct nj_dims *dims,
                                     uint32_t n_rows)
{
    uint64_t n_pairs = (uint64_t)n_rows * dims->n_chosen;
    uint64_t n_groups = (uint64_t)n_rows * dims->n_chosen_groups;
    return (struct nj_routing){
        .experts = nj_workspace_take(workspace, n_pairs, sizeof(uint32_t)),
        .weights = nj_workspace_rows(workspace, n_rows, dims->n_chosen),
        .positions = nj_workspace_take(workspace, n_pairs, sizeof(uint32_t)),
        .rows = nj_workspace_take(workspace, n_pairs, sizeof(uint32_t)),
        .first = nj_workspace_take(workspace, (uint64_t)dims->n_experts + 1, sizeof(uint32_t)),
        .active = nj_workspace_take(workspace, dims->n_experts, sizeof(uint32_t)),
        .scores = nj_workspace_rows(workspace, n_rows, dims->n_experts),
        .biased = nj_workspace_rows(workspace, n_rows, dims->n_experts),
        .best = nj_workspace_take(workspace, n_pairs, sizeof(struct nj_ranked)),
        .groups = nj_workspace_take(workspace, n_groups, sizeof(struct nj_ranked)),
    };
}

/* A total order on numbers; a score that is not one is better than nothing only. */
static bool is_better(struct nj_ranked a, struct nj_ranked b)
{
    return a.score > b.score || (a.score == b.score && a.id < b.id);
}

/* Inserts the candidate into a list of at most `limit`, best first. */
static void offer(struct nj_ranked *best, uint32_t *n_best, uint32_t limit,
                  struct nj_ranked candidate)
{
    if (*n_best == limit && !is_better(candidate, best[limit - 1])) {
        return;
    }
    uint32_t at = *n_best < limit ? (*n_best)++ : limit - 1;
    while (at > 0 && is_better(candidate, best[at - 1])) {
        best[at] = best[at - 1];
        at--;
    }
    best[at] = candidate;
}

/* A group counts as much as its two best experts. */
static float group_score(const float *biased, uint32_t n)
{
    struct nj_ranked best[2] = {{0.0F, 0}, {0.0F, 0}};
    uint32_t n_best = 0;
    for (uint32_t i = 0; i < n; i++) {
        offer(best, &n_best, 2, (struct nj_ranked){biased[i], i});
    }
    return n_best < 2 ? best[0].score : best[0].score + best[1].score;
}

static void choose_from(const struct nj_dims *dims, const float *biased, uint32_t first,
                        uint32_t n, struct nj_ranked *best, uint32_t *n_best)
{
    for (uint32_t expert = first; expert < first + n; expert++) {
        offer(best, n_best, dims->n_chosen, (struct nj_ranked){biased[expert], expert});
    }
}

static void choose_from_groups(const struct nj_dims *dims, const float *biased,
                               struct nj_ranked *best, struct nj_ranked *groups)
{
    uint32_t group_size = dims->n_experts / dims->n_groups;
    uint32_t n_kept = 0;
    for (uint32_t group = 0; group < dims->n_groups; group++) {
        float score = group_score(biased + (size_t)group * group_size, group_size);
        offer(groups, &n_kept, dims->n_chosen_groups, (struct nj_ranked){score, group});
    }
    uint32_t n_best = 0;
    for (uint32_t i = 0; i < n_kept; i++) {
        choose_from(dims, biased, groups[i].id * group_size, group_size, best, &n_best);
    }
}

/* From the plain scores of the chosen, in slot order. */
static void weigh(const struct nj_dims *dims, const float *scores, const uint32_t *experts,
                  float *weights)
{
    bool is_shared_out = dims->renormalizes && dims->n_chosen > 1;
    float total = 0.0F;
    for (uint32_t slot = 0; slot < dims->n_chosen; slot++) {
        total += scores[experts[slot]];
    }
    for (uint32_t slot = 0; slot < dims->n_chosen; slot++) {
        float score = scores[experts[slot]];
        float share = is_shared_out ? score / (total + least_total) : score;
        weights[slot] = share * dims->routed_scale;
    }
}

void nj_router_choose_row(const struct nj_dims *dims, const float *scores,
                          const float *correction_bias, float *biased, struct nj_ranked *best,
                          struct nj_ranked *groups, uint32_t *experts, float *weights)
{
    for (uint32_t expert = 0; expert < dims->n_experts; expert++) {
        biased[expert] = scores[expert] + correction_bias[expert];
    }
    if (dims->n_groups > 1 && dims->n_groups > dims->n_chosen_groups) {
        choose_from_groups(dims, biased, best, groups);
    } else {
        uint32_t n_best = 0;
        choose_from(dims, biased, 0, dims->n_experts, best, &n_best);
    }
    for (uint32_t slot = 0; slot < dims->n_chosen; slot++) {
        experts[slot] = best[slot].id;
    }
    weigh(dims, scores, experts, weights);
}

struct choice {
    const struct nj_dims *dims;
    const struct nj_moe_weights *weights;
    struct nj_routing *routing;
};

static void choose_range(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    const struct choice *choice = context;
    const struct nj_dims *dims = choice->dims;
    struct nj_routing *routing = choice->routing;
    (void)thread_index;
    for (uint32_t row = begin; row < end; row++) {
        float *scores = routing->scores + (size_t)row * dims->n_experts;
        size_t first_pair = (size_t)row * dims->n_chosen;
        for (uint32_t expert = 0; expert < dims->n_experts; expert++) {
            scores[expert] = nj_sigmoid(scores[expert]);
        }
        nj_router_choose_row(dims, scores, choice->weights->correction_bias,
                             routing->biased + (size_t)row * dims->n_experts,
                             routing->best + first_pair,
                             routing->groups + (size_t)row * dims->n_chosen_groups,
                             routing->experts + first_pair, routing->weights + first_pair);
    }
}

/* Counting sort of the pairs by expert; stable, so rows rise inside a group. */
static void group_pairs(const struct nj_dims *dims, uint32_t n_rows, struct nj_routing *routing)
{
    uint32_t n_pairs = n_rows * dims->n_chosen;
    memset(routing->first, 0, ((size_t)dims->n_experts + 1) * sizeof *routing->first);
    for (uint32_t pair = 0; pair < n_pairs; pair++) {
        routing->first[routing->experts[pair] + 1] += 1;
    }
    for (uint32_t expert = 0; expert < dims->n_experts; expert++) {
        routing->first[expert + 1] += routing->first[expert];
    }
    for (uint32_t pair = 0; pair < n_pairs; pair++) {
        uint32_t position = routing->first[routing->experts[pair]]++;
        routing->positions[pair] = position;
        routing->rows[position] = pair / dims->n_chosen;
    }
    /* Each start has moved to its group's end, which is the next group's start. */
    for (uint32_t expert = dims->n_experts; expert > 0; expert--) {
        routing->first[expert] = routing->first[expert - 1];
    }
    routing->first[0] = 0;
}

/* In file order, so that reading them walks forward. */
static void list_active(const struct nj_dims *dims, const uint32_t *file_order,
                        struct nj_routing *routing)
{
    routing->n_active = 0;
    for (uint32_t i = 0; i < dims->n_experts; i++) {
        uint32_t expert = file_order[i];
        if (routing->first[expert + 1] > routing->first[expert]) {
            routing->active[routing->n_active++] = expert;
        }
    }
}

enum nj_status nj_router_choose(const struct nj_compute *compute,
                                const struct nj_moe_weights *weights,
                                const struct nj_dims *dims, const float *x, uint32_t n_rows,
                                struct nj_routing *routing, struct nj_error *err)
{
    enum nj_status status = nj_compute_linear(compute, &weights->router, x, dims->n_hidden,
                                              n_rows, routing->scores, dims->n_experts, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_profile_lap(compute, NJ_OPERATION_ROUTER_PRODUCT);
    struct choice choice = {dims, weights, routing};
    nj_compute_spread(compute, n_rows, 32 * (uint64_t)dims->n_experts, choose_range, &choice);
    group_pairs(dims, n_rows, routing);
    list_active(dims, weights->file_order, routing);
    nj_profile_lap(compute, NJ_OPERATION_ROUTING);
    return NJ_OK;
}
