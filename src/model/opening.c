#include "model/opening.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/attention_residual.h"
#include "model/delta_attention.h"
#include "model/file_order.h"
#include "model/fingerprint.h"
#include "model/model_parts.h"
#include "model/resident_vectors.h"
#include "model/state.h"
#include "stream/file_mark.h"

enum { ALIGNMENT = 64 };

/* --- binding --- */

/* "<directory>/<name>" for each shard, in the arena of the weights. */
static enum nj_status list_files(struct nj_opening *opening, struct nj_arena *arena,
                                 struct nj_error *err)
{
    const char *directory = opening->options->path;
    size_t n_files = nj_weight_index_file_count(opening->index);
    struct nj_stream_file *list = nj_arena_take_array(arena, n_files, sizeof *list);
    if (list == NULL) {
        return nj_arena_fail(arena, "shard list", err);
    }
    for (size_t i = 0; i < n_files; i++) {
        const struct nj_weight_file *file = nj_weight_index_file(opening->index, i);
        size_t path_bytes = strlen(directory) + strlen("/") + strlen(file->name) + 1;
        char *path = nj_arena_take(arena, path_bytes);
        if (path == NULL) {
            return nj_arena_fail(arena, "shard path", err);
        }
        (void)snprintf(path, path_bytes, "%s/%s", directory, file->name); /* fits */
        list[i] = (struct nj_stream_file){path, file->length_bytes};
    }
    opening->files = list;
    return NJ_OK;
}

/* Binds anew; what was bound before is forgotten. */
static enum nj_status bind_weights(struct nj_opening *opening, struct nj_model *model,
                                   struct nj_record_cut cut, struct nj_error *err)
{
    struct nj_weights *weights = &model->weights;
    nj_weights_deinit(weights);
    enum nj_status status = nj_weights_init(weights, &model->dims, opening->index, cut, err);
    if (status == NJ_OK) {
        status = nj_file_order_make(weights, &model->dims, err);
    }
    if (status == NJ_OK) {
        status = nj_scale_check_init(&model->scale_check, weights, &model->dims, err);
    }
    if (status == NJ_OK) {
        status = list_files(opening, &weights->arena, err);
    }
    return status;
}

static struct nj_record_cut whole_cut(const struct nj_opening *opening)
{
    uint64_t limit = opening->seams->record_limit_bytes;
    return (struct nj_record_cut){.limit_bytes = limit == 0 ? NJ_RECORD_LIMIT_BYTES : limit};
}

static struct nj_record_cut streamed_cut(const struct nj_opening *opening,
                                         const struct nj_weights *weights)
{
    struct nj_record_cut cut = nj_weight_groups_cut(weights);
    uint64_t limit = opening->seams->record_limit_bytes;
    cut.limit_bytes = limit == 0 ? cut.limit_bytes : limit;
    return cut;
}

/* --- measuring --- */

static struct nj_stream_options stream_options(const struct nj_opening *opening,
                                               struct nj_model *model)
{
    const struct nj_memory_plan *plan = &model->plan;
    return (struct nj_stream_options){
        .fs = opening->seams->fs,
        .budget = &model->budget,
        .files = opening->files,
        .n_files = (uint32_t)nj_weight_index_file_count(opening->index),
        .extents = model->weights.extents,
        .n_records = model->weights.n_records,
        .groups = opening->groups.groups, /* NULL while there are none */
        .n_groups = opening->groups.n_groups,
        .frames_bytes = plan->is_whole ? 0 : plan->frames_bytes,
        .reader = opening->reader,
        .readers = opening->seams->readers,
        .check = nj_scale_check_record,
        .check_context = &model->scale_check,
        .poisons = opening->seams->poisons,
    };
}

static enum nj_status measure_stream(struct nj_opening *opening, struct nj_model *model,
                                     struct nj_stream_needs *needs, struct nj_error *err)
{
    struct nj_stream_options options = stream_options(opening, model);
    enum nj_status status = nj_stream_measure(&options, needs, err);
    if (status == NJ_OK) {
        opening->stream_overhead_bytes = needs->overhead_bytes;
    }
    return status;
}

/* With the tables of as few frames as will do. */
static enum nj_status measure_least_stream(struct nj_opening *opening, struct nj_model *model,
                                           struct nj_stream_needs *needs, struct nj_error *err)
{
    enum nj_status status = measure_stream(opening, model, needs, err);
    if (status != NJ_OK) {
        return status;
    }
    model->plan.frames_bytes = needs->least_frames_bytes;
    return measure_stream(opening, model, needs, err);
}

static uint32_t most_sequences(const struct nj_opening *opening)
{
    return opening->options->n_sequences == 0 ? 1 : opening->options->n_sequences;
}

