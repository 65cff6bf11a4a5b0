#include "model/experts.h"

#include <assert.h>
#include <string.h>

#include "model/feed_forward.h"
#include "model/profile.h"

/* About a millisecond of multiply-adds, against which handing work out thrice is nothing. */
static const uint64_t work_per_thread = 1 << 23;

/* Rows of one wave. */
struct buffers {
    float *inputs; /* (pairs, n_latent) */
    float *gate;   /* (pairs, n_expert) */
    float *up;     /* (pairs, n_expert) */
};

/* A row has at most n_chosen pairs, and at most one with each expert of the wave. */
static uint32_t most_pairs(const struct nj_dims *dims, uint32_t n_rows)
{
    uint32_t per_row =
        dims->n_chosen < NJ_EXPERTS_PER_WAVE ? dims->n_chosen : NJ_EXPERTS_PER_WAVE;
    return n_rows * per_row;
}

static struct buffers lay_out(struct nj_workspace *workspace, const struct nj_dims *dims,
                              uint32_t n_rows)
{
    uint32_t n_pairs = most_pairs(dims, n_rows);
    return (struct buffers){.inputs = nj_workspace_rows(workspace, n_pairs, dims->n_latent),
                            .gate = nj_workspace_rows(workspace, n_pairs, dims->n_expert),
                            .up = nj_workspace_rows(workspace, n_pairs, dims->n_expert)};
}

void nj_experts_measure(struct nj_workspace *workspace, const struct nj_dims *dims,
                        uint32_t n_rows)
{
    (void)lay_out(workspace, dims, n_rows);
}

static uint32_t n_rows_of(const struct nj_routing *routing, uint32_t expert)
{
    return routing->first[expert + 1] - routing->first[expert];
}

/* A few experts. The pairs of the i-th are those from first_pair[i] on in the wave's buffers,
 * whatever their group positions. */
struct wave {
    const struct nj_compute *compute;
    const struct nj_moe_weights *moe;
    const struct nj_dims *dims;
    const struct nj_routing *routing;
    const struct buffers *buffers;
    uint32_t experts[NJ_EXPERTS_PER_WAVE];
    uint32_t first_pair[NJ_EXPERTS_PER_WAVE];
    uint32_t n_experts;
    uint32_t most_experts; /* that may be pinned, one frame being left for the next */
    uint32_t n_pairs;
    struct nj_tile gate[NJ_EXPERTS_PER_WAVE];
    struct nj_tile up[NJ_EXPERTS_PER_WAVE];
    struct nj_tile down[NJ_EXPERTS_PER_WAVE];
};

static uint32_t most_experts(const struct nj_stream *stream)
{
    uint32_t n_pinnable = nj_stream_n_pinnable(stream);
    if (n_pinnable > NJ_EXPERTS_PER_WAVE) {
        return NJ_EXPERTS_PER_WAVE;
    }
    return n_pinnable > 1 ? n_pinnable - 1 : 1;
}

/* Whether the wave keeps all threads busy for long enough as it is. */
static bool is_enough(const struct wave *wave)
{
    const struct nj_dims *dims = wave->dims;
    uint64_t work = (uint64_t)wave->n_pairs * dims->n_latent * dims->n_expert * 3;
    return work >= work_per_thread * nj_pool_n_threads(wave->compute->pool);
}

/* Fills the wave with active experts from the list's place `next` on; returns the place after
 * its last one. */
static uint32_t gather_wave(struct wave *wave, uint32_t next)
{
    const struct nj_routing *routing = wave->routing;
    wave->n_experts = 0;
    wave->n_pairs = 0;
    while (next < routing->n_active && wave->n_experts < wave->most_experts &&
           !is_enough(wave)) {
        uint32_t expert = routing->active[next++];
        wave->experts[wave->n_experts] = expert;
        wave->first_pair[wave->n_experts++] = wave->n_pairs;
        wave->n_pairs += n_rows_of(routing, expert);
    }
    return next;
}

