#include "model/sweep.h"

#include <assert.h>
#include <string.h>

#include "model/announce.h"
#include "model/attention_residual.h"
#include "model/combine.h"
#include "model/delta_attention.h"
#include "model/embedding.h"
#include "model/experts.h"
#include "model/feed_forward.h"
#include "model/latent_attention.h"
#include "model/model_parts.h"
#include "model/norm.h"
#include "model/profile.h"
#include "model/reexamine.h"
#include "model/router.h"
#include "model/rows.h"
#include "model/state_window.h"

/* Rows of the sweep that live from its first layer to its last.
 *
 * `streams` holds one residual stream per attention-residual block, oldest first. The last one
 * begun is the running prefix, the accumulator that every sublayer adds to; those before it are
 * the snapshots. Taking a snapshot is no copy: the prefix stays where it is and the next stream
 * begins from nothing. With plain residuals there is one stream. */
struct buffers {
    struct nj_run *runs;               /* (n_rows) */
    struct nj_state_passage *passages; /* (n_rows) */
    float **values;                    /* (n_rows): of the window that is open */
    float *streams;                    /* (n_streams, n_rows, hidden) */
    float *mixed;  /* (n_rows, hidden): what a sublayer reads, before its norm */
    float *normed; /* (n_rows, hidden) */
    float *output; /* (n_rows, hidden): of the sublayer */
};

/* One sweep under way. */
struct walk {
    struct nj_model *model;
    const struct nj_sweep_hooks *hooks;
    struct nj_runs runs;
    uint32_t n_rows;
    uint32_t n_wanted; /* rows that want logits */
    uint32_t n_snapshots;
    struct buffers buffers;
};

static uint32_t n_streams(const struct nj_dims *dims)
{
    return nj_dims_n_residual_blocks(dims) + 1;
}

static struct buffers lay_out(struct nj_workspace *workspace, const struct nj_dims *dims,
                              uint32_t n_rows)
{
    uint64_t hidden = dims->n_hidden;
    return (struct buffers){
        .runs = nj_workspace_take(workspace, n_rows, sizeof(struct nj_run)),
        .passages = nj_workspace_take(workspace, n_rows, sizeof(struct nj_state_passage)),
        .values = nj_workspace_take(workspace, n_rows, sizeof(float *)),
        .streams = nj_workspace_rows(workspace, n_rows, n_streams(dims) * hidden),
        .mixed = nj_workspace_rows(workspace, n_rows, hidden),
        .normed = nj_workspace_rows(workspace, n_rows, hidden),
        .output = nj_workspace_rows(workspace, n_rows, hidden),
    };
}

/* Rows of one mixture-of-experts block. */
struct moe_buffers {
    struct nj_routing routing;
    float *z;        /* (n_rows, n_latent): what experts read, when there is a latent */
    float *outputs;  /* (n_rows * n_chosen, n_latent) */
    float *combined; /* (n_rows, n_latent) */
    float *normed;   /* (n_rows, n_latent) */
    float *shared;   /* (n_rows, hidden) */
};

static struct moe_buffers lay_out_moe(struct nj_workspace *workspace,
                                      const struct nj_dims *dims, uint32_t n_rows)
{
    uint64_t latent = dims->n_latent;
    return (struct moe_buffers){
        .routing = nj_routing_lay_out(workspace, dims, n_rows),
        .z = nj_workspace_rows(workspace, n_rows, latent),
        .outputs = nj_workspace_rows(workspace, n_rows, dims->n_chosen * latent),
        .combined = nj_workspace_rows(workspace, n_rows, latent),
        .normed = nj_workspace_rows(workspace, n_rows, latent),
        .shared = nj_workspace_rows(workspace, n_rows, dims->n_hidden),
    };
}

static void measure_moe(struct nj_workspace *workspace, const struct nj_dims *dims,
                        uint32_t n_rows)
{
    (void)lay_out_moe(workspace, dims, n_rows);
    uint64_t mark = nj_workspace_mark(workspace);
    nj_experts_measure(workspace, dims, n_rows);
    nj_workspace_release(workspace, mark);
    nj_feed_forward_measure(workspace, dims->n_shared * dims->n_expert, n_rows);
}

