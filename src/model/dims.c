#include "model/dims.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/text.h"
#include "model/complaints.h"

/* Largest values believed. They keep every product of three sizes inside 64 bits and are far
 * above any released model (hidden 7168, vocabulary 163840, 896 experts). */
enum {
    WIDTH_LIMIT = 1 << 20,
    VOCABULARY_LIMIT = 1 << 24,
    HEADS_LIMIT = 1 << 12,
    HEAD_WIDTH_LIMIT = 1 << 12,
    TAPS_LIMIT = 64,
    EXPERTS_LIMIT = 1 << 14,
    CONTEXT_LIMIT = 1 << 30
};

/* The softmax over attention residuals runs in one block of 64: the snapshots and the prefix.
 */
enum { SNAPSHOTS_LIMIT = 63 };

enum { CONFIG_LIMIT_BYTES = 16 << 20 };

/* The objects of one config.json. */
struct config {
    const struct nj_json_value *top;
    const struct nj_json_value *text;   /* text_config, or the top itself */
    const struct nj_json_value *linear; /* linear_attn_config */
    struct nj_complaints *complaints;
};

struct count_field {
    const char *name;
    size_t offset; /* of a uint32_t in struct nj_dims */
    uint32_t least;
    uint32_t most;
};

#define FIELD(member) offsetof(struct nj_dims, member)

/* Every model has these. */
static const struct count_field text_counts[] = {
    {"num_hidden_layers", FIELD(n_layers), 1, NJ_LAYERS_LIMIT},
    {"hidden_size", FIELD(n_hidden), 1, WIDTH_LIMIT},
    {"vocab_size", FIELD(n_vocabulary), 1, VOCABULARY_LIMIT},
    {"intermediate_size", FIELD(n_dense), 1, WIDTH_LIMIT},
    {"num_attention_heads", FIELD(n_heads), 1, HEADS_LIMIT},
    {"kv_lora_rank", FIELD(kv_rank), 1, WIDTH_LIMIT},
    {"qk_nope_head_dim", FIELD(n_nope), 1, HEAD_WIDTH_LIMIT},
    {"qk_rope_head_dim", FIELD(n_rope), 1, HEAD_WIDTH_LIMIT},
    {"v_head_dim", FIELD(n_value), 1, HEAD_WIDTH_LIMIT},
};

static const struct count_field linear_counts[] = {
    {"num_heads", FIELD(n_delta_heads), 1, HEADS_LIMIT},
    {"head_dim", FIELD(n_delta), 1, HEAD_WIDTH_LIMIT},
    {"short_conv_kernel_size", FIELD(n_taps), 1, TAPS_LIMIT},
};

/* Models with experts have these. */
static const struct count_field expert_counts[] = {
    {"first_k_dense_replace", FIELD(first_dense_layers), 0, NJ_LAYERS_LIMIT},
    {"moe_layer_freq", FIELD(moe_layer_freq), 1, NJ_LAYERS_LIMIT},
    {"num_experts_per_token", FIELD(n_chosen), 1, EXPERTS_LIMIT},
    {"num_shared_experts", FIELD(n_shared), 0, 64},
    {"moe_intermediate_size", FIELD(n_expert), 1, WIDTH_LIMIT},
};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* Null says the same as absence. */
static bool is_absent(const struct nj_json_value *object, const char *name)
{
    enum nj_json_type type = nj_json_type_of(nj_json_get(object, name));
    return type == NJ_JSON_ABSENT || type == NJ_JSON_NULL;
}

static uint32_t read_count(const struct config *config, const struct nj_json_value *object,
                           const struct count_field *field)
{
    int64_t value = 0;
    if (is_absent(object, field->name)) {
        nj_complain(config->complaints, "%s is missing", field->name);
    } else if (!nj_json_as_integer(nj_json_get(object, field->name), &value)) {
        nj_complain(config->complaints, "%s is not an integer", field->name);
    } else if (value < (int64_t)field->least || value > (int64_t)field->most) {
        nj_complain(config->complaints, "%s is %lld, not %u..%u", field->name, (long long)value,
                    field->least, field->most);
    } else {
        return (uint32_t)value;
    }
    return 0;
}