static enum nj_status pin_expert(struct wave *wave, uint32_t i, struct nj_error *err)
{
    struct nj_stream *stream = wave->compute->stream;
    const struct nj_feed_forward_weights *expert = &wave->moe->experts[wave->experts[i]];
    enum nj_status status = nj_bound_matrix_pin(&expert->gate, 0, stream, &wave->gate[i], err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_bound_matrix_pin(&expert->up, 0, stream, &wave->up[i], err);
    if (status != NJ_OK) {
        goto unpin_gate;
    }
    status = nj_bound_matrix_pin(&expert->down, 0, stream, &wave->down[i], err);
    if (status == NJ_OK) {
        return NJ_OK;
    }
    nj_bound_matrix_unpin(&expert->up, 0, stream);
unpin_gate:
    nj_bound_matrix_unpin(&expert->gate, 0, stream);
    return status;
}

static void unpin_experts(const struct wave *wave, uint32_t n_pinned)
{
    struct nj_stream *stream = wave->compute->stream;
    for (uint32_t i = 0; i < n_pinned; i++) {
        const struct nj_feed_forward_weights *expert = &wave->moe->experts[wave->experts[i]];
        nj_bound_matrix_unpin(&expert->gate, 0, stream);
        nj_bound_matrix_unpin(&expert->up, 0, stream);
        nj_bound_matrix_unpin(&expert->down, 0, stream);
    }
}

static enum nj_status pin_wave(struct wave *wave, struct nj_error *err)
{
    for (uint32_t i = 0; i < wave->n_experts; i++) {
        enum nj_status status = pin_expert(wave, i, err);
        if (status != NJ_OK) {
            unpin_experts(wave, i);
            return nj_prefix(err, status, "expert %u", wave->experts[i]);
        }
    }
    return NJ_OK;
}

static void gather_inputs(const struct wave *wave, const float *z)
{
    size_t width = wave->dims->n_latent;
    const struct nj_routing *routing = wave->routing;
    float *input = wave->buffers->inputs;
    for (uint32_t i = 0; i < wave->n_experts; i++) {
        uint32_t expert = wave->experts[i];
        for (uint32_t p = routing->first[expert]; p < routing->first[expert + 1]; p++) {
            memcpy(input, z + routing->rows[p] * width, width * sizeof *z);
            input += width;
        }
    }
}

/* `tile` on the rows of the wave's i-th expert: x begins at the wave's first pair, y at the
 * expert's own. */
static struct nj_product product_of(const struct wave *wave, uint32_t i,
                                    const struct nj_tile *tile, const float *x, float *y)
{
    size_t n_inputs = tile->matrix.n_inputs;
    return (struct nj_product){.matrix = tile->matrix,
                               .x = x + wave->first_pair[i] * n_inputs,
                               .x_stride = n_inputs,
                               .y = y,
                               .y_stride = tile->matrix.n_outputs,
                               .n_rows = n_rows_of(wave->routing, wave->experts[i])};
}

static void run_wave(const struct wave *wave, const float *z, float *outputs)
{
    const struct buffers *buffers = wave->buffers;
    const struct nj_dims *dims = wave->dims;
    struct nj_product products[2 * NJ_EXPERTS_PER_WAVE];
    uint32_t n_products = 0;
    gather_inputs(wave, z);
    for (uint32_t i = 0; i < wave->n_experts; i++) {
        size_t first = (size_t)wave->first_pair[i] * dims->n_expert;
        products[n_products++] =
            product_of(wave, i, &wave->gate[i], buffers->inputs, buffers->gate + first);
        products[n_products++] =
            product_of(wave, i, &wave->up[i], buffers->inputs, buffers->up + first);
    }
    nj_compute_products(wave->compute, products, n_products);
    nj_profile_lap(wave->compute, NJ_OPERATION_EXPERT_PRODUCTS);
    nj_stream_want(wave->compute->stream, NULL, 0);
    nj_activate_rows(wave->compute, dims, buffers->gate, buffers->up, wave->n_pairs,
                     dims->n_expert);
    for (uint32_t i = 0; i < wave->n_experts; i++) {
        size_t first = (size_t)wave->routing->first[wave->experts[i]] * dims->n_latent;
        products[i] = product_of(wave, i, &wave->down[i], buffers->gate, outputs + first);
    }
    nj_compute_products(wave->compute, products, wave->n_experts);
    nj_profile_lap(wave->compute, NJ_OPERATION_EXPERT_PRODUCTS);
}

enum nj_status nj_experts_run(const struct nj_compute *compute,
                              const struct nj_moe_weights *moe, const struct nj_dims *dims,
                              const struct nj_routing *routing, const float *z, uint32_t n_rows,
                              struct nj_workspace *workspace, float *outputs,
                              struct nj_error *err)
{
    struct buffers buffers = lay_out(workspace, dims, n_rows);
    struct wave wave = {.compute = compute,
                        .moe = moe,
                        .dims = dims,
                        .routing = routing,
                        .buffers = &buffers,
                        .most_experts = most_experts(compute->stream)};
    uint32_t next = 0;
    while (next < routing->n_active) {
        next = gather_wave(&wave, next);
        assert(wave.n_pairs <= most_pairs(dims, n_rows));
        enum nj_status status = pin_wave(&wave, err);
        if (status != NJ_OK) {
            return status;
        }
        run_wave(&wave, z, outputs);
        unpin_experts(&wave, wave.n_experts);
    }
    return NJ_OK;
}
