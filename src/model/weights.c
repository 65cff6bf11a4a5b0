#include "model/weights.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "model/complaints.h"
#include "model/recipe.h"
#include "quant/mxfp4.h"

enum { NAME_BYTES = 256 };

/* A shard that is not there, and how many tensors the graph needs from it. */
struct missing_shard {
    const char *name; /* the index's */
    uint32_t n_tensors;
};

/* One binding under way. */
struct binder {
    struct nj_weights *weights;
    const struct nj_dims *dims;
    const struct nj_weight_index *index;
    struct nj_record_cut cut;
    struct nj_complaints complaints;
    struct missing_shard *missing_shards;
    size_t n_missing_shards;
    size_t missing_shards_capacity;
    enum nj_status status; /* of what is not the file's fault: memory */
    struct nj_error *err;
};

static void full_name(char name[NAME_BYTES], const char *scope, const char *tensor,
                      const char *suffix)
{
    (void)snprintf(name, NAME_BYTES, "%s%s%s", scope, tensor, suffix);
}

/* A missing shard is one complaint, not one for each of its thousands of tensors. */
static void count_missing_shard(struct binder *binder, const char *shard)
{
    /* From the end: tensors of one shard come in runs. */
    for (size_t i = binder->n_missing_shards; i > 0; i--) {
        if (strcmp(binder->missing_shards[i - 1].name, shard) == 0) {
            binder->missing_shards[i - 1].n_tensors++;
            return;
        }
    }
    enum nj_status status = nj_vector_reserve(
        &binder->missing_shards, &binder->missing_shards_capacity,
        sizeof *binder->missing_shards, binder->n_missing_shards + 1, binder->err);
    if (status != NJ_OK) {
        binder->status = status;
        return;
    }
    binder->missing_shards[binder->n_missing_shards++] = (struct missing_shard){shard, 1};
}

static void complain_missing(struct binder *binder, const char *name)
{
    const char *shard = nj_weight_index_missing_shard(binder->index, name);
    if (shard != NULL) {
        count_missing_shard(binder, shard);
    } else {
        nj_complain(&binder->complaints, "%s is missing", name);
    }
}

static void complain_missing_shards(struct binder *binder)
{
    for (size_t i = 0; i < binder->n_missing_shards; i++) {
        const struct missing_shard *shard = &binder->missing_shards[i];
        nj_complain(&binder->complaints, "%s is missing (%u tensor%s)", shard->name,
                    shard->n_tensors, shard->n_tensors == 1 ? "" : "s");
    }
}

static const char *type_name(enum nj_value_type type)
{
    switch (type) {
    case NJ_VALUE_F32:
        return "F32";
    case NJ_VALUE_BF16:
        return "BF16";
    case NJ_VALUE_U8:
        return "U8";
    case NJ_VALUE_OTHER:
        break;
    }
    return "of a type that is not computed with";
}

/* "[12, 1, 4]" */
static const char *shape_text(const struct nj_weight *weight, char text[NAME_BYTES])
{
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < weight->n_dimensions && length < NAME_BYTES; i++) {
        int written = snprintf(text + length, NAME_BYTES - length, "%s%llu", i == 0 ? "" : ", ",
                               (unsigned long long)weight->shape[i]);
        length += written > 0 ? (size_t)written : 0;
    }
    return text;
}

static bool is_plain(enum nj_value_type type)
{
    return type == NJ_VALUE_BF16 || type == NJ_VALUE_F32;
}

/* Looks a 2-dimensional tensor up and complains unless it is (outputs, inputs). */
static const struct nj_weight *find_table(struct binder *binder, const char *name,
                                          uint64_t outputs, uint64_t inputs)
{
    const struct nj_weight *weight = nj_weight_index_find(binder->index, name);
    if (weight == NULL) {
        complain_missing(binder, name);
        return NULL;
    }
    if (weight->n_dimensions != 2 || weight->shape[0] != outputs ||
        weight->shape[1] != inputs) {
        char shape[NAME_BYTES];
        nj_complain(&binder->complaints, "%s is [%s], not [%llu, %llu]", name,
                    shape_text(weight, shape), (unsigned long long)outputs,
                    (unsigned long long)inputs);
        return NULL;
    }
    return weight;
}

