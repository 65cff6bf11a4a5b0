#include "model/recipe.h"

#include "model/weights.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define LAYER(member)   offsetof(struct nj_layer_weights, member)
#define GLOBAL(member)  offsetof(struct nj_global_weights, member)
#define EXPERT(member)  offsetof(struct nj_feed_forward_weights, member)

uint32_t nj_axis_size(const struct nj_dims *dims, enum nj_axis axis)
{
    switch (axis) {
    case NJ_AXIS_ONE:
        return 1;
    case NJ_AXIS_VOCABULARY:
        return dims->n_vocabulary;
    case NJ_AXIS_HIDDEN:
        return dims->n_hidden;
    case NJ_AXIS_DENSE:
        return dims->n_dense;
    case NJ_AXIS_DELTA_HEADS:
        return dims->n_delta_heads;
    case NJ_AXIS_DELTA_HEAD:
        return dims->n_delta;
    case NJ_AXIS_DELTA:
        return dims->n_delta_heads * dims->n_delta;
    case NJ_AXIS_TAPS:
        return dims->n_taps;
    case NJ_AXIS_Q_RANK:
        return dims->q_rank;
    case NJ_AXIS_QUERIES:
        return dims->n_heads * (dims->n_nope + dims->n_rope);
    case NJ_AXIS_KV_RANK:
        return dims->kv_rank;
    case NJ_AXIS_KV_CACHED:
        return dims->kv_rank + dims->n_rope;
    case NJ_AXIS_KV_HEAD:
        return dims->n_nope + dims->n_value;
    case NJ_AXIS_KV:
        return dims->n_heads * (dims->n_nope + dims->n_value);
    case NJ_AXIS_VALUES:
        return dims->n_heads * dims->n_value;
    case NJ_AXIS_EXPERTS:
        return dims->n_experts;
    case NJ_AXIS_EXPERT:
        return dims->n_expert;
    case NJ_AXIS_LATENT:
        return dims->n_latent;
    case NJ_AXIS_SHARED:
        return dims->n_shared * dims->n_expert;
    }
    return 0;
}

static bool always(const struct nj_dims *dims, uint32_t layer)
{
    (void)dims;
    (void)layer;
    return true;
}

static bool has_residual_mix(const struct nj_dims *dims, uint32_t layer)
{
    (void)layer;
    return dims->attention_residual_block != 0;
}

static bool is_delta(const struct nj_dims *dims, uint32_t layer)
{
    return dims->mixers[layer] == NJ_MIXER_DELTA;
}

static bool is_delta_full_gate(const struct nj_dims *dims, uint32_t layer)
{
    return is_delta(dims, layer) && dims->has_full_rank_gate;
}

static bool is_delta_low_gate(const struct nj_dims *dims, uint32_t layer)
{
    return is_delta(dims, layer) && !dims->has_full_rank_gate;
}

static bool is_latent(const struct nj_dims *dims, uint32_t layer)
{
    return dims->mixers[layer] == NJ_MIXER_LATENT;
}

static bool is_latent_direct_q(const struct nj_dims *dims, uint32_t layer)
{
    return is_latent(dims, layer) && dims->q_rank == 0;
}

static bool is_latent_low_q(const struct nj_dims *dims, uint32_t layer)
{
    return is_latent(dims, layer) && dims->q_rank != 0;
}

static bool is_latent_gated(const struct nj_dims *dims, uint32_t layer)
{
    return is_latent(dims, layer) && dims->has_mla_gate;
}

static bool is_dense(const struct nj_dims *dims, uint32_t layer)
{
    return !nj_dims_layer_is_moe(dims, layer);
}

static bool has_shared(const struct nj_dims *dims, uint32_t layer)
{
    return nj_dims_layer_is_moe(dims, layer) && dims->n_shared != 0;
}

static bool has_latent_experts(const struct nj_dims *dims, uint32_t layer)
{
    return nj_dims_layer_is_moe(dims, layer) && dims->has_latent;
}

