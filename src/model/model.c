#include "model/model.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/attention_residual.h"
#include "model/delta_attention.h"
#include "model/fingerprint.h"
#include "model/model_parts.h"
#include "model/resident_vectors.h"
#include "model/scale_check.h"
#include "model/sweep.h"

enum { DEFAULT_MAX_ROWS = 256, MAX_ROWS_LIMIT = 1 << 16, ALIGNMENT = 64 };

/* About 20 us of scalar work, several times what waking a thread takes. */
static const uint64_t least_range_work = 1 << 16;

static enum nj_status read_options(const struct nj_model_options *options,
                                   struct nj_model *model, struct nj_error *err)
{
    if (options->path == NULL) {
        return nj_fail(err, NJ_E_USAGE, "open a model: no path");
    }
    model->max_rows = options->max_rows == 0 ? DEFAULT_MAX_ROWS : options->max_rows;
    if (model->max_rows > MAX_ROWS_LIMIT) {
        return nj_fail(err, NJ_E_USAGE, "open a model: %u rows a sweep, at most %d",
                       model->max_rows, MAX_ROWS_LIMIT);
    }
    double eps = options->latent_norm_eps;
    if (eps != 0.0 && !(eps >= (double)FLT_MIN && eps <= 1.0)) {
        return nj_fail(err, NJ_E_USAGE,
                       "open a model: latent_norm_eps %g is not between %g and 1", eps,
                       (double)FLT_MIN);
    }
    uint64_t ceiling = options->memory_bytes == 0 ? UINT64_MAX : options->memory_bytes;
    nj_byte_budget_init(&model->budget, ceiling);
    return NJ_OK;
}

static enum nj_status make_machine(const struct nj_model_options *options,
                                   struct nj_model *model, struct nj_error *err)
{
    enum nj_status status = nj_kernels_choose(options->cpu_level, &model->compute.kernels, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_pool_create(options->n_threads, &model->pool, err);
    model->compute.pool = model->pool;
    model->compute.least_range_work = least_range_work;
    return status;
}

/* Everything the model itself holds, paid at once before any of it is taken. */
static enum nj_status pay(struct nj_model *model, struct nj_error *err)
{
    const struct nj_memory_plan *plan = &model->plan;
    uint64_t bytes = plan->resident_bytes + plan->workspace_bytes + plan->all_thread_bytes;
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
    const struct nj_memory_plan *plan = &model->plan;
    model->workspace.base = take_aligned(plan->workspace_bytes);
    model->workspace.capacity_bytes = plan->workspace_bytes;
    model->thread_memory = take_aligned(plan->all_thread_bytes);
    model->first_bad_layer = calloc(model->max_rows, sizeof *model->first_bad_layer);
    if (model->workspace.base == NULL || model->thread_memory == NULL ||
        model->first_bad_layer == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "buffers of a sweep: out of memory");
    }
    model->compute.thread_memory = model->thread_memory;
    model->compute.kernel_bytes = plan->kernel_bytes;
    model->compute.block_bytes = plan->block_bytes;
    return NJ_OK;
}

/* "<directory>/<name>" for each shard, in the arena of the weights. */
static enum nj_status list_files(const struct nj_weight_index *index, const char *directory,
                                 struct nj_arena *arena, struct nj_stream_file **files,
                                 struct nj_error *err)
{
    size_t n_files = nj_weight_index_file_count(index);
    struct nj_stream_file *list = nj_arena_take_array(arena, n_files, sizeof *list);
    if (list == NULL) {
        return nj_arena_fail(arena, "shard list", err);
    }
    for (size_t i = 0; i < n_files; i++) {
        const struct nj_weight_file *file = nj_weight_index_file(index, i);
        size_t path_bytes = strlen(directory) + strlen("/") + strlen(file->name) + 1;
        char *path = nj_arena_take(arena, path_bytes);
        if (path == NULL) {
            return nj_arena_fail(arena, "shard path", err);
        }
        (void)snprintf(path, path_bytes, "%s/%s", directory, file->name); /* fits */
        list[i] = (struct nj_stream_file){path, file->length_bytes};
    }
    *files = list;
    return NJ_OK;
}