void nj_sweep_measure(struct nj_workspace *workspace, const struct nj_dims *dims,
                      uint32_t n_rows)
{
    (void)lay_out(workspace, dims, n_rows);
    uint64_t mark = nj_workspace_mark(workspace);
    nj_delta_measure(workspace, dims, n_rows);
    nj_workspace_release(workspace, mark);
    nj_latent_measure(workspace, dims, n_rows);
    nj_workspace_release(workspace, mark);
    nj_feed_forward_measure(workspace, dims->n_dense, n_rows);
    nj_workspace_release(workspace, mark);
    if (dims->n_experts > 0) {
        measure_moe(workspace, dims, n_rows);
    }
    nj_workspace_release(workspace, 0);
}

static float *stream_at(const struct walk *walk, uint32_t index)
{
    size_t stride = (size_t)walk->n_rows * walk->model->dims.n_hidden;
    return walk->buffers.streams + (size_t)index * stride;
}

static float *prefix_of(const struct walk *walk)
{
    return stream_at(walk, walk->n_snapshots);
}

/* Announces what comes after layer `layer - 1` whatever routers say: the next trunk, or past
 * the last layer the output head, if any row wants logits. */
static void announce_next(const struct walk *walk, uint32_t layer)
{
    const struct nj_model *model = walk->model;
    if (layer < model->dims.n_layers) {
        nj_announce_trunk(&model->weights, model->stream, layer);
    } else if (walk->n_wanted > 0) {
        nj_announce_head(&model->weights, model->stream);
    }
}

/* What a sublayer reads: the snapshots and the prefix mixed, or the prefix itself while there
 * is no snapshot. */
static const float *mix(const struct walk *walk, const struct nj_residual_mix_weights *weights)
{
    const struct nj_dims *dims = &walk->model->dims;
    if (walk->n_snapshots == 0) {
        return prefix_of(walk);
    }
    struct nj_residual_sources sources = {.values = walk->buffers.streams,
                                          .stride = (size_t)walk->n_rows * dims->n_hidden,
                                          .n_sources = walk->n_snapshots + 1};
    nj_residual_mix(&walk->model->compute, weights, &sources, walk->n_rows, dims->n_hidden,
                    dims->rms_norm_eps, walk->buffers.mixed);
    return walk->buffers.mixed;
}

/* The prefix as it stands becomes a snapshot and the accumulator restarts from nothing. */
static void take_snapshot(struct walk *walk)
{
    size_t stream_bytes = (size_t)walk->n_rows * walk->model->dims.n_hidden * sizeof(float);
    walk->n_snapshots += 1;
    memset(prefix_of(walk), 0, stream_bytes);
}

static void norm_input(const struct walk *walk, const float *x, const float *weight)
{
    const struct nj_dims *dims = &walk->model->dims;
    nj_norm_rows(&walk->model->compute, x, dims->n_hidden, walk->n_rows, dims->n_hidden, weight,
                 dims->rms_norm_eps, walk->buffers.normed, dims->n_hidden);
}

static void add_to_prefix(const struct walk *walk)
{
    nj_add_rows(&walk->model->compute, walk->buffers.output, walk->n_rows,
                walk->model->dims.n_hidden, prefix_of(walk));
}

static enum nj_status run_mixer(struct walk *walk, uint32_t layer, struct nj_error *err)
{
    struct nj_model *model = walk->model;
    const struct nj_layer_weights *weights = &model->weights.layers[layer];
    if (model->dims.mixers[layer] == NJ_MIXER_DELTA) {
        return nj_delta_attention(&model->compute, &weights->delta, &model->dims, layer,
                                  &walk->runs, walk->buffers.normed, walk->n_rows,
                                  &model->workspace, walk->buffers.output, err);
    }
    return nj_latent_attention(&model->compute, &weights->latent, &model->dims, layer,
                               &walk->runs, walk->buffers.normed, walk->n_rows,
                               &model->workspace, walk->buffers.output, err);
}