/* Rows [first_row, first_row + n_rows) of `source` as the next record. Room was reserved. */
static void add_record(struct nj_weights *weights, const struct nj_weight *source,
                       uint32_t first_row, uint32_t n_rows, uint64_t row_bytes)
{
    weights->extents[weights->n_records++] =
        (struct nj_extent){.drive = 0,
                           .file = source->file,
                           .offset_bytes = source->offset_bytes + first_row * row_bytes,
                           .length_bytes = n_rows * row_bytes};
    weights->record_bytes += n_rows * row_bytes;
}

/* As many rows as a record holds, in whole units; 0 when one unit is too large. */
static uint32_t rows_per_tile(const struct binder *binder, uint64_t row_bytes,
                              uint32_t row_unit)
{
    uint64_t units = binder->cut.limit_bytes / (row_bytes * row_unit);
    uint64_t rows = units * row_unit;
    return rows > UINT32_MAX ? UINT32_MAX / row_unit * row_unit : (uint32_t)rows;
}

/* Cuts the matrix into tiles, each a record of its values and, if it has any, one of scales. */
static void add_tiles(struct binder *binder, const struct nj_weight *values,
                      const struct nj_weight *scales, struct nj_bound_matrix *bound)
{
    struct nj_weights *weights = binder->weights;
    uint64_t row_bytes = nj_matrix_row_bytes(bound->type, bound->n_inputs);
    uint64_t scale_bytes = nj_matrix_row_scale_bytes(bound->type, bound->n_inputs);
    uint32_t n_tiles = nj_bound_matrix_n_tiles(bound);
    bound->first_record = weights->n_records;
    enum nj_status status = nj_vector_reserve(
        &weights->extents, &weights->extents_capacity, sizeof *weights->extents,
        (size_t)weights->n_records + nj_bound_matrix_n_records(bound), binder->err);
    if (status != NJ_OK) {
        binder->status = status;
        return;
    }
    for (uint32_t tile = 0; tile < n_tiles; tile++) {
        uint32_t first_row = tile * bound->rows_per_tile;
        uint32_t n_rows = nj_bound_matrix_tile_rows(bound, tile);
        add_record(weights, values, first_row, n_rows, row_bytes);
        if (scales != NULL) {
            add_record(weights, scales, first_row, n_rows, scale_bytes);
        }
    }
}

static void bind_records(struct binder *binder, const char *name,
                         const struct nj_weight *values, const struct nj_weight *scales,
                         const struct nj_recipe_matrix *recipe, struct nj_bound_matrix *bound)
{
    uint64_t row_bytes = nj_matrix_row_bytes(bound->type, bound->n_inputs);
    uint32_t row_unit = nj_axis_size(binder->dims, recipe->row_unit);
    bound->rows_per_tile = rows_per_tile(binder, row_bytes, row_unit);
    if (bound->rows_per_tile == 0) {
        nj_complain(&binder->complaints, "%s: %u rows do not fit a record of %llu bytes", name,
                    row_unit, (unsigned long long)binder->cut.limit_bytes);
        return;
    }
    if (binder->weights->unit_bytes < row_bytes * row_unit) {
        binder->weights->unit_bytes = row_bytes * row_unit;
    }
    if (recipe->is_table && binder->cut.is_table_by_row) {
        bound->rows_per_tile = 1;
    }
    add_tiles(binder, values, scales, bound);
}

static void bind_plain(struct binder *binder, const char *name,
                       const struct nj_recipe_matrix *recipe, struct nj_bound_matrix *bound)
{
    const struct nj_weight *weight =
        find_table(binder, name, bound->n_outputs, bound->n_inputs);
    if (weight == NULL) {
        return;
    }
    if (!is_plain(weight->type)) {
        nj_complain(&binder->complaints, "%s is %s, not BF16 or F32", name,
                    type_name(weight->type));
        return;
    }
    bound->type = weight->type == NJ_VALUE_F32 ? NJ_MATRIX_F32 : NJ_MATRIX_BF16;
    bind_records(binder, name, weight, NULL, recipe, bound);
}

