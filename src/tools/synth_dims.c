#include "tools/synth_dims.h"

#include <inttypes.h>
#include <string.h>

#include "tools/synth_tensors.h"

/* The released layers: three of delta attention, then one of latent attention, and latent in
 * the last one. Four is the least with a whole round. */
enum { MIXER_ROUND = 4 };
/* Of residual blocks: what models may have (model/dims). */
enum { MOST_BLOCKS = 63 };

struct base {
    const char *name;
    struct nj_dims dims;
};

/* What all made-up models share with the released one. */
#define COMMON                                                                                 \
    .is_nested = true, .rms_norm_eps = 1e-5F, .activation = NJ_ACTIVATION_SITU,                \
    .situ_beta = 4.0F, .situ_linear_beta = 25.0F, .first_dense_layers = 1,                     \
    .moe_layer_freq = 1, .has_mla_gate = true, .n_taps = 4, .gate_lower_bound = -5.0F,         \
    .has_full_rank_gate = true, .has_latent = true, .has_latent_norm = true,                   \
    .renormalizes = true, .n_groups = 1, .n_chosen_groups = 1, .routed_scale = 1.0F,           \
    .context_length = 1048576, .bos_token = -1, .eos_token = -1, .pad_token = -1

/* clang-format off */
static const struct base bases[] = {
    {"small", {COMMON,
        .n_layers = 8, .attention_residual_block = 3,
        .n_hidden = 192, .n_vocabulary = 512, .n_dense = 320,
        .n_heads = 4, .q_rank = 96, .kv_rank = 64, .n_nope = 32, .n_rope = 16, .n_value = 24,
        .n_delta_heads = 4, .n_delta = 32,
        .n_experts = 48, .n_chosen = 4, .n_shared = 2, .n_expert = 96, .n_latent = 128}},
    {"k3", {COMMON,
        .n_layers = 93, .attention_residual_block = 12,
        .n_hidden = 7168, .n_vocabulary = 163840, .n_dense = 33792,
        .n_heads = 96, .q_rank = 1536, .kv_rank = 512, .n_nope = 128, .n_rope = 64,
        .n_value = 128, .n_delta_heads = 96, .n_delta = 128,
        .n_experts = 896, .n_chosen = 16, .n_shared = 2, .n_expert = 3072, .n_latent = 3584}},
};
/* clang-format on */

static const struct nj_dims *find_base(const char *name)
{
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        if (name == NULL || strcmp(bases[i].name, name) == 0) {
            return &bases[i].dims;
        }
    }
    return NULL;
}

static void override(uint32_t wanted, uint32_t *size)
{
    if (wanted != 0) {
        *size = wanted;
    }
}

static void apply_sizes(const struct nj_synth_options *options, struct nj_dims *dims)
{
    override(options->n_layers, &dims->n_layers);
    override(options->n_experts, &dims->n_experts);
    override(options->n_chosen, &dims->n_chosen);
    override(options->n_shared, &dims->n_shared);
    override(options->n_hidden, &dims->n_hidden);
    override(options->n_heads, &dims->n_heads);
    override(options->n_heads, &dims->n_delta_heads);
    override(options->n_latent, &dims->n_latent);
    override(options->n_expert, &dims->n_expert);
    override(options->n_dense, &dims->n_dense);
    override(options->n_vocabulary, &dims->n_vocabulary);
    override(options->residual_block, &dims->attention_residual_block);
}

static void set_layers(struct nj_dims *dims, uint32_t n_layers)
{
    dims->n_layers = n_layers;
    for (uint32_t i = 0; i < n_layers && i < NJ_LAYERS_LIMIT; i++) {
        bool is_latent = i % MIXER_ROUND == MIXER_ROUND - 1 || i == n_layers - 1;
        dims->mixers[i] = is_latent ? NJ_MIXER_LATENT : NJ_MIXER_DELTA;
    }
}

static uint64_t model_bytes(const struct nj_dims *dims)
{
    uint64_t total = 0;
    for (uint32_t layer = 0; layer <= dims->n_layers; layer++) {
        total += nj_synth_layer_bytes(dims, layer);
    }
    return total;
}

