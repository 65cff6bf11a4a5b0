#include "tools/synth_tensors.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/recipe.h"
#include "quant/mxfp4.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { LEAST_CAPACITY = 64, A_LOG_UNIT = 32, PREFIX_BYTES = 72 };

/* Root mean square of MXFP4 codes, all equally often, under scales 2^0 .. 2^6. */
static const double packed_sigma = 81.8;

/* How a matrix is spread: `gain` times the spread of its inputs comes out of it. */
struct matrix_rule {
    const char *name; /* as in the recipe */
    float gain;
    bool is_absolute; /* `gain` is the spread of a weight */
};

static const struct matrix_rule matrix_rules[] = {
    {"model.embed_tokens", 3.0F, true},
    {"lm_head", 2.5F, false},
    {"self_attn.q_a_proj", 0.02F, true},
    {"self_attn.kv_a_proj_with_mqa", 0.02F, true},
    {"self_attn.kv_b_proj", 1.5F, false},
    {"self_attn.v_proj", 1.5F, false},
    {"self_attn.b_proj", 1.5F, false},
    {"mlp.gate_proj", 3.0F, false},
    {"mlp.up_proj", 10.0F, false},
    {"mlp.down_proj", 0.05F, false},
    {"block_sparse_moe.gate", 1.5F, false},
    {"block_sparse_moe.routed_expert_down_proj", 0.5F, false},
    {"block_sparse_moe.routed_expert_up_proj", 0.8F, false},
    {"block_sparse_moe.shared_experts.gate_proj", 3.0F, false},
    {"block_sparse_moe.shared_experts.up_proj", 10.0F, false},
    {"block_sparse_moe.shared_experts.down_proj", 0.05F, false},
    {"w1", 3.0F, false},
    {"w2", 0.5F, false},
    {"w3", 10.0F, false},
};

/* Vectors that are not 1 + N(0, 0.3^2) in BF16, as norms are; found by the end of the name. */
struct vector_rule {
    const char *ending;
    enum nj_value_type type;
    float mean, sigma;
};

static const char bias_ending[] = ".e_score_correction_bias";
static const char projection_ending[] = "_res_proj.weight";
static const struct vector_rule vector_rules[] = {
    {"_conv1d.weight", NJ_VALUE_F32, 0.0F, 0.6F},
    {".A_log", NJ_VALUE_F32, 1.4F, 0.5F},
    {".dt_bias", NJ_VALUE_F32, 0.0F, 1.0F},
    {".o_norm.weight", NJ_VALUE_F32, 1.0F, 0.3F},
    {bias_ending, NJ_VALUE_F32, 0.0F, 0.0F},
    {projection_ending, NJ_VALUE_BF16, 0.0F, 0.0F},
};
static const struct vector_rule norm_rule = {"", NJ_VALUE_BF16, 1.0F, 0.3F};

/* Spreads of the bias that is added to router scores of 0 to 1 for the choice. */
static const float flat_bias_sigma = 0.0005F;
static const float skewed_bias_sigma = 0.1F;

/* One list under way. */
struct lister {
    struct nj_synth_list *list;
    const struct nj_dims *dims;
    bool is_skewed;
    uint32_t layer;
    char prefix[PREFIX_BYTES];
    enum nj_status status;
};

void nj_synth_list_deinit(struct nj_synth_list *list)
{
    free(list->tensors);
    memset(list, 0, sizeof *list);
}

/* A zeroed tensor at the end; NULL when there is no memory. */
static struct nj_synth_tensor *append(struct lister *lister, const char *name,
                                      const char *suffix)
{
    struct nj_synth_list *list = lister->list;
    if (list->n_tensors == list->capacity) {
        uint32_t capacity = list->capacity == 0 ? LEAST_CAPACITY : 2 * list->capacity;
        void *grown = realloc(list->tensors, capacity * sizeof *list->tensors);
        if (grown == NULL) {
            lister->status = NJ_E_MEMORY;
            return NULL;
        }
        list->tensors = grown;
        list->capacity = capacity;
    }
    struct nj_synth_tensor *tensor = &list->tensors[list->n_tensors++];
    memset(tensor, 0, sizeof *tensor);
    tensor->may_begin_shard = true;
    int length =
        snprintf(tensor->name, sizeof tensor->name, "%s%s%s", lister->prefix, name, suffix);
    assert(length > 0 && (size_t)length < sizeof tensor->name); /* names are ours */
    (void)length;
    return tensor;
}

static void set_shape(struct nj_synth_tensor *tensor, enum nj_value_type type,
                      uint32_t n_dimensions, uint32_t first, uint32_t second)
{
    tensor->type = type;
    tensor->n_dimensions = n_dimensions;
    tensor->shape[0] = first;
    tensor->shape[1] = second;
    uint64_t n_values = n_dimensions == 1 ? first : (uint64_t)first * second;
    tensor->length_bytes = n_values * nj_value_bytes(type);
}