static void read_counts(const struct config *config, const struct nj_json_value *object,
                        const struct count_field *fields, size_t n_fields, struct nj_dims *dims)
{
    for (size_t i = 0; i < n_fields; i++) {
        uint32_t value = read_count(config, object, &fields[i]);
        memcpy((char *)dims + fields[i].offset, &value, sizeof value);
    }
}

static uint32_t read_optional_count(const struct config *config, const char *name,
                                    uint32_t absent, uint32_t least, uint32_t most)
{
    if (is_absent(config->text, name)) {
        return absent;
    }
    const struct count_field field = {name, 0, least, most};
    return read_count(config, config->text, &field);
}

static bool read_optional_boolean(const struct config *config,
                                  const struct nj_json_value *object, const char *name)
{
    bool value = false;
    if (!is_absent(object, name) && !nj_json_as_boolean(nj_json_get(object, name), &value)) {
        nj_complain(config->complaints, "%s is not true or false", name);
    }
    return value;
}

static bool read_boolean(const struct config *config, const char *name)
{
    if (is_absent(config->text, name)) {
        nj_complain(config->complaints, "%s is missing", name);
        return false;
    }
    return read_optional_boolean(config, config->text, name);
}

static float read_positive(const struct config *config, const char *name)
{
    double value = 0.0;
    if (is_absent(config->text, name)) {
        nj_complain(config->complaints, "%s is missing", name);
    } else if (!nj_json_as_number(nj_json_get(config->text, name), &value)) {
        nj_complain(config->complaints, "%s is not a number", name);
    } else if (!((float)value > 0.0F && isfinite((float)value))) {
        nj_complain(config->complaints, "%s is %g, not above 0", name, value);
    } else {
        return (float)value;
    }
    return 0.0F;
}

/* The value of a field must be one that is implemented; `is_required` when absence is not. */
static bool text_is(const struct config *config, const char *name, const char *wanted,
                    bool is_required)
{
    struct nj_text value = {NULL, 0};
    if (is_absent(config->text, name)) {
        if (is_required) {
            nj_complain(config->complaints, "%s is missing", name);
        }
        return false;
    }
    if (nj_json_as_text(nj_json_get(config->text, name), &value) &&
        nj_text_equals(value, wanted)) {
        return true;
    }
    nj_complain(config->complaints, "%s is not \"%s\", the only one implemented", name, wanted);
    return false;
}

static void read_activation(const struct config *config, struct nj_dims *dims)
{
    struct nj_text name = {NULL, 0};
    if (is_absent(config->text, "hidden_act")) {
        nj_complain(config->complaints, "hidden_act is missing");
    } else if (!nj_json_as_text(nj_json_get(config->text, "hidden_act"), &name)) {
        nj_complain(config->complaints, "hidden_act is not a string");
    } else if (nj_text_equals(name, "situ")) {
        dims->activation = NJ_ACTIVATION_SITU;
        dims->situ_beta = read_positive(config, "activation_situ_beta");
        dims->situ_linear_beta = read_positive(config, "activation_situ_linear_beta");
    } else if (nj_text_equals(name, "silu")) {
        dims->activation = NJ_ACTIVATION_SWIGLU;
    } else {
        nj_complain(config->complaints, "hidden_act is \"%.*s\", not situ or silu",
                    (int)(name.length_bytes < 40 ? name.length_bytes : 40), name.data);
    }
}

static void read_latent_attention(const struct config *config, struct nj_dims *dims)
{
    dims->q_rank = read_optional_count(config, "q_lora_rank", 0, 1, WIDTH_LIMIT);
    dims->has_mla_gate = read_optional_boolean(config, config->text, "mla_use_output_gate");
    if (!read_boolean(config, "mla_use_nope") && !is_absent(config->text, "mla_use_nope")) {
        nj_complain(config->complaints, "mla_use_nope is not true: rotation is not part of "
                                        "this architecture");
    }
}