/* As many experts as fit, from the number chosen up to `most`; 0 when not even those do. */
static uint32_t fit_experts(const struct nj_dims *dims, uint64_t target_bytes, uint32_t most)
{
    struct nj_dims tried = *dims;
    tried.n_experts = dims->n_chosen;
    uint64_t least = model_bytes(&tried);
    if (least > target_bytes) {
        return 0;
    }
    tried.n_experts += 1;
    uint64_t n_more = (target_bytes - least) / (model_bytes(&tried) - least);
    return n_more < most - dims->n_chosen ? dims->n_chosen + (uint32_t)n_more : most;
}

/* Few layers with many experts, as many as the base has, before more layers: what a sweep does
 * with a layer depends on the number of its experts. */
static enum nj_status fit(const struct nj_synth_options *options, struct nj_dims *dims,
                          struct nj_error *err)
{
    bool has_layers = options->n_layers != 0;
    bool has_experts = options->n_experts != 0;
    uint32_t n_layers = has_layers ? options->n_layers : MIXER_ROUND;
    uint32_t most_layers = has_layers ? options->n_layers : NJ_LAYERS_LIMIT;
    uint32_t n_fitting = 0;
    struct nj_dims tried = *dims;
    for (; n_layers <= most_layers; n_layers++) {
        set_layers(&tried, n_layers);
        n_fitting = fit_experts(&tried, options->target_bytes, dims->n_experts);
        if (n_fitting == 0 || (has_experts && n_fitting < options->n_experts)) {
            break;
        }
        set_layers(dims, n_layers);
        if (n_fitting < dims->n_experts) {
            dims->n_experts = n_fitting; /* the last layer that has room, and no more of it */
            return NJ_OK;
        }
    }
    if (n_layers > most_layers && !has_layers && n_layers > NJ_LAYERS_LIMIT) {
        return nj_fail(err, NJ_E_USAGE,
                       "%" PRIu64 " bytes are more than %d layers of these sizes, which have "
                       "%" PRIu64 ": give larger ones (--hidden, --expert-width, --latent), or "
                       "--like k3",
                       options->target_bytes, NJ_LAYERS_LIMIT, model_bytes(dims));
    }
    if (dims->n_layers == n_layers - 1 || n_layers > most_layers) {
        return NJ_OK;
    }
    tried.n_experts = has_experts ? options->n_experts : tried.n_chosen;
    return nj_fail(err, NJ_E_USAGE,
                   "%" PRIu64 " bytes hold no model of these sizes: the smallest, with %u "
                   "layers of %u experts, has %" PRIu64
                   ". Give more, or smaller sizes (--hidden, --experts, --vocabulary)",
                   options->target_bytes, tried.n_layers, tried.n_experts, model_bytes(&tried));
}

/* So many layers that their residual blocks are too many have longer ones, unless somebody said
 * how long they are. */
static void lengthen_blocks(const struct nj_synth_options *options, struct nj_dims *dims)
{
    while (options->residual_block == 0 && nj_dims_n_residual_blocks(dims) > MOST_BLOCKS) {
        dims->attention_residual_block *= 2;
    }
}

enum nj_status nj_synth_dims_choose(const struct nj_synth_options *options,
                                    struct nj_dims *dims, struct nj_error *err)
{
    const struct nj_dims *base = find_base(options->like);
    if (base == NULL) {
        return nj_fail(err, NJ_E_USAGE, "no sizes \"%.100s\"; small and k3 are known",
                       options->like);
    }
    struct nj_dims chosen = *base;
    apply_sizes(options, &chosen);
    if (options->target_bytes == 0) {
        set_layers(&chosen, chosen.n_layers);
    } else if (options->n_layers != 0 && options->n_experts != 0) {
        return nj_fail(err, NJ_E_USAGE,
                       "layers, experts and bytes: two of them say what the third is");
    } else if (chosen.n_chosen <= chosen.n_experts) {
        enum nj_status status = fit(options, &chosen, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    lengthen_blocks(options, &chosen);
    *dims = chosen;
    return NJ_OK;
}