static void report_routing(const struct walk *walk, uint32_t layer,
                           const struct nj_routing *routing)
{
    uint32_t n_chosen = walk->model->dims.n_chosen;
    if (walk->hooks->on_routing == NULL) {
        return;
    }
    for (uint32_t row = 0; row < walk->n_rows; row++) {
        size_t first = (size_t)row * n_chosen;
        walk->hooks->on_routing(walk->hooks->context, layer, row, routing->experts + first,
                                routing->weights + first, n_chosen);
    }
}

static void arrange_experts(const struct walk *walk, uint32_t layer, struct nj_routing *routing)
{
    const struct nj_sweep_hooks *hooks = walk->hooks;
    if (hooks->arrange_experts != NULL) {
        hooks->arrange_experts(hooks->context, layer, routing->active, routing->n_active);
    }
}

/* Experts may work in a latent of their own width; the router and the shared expert never do.
 */
static enum nj_status enter_latent(const struct walk *walk,
                                   const struct nj_moe_weights *weights, float *latent,
                                   const float **z, struct nj_error *err)
{
    const struct nj_dims *dims = &walk->model->dims;
    if (!dims->has_latent) {
        *z = walk->buffers.normed;
        return NJ_OK;
    }
    *z = latent;
    enum nj_status status =
        nj_compute_linear(&walk->model->compute, &weights->latent_down, walk->buffers.normed,
                          dims->n_hidden, walk->n_rows, latent, dims->n_latent, err);
    nj_profile_lap(&walk->model->compute, NJ_OPERATION_DOWN_UP_PRODUCTS);
    return status;
}

/* The sum of the experts, normed as a whole and brought back to full width. */
static enum nj_status leave_latent(const struct walk *walk,
                                   const struct nj_moe_weights *weights,
                                   const struct moe_buffers *buffers, struct nj_error *err)
{
    const struct nj_dims *dims = &walk->model->dims;
    const struct nj_compute *compute = &walk->model->compute;
    const float *combined = buffers->combined;
    if (!dims->has_latent) {
        memcpy(walk->buffers.output, combined,
               (size_t)walk->n_rows * dims->n_hidden * sizeof *combined);
        return NJ_OK;
    }
    if (dims->has_latent_norm) {
        nj_norm_rows(compute, combined, dims->n_latent, walk->n_rows, dims->n_latent,
                     weights->latent_norm, dims->rms_norm_eps, buffers->normed, dims->n_latent);
        combined = buffers->normed;
    }
    enum nj_status status =
        nj_compute_linear(compute, &weights->latent_up, combined, dims->n_latent, walk->n_rows,
                          walk->buffers.output, dims->n_hidden, err);
    nj_profile_lap(compute, NJ_OPERATION_DOWN_UP_PRODUCTS);
    return status;
}

/* Chooses experts, announces them and what follows, and brings the rows to where experts work.
 */
static enum nj_status route(struct walk *walk, uint32_t layer, struct moe_buffers *buffers,
                            const float **z, struct nj_error *err)
{
    struct nj_model *model = walk->model;
    const struct nj_dims *dims = &model->dims;
    const struct nj_moe_weights *weights = &model->weights.layers[layer].moe;
    enum nj_status status =
        nj_router_choose(&model->compute, weights, dims, walk->buffers.normed, walk->n_rows,
                         &buffers->routing, err);
    if (status != NJ_OK) {
        return status;
    }
    report_routing(walk, layer, &buffers->routing);
    arrange_experts(walk, layer, &buffers->routing);
    nj_announce_experts(&model->weights, model->stream, layer, &buffers->routing);
    announce_next(walk, layer + 1);
    return enter_latent(walk, weights, buffers->z, z, err);
}

static enum nj_status run_routed(const struct walk *walk, uint32_t layer,
                                 struct moe_buffers *buffers, const float *z,
                                 struct nj_error *err)
{
    struct nj_model *model = walk->model;
    const struct nj_dims *dims = &model->dims;
    const struct nj_moe_weights *weights = &model->weights.layers[layer].moe;
    uint64_t mark = nj_workspace_mark(&model->workspace);
    enum nj_status status =
        nj_experts_run(&model->compute, weights, dims, &buffers->routing, z, walk->n_rows,
                       &model->workspace, buffers->outputs, err);
    nj_workspace_release(&model->workspace, mark);
    if (status != NJ_OK) {
        return status;
    }
    nj_combine(&model->compute, dims, &buffers->routing, buffers->outputs, walk->n_rows,
               buffers->combined);
    return leave_latent(walk, weights, buffers, err);
}