static float weight_sigma(const char *name, uint32_t n_inputs)
{
    float gain = 1.0F;
    for (size_t i = 0; i < COUNT_OF(matrix_rules); i++) {
        if (strcmp(matrix_rules[i].name, name) == 0) {
            gain = matrix_rules[i].gain;
            if (matrix_rules[i].is_absolute) {
                return gain;
            }
        }
    }
    return (float)((double)gain / sqrt((double)n_inputs));
}

static void make_plain(const struct nj_dims *dims, const struct nj_recipe_matrix *matrix,
                       struct nj_synth_tensor *tensor)
{
    uint32_t outputs = nj_axis_size(dims, matrix->outputs);
    uint32_t inputs = nj_axis_size(dims, matrix->inputs);
    set_shape(tensor, NJ_VALUE_BF16, 2, outputs, inputs);
    tensor->source = NJ_SYNTH_NORMAL;
    tensor->sigma = weight_sigma(matrix->name, inputs);
}

/* The scale byte below which the weights would be spread too narrowly. */
static uint8_t lowest_scale(float sigma)
{
    int exponent = 0;
    (void)frexp((double)sigma / packed_sigma, &exponent);
    return (uint8_t)(127 + exponent);
}

static void list_packed(struct lister *lister, const struct nj_recipe_matrix *matrix)
{
    uint32_t outputs = nj_axis_size(lister->dims, matrix->outputs);
    uint32_t inputs = nj_axis_size(lister->dims, matrix->inputs);
    struct nj_synth_tensor *codes = append(lister, matrix->name, ".weight_packed");
    if (codes != NULL) {
        set_shape(codes, NJ_VALUE_U8, 2, outputs, inputs / 2);
        codes->source = NJ_SYNTH_CODES;
    }
    struct nj_synth_tensor *scales = append(lister, matrix->name, ".weight_scale");
    if (scales != NULL) {
        set_shape(scales, NJ_VALUE_U8, 2, outputs, inputs / NJ_MXFP4_BLOCK_VALUES);
        scales->source = NJ_SYNTH_SCALES;
        scales->lowest_scale = lowest_scale(weight_sigma(matrix->name, inputs));
    }
}

static const struct vector_rule *vector_rule_of(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < COUNT_OF(vector_rules); i++) {
        size_t ending = strlen(vector_rules[i].ending);
        if (length >= ending && strcmp(name + length - ending, vector_rules[i].ending) == 0) {
            return &vector_rules[i];
        }
    }
    return &norm_rule;
}

/* The two spreads that no table can hold. */
static float vector_sigma(const struct vector_rule *rule, bool is_skewed, uint32_t n_values)
{
    if (strcmp(rule->ending, bias_ending) == 0) {
        return is_skewed ? skewed_bias_sigma : flat_bias_sigma;
    }
    if (strcmp(rule->ending, projection_ending) == 0) {
        return (float)(1.0 / sqrt((double)n_values));
    }
    return rule->sigma;
}

/* Released shapes: [channels, 1, taps], [1, hidden] for projections of mixes, A_log padded. */
static void make_vector(const struct nj_dims *dims, const struct nj_recipe_vector *vector,
                        bool is_skewed, struct nj_synth_tensor *tensor)
{
    uint32_t outer = nj_axis_size(dims, vector->outer);
    uint32_t inner = nj_axis_size(dims, vector->inner);
    const struct vector_rule *rule = vector_rule_of(vector->name);
    if (vector->outer != NJ_AXIS_ONE) {
        set_shape(tensor, rule->type, 2, outer, inner);
        tensor->n_dimensions = 3;
        tensor->shape[1] = 1;
        tensor->shape[2] = inner;
    } else if (vector->has_zero_tail) {
        set_shape(tensor, rule->type, 1, (inner / A_LOG_UNIT + 1) * A_LOG_UNIT, 0);
    } else if (strcmp(rule->ending, projection_ending) == 0) {
        set_shape(tensor, rule->type, 2, 1, inner);
    } else {
        set_shape(tensor, rule->type, 1, inner, 0);
    }
    tensor->source = NJ_SYNTH_NORMAL;
    tensor->mean = rule->mean;
    tensor->sigma = vector_sigma(rule, is_skewed, inner);
    tensor->n_used = outer * inner;
}

static void list_parts(struct lister *lister, struct nj_recipe_parts parts)
{
    for (uint32_t i = 0; i < parts.n_parts; i++) {
        const struct nj_recipe_part *part = &parts.parts[i];
        if (!part->applies(lister->dims, lister->layer)) {
            continue;
        }
        for (uint32_t j = 0; j < part->n_matrices; j++) {
            struct nj_synth_tensor *tensor = append(lister, part->matrices[j].name, ".weight");
            if (tensor != NULL) {
                make_plain(lister->dims, &part->matrices[j], tensor);
            }
        }
        for (uint32_t j = 0; j < part->n_vectors; j++) {
            struct nj_synth_tensor *tensor = append(lister, part->vectors[j].name, "");
            if (tensor != NULL) {
                make_vector(lister->dims, &part->vectors[j], lister->is_skewed, tensor);
            }
        }
    }
}