static enum nj_status open_stream(const struct nj_file_system *fs, const char *directory,
                                  const struct nj_weight_index *index, struct nj_model *model,
                                  struct nj_error *err)
{
    struct nj_stream_file *files = NULL;
    enum nj_status status = list_files(index, directory, &model->weights.arena, &files, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_stream_options options = {.fs = fs,
                                        .budget = &model->budget,
                                        .files = files,
                                        .n_files = (uint32_t)nj_weight_index_file_count(index),
                                        .extents = model->weights.extents,
                                        .n_records = model->weights.n_records};
    status = nj_stream_open(&options, &model->stream, err);
    model->compute.stream = model->stream;
    return status;
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

static enum nj_status load(const struct nj_file_system *fs, const char *directory,
                           const struct nj_weight_index *index, struct nj_model *model,
                           struct nj_error *err)
{
    enum nj_status status =
        nj_resident_vectors_load(&model->weights, index, fs, directory, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_compute_spread(&model->compute, 1, 0, prepare, model);
    status = open_stream(fs, directory, index, model, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_scale_check(&model->weights, &model->dims, model->stream, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_digest fingerprint;
    status = nj_fingerprint_make(fs, directory, index, &fingerprint, err);
    if (status == NJ_OK) {
        nj_digest_to_hex(&fingerprint, model->fingerprint);
    }
    return status;
}

/* Refused, if it must be, before weights are read. */
static enum nj_status bind_and_load(const struct nj_file_system *fs, const char *directory,
                                    const struct nj_weight_index *index, struct nj_model *model,
                                    struct nj_error *err)
{
    enum nj_status status =
        nj_weights_init(&model->weights, &model->dims, index, model->record_limit_bytes, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_memory_plan_make(&model->dims, &model->weights, model->max_rows,
                        nj_pool_n_threads(model->pool), &model->plan);
    status = nj_memory_plan_check(&model->plan, model->budget.ceiling_bytes, err);
    if (status != NJ_OK) {
        return status;
    }
    status = pay(model, err);
    if (status != NJ_OK) {
        return status;
    }
    status = take_memory(model, err);
    if (status != NJ_OK) {
        return status;
    }
    return load(fs, directory, index, model, err);
}

static enum nj_status open_parts(const struct nj_file_system *fs,
                                 const struct nj_model_options *options, struct nj_model *model,
                                 struct nj_error *err)
{
    struct nj_weight_index *index = NULL;
    enum nj_status status = read_options(options, model, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_dims_read(fs, options->path, &model->dims, err);
    if (status != NJ_OK) {
        return status;
    }
    if (options->latent_norm_eps > 0.0) {
        model->dims.latent_norm_eps = (float)options->latent_norm_eps;
    }
    status = make_machine(options, model, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_weight_index_open(fs, options->path, &index, err);
    if (status != NJ_OK) {
        return status;
    }
    status = bind_and_load(fs, options->path, index, model, err);
    nj_weight_index_close(index);
    return status;
}

enum nj_status nj_model_open_through(const struct nj_file_system *fs,
                                     const struct nj_model_options *options,
                                     struct nj_model **model, struct nj_error *err)
{
    return nj_model_open_in_records(fs, options, NJ_RECORD_LIMIT_BYTES, model, err);
}

enum nj_status nj_model_open_in_records(const struct nj_file_system *fs,
                                        const struct nj_model_options *options,
                                        uint64_t record_limit_bytes, struct nj_model **model,
                                        struct nj_error *err)
{
    struct nj_model *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "open a model: out of memory");
    }
    made->record_limit_bytes = record_limit_bytes;
    enum nj_status status = open_parts(fs, options, made, err);
    if (status != NJ_OK) {
        nj_model_close(made);
        return status;
    }
    *model = made;
    return NJ_OK;
}

enum nj_status nj_model_open(const struct nj_model_options *options, struct nj_model **model,
                             struct nj_error *err)
{
    return nj_model_open_through(nj_file_system_real(), options, model, err);
}

void nj_model_close(struct nj_model *model)
{
    if (model == NULL) {
        return;
    }
    nj_stream_close(model->stream);
    nj_pool_destroy(model->pool);
    nj_weights_deinit(&model->weights);
    free(model->workspace.base);
    free(model->thread_memory);
    free(model->first_bad_layer);
    nj_byte_budget_give_back(&model->budget, model->paid_bytes);
    nj_byte_budget_deinit(&model->budget);
    free(model);
}

uint32_t nj_model_n_vocabulary(const struct nj_model *model)
{
    return model->dims.n_vocabulary;
}

uint32_t nj_model_n_layers(const struct nj_model *model)
{
    return model->dims.n_layers;
}

const char *nj_model_cpu_level(const struct nj_model *model)
{
    return nj_cpu_level_name(model->compute.kernels->level);
}

const char *nj_model_fingerprint(const struct nj_model *model)
{
    return model->fingerprint;
}

const struct nj_dims *nj_model_dims(const struct nj_model *model)
{
    return &model->dims;
}

uint32_t nj_model_max_rows(const struct nj_model *model)
{
    return model->max_rows;
}

uint64_t nj_model_read_bytes(const struct nj_model *model)
{
    return nj_stream_read_bytes(model->stream);
}

struct nj_byte_budget *nj_model_budget(struct nj_model *model)
{
    return &model->budget;
}

enum nj_status nj_model_info_open(const struct nj_file_system *fs, const char *directory,
                                  struct nj_model_info *info, struct nj_error *err)
{
    struct nj_model_info read = {.index = NULL};
    enum nj_status status = nj_dims_read(fs, directory, &read.dims, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_weight_index_open(fs, directory, &read.index, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_weights weights;
    status = nj_weights_init(&weights, &read.dims, read.index, NJ_RECORD_LIMIT_BYTES, err);
    if (status == NJ_OK) {
        nj_weights_deinit(&weights);
        status = nj_fingerprint_make(fs, directory, read.index, &read.fingerprint, err);
    }
    if (status != NJ_OK) {
        nj_weight_index_close(read.index);
        return status;
    }
    *info = read;
    return NJ_OK;
}

void nj_model_info_close(struct nj_model_info *info)
{
    nj_weight_index_close(info->index);
    memset(info, 0, sizeof *info);
}