static void measure_common(const struct nj_opening *opening, struct nj_model *model,
                           struct nj_memory_needs *needs)
{
    uint32_t n_given = opening->options->n_positions;
    uint32_t n_positions = n_given == 0 ? NJ_PAGE_POSITIONS : n_given;
    nj_sweep_memory_measure(&model->dims, model->max_rows, nj_pool_n_threads(model->pool),
                            &model->sweep_memory);
    needs->common_bytes = model->sweep_memory.total_bytes + opening->options->other_bytes;
    needs->sequence_bytes = opening->options->has_states_elsewhere
                                ? nj_sequence_caller_bytes(&model->dims, n_positions)
                                : nj_sequence_memory_bytes(&model->dims, n_positions);
}

static enum nj_status bind_whole(struct nj_opening *opening, struct nj_model *model,
                                 struct nj_memory_needs *needs, struct nj_error *err)
{
    struct nj_stream_needs stream;
    opening->groups = (struct nj_weight_groups){.n_groups = 0};
    enum nj_status status = bind_weights(opening, model, whole_cut(opening), err);
    if (status == NJ_OK) {
        status = measure_stream(opening, model, &stream, err);
    }
    if (status == NJ_OK) {
        needs->whole_bytes =
            stream.whole_bytes + stream.overhead_bytes + nj_weights_held_bytes(&model->weights);
    }
    return status;
}

/* What the head and each layer take when they stay. */
static enum nj_status measure_trunk(const struct nj_opening *opening, struct nj_model *model,
                                    struct nj_memory_needs *needs, struct nj_error *err)
{
    struct nj_weights *weights = &model->weights;
    const struct nj_weight_groups *groups = &opening->groups;
    uint32_t n_layers = model->dims.n_layers;
    uint64_t *trunk_bytes = nj_arena_take_array(&weights->arena, n_layers, sizeof *trunk_bytes);
    if (trunk_bytes == NULL) {
        return nj_arena_fail(&weights->arena, "layers", err);
    }
    for (uint32_t layer = 0; layer < n_layers; layer++) {
        trunk_bytes[layer] =
            nj_weight_groups_resident_bytes(groups, weights, groups->trunks[layer]);
    }
    needs->head_bytes = nj_weight_groups_resident_bytes(groups, weights, groups->head);
    needs->trunk_bytes = trunk_bytes;
    needs->n_layers = n_layers;
    return NJ_OK;
}

/* `model` is bound in any way. */
static enum nj_status bind_streamed(struct nj_opening *opening, struct nj_model *model,
                                    struct nj_memory_needs *needs, struct nj_error *err)
{
    struct nj_stream_needs stream;
    struct nj_record_cut cut = streamed_cut(opening, &model->weights);
    enum nj_status status = bind_weights(opening, model, cut, err);
    if (status == NJ_OK) {
        status =
            nj_weight_groups_init(&opening->groups, &model->weights, &model->dims, cut, err);
    }
    if (status == NJ_OK) {
        status = measure_trunk(opening, model, needs, err);
    }
    if (status == NJ_OK) {
        status = measure_least_stream(opening, model, &stream, err);
    }
    if (status == NJ_OK) {
        needs->tables_bytes = nj_weights_held_bytes(&model->weights) + stream.overhead_bytes;
        needs->frame_bytes = stream.frame_bytes;
        needs->least_frames_bytes = stream.least_frames_bytes;
        needs->useful_frames_bytes = stream.useful_frames_bytes;
    }
    return status;
}

/* --- planning --- */

/* Groups that frames hold for longer than a moment; rows of the embedding are no such. */
static uint64_t useful_frames(const struct nj_weight_groups *groups)
{
    uint64_t n = NJ_LEAST_FRAMES;
    for (uint32_t i = groups->head.first; i < groups->n_groups; i++) {
        n += groups->groups[i].keep != NJ_GROUP_RESIDENT;
    }
    return n;
}

static void mark_resident(struct nj_opening *opening, const struct nj_model *model)
{
    struct nj_weight_groups *groups = &opening->groups;
    const struct nj_memory_plan *plan = &model->plan;
    nj_weight_groups_keep(groups, groups->head,
                          plan->has_resident_head ? NJ_GROUP_RESIDENT : NJ_GROUP_PASSING);
    for (uint32_t layer = 0; layer < model->dims.n_layers; layer++) {
        nj_weight_groups_keep(groups, groups->trunks[layer],
                              layer < plan->n_resident_layers ? NJ_GROUP_RESIDENT
                                                              : NJ_GROUP_PASSING);
    }
}

/* The plan counted each part that stays for itself, and so a little too much, and the tables of
 * few frames; what is saved goes to the frames, and what their tables take comes off them. */