static void bind_packed(struct binder *binder, const char *scope,
                        const struct nj_recipe_matrix *recipe, struct nj_bound_matrix *bound)
{
    char values_name[NAME_BYTES];
    char scales_name[NAME_BYTES];
    full_name(values_name, scope, recipe->name, ".weight_packed");
    full_name(scales_name, scope, recipe->name, ".weight_scale");
    if (bound->n_inputs % NJ_MXFP4_BLOCK_VALUES != 0) {
        nj_complain(&binder->complaints, "%s packs rows of %u values, no multiple of 32",
                    values_name, bound->n_inputs);
        return;
    }
    const struct nj_weight *values =
        find_table(binder, values_name, bound->n_outputs, bound->n_inputs / 2);
    const struct nj_weight *scales = find_table(binder, scales_name, bound->n_outputs,
                                                bound->n_inputs / NJ_MXFP4_BLOCK_VALUES);
    if (values == NULL || scales == NULL) {
        return;
    }
    if (values->type != NJ_VALUE_U8 || scales->type != NJ_VALUE_U8) {
        nj_complain(&binder->complaints, "%s is %s and its scales are %s, not U8 both",
                    values_name, type_name(values->type), type_name(scales->type));
        return;
    }
    bound->type = NJ_MATRIX_MXFP4;
    bind_records(binder, values_name, values, scales, recipe, bound);
}

/* Packed or plain is told by the suffix that the file has, per tensor, and by nothing else. */
static void bind_matrix(struct binder *binder, const char *scope,
                        const struct nj_recipe_matrix *recipe, void *fields)
{
    struct nj_bound_matrix *bound = (void *)((char *)fields + recipe->offset);
    struct nj_bound_matrix wanted = {.name = recipe->name,
                                     .n_outputs = nj_axis_size(binder->dims, recipe->outputs),
                                     .n_inputs = nj_axis_size(binder->dims, recipe->inputs)};
    char plain[NAME_BYTES];
    char packed[NAME_BYTES];
    full_name(plain, scope, recipe->name, ".weight");
    full_name(packed, scope, recipe->name, ".weight_packed");
    bool is_packed = nj_weight_index_find(binder->index, packed) != NULL ||
                     nj_weight_index_missing_shard(binder->index, packed) != NULL;
    if (is_packed && nj_weight_index_find(binder->index, plain) != NULL) {
        nj_complain(&binder->complaints, "both %s and %s exist", plain, packed);
    } else if (is_packed && recipe->is_never_packed) {
        nj_complain(&binder->complaints, "%s: this matrix cannot be used packed", packed);
    } else if (is_packed) {
        bind_packed(binder, scope, recipe, &wanted);
    } else {
        bind_plain(binder, plain, recipe, &wanted);
    }
    if (wanted.rows_per_tile > 0) { /* else something was complained about */
        *bound = wanted;
    }
}

/* Compares a shape with (outer, inner), axes of length 1 aside. */
static bool shape_matches(const struct nj_weight *weight, uint64_t outer, uint64_t inner)
{
    uint64_t wanted[2] = {outer, inner};
    uint32_t next = 0;
    for (uint32_t i = 0; i < weight->n_dimensions; i++) {
        if (weight->shape[i] == 1) {
            continue;
        }
        while (next < 2 && wanted[next] == 1) {
            next += 1;
        }
        if (next == 2 || weight->shape[i] != wanted[next]) {
            return false;
        }
        next += 1;
    }
    while (next < 2 && wanted[next] == 1) {
        next += 1;
    }
    return next == 2;
}

static uint64_t n_values_in_file(const struct nj_weight *weight)
{
    return weight->length_bytes / nj_value_bytes(weight->type);
}

/* The field's memory, taken when its first part is bound; NULL when there is none. */
static float *vector_memory(struct binder *binder, const struct nj_recipe_vector *recipe,
                            void *fields, uint64_t n_values)
{
    float **field = (void *)((char *)fields + recipe->offset);
    if (*field == NULL) {
        *field = nj_arena_take_array(&binder->weights->arena, n_values * recipe->n_parts,
                                     sizeof(float));
    }
    if (*field == NULL) {
        binder->status = nj_arena_fail(&binder->weights->arena, recipe->name, binder->err);
        return NULL;
    }
    return *field + recipe->part * n_values;
}