/* The shared expert is computed while the chosen ones are still being read, and added last. */
static enum nj_status run_moe(struct walk *walk, uint32_t layer, struct nj_error *err)
{
    struct nj_model *model = walk->model;
    const struct nj_dims *dims = &model->dims;
    const struct nj_moe_weights *weights = &model->weights.layers[layer].moe;
    struct moe_buffers buffers = lay_out_moe(&model->workspace, dims, walk->n_rows);
    uint64_t mark = nj_workspace_mark(&model->workspace);
    const float *z = NULL;
    enum nj_status status = route(walk, layer, &buffers, &z, err);
    if (status == NJ_OK && dims->n_shared > 0) {
        status = nj_feed_forward(&model->compute, &weights->shared, dims, walk->buffers.normed,
                                 walk->n_rows, &model->workspace, buffers.shared, err);
        nj_workspace_release(&model->workspace, mark);
    }
    if (status == NJ_OK) {
        status = run_routed(walk, layer, &buffers, z, err);
    }
    if (status == NJ_OK && dims->n_shared > 0) {
        nj_add_rows(&model->compute, buffers.shared, walk->n_rows, dims->n_hidden,
                    walk->buffers.output);
    }
    return status;
}

static enum nj_status run_feed_forward(struct walk *walk, uint32_t layer, struct nj_error *err)
{
    struct nj_model *model = walk->model;
    if (nj_dims_layer_is_moe(&model->dims, layer)) {
        return run_moe(walk, layer, err);
    }
    announce_next(walk, layer + 1);
    return nj_feed_forward(&model->compute, &model->weights.layers[layer].dense, &model->dims,
                           walk->buffers.normed, walk->n_rows, &model->workspace,
                           walk->buffers.output, err);
}

/* One decoder layer: mix, norm, attention, add; mix, norm, feed-forward, add. */
static enum nj_status run_layer(struct walk *walk, uint32_t layer, struct nj_error *err)
{
    struct nj_model *model = walk->model;
    const struct nj_layer_weights *weights = &model->weights.layers[layer];
    uint64_t mark = nj_workspace_mark(&model->workspace);

    const float *attention_input = mix(walk, &weights->attention_mix);
    norm_input(walk, attention_input, weights->attention_norm);
    if (nj_dims_layer_starts_block(&model->dims, layer)) {
        take_snapshot(walk);
    }
    enum nj_status status = run_mixer(walk, layer, err);
    nj_workspace_release(&model->workspace, mark);
    if (status != NJ_OK) {
        return status;
    }
    add_to_prefix(walk);

    const float *feed_forward_input = mix(walk, &weights->feed_forward_mix);
    norm_input(walk, feed_forward_input, weights->feed_forward_norm);
    status = run_feed_forward(walk, layer, err);
    nj_workspace_release(&model->workspace, mark);
    if (status != NJ_OK) {
        return status;
    }
    add_to_prefix(walk);
    return NJ_OK;
}

static bool is_finite(const float *values, size_t n)
{
    uint32_t worst = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        bits &= 0x7f800000U; /* all ones in infinities and NaNs only */
        worst = worst < bits ? bits : worst;
    }
    return worst != 0x7f800000U;
}

static void note_bad_rows(const struct walk *walk, uint32_t layer)
{
    uint32_t n_hidden = walk->model->dims.n_hidden;
    int32_t *first_bad_layer = walk->model->first_bad_layer;
    for (uint32_t row = 0; row < walk->n_rows; row++) {
        const float *values = prefix_of(walk) + (size_t)row * n_hidden;
        if (first_bad_layer[row] < 0 && !is_finite(values, n_hidden)) {
            first_bad_layer[row] = (int32_t)layer;
        }
    }
}