static bool has_latent_norm(const struct nj_dims *dims, uint32_t layer)
{
    return has_latent_experts(dims, layer) && dims->has_latent_norm;
}

/* Short forms for the tables. */
#define MATRIX(name, field, outputs, inputs)                                                   \
    {                                                                                          \
        name, field, NJ_AXIS_##outputs, NJ_AXIS_##inputs, NJ_AXIS_ONE, false, false            \
    }
/* Held in one tile. */
#define WHOLE_MATRIX(name, field, outputs, inputs)                                             \
    {                                                                                          \
        name, field, NJ_AXIS_##outputs, NJ_AXIS_##inputs, NJ_AXIS_##outputs, false, false      \
    }
#define UNPACKED_MATRIX(name, field, outputs, inputs, row_unit)                                \
    {                                                                                          \
        name, field, NJ_AXIS_##outputs, NJ_AXIS_##inputs, NJ_AXIS_##row_unit, true, false      \
    }
#define TABLE(name, field, outputs, inputs)                                                    \
    {                                                                                          \
        name, field, NJ_AXIS_##outputs, NJ_AXIS_##inputs, NJ_AXIS_ONE, true, true              \
    }
#define VECTOR(name, field, outer, inner)                                                      \
    {                                                                                          \
        name, field, NJ_AXIS_##outer, NJ_AXIS_##inner, 0, 1, false                             \
    }
#define VECTOR_PART(name, field, outer, inner, part, n_parts)                                  \
    {                                                                                          \
        name, field, NJ_AXIS_##outer, NJ_AXIS_##inner, part, n_parts, false                    \
    }
#define PADDED_VECTOR(name, field, length)                                                     \
    {                                                                                          \
        name, field, NJ_AXIS_ONE, NJ_AXIS_##length, 0, 1, true                                 \
    }

/* clang-format off */
static const struct nj_recipe_matrix global_matrices[] = {
    TABLE("model.embed_tokens", GLOBAL(embedding), VOCABULARY, HIDDEN),
    MATRIX("lm_head", GLOBAL(head), VOCABULARY, HIDDEN),
};
static const struct nj_recipe_vector global_vectors[] = {
    VECTOR("model.norm.weight", GLOBAL(norm), ONE, HIDDEN),
};
static const struct nj_recipe_vector output_mix_vectors[] = {
    VECTOR("model.output_attn_res_norm.weight", GLOBAL(output_mix.norm), ONE, HIDDEN),
    VECTOR("model.output_attn_res_proj.weight", GLOBAL(output_mix.projection), ONE, HIDDEN),
};

static const struct nj_recipe_vector layer_norms[] = {
    VECTOR("input_layernorm.weight", LAYER(attention_norm), ONE, HIDDEN),
    VECTOR("post_attention_layernorm.weight", LAYER(feed_forward_norm), ONE, HIDDEN),
};
static const struct nj_recipe_vector layer_mixes[] = {
    VECTOR("self_attention_res_norm.weight", LAYER(attention_mix.norm), ONE, HIDDEN),
    VECTOR("self_attention_res_proj.weight", LAYER(attention_mix.projection), ONE, HIDDEN),
    VECTOR("mlp_res_norm.weight", LAYER(feed_forward_mix.norm), ONE, HIDDEN),
    VECTOR("mlp_res_proj.weight", LAYER(feed_forward_mix.projection), ONE, HIDDEN),
};