static void add_vector(struct binder *binder, const struct nj_recipe_vector *recipe,
                       void *fields, const struct nj_weight *source, uint64_t n_values)
{
    struct nj_weights *weights = binder->weights;
    float *values = vector_memory(binder, recipe, fields, n_values);
    if (values == NULL) {
        return;
    }
    enum nj_status status =
        nj_vector_reserve(&weights->vectors, &weights->vectors_capacity,
                          sizeof *weights->vectors, weights->n_vectors + 1, binder->err);
    if (status != NJ_OK) {
        binder->status = status;
        return;
    }
    weights->vectors[weights->n_vectors++] =
        (struct nj_vector_extent){.source = source,
                                  .values = values,
                                  .n_values = (uint32_t)n_values,
                                  .has_zero_tail = recipe->has_zero_tail};
}

static void bind_vector(struct binder *binder, const char *scope,
                        const struct nj_recipe_vector *recipe, void *fields)
{
    char name[NAME_BYTES];
    full_name(name, scope, recipe->name, "");
    const struct nj_weight *weight = nj_weight_index_find(binder->index, name);
    if (weight == NULL) {
        complain_missing(binder, name);
        return;
    }
    if (!is_plain(weight->type)) {
        nj_complain(&binder->complaints, "%s is %s, not BF16 or F32", name,
                    type_name(weight->type));
        return;
    }
    uint64_t outer = nj_axis_size(binder->dims, recipe->outer);
    uint64_t inner = nj_axis_size(binder->dims, recipe->inner);
    bool fits = recipe->has_zero_tail ? n_values_in_file(weight) >= outer * inner
                                      : shape_matches(weight, outer, inner);
    if (!fits) {
        char shape[NAME_BYTES];
        nj_complain(&binder->complaints, "%s is [%s], not [%llu, %llu]", name,
                    shape_text(weight, shape), (unsigned long long)outer,
                    (unsigned long long)inner);
        return;
    }
    add_vector(binder, recipe, fields, weight, outer * inner);
}

static void bind_parts(struct binder *binder, struct nj_recipe_parts parts, uint32_t layer,
                       const char *scope, void *fields)
{
    for (uint32_t i = 0; i < parts.n_parts; i++) {
        const struct nj_recipe_part *part = &parts.parts[i];
        if (!part->applies(binder->dims, layer)) {
            continue;
        }
        for (uint32_t j = 0; j < part->n_matrices && binder->status == NJ_OK; j++) {
            bind_matrix(binder, scope, &part->matrices[j], fields);
        }
        for (uint32_t j = 0; j < part->n_vectors && binder->status == NJ_OK; j++) {
            bind_vector(binder, scope, &part->vectors[j], fields);
        }
    }
}

static void bind_experts(struct binder *binder, uint32_t layer, struct nj_layer_weights *fields)
{
    struct nj_weights *weights = binder->weights;
    uint32_t n_experts = binder->dims->n_experts;
    fields->moe.experts =
        nj_arena_take_array(&weights->arena, n_experts, sizeof *fields->moe.experts);
    if (fields->moe.experts == NULL) {
        binder->status = nj_arena_fail(&weights->arena, "experts", binder->err);
        return;
    }
    for (uint32_t expert = 0; expert < n_experts && binder->status == NJ_OK; expert++) {
        char scope[NAME_BYTES];
        uint64_t before = weights->record_bytes;
        (void)snprintf(scope, sizeof scope, "%smodel.layers.%u.block_sparse_moe.experts.%u.",
                       nj_recipe_prefix(binder->dims), layer, expert);
        bind_parts(binder, nj_recipe_expert(), layer, scope, &fields->moe.experts[expert]);
        if (weights->expert_bytes < weights->record_bytes - before) {
            weights->expert_bytes = weights->record_bytes - before;
        }
    }
}

static void bind_layer(struct binder *binder, uint32_t layer)
{
    struct nj_layer_weights *fields = &binder->weights->layers[layer];
    char scope[NAME_BYTES];
    (void)snprintf(scope, sizeof scope, "%smodel.layers.%u.", nj_recipe_prefix(binder->dims),
                   layer);
    fields->first_trunk_record = binder->weights->n_records;
    bind_parts(binder, nj_recipe_layer(), layer, scope, fields);
    fields->n_trunk_records = binder->weights->n_records - fields->first_trunk_record;
    fields->n_late_records = nj_bound_matrix_n_records(&fields->moe.latent_up);
    if (nj_dims_layer_is_moe(binder->dims, layer)) {
        bind_experts(binder, layer, fields);
    }
}