static enum nj_status run_layers(struct walk *walk, struct nj_error *err)
{
    const struct nj_sweep_hooks *hooks = walk->hooks;
    uint32_t n_layers = walk->model->dims.n_layers;
    for (uint32_t layer = 0; layer < n_layers; layer++) {
        if (hooks->should_stop != NULL && hooks->should_stop(hooks->context)) {
            return nj_fail(err, NJ_E_STOPPED, "stopped before layer %u of %u", layer, n_layers);
        }
        enum nj_status status = run_layer(walk, layer, err);
        if (status != NJ_OK) {
            return nj_prefix(err, status, "layer %u", layer);
        }
        note_bad_rows(walk, layer);
        nj_profile_lap(&walk->model->compute, NJ_OPERATION_ADDITION);
        if (hooks->on_layer_final != NULL) {
            hooks->on_layer_final(hooks->context, layer);
        }
    }
    return NJ_OK;
}

/* Brings the rows that want logits together at the front of `normed`; returns their number. */
static uint32_t gather_wanted(const struct walk *walk, const struct nj_row *rows,
                              const float *final)
{
    size_t n_hidden = walk->model->dims.n_hidden;
    uint32_t n_wanted = 0;
    for (uint32_t row = 0; row < walk->n_rows; row++) {
        if (rows[row].wants_logits) {
            memcpy(walk->buffers.output + n_wanted * n_hidden, final + row * n_hidden,
                   n_hidden * sizeof *final);
            n_wanted += 1;
        }
    }
    return n_wanted;
}

static void note_bad_logits(const struct walk *walk, const struct nj_row *rows,
                            const float *logits)
{
    uint32_t n_vocabulary = walk->model->dims.n_vocabulary;
    int32_t *first_bad_layer = walk->model->first_bad_layer;
    for (uint32_t row = 0; row < walk->n_rows; row++) {
        if (!rows[row].wants_logits) {
            continue;
        }
        if (first_bad_layer[row] < 0 && !is_finite(logits, n_vocabulary)) {
            first_bad_layer[row] = (int32_t)walk->model->dims.n_layers;
        }
        logits += n_vocabulary;
    }
}

static enum nj_status run_head(const struct walk *walk, const struct nj_row *rows,
                               float *logits, struct nj_error *err)
{
    const struct nj_model *model = walk->model;
    const struct nj_dims *dims = &model->dims;
    const struct nj_global_weights *weights = &model->weights.global;
    const float *final = mix(walk, &weights->output_mix);
    uint32_t n_wanted = gather_wanted(walk, rows, final);
    nj_norm_rows(&model->compute, walk->buffers.output, dims->n_hidden, n_wanted,
                 dims->n_hidden, weights->norm, dims->rms_norm_eps, walk->buffers.normed,
                 dims->n_hidden);
    enum nj_status status =
        nj_compute_linear(&model->compute, &weights->head, walk->buffers.normed, dims->n_hidden,
                          n_wanted, logits, dims->n_vocabulary, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "output head");
    }
    note_bad_logits(walk, rows, logits);
    nj_profile_lap(&model->compute, NJ_OPERATION_HEAD_PRODUCT);
    return NJ_OK;
}

static uint32_t count_wanted(const struct nj_row *rows, uint32_t n_rows)
{
    uint32_t n_wanted = 0;
    for (uint32_t i = 0; i < n_rows; i++) {
        n_wanted += rows[i].wants_logits;
    }
    return n_wanted;
}

static enum nj_status run_walk(struct walk *walk, const struct nj_row *rows, float *logits,
                               struct nj_error *err)
{
    const struct nj_model *model = walk->model;
    nj_embedding_announce(&model->weights, model->stream, rows, walk->n_rows);
    announce_next(walk, 0);
    enum nj_status status = nj_embedding_look_up(&model->weights, model->stream, rows,
                                                 walk->n_rows, prefix_of(walk), err);
    if (status != NJ_OK) {
        return status;
    }
    nj_profile_lap(&walk->model->compute, NJ_OPERATION_EMBEDDING);
    status = run_layers(walk, err);
    if (status != NJ_OK || walk->n_wanted == 0) {
        return status;
    }
    return run_head(walk, rows, logits, err);
}