static enum nj_status settle_frames(struct nj_opening *opening, struct nj_model *model,
                                    struct nj_error *err)
{
    struct nj_memory_plan *plan = &model->plan;
    struct nj_stream_needs stream;
    uint64_t overhead_bytes = opening->stream_overhead_bytes;
    mark_resident(opening, model);
    enum nj_status status = measure_stream(opening, model, &stream, err);
    if (status != NJ_OK) {
        return status;
    }
    assert(stream.resident_bytes <= plan->resident_bytes);
    uint64_t left = plan->frames_bytes + plan->resident_bytes - stream.resident_bytes;
    uint64_t taken =
        stream.overhead_bytes < overhead_bytes ? 0 : stream.overhead_bytes - overhead_bytes;
    uint64_t useful = useful_frames(&opening->groups) * stream.frame_bytes;
    left = left < taken + stream.least_frames_bytes ? stream.least_frames_bytes : left - taken;
    plan->frames_bytes = left < useful ? left : useful;
    plan->resident_bytes = stream.resident_bytes;
    return NJ_OK;
}

static enum nj_status plan_streamed(struct nj_opening *opening, struct nj_model *model,
                                    struct nj_memory_needs *needs, struct nj_error *err)
{
    uint32_t n_sequences = most_sequences(opening);
    enum nj_status status = bind_streamed(opening, model, needs, err);
    if (status != NJ_OK) {
        return status;
    }
    if (opening->options->takes_fewer_sequences) {
        n_sequences = nj_memory_plan_width(needs, opening->memory_bytes, n_sequences);
    }
    status = nj_memory_plan_make(needs, opening->memory_bytes, n_sequences, &model->plan, err);
    if (status != NJ_OK) {
        return status;
    }
    return model->plan.is_whole ? bind_whole(opening, model, needs, err)
                                : settle_frames(opening, model, err);
}

enum nj_status nj_opening_plan(struct nj_opening *opening, struct nj_model *model,
                               struct nj_error *err)
{
    struct nj_memory_needs needs = {.least_frames_bytes = UINT64_MAX}; /* not known yet */
    const struct nj_model_options *options = opening->options;
    enum nj_status status =
        nj_weight_index_open(opening->seams->fs, options->path, &opening->index, err);
    if (status != NJ_OK) {
        return status;
    }
    measure_common(opening, model, &needs);
    status = bind_whole(opening, model, &needs, err);
    if (status != NJ_OK) {
        return status;
    }
    /* Most models fit, and then nobody needs to know how they would stream. */
    uint32_t most = most_sequences(opening);
    uint32_t n_beside = nj_memory_plan_whole_width(&needs, opening->memory_bytes, most);
    if (options->takes_fewer_sequences ? n_beside == 0 : n_beside < most) {
        return plan_streamed(opening, model, &needs, err);
    }
    return nj_memory_plan_make(&needs, opening->memory_bytes, n_beside, &model->plan, err);
}

/* --- loading --- */

/* Everything that the model itself holds, and its caller besides, paid at once before any of it
 * is taken. */
static enum nj_status pay(const struct nj_opening *opening, struct nj_model *model,
                          struct nj_error *err)
{
    uint64_t bytes = nj_weights_held_bytes(&model->weights) + opening->stream_overhead_bytes +
                     model->sweep_memory.total_bytes + opening->options->other_bytes;
    enum nj_status status = nj_byte_budget_take(&model->budget, bytes, err);
    if (status == NJ_OK) {
        model->paid_bytes = bytes;
    }
    return status;
}

/* Touched here, so that the first sweep is not the one that waits for the system's pages. */
static void *take_aligned(uint64_t bytes)
{
    uint64_t rounded = bytes / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    void *memory = aligned_alloc(ALIGNMENT, rounded);
    if (memory != NULL) {
        memset(memory, 0, rounded);
    }
    return memory;
}

static enum nj_status take_memory(struct nj_model *model, struct nj_error *err)
{
    const struct nj_sweep_memory *sizes = &model->sweep_memory;
    model->workspace.base = take_aligned(sizes->workspace_bytes);
    model->workspace.capacity_bytes = sizes->workspace_bytes;
    model->thread_memory = take_aligned(sizes->all_thread_bytes);
    model->first_bad_layer = calloc(model->max_rows, sizeof *model->first_bad_layer);
    if (model->workspace.base == NULL || model->thread_memory == NULL ||
        model->first_bad_layer == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "buffers of a sweep: out of memory");
    }
    model->compute.thread_memory = model->thread_memory;
    model->compute.kernel_bytes = sizes->kernel_bytes;
    model->compute.block_bytes = sizes->block_bytes;
    return NJ_OK;
}