/* Memory for what the vectors are turned into before the first sweep. */
static float *take_prepared(struct binder *binder, uint32_t n_values)
{
    struct nj_weights *weights = binder->weights;
    float *values = nj_arena_take_array(&weights->arena, n_values, sizeof(float));
    if (values == NULL) {
        binder->status = nj_arena_fail(&weights->arena, "weights", binder->err);
    }
    return values;
}

static void take_prepared_vectors(struct binder *binder)
{
    struct nj_weights *weights = binder->weights;
    const struct nj_dims *dims = binder->dims;
    bool is_mixing = dims->attention_residual_block != 0;
    if (is_mixing) {
        weights->global.output_mix.product = take_prepared(binder, dims->n_hidden);
    }
    for (uint32_t layer = 0; layer < dims->n_layers && binder->status == NJ_OK; layer++) {
        struct nj_layer_weights *fields = &weights->layers[layer];
        if (is_mixing) {
            fields->attention_mix.product = take_prepared(binder, dims->n_hidden);
            fields->feed_forward_mix.product = take_prepared(binder, dims->n_hidden);
        }
        if (dims->mixers[layer] == NJ_MIXER_DELTA) {
            fields->delta.rates = take_prepared(binder, dims->n_delta_heads);
        }
    }
}

static void number_records(struct binder *binder)
{
    struct nj_weights *weights = binder->weights;
    weights->record_numbers =
        nj_arena_take_array(&weights->arena, weights->n_records, sizeof(uint32_t));
    if (weights->record_numbers == NULL) {
        binder->status = nj_arena_fail(&weights->arena, "record numbers", binder->err);
        return;
    }
    for (uint32_t i = 0; i < weights->n_records; i++) {
        weights->record_numbers[i] = i;
    }
}

static void bind_all(struct binder *binder)
{
    struct nj_weights *weights = binder->weights;
    const struct nj_dims *dims = binder->dims;
    weights->layers =
        nj_arena_take_array(&weights->arena, dims->n_layers, sizeof *weights->layers);
    if (weights->layers == NULL) {
        binder->status = nj_arena_fail(&weights->arena, "layers", binder->err);
        return;
    }
    bind_parts(binder, nj_recipe_global(), 0, nj_recipe_prefix(dims), &weights->global);
    for (uint32_t layer = 0; layer < dims->n_layers && binder->status == NJ_OK; layer++) {
        bind_layer(binder, layer);
    }
    if (binder->status == NJ_OK) {
        take_prepared_vectors(binder);
    }
    if (binder->status == NJ_OK) {
        number_records(binder);
    }
}

enum nj_status nj_weights_init(struct nj_weights *weights, const struct nj_dims *dims,
                               const struct nj_weight_index *index, struct nj_record_cut cut,
                               struct nj_error *err)
{
    memset(weights, 0, sizeof *weights);
    nj_arena_init(&weights->arena, 0);
    struct binder binder = {.weights = weights,
                            .dims = dims,
                            .index = index,
                            .cut = cut,
                            .complaints = {.err = err},
                            .status = NJ_OK,
                            .err = err};
    bind_all(&binder);
    complain_missing_shards(&binder);
    free(binder.missing_shards);
    enum nj_status status = binder.status;
    if (status == NJ_OK) {
        status = nj_complaints_status(&binder.complaints);
    }
    if (status != NJ_OK) {
        nj_weights_deinit(weights);
    }
    return status;
}

void nj_weights_deinit(struct nj_weights *weights)
{
    free(weights->extents);
    free(weights->vectors);
    nj_arena_deinit(&weights->arena);
    memset(weights, 0, sizeof *weights);
}

uint64_t nj_weights_held_bytes(const struct nj_weights *weights)
{
    return weights->arena.used_bytes + weights->extents_capacity * sizeof *weights->extents +
           weights->vectors_capacity * sizeof *weights->vectors;
}