static enum nj_status reserve_runs(const struct nj_runs *runs, struct nj_error *err)
{
    for (uint32_t i = 0; i < runs->n_runs; i++) {
        enum nj_status status =
            nj_state_reserve(runs->runs[i].state, runs->runs[i].n_rows, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    return NJ_OK;
}

static enum nj_status check_call(const struct nj_model *model, const struct nj_row *rows,
                                 uint32_t n_rows, const float *logits, struct nj_error *err)
{
    if (n_rows < 1 || n_rows > model->max_rows) {
        return nj_fail(err, NJ_E_USAGE, "a sweep of %u rows: this model takes 1 to %u", n_rows,
                       model->max_rows);
    }
    if (logits == NULL && count_wanted(rows, n_rows) > 0) {
        return nj_fail(err, NJ_E_USAGE, "rows want logits, but there is nowhere to put them");
    }
    return NJ_OK;
}

static enum nj_status walk_through_states(struct walk *walk, const struct nj_row *rows,
                                          float *logits, struct nj_error *err)
{
    enum nj_status status = nj_state_passage_begin(&walk->runs, err);
    if (status == NJ_OK) {
        status = run_walk(walk, rows, logits, err);
    }
    if (status == NJ_OK) { /* also where values are not finite: first it is asked why */
        status = nj_stream_check_files(walk->model->stream, err);
    }
    return status == NJ_OK ? nj_state_passage_end(&walk->runs, err) : status;
}

/* States are unusable while layers disagree about their length; only a whole walk ends that, or
 * a home that has kept what they were. */
static enum nj_status walk_and_advance(struct walk *walk, const struct nj_row *rows,
                                       float *logits, struct nj_error *err)
{
    for (uint32_t i = 0; i < walk->runs.n_runs; i++) {
        nj_state_mark_broken(walk->runs.runs[i].state);
    }
    enum nj_status status = walk_through_states(walk, rows, logits, err);
    if (status != NJ_OK) {
        nj_stream_forget(walk->model->stream);
        nj_state_passage_abandon(&walk->runs);
        walk->model->is_suspect = status == NJ_E_WEIGHTS;
    }
    for (uint32_t i = 0; i < walk->runs.n_runs && status == NJ_OK; i++) {
        nj_state_advance(walk->runs.runs[i].state, walk->runs.runs[i].n_rows);
    }
    return status;
}

enum nj_status nj_sweep_run(struct nj_model *model, const struct nj_row *rows, uint32_t n_rows,
                            const struct nj_sweep_hooks *hooks, float *logits,
                            struct nj_error *err)
{
    static const struct nj_sweep_hooks no_hooks = {0};
    enum nj_status status = check_call(model, rows, n_rows, logits, err);
    if (status == NJ_OK) {
        status = nj_model_reexamine(model, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    struct walk walk = {.model = model,
                        .hooks = hooks == NULL ? &no_hooks : hooks,
                        .n_rows = n_rows,
                        .n_wanted = count_wanted(rows, n_rows)};
    nj_profile_lap(&model->compute, NJ_OPERATION_OUTSIDE);
    nj_workspace_release(&model->workspace, 0);
    walk.buffers = lay_out(&model->workspace, &model->dims, n_rows);
    walk.runs = (struct nj_runs){.runs = walk.buffers.runs,
                                 .passages = walk.buffers.passages,
                                 .values = walk.buffers.values};
    status = nj_rows_group(rows, n_rows, &model->dims, &walk.runs, err);
    if (status != NJ_OK) {
        return status;
    }
    status = reserve_runs(&walk.runs, err);
    if (status != NJ_OK) {
        return status;
    }
    for (uint32_t row = 0; row < n_rows; row++) {
        model->first_bad_layer[row] = -1;
    }
    return walk_and_advance(&walk, rows, logits, err);
}

int32_t nj_sweep_first_bad_layer(const struct nj_model *model, uint32_t row)
{
    assert(row < model->max_rows);
    return model->first_bad_layer[row];
}