/* What is made of the resident vectors. Runs in the pool, whose threads have their rounding
 * mode fixed, because it computes. */
static void prepare(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    struct nj_model *model = context;
    const struct nj_dims *dims = &model->dims;
    (void)begin;
    (void)end;
    (void)thread_index;
    if (dims->attention_residual_block != 0) {
        nj_residual_mix_prepare(&model->weights.global.output_mix, dims->n_hidden);
    }
    for (uint32_t layer = 0; layer < dims->n_layers; layer++) {
        struct nj_layer_weights *weights = &model->weights.layers[layer];
        if (dims->attention_residual_block != 0) {
            nj_residual_mix_prepare(&weights->attention_mix, dims->n_hidden);
            nj_residual_mix_prepare(&weights->feed_forward_mix, dims->n_hidden);
        }
        if (dims->mixers[layer] == NJ_MIXER_DELTA) {
            nj_delta_prepare(&weights->delta, dims);
        }
    }
}

static enum nj_status make_fingerprint(const struct nj_opening *opening, struct nj_model *model,
                                       struct nj_error *err)
{
    struct nj_digest fingerprint;
    enum nj_status status = nj_fingerprint_make(opening->seams->fs, opening->options->path,
                                                opening->index, &fingerprint, err);
    if (status == NJ_OK) {
        nj_digest_to_hex(&fingerprint, model->fingerprint);
    }
    return status;
}

/* What all shards look like before their bytes are read; the caller frees it. NULL without
 * memory. */
static struct nj_file_mark *mark_shards(const struct nj_opening *opening)
{
    size_t n_files = nj_weight_index_file_count(opening->index);
    struct nj_file_mark *marks = calloc(n_files + 1, sizeof *marks);
    for (size_t i = 0; i < n_files && marks != NULL; i++) {
        /* One that is gone is complained about by whoever reads it. */
        (void)nj_file_mark_take(opening->seams->fs, opening->files[i].path, &marks[i]);
    }
    return marks;
}

/* The fingerprint is of the bytes that were loaded, if no shard changed on the way. */
static enum nj_status check_marks(const struct nj_opening *opening,
                                  const struct nj_file_mark *marks, size_t n_files,
                                  struct nj_error *err)
{
    for (size_t i = 0; i < n_files; i++) {
        struct nj_file_mark now;
        const char *path = opening->files[i].path;
        if (!nj_file_mark_take(opening->seams->fs, path, &now) ||
            !nj_file_mark_is_same_file(&marks[i], &now) ||
            nj_file_mark_was_written(&marks[i], &now)) {
            return nj_fail(err, NJ_E_WEIGHTS, "%s changed while the model was being opened",
                           path);
        }
    }
    return NJ_OK;
}

static enum nj_status open_stream(struct nj_opening *opening, struct nj_model *model,
                                  struct nj_error *err)
{
    struct nj_stream_options options = stream_options(opening, model);
    /* The index of a large model is as large as many frames: it goes before they come. */
    nj_opening_close(opening);
    model->workspace.poisons = opening->seams->poisons;
    enum nj_status status = nj_stream_open(&options, &model->stream, err);
    model->compute.stream = model->stream;
    return status;
}

/* Everything that is read for longer than a moment, from shards that stay as they are. */
static enum nj_status read_weights(struct nj_opening *opening, struct nj_model *model,
                                   struct nj_error *err)
{
    size_t n_files = nj_weight_index_file_count(opening->index);
    struct nj_file_mark *marks = mark_shards(opening);
    enum nj_status status = NJ_OK;
    if (marks == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "list shards: out of memory");
    }
    status = nj_resident_vectors_load(&model->weights, opening->index, opening->seams->fs,
                                      opening->options->path, err);
    if (status == NJ_OK) {
        nj_compute_spread(&model->compute, 1, 0, prepare, model);
        status = make_fingerprint(opening, model, err);
    }
    if (status == NJ_OK) {
        status = open_stream(opening, model, err);
    }
    if (status == NJ_OK) {
        status = check_marks(opening, marks, n_files, err);
    }
    free(marks);
    return status;
}

enum nj_status nj_opening_load(struct nj_opening *opening, struct nj_model *model,
                               struct nj_error *err)
{
    enum nj_status status = pay(opening, model, err);
    if (status == NJ_OK) {
        status = take_memory(model, err);
    }
    if (status == NJ_OK) {
        model->fs = opening->seams->fs;
        model->path = strdup(opening->options->path);
        status = model->path == NULL ? nj_fail(err, NJ_E_MEMORY, "open a model: out of memory")
                                     : read_weights(opening, model, err);
    }
    return status;
}

void nj_opening_close(struct nj_opening *opening)
{
    nj_weight_index_close(opening->index);
    opening->index = NULL;
}