/* w1, w2, w3, as released; the recipe has them in the order of their use. */
static int by_name(const void *a, const void *b)
{
    const struct nj_recipe_matrix *left = a;
    const struct nj_recipe_matrix *right = b;
    return strcmp(left->name, right->name);
}

static void list_expert(struct lister *lister, uint32_t expert)
{
    struct nj_recipe_matrix sorted[8];
    const struct nj_recipe_part *part = nj_recipe_expert().parts;
    uint32_t first = lister->list->n_tensors;
    assert(part->n_matrices <= COUNT_OF(sorted));
    for (uint32_t i = 0; i < part->n_matrices; i++) {
        sorted[i] = part->matrices[i];
    }
    qsort(sorted, part->n_matrices, sizeof sorted[0], by_name);
    (void)snprintf(lister->prefix, sizeof lister->prefix,
                   "%smodel.layers.%u.block_sparse_moe.experts.%u.",
                   nj_recipe_prefix(lister->dims), lister->layer, expert);
    for (uint32_t i = 0; i < part->n_matrices; i++) {
        list_packed(lister, &sorted[i]);
    }
    for (uint32_t i = first + 1; i < lister->list->n_tensors; i++) {
        lister->list->tensors[i].may_begin_shard = false;
    }
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Not in id order, and in another order in each layer: a reader that computes offsets instead
 * of looking them up meets other experts. */
static void list_experts(struct lister *lister)
{
    uint32_t n_experts = lister->dims->n_experts;
    uint32_t step = 5;
    while (common_divisor(n_experts, step) != 1) {
        step += 2;
    }
    for (uint32_t slot = 0; slot < n_experts && lister->status == NJ_OK; slot++) {
        uint64_t place = (uint64_t)slot * step + lister->layer;
        list_expert(lister, (uint32_t)(place % n_experts));
    }
}

enum nj_status nj_synth_list_layer(struct nj_synth_list *list, const struct nj_dims *dims,
                                   bool is_skewed, uint32_t layer, struct nj_error *err)
{
    struct lister lister = {list, dims, is_skewed, layer, "", NJ_OK};
    const char *prefix = nj_recipe_prefix(dims);
    list->n_tensors = 0;
    if (layer == dims->n_layers) {
        (void)snprintf(lister.prefix, sizeof lister.prefix, "%s", prefix);
        list_parts(&lister, nj_recipe_global());
    } else {
        (void)snprintf(lister.prefix, sizeof lister.prefix, "%smodel.layers.%u.", prefix,
                       layer);
        list_parts(&lister, nj_recipe_layer());
        if (nj_dims_layer_is_moe(dims, layer)) {
            list_experts(&lister);
        }
    }
    return lister.status == NJ_OK ? NJ_OK
                                  : nj_fail(err, NJ_E_MEMORY, "list of tensors: out of memory");
}

static uint64_t parts_bytes(const struct nj_dims *dims, uint32_t layer,
                            struct nj_recipe_parts parts)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < parts.n_parts; i++) {
        const struct nj_recipe_part *part = &parts.parts[i];
        struct nj_synth_tensor tensor;
        if (!part->applies(dims, layer)) {
            continue;
        }
        for (uint32_t j = 0; j < part->n_matrices; j++) {
            make_plain(dims, &part->matrices[j], &tensor);
            total += tensor.length_bytes;
        }
        for (uint32_t j = 0; j < part->n_vectors; j++) {
            make_vector(dims, &part->vectors[j], false, &tensor);
            total += tensor.length_bytes;
        }
    }
    return total;
}

uint64_t nj_synth_expert_bytes(const struct nj_dims *dims)
{
    const struct nj_recipe_part *part = nj_recipe_expert().parts;
    uint64_t total = 0;
    for (uint32_t i = 0; i < part->n_matrices; i++) {
        uint64_t outputs = nj_axis_size(dims, part->matrices[i].outputs);
        uint64_t inputs = nj_axis_size(dims, part->matrices[i].inputs);
        total += outputs * (inputs / 2 + inputs / NJ_MXFP4_BLOCK_VALUES);
    }
    return total;
}

uint64_t nj_synth_layer_bytes(const struct nj_dims *dims, uint32_t layer)
{
    if (layer == dims->n_layers) {
        return parts_bytes(dims, layer, nj_recipe_global());
    }
    uint64_t total = parts_bytes(dims, layer, nj_recipe_layer());
    if (nj_dims_layer_is_moe(dims, layer)) {
        total += dims->n_experts * nj_synth_expert_bytes(dims);
    }
    return total;
}