static const struct nj_recipe_matrix delta_matrices[] = {
    MATRIX("self_attn.q_proj", LAYER(delta.q), DELTA, HIDDEN),
    MATRIX("self_attn.k_proj", LAYER(delta.k), DELTA, HIDDEN),
    MATRIX("self_attn.v_proj", LAYER(delta.v), DELTA, HIDDEN),
    MATRIX("self_attn.f_a_proj", LAYER(delta.decay_down), DELTA_HEAD, HIDDEN),
    MATRIX("self_attn.f_b_proj", LAYER(delta.decay_up), DELTA, DELTA_HEAD),
    MATRIX("self_attn.b_proj", LAYER(delta.beta), DELTA_HEADS, HIDDEN),
};
static const struct nj_recipe_vector delta_vectors[] = {
    VECTOR_PART("self_attn.q_conv1d.weight", LAYER(delta.taps), DELTA, TAPS, 0, 3),
    VECTOR_PART("self_attn.k_conv1d.weight", LAYER(delta.taps), DELTA, TAPS, 1, 3),
    VECTOR_PART("self_attn.v_conv1d.weight", LAYER(delta.taps), DELTA, TAPS, 2, 3),
    PADDED_VECTOR("self_attn.A_log", LAYER(delta.a_log), DELTA_HEADS),
    VECTOR("self_attn.dt_bias", LAYER(delta.decay_bias), ONE, DELTA),
    VECTOR("self_attn.o_norm.weight", LAYER(delta.output_norm), ONE, DELTA_HEAD),
};
static const struct nj_recipe_matrix delta_full_gate[] = {
    MATRIX("self_attn.g_proj", LAYER(delta.gate), DELTA, HIDDEN),
};
static const struct nj_recipe_matrix delta_low_gate[] = {
    MATRIX("self_attn.g_a_proj", LAYER(delta.gate_down), DELTA_HEAD, HIDDEN),
    MATRIX("self_attn.g_b_proj", LAYER(delta.gate_up), DELTA, DELTA_HEAD),
};
static const struct nj_recipe_matrix delta_output[] = {
    MATRIX("self_attn.o_proj", LAYER(delta.output), HIDDEN, DELTA),
};

static const struct nj_recipe_matrix latent_matrices[] = {
    MATRIX("self_attn.kv_a_proj_with_mqa", LAYER(latent.kv_down), KV_CACHED, HIDDEN),
    UNPACKED_MATRIX("self_attn.kv_b_proj", LAYER(latent.kv_up), KV, KV_RANK, KV_HEAD),
};
static const struct nj_recipe_vector latent_vectors[] = {
    VECTOR("self_attn.kv_a_layernorm.weight", LAYER(latent.kv_norm), ONE, KV_RANK),
};
static const struct nj_recipe_matrix latent_direct_q[] = {
    MATRIX("self_attn.q_proj", LAYER(latent.q), QUERIES, HIDDEN),
};
static const struct nj_recipe_matrix latent_low_q[] = {
    MATRIX("self_attn.q_a_proj", LAYER(latent.q_down), Q_RANK, HIDDEN),
    MATRIX("self_attn.q_b_proj", LAYER(latent.q_up), QUERIES, Q_RANK),
};
static const struct nj_recipe_vector latent_low_q_vectors[] = {
    VECTOR("self_attn.q_a_layernorm.weight", LAYER(latent.q_norm), ONE, Q_RANK),
};
static const struct nj_recipe_matrix latent_gate[] = {
    MATRIX("self_attn.g_proj", LAYER(latent.gate), VALUES, HIDDEN),
};
static const struct nj_recipe_matrix latent_output[] = {
    MATRIX("self_attn.o_proj", LAYER(latent.output), HIDDEN, VALUES),
};

static const struct nj_recipe_matrix dense_matrices[] = {
    MATRIX("mlp.gate_proj", LAYER(dense.gate), DENSE, HIDDEN),
    MATRIX("mlp.up_proj", LAYER(dense.up), DENSE, HIDDEN),
    MATRIX("mlp.down_proj", LAYER(dense.down), HIDDEN, DENSE),
};

