#include "model/model.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine_memory.h"
#include "model/fingerprint.h"
#include "model/model_parts.h"
#include "model/opening.h"
#include "model/sweep.h"

enum { DEFAULT_MAX_ROWS = 256, MAX_ROWS_LIMIT = 1 << 16 };

/* Of what a machine has left, this is left to everybody else, and to what is not counted. */
static const uint64_t least_margin_bytes = UINT64_C(128) << 20;
enum { MARGIN_SHARE = 16 };

/* About 20 us of scalar work, several times what waking a thread takes. */
static const uint64_t least_range_work = 1 << 16;

static bool parse_reader(const char *name, enum nj_reader_kind *reader)
{
    static const char *const names[] = {
        [NJ_READER_AUTO] = "auto", [NJ_READER_RING] = "ring", [NJ_READER_THREADS] = "threads"};
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            *reader = (enum nj_reader_kind)i;
            return true;
        }
    }
    return name == NULL;
}

static enum nj_status read_options(struct nj_opening *opening, struct nj_model *model,
                                   struct nj_error *err)
{
    const struct nj_model_options *options = opening->options;
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
    if (!parse_reader(options->reader, &opening->reader)) {
        return nj_fail(err, NJ_E_USAGE,
                       "open a model: reader %s is none of auto, ring and threads",
                       options->reader);
    }
    return NJ_OK;
}

/* What the machine has left, and what the caller has already taken of its own share. These are
 * no files of the model: a fault there says nothing about it, and limits nothing. */
static uint64_t ceiling_bytes(const struct nj_model_seams *seams,
                              const struct nj_model_options *options)
{
    const struct nj_file_system *fs = nj_file_system_real();
    if (options->memory_bytes > 0) {
        return options->memory_bytes;
    }
    uint64_t left = nj_machine_memory_left(fs, seams->machine_root);
    if (left == UINT64_MAX) {
        return UINT64_MAX;
    }
    uint64_t share = left / MARGIN_SHARE;
    uint64_t margin = share < least_margin_bytes ? least_margin_bytes : share;
    uint64_t held = nj_machine_memory_held(fs, seams->machine_root);
    uint64_t other = options->other_bytes < held ? options->other_bytes : held;
    return (left < margin ? 0 : left - margin) + other;
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

static enum nj_status plan_parts(struct nj_opening *opening, struct nj_model *model,
                                 struct nj_error *err)
{
    const struct nj_model_options *options = opening->options;
    enum nj_status status = read_options(opening, model, err);
    if (status != NJ_OK) {
        return status;
    }
    opening->memory_bytes = ceiling_bytes(opening->seams, options);
    nj_byte_budget_init(&model->budget, opening->memory_bytes);
    status = nj_dims_read(opening->seams->fs, options->path, &model->dims, err);
    if (status != NJ_OK) {
        return status;
    }
    if (options->latent_norm_eps > 0.0) {
        model->dims.latent_norm_eps = (float)options->latent_norm_eps;
    }
    status = make_machine(options, model, err);
    return status == NJ_OK ? nj_opening_plan(opening, model, err) : status;
}

enum nj_status nj_model_open_with(const struct nj_model_seams *seams,
                                  const struct nj_model_options *options,
                                  struct nj_model **model, struct nj_error *err)
{
    struct nj_opening opening = {.seams = seams, .options = options};
    struct nj_model *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "open a model: out of memory");
    }
    enum nj_status status = plan_parts(&opening, made, err);
    if (status == NJ_OK) {
        status = nj_opening_load(&opening, made, err);
    }
    nj_opening_close(&opening);
    if (status != NJ_OK) {
        nj_model_close(made);
        return status;
    }
    *model = made;
    return NJ_OK;
}

enum nj_status nj_model_plan_with(const struct nj_model_seams *seams,
                                  const struct nj_model_options *options,
                                  struct nj_memory_plan *plan, struct nj_error *err)
{
    struct nj_opening opening = {.seams = seams, .options = options};
    struct nj_model *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "plan a model: out of memory");
    }
    enum nj_status status = plan_parts(&opening, made, err);
    if (status == NJ_OK || status == NJ_E_BUDGET) {
        *plan = made->plan;
    }
    nj_opening_close(&opening);
    nj_model_close(made);
    return status;
}

enum nj_status nj_model_open_through(const struct nj_file_system *fs,
                                     const struct nj_model_options *options,
                                     struct nj_model **model, struct nj_error *err)
{
    struct nj_model_seams seams = {.fs = fs, .machine_root = ""};
    return nj_model_open_with(&seams, options, model, err);
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
    free(model->path);
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

uint32_t nj_model_n_sequences(const struct nj_model *model)
{
    return model->plan.n_sequences;
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

const struct nj_memory_plan *nj_model_plan(const struct nj_model *model)
{
    return &model->plan;
}

void nj_model_stream_report(const struct nj_model *model, struct nj_stream_report *report)
{
    nj_stream_report(model->stream, report);
}

uint64_t nj_model_read_bytes(const struct nj_model *model)
{
    return nj_stream_read_bytes(model->stream);
}

struct nj_byte_budget *nj_model_budget(struct nj_model *model)
{
    return &model->budget;
}

void nj_model_set_state_home(struct nj_model *model, const struct nj_state_home *home)
{
    model->home = home;
}

const struct nj_state_home *nj_model_state_home(const struct nj_model *model)
{
    return model->home;
}

struct nj_pool *nj_model_pool(struct nj_model *model)
{
    return model->pool;
}

enum nj_status nj_model_info_read(const struct nj_file_system *fs, const char *directory,
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
    struct nj_record_cut cut = {.limit_bytes = NJ_RECORD_LIMIT_BYTES};
    status = nj_weights_init(&weights, &read.dims, read.index, cut, err);
    if (status != NJ_OK) {
        nj_weight_index_close(read.index);
        return status;
    }
    nj_weights_deinit(&weights);
    *info = read;
    return NJ_OK;
}

/* The list of all tensors is opened anew, so that nobody has to keep it until then. */
enum nj_status nj_model_info_identify(const struct nj_file_system *fs, const char *directory,
                                      struct nj_model_info *info, struct nj_error *err)
{
    struct nj_weight_index *index = NULL;
    enum nj_status status = nj_weight_index_open(fs, directory, &index, err);
    if (status == NJ_OK) {
        status = nj_fingerprint_make(fs, directory, index, &info->fingerprint, err);
    }
    nj_weight_index_close(index);
    return status;
}

enum nj_status nj_model_info_open(const struct nj_file_system *fs, const char *directory,
                                  struct nj_model_info *info, struct nj_error *err)
{
    struct nj_model_info opened;
    enum nj_status status = nj_model_info_read(fs, directory, &opened, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_fingerprint_make(fs, directory, opened.index, &opened.fingerprint, err);
    if (status != NJ_OK) {
        nj_model_info_close(&opened);
        return status;
    }
    *info = opened;
    return NJ_OK;
}

void nj_model_info_close(struct nj_model_info *info)
{
    nj_weight_index_close(info->index);
    memset(info, 0, sizeof *info);
}