static void read_delta_attention(const struct config *config, struct nj_dims *dims)
{
    const struct nj_json_value *linear = config->linear;
    read_counts(config, linear, linear_counts, COUNT_OF(linear_counts), dims);
    dims->has_full_rank_gate = read_optional_boolean(config, linear, "use_full_rank_gate");
    dims->gate_lower_bound = 0.0F;
    if (is_absent(linear, "gate_lower_bound")) {
        return; /* softplus decay */
    }
    double bound = 0.0;
    bool is_number = nj_json_as_number(nj_json_get(linear, "gate_lower_bound"), &bound);
    if (!is_number || !(bound < 0.0 && bound >= -80.0)) {
        nj_complain(config->complaints, "gate_lower_bound is not a number from -80 to below 0");
        return;
    }
    dims->gate_lower_bound = (float)bound;
}

/* Marks the listed layers; `*n_listed` counts valid entries. */
static void read_layer_list(const struct config *config, const char *name, uint32_t n_layers,
                            enum nj_mixer mixer, uint8_t *times_listed, struct nj_dims *dims)
{
    const struct nj_json_value *list = nj_json_get(config->linear, name);
    if (nj_json_type_of(list) != NJ_JSON_ARRAY) {
        nj_complain(config->complaints, "%s is not a list of layers", name);
        return;
    }
    for (size_t i = 0; i < nj_json_count(list); i++) {
        int64_t one_based = 0;
        if (!nj_json_as_integer(nj_json_at(list, i), &one_based) || one_based < 1 ||
            one_based > (int64_t)n_layers) {
            nj_complain(config->complaints, "%s[%zu] is not a layer from 1 to %u", name, i,
                        n_layers);
            return;
        }
        uint32_t layer = (uint32_t)one_based - 1;
        dims->mixers[layer] = mixer;
        if (times_listed[layer] < 2) {
            times_listed[layer]++;
        }
    }
}

static void read_mixers(const struct config *config, struct nj_dims *dims)
{
    if (dims->n_layers == 0) {
        return; /* complained about already */
    }
    uint8_t times_listed[NJ_LAYERS_LIMIT] = {0};
    uint32_t before = config->complaints->count;
    read_layer_list(config, "kda_layers", dims->n_layers, NJ_MIXER_DELTA, times_listed, dims);
    read_layer_list(config, "full_attn_layers", dims->n_layers, NJ_MIXER_LATENT, times_listed,
                    dims);
    for (uint32_t i = 0; i < dims->n_layers && config->complaints->count == before; i++) {
        if (times_listed[i] != 1) {
            nj_complain(config->complaints,
                        "kda_layers and full_attn_layers list layer %u %s (they must part "
                        "1..%u)",
                        i + 1, times_listed[i] == 0 ? "nowhere" : "more than once",
                        dims->n_layers);
        }
    }
}

static void read_latent_experts(const struct config *config, struct nj_dims *dims)
{
    dims->n_latent =
        read_optional_count(config, "routed_expert_hidden_size", 0, 1, WIDTH_LIMIT);
    dims->has_latent = dims->n_latent != 0;
    if (!dims->has_latent) {
        dims->n_latent = dims->n_hidden;
    }
    dims->has_latent_norm = read_optional_boolean(config, config->text, "latent_moe_use_norm");
    if (dims->has_latent_norm && !dims->has_latent) {
        nj_complain(config->complaints,
                    "latent_moe_use_norm is true without routed_expert_hidden_size");
    }
}

static void check_choice(const struct config *config, const struct nj_dims *dims)
{
    if (dims->n_chosen > dims->n_experts) {
        nj_complain(config->complaints, "num_experts_per_token %u exceeds num_experts %u",
                    dims->n_chosen, dims->n_experts);
    }
    if (dims->n_groups == 0 || dims->n_chosen_groups == 0) {
        return;
    }
    if (dims->n_experts % dims->n_groups != 0) {
        nj_complain(config->complaints, "num_experts %u is no multiple of num_expert_group %u",
                    dims->n_experts, dims->n_groups);
    } else if (dims->n_chosen_groups > dims->n_groups) {
        nj_complain(config->complaints, "topk_group %u exceeds num_expert_group %u",
                    dims->n_chosen_groups, dims->n_groups);
    } else if (dims->n_chosen > dims->n_experts / dims->n_groups * dims->n_chosen_groups) {
        nj_complain(config->complaints, "%u groups of %u hold fewer than %u experts",
                    dims->n_chosen_groups, dims->n_experts / dims->n_groups, dims->n_chosen);
    }
}