static const struct nj_recipe_matrix router_matrices[] = {
    MATRIX("block_sparse_moe.gate", LAYER(moe.router), EXPERTS, HIDDEN),
};
static const struct nj_recipe_vector router_vectors[] = {
    VECTOR("block_sparse_moe.gate.e_score_correction_bias", LAYER(moe.correction_bias), ONE,
           EXPERTS),
};
static const struct nj_recipe_matrix latent_expert_down[] = {
    MATRIX("block_sparse_moe.routed_expert_down_proj", LAYER(moe.latent_down), LATENT, HIDDEN),
};
static const struct nj_recipe_matrix latent_expert_up[] = {
    MATRIX("block_sparse_moe.routed_expert_up_proj", LAYER(moe.latent_up), HIDDEN, LATENT),
};
static const struct nj_recipe_vector latent_expert_norm[] = {
    VECTOR("block_sparse_moe.routed_expert_norm.weight", LAYER(moe.latent_norm), ONE, LATENT),
};
static const struct nj_recipe_matrix shared_matrices[] = {
    MATRIX("block_sparse_moe.shared_experts.gate_proj", LAYER(moe.shared.gate), SHARED, HIDDEN),
    MATRIX("block_sparse_moe.shared_experts.up_proj", LAYER(moe.shared.up), SHARED, HIDDEN),
    MATRIX("block_sparse_moe.shared_experts.down_proj", LAYER(moe.shared.down), HIDDEN, SHARED),
};

static const struct nj_recipe_matrix expert_matrices[] = {
    WHOLE_MATRIX("w1", EXPERT(gate), EXPERT, LATENT),
    WHOLE_MATRIX("w3", EXPERT(up), EXPERT, LATENT),
    WHOLE_MATRIX("w2", EXPERT(down), LATENT, EXPERT),
};

#define PART(applies, matrices, vectors)                                                       \
    {                                                                                          \
        applies, matrices, vectors, COUNT_OF(matrices), COUNT_OF(vectors)                      \
    }
#define MATRICES(applies, matrices) {applies, matrices, NULL, COUNT_OF(matrices), 0}
#define VECTORS(applies, vectors) {applies, NULL, vectors, 0, COUNT_OF(vectors)}

static const struct nj_recipe_part global_parts[] = {
    PART(always, global_matrices, global_vectors),
    VECTORS(has_residual_mix, output_mix_vectors),
};
static const struct nj_recipe_part layer_parts[] = {
    VECTORS(always, layer_norms),
    VECTORS(has_residual_mix, layer_mixes),
    PART(is_delta, delta_matrices, delta_vectors),
    MATRICES(is_delta_full_gate, delta_full_gate),
    MATRICES(is_delta_low_gate, delta_low_gate),
    MATRICES(is_delta, delta_output),
    MATRICES(is_latent_direct_q, latent_direct_q),
    PART(is_latent_low_q, latent_low_q, latent_low_q_vectors),
    PART(is_latent, latent_matrices, latent_vectors),
    MATRICES(is_latent_gated, latent_gate),
    MATRICES(is_latent, latent_output),
    MATRICES(is_dense, dense_matrices),
    PART(nj_dims_layer_is_moe, router_matrices, router_vectors),
    MATRICES(has_latent_experts, latent_expert_down),
    VECTORS(has_latent_norm, latent_expert_norm),
    MATRICES(has_shared, shared_matrices),
    MATRICES(has_latent_experts, latent_expert_up),
};
static const struct nj_recipe_part expert_parts[] = {
    MATRICES(always, expert_matrices),
};
/* clang-format on */

struct nj_recipe_parts nj_recipe_global(void)
{
    return (struct nj_recipe_parts){global_parts, COUNT_OF(global_parts)};
}

struct nj_recipe_parts nj_recipe_layer(void)
{
    return (struct nj_recipe_parts){layer_parts, COUNT_OF(layer_parts)};
}

struct nj_recipe_parts nj_recipe_expert(void)
{
    return (struct nj_recipe_parts){expert_parts, COUNT_OF(expert_parts)};
}

const char *nj_recipe_prefix(const struct nj_dims *dims)
{
    return dims->is_nested ? "language_model." : "";
}