static void read_experts(const struct config *config, struct nj_dims *dims)
{
    const struct count_field n_experts = {"num_experts", 0, 0, EXPERTS_LIMIT};
    dims->n_experts = read_count(config, config->text, &n_experts);
    if (dims->n_experts == 0) {
        dims->first_dense_layers = NJ_LAYERS_LIMIT;
        return;
    }
    read_counts(config, config->text, expert_counts, COUNT_OF(expert_counts), dims);
    dims->n_groups = read_optional_count(config, "num_expert_group", 1, 1, EXPERTS_LIMIT);
    dims->n_chosen_groups = read_optional_count(config, "topk_group", 1, 1, EXPERTS_LIMIT);
    dims->renormalizes = read_boolean(config, "moe_renormalize");
    dims->routed_scale = read_positive(config, "routed_scaling_factor");
    (void)text_is(config, "moe_router_activation_func", "sigmoid", true);
    (void)text_is(config, "topk_method", "noaux_tc", false);
    read_latent_experts(config, dims);
    check_choice(config, dims);
}

static const struct nj_json_value *quantization_of(const struct config *config)
{
    if (!is_absent(config->text, "quantization_config")) {
        return nj_json_get(config->text, "quantization_config");
    }
    return nj_json_get(config->top, "quantization_config");
}

/* What is packed is decided per tensor by its suffix; here only whether the packing is known.
 */
static void check_quantization(const struct config *config, const struct nj_dims *dims)
{
    const struct nj_json_value *quantization = quantization_of(config);
    enum nj_json_type type = nj_json_type_of(quantization);
    if (type == NJ_JSON_ABSENT || type == NJ_JSON_NULL) {
        return;
    }
    struct nj_text format = {NULL, 0};
    if (!nj_json_as_text(nj_json_get(quantization, "format"), &format) ||
        !nj_text_equals(format, "mxfp4-pack-quantized")) {
        nj_complain(config->complaints,
                    "quantization_config.format is not \"mxfp4-pack-quantized\"");
    } else if (dims->n_latent % 32 != 0 || dims->n_expert % 32 != 0) {
        nj_complain(config->complaints,
                    "experts of %u by %u cannot be packed in blocks of 32 values",
                    dims->n_expert, dims->n_latent);
    }
}

static void check_residuals(const struct config *config, const struct nj_dims *dims)
{
    if (nj_dims_n_residual_blocks(dims) > SNAPSHOTS_LIMIT) {
        nj_complain(config->complaints, "attn_res_block_size %u makes more than %d snapshots",
                    dims->attention_residual_block, SNAPSHOTS_LIMIT);
    }
}

static int64_t read_special_token(const struct config *config, const char *name)
{
    int64_t token = -1;
    if (!nj_json_as_integer(nj_json_get(config->top, name), &token)) {
        (void)nj_json_as_integer(nj_json_get(config->text, name), &token);
    }
    return token;
}

static void check_tied_embeddings(const struct config *config)
{
    if (read_optional_boolean(config, config->top, "tie_word_embeddings") ||
        read_optional_boolean(config, config->text, "tie_word_embeddings")) {
        nj_complain(config->complaints, "tie_word_embeddings is true, which is not supported");
    }
}

static void read_text_config(const struct config *config, struct nj_dims *dims)
{
    read_counts(config, config->text, text_counts, COUNT_OF(text_counts), dims);
    dims->rms_norm_eps = read_positive(config, "rms_norm_eps");
    dims->latent_norm_eps = 1e-6F;
    dims->attention_residual_block =
        read_optional_count(config, "attn_res_block_size", 0, 1, NJ_LAYERS_LIMIT);
    dims->context_length =
        read_optional_count(config, "max_position_embeddings", 0, 1, CONTEXT_LIMIT);
    read_activation(config, dims);
    read_latent_attention(config, dims);
    read_experts(config, dims);
    check_residuals(config, dims);
    check_quantization(config, dims);
    check_tied_embeddings(config);
    dims->bos_token = read_special_token(config, "bos_token_id");
    dims->eos_token = read_special_token(config, "eos_token_id");
    dims->pad_token = read_special_token(config, "pad_token_id");
}

static void read_config(struct config *config, struct nj_dims *dims)
{
    dims->is_nested =
        nj_json_type_of(nj_json_get(config->top, "text_config")) == NJ_JSON_OBJECT;
    config->text = dims->is_nested ? nj_json_get(config->top, "text_config") : config->top;
    config->linear = nj_json_get(config->text, "linear_attn_config");
    read_text_config(config, dims);
    if (nj_json_type_of(config->linear) != NJ_JSON_OBJECT) {
        nj_complain(config->complaints, "linear_attn_config is missing");
        return;
    }
    read_delta_attention(config, dims);
    read_mixers(config, dims);
}

/* Bad JSON is a person's mistake in a job file, but damage in a model. */
static enum nj_status as_weights_error(enum nj_status status, struct nj_error *err)
{
    if (status != NJ_E_INPUT) {
        return status;
    }
    if (err != NULL) {
        err->status = NJ_E_WEIGHTS;
    }
    return NJ_E_WEIGHTS;
}

static enum nj_status read_document(const struct nj_file_system *fs, const char *directory,
                                    struct nj_json **document, struct nj_error *err)
{
    struct nj_arena arena;
    nj_arena_init(&arena, 0);
    struct nj_bytes content = {NULL, 0};
    int directory_fd = -1;
    enum nj_status status = nj_file_open_directory(fs, directory, false, &directory_fd, err);
    if (status != NJ_OK) {
        nj_error_append(err, "; a model is a directory with config.json and its shards");
        goto out;
    }
    status = nj_file_read_whole(fs, directory_fd, "config.json", CONFIG_LIMIT_BYTES, &arena,
                                &content, err);
    if (status != NJ_OK) {
        goto out;
    }
    struct nj_text text = {(const char *)content.data, content.length_bytes};
    status = nj_json_parse(text, "config.json", document, err);
out:
    status = as_weights_error(status, err);
    if (directory_fd >= 0) {
        (void)fs->close(fs->context, directory_fd); /* nothing was written */
    }
    nj_arena_deinit(&arena);
    return status;
}

/* Takes the document. */
static enum nj_status read_dims(struct nj_json *document, struct nj_dims *dims,
                                struct nj_error *err)
{
    struct nj_complaints complaints = {.err = err};
    struct config config = {.top = nj_json_root(document), .complaints = &complaints};
    struct nj_dims read;
    memset(&read, 0, sizeof read);
    read_config(&config, &read);
    nj_json_destroy(document);
    enum nj_status status = nj_complaints_status(&complaints);
    if (status == NJ_OK) {
        *dims = read;
    }
    return status;
}

enum nj_status nj_dims_read(const struct nj_file_system *fs, const char *directory,
                            struct nj_dims *dims, struct nj_error *err)
{
    struct nj_json *document = NULL;
    enum nj_status status = read_document(fs, directory, &document, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "read model %s", directory);
    }
    status = read_dims(document, dims, err);
    return status == NJ_OK ? NJ_OK : nj_prefix(err, status, "%s/config.json", directory);
}

enum nj_status nj_dims_parse(struct nj_text config, struct nj_dims *dims, struct nj_error *err)
{
    struct nj_json *document = NULL;
    enum nj_status status =
        as_weights_error(nj_json_parse(config, "config.json", &document, err), err);
    return status == NJ_OK ? read_dims(document, dims, err) : status;
}

bool nj_dims_layer_is_moe(const struct nj_dims *dims, uint32_t layer)
{
    return dims->n_experts > 0 && layer >= dims->first_dense_layers &&
           layer % dims->moe_layer_freq == 0;
}

bool nj_dims_layer_starts_block(const struct nj_dims *dims, uint32_t layer)
{
    return dims->attention_residual_block != 0 && layer % dims->attention_residual_block == 0;
}

uint32_t nj_dims_n_residual_blocks(const struct nj_dims *dims)
{
    uint32_t block = dims->attention_residual_block;
    return block == 0 ? 0 : (dims->n_layers + block - 1) / block;
}
