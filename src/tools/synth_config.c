#include "tools/synth_config.h"

static void write_count(struct nj_json_writer *writer, const char *key, uint32_t value)
{
    nj_json_key(writer, key);
    nj_json_write_unsigned(writer, value);
}

static void write_number(struct nj_json_writer *writer, const char *key, double value)
{
    nj_json_key(writer, key);
    nj_json_write_number(writer, value);
}

static void write_switch(struct nj_json_writer *writer, const char *key, bool value)
{
    nj_json_key(writer, key);
    nj_json_write_boolean(writer, value);
}

static void write_string(struct nj_json_writer *writer, const char *key, const char *value)
{
    nj_json_key(writer, key);
    nj_json_write_string(writer, value);
}

static void write_strings(struct nj_json_writer *writer, const char *key,
                          const char *const *values)
{
    nj_json_key(writer, key);
    nj_json_begin_array(writer);
    for (; *values != NULL; values++) {
        nj_json_write_string(writer, *values);
    }
    nj_json_end_array(writer);
}

/* One-based, as the file has them. */
static void write_layers(struct nj_json_writer *writer, const char *key,
                         const struct nj_dims *dims, enum nj_mixer mixer)
{
    nj_json_key(writer, key);
    nj_json_begin_array(writer);
    for (uint32_t layer = 0; layer < dims->n_layers; layer++) {
        if (dims->mixers[layer] == mixer) {
            nj_json_write_unsigned(writer, layer + 1);
        }
    }
    nj_json_end_array(writer);
}

static void write_delta_attention(struct nj_json_writer *writer, const struct nj_dims *dims)
{
    nj_json_key(writer, "linear_attn_config");
    nj_json_begin_object(writer);
    write_count(writer, "head_dim", dims->n_delta);
    write_count(writer, "num_heads", dims->n_delta_heads);
    write_count(writer, "short_conv_kernel_size", dims->n_taps);
    write_number(writer, "gate_lower_bound", (double)dims->gate_lower_bound);
    write_switch(writer, "use_full_rank_gate", dims->has_full_rank_gate);
    write_layers(writer, "full_attn_layers", dims, NJ_MIXER_LATENT);
    write_layers(writer, "kda_layers", dims, NJ_MIXER_DELTA);
    nj_json_end_object(writer);
}

static void write_latent_attention(struct nj_json_writer *writer, const struct nj_dims *dims)
{
    write_count(writer, "num_attention_heads", dims->n_heads);
    write_count(writer, "num_key_value_heads", dims->n_heads);
    write_count(writer, "q_lora_rank", dims->q_rank);
    write_count(writer, "kv_lora_rank", dims->kv_rank);
    write_count(writer, "qk_nope_head_dim", dims->n_nope);
    write_count(writer, "qk_rope_head_dim", dims->n_rope);
    write_count(writer, "v_head_dim", dims->n_value);
    write_switch(writer, "mla_use_nope", true);
    write_switch(writer, "mla_use_output_gate", dims->has_mla_gate);
}

static void write_experts(struct nj_json_writer *writer, const struct nj_dims *dims)
{
    write_count(writer, "first_k_dense_replace", dims->first_dense_layers);
    write_count(writer, "moe_layer_freq", dims->moe_layer_freq);
    write_count(writer, "moe_intermediate_size", dims->n_expert);
    write_count(writer, "num_experts", dims->n_experts);
    write_count(writer, "num_experts_per_token", dims->n_chosen);
    write_count(writer, "num_shared_experts", dims->n_shared);
    write_count(writer, "num_expert_group", dims->n_groups);
    write_count(writer, "topk_group", dims->n_chosen_groups);
    write_switch(writer, "use_grouped_topk", true);
    write_string(writer, "topk_method", "noaux_tc");
    write_switch(writer, "moe_renormalize", dims->renormalizes);
    write_string(writer, "moe_router_activation_func", "sigmoid");
    write_number(writer, "routed_scaling_factor", (double)dims->routed_scale);
    write_count(writer, "routed_expert_hidden_size", dims->n_latent);
    write_switch(writer, "latent_moe_use_norm", dims->has_latent_norm);
}

static void write_packed_weights(struct nj_json_writer *writer)
{
    nj_json_key(writer, "weights");
    nj_json_begin_object(writer);
    write_count(writer, "num_bits", 4);
    write_string(writer, "type", "float");
    write_count(writer, "group_size", 32);
    write_string(writer, "strategy", "group");
    write_switch(writer, "symmetric", true);
    write_switch(writer, "dynamic", false);
    write_string(writer, "observer", "minmax");
    write_string(writer, "scale_dtype", "torch.uint8");
    nj_json_end_object(writer);
}

static void write_quantization(struct nj_json_writer *writer)
{
    static const char *const targets[] = {"Linear", NULL};
    static const char *const ignored[] = {"re:.*self_attn.*",
                                          "re:.*shared_experts.*",
                                          "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
                                          "re:.*lm_head.*",
                                          "re:.*vision_tower.*",
                                          "re:.*mm_projector.*",
                                          NULL};
    nj_json_key(writer, "quantization_config");
    nj_json_begin_object(writer);
    write_string(writer, "quant_method", "compressed-tensors");
    write_string(writer, "format", "mxfp4-pack-quantized");
    write_string(writer, "quantization_status", "compressed");
    nj_json_key(writer, "config_groups");
    nj_json_begin_object(writer);
    nj_json_key(writer, "group_0");
    nj_json_begin_object(writer);
    write_string(writer, "format", "mxfp4-pack-quantized");
    write_strings(writer, "targets", targets);
    nj_json_key(writer, "input_activations");
    nj_json_write_null(writer);
    nj_json_key(writer, "output_activations");
    nj_json_write_null(writer);
    write_packed_weights(writer);
    nj_json_end_object(writer);
    nj_json_end_object(writer);
    write_strings(writer, "ignore", ignored);
    nj_json_end_object(writer);
}

static void write_text_config(struct nj_json_writer *writer, const struct nj_dims *dims)
{
    static const char *const architectures[] = {"KimiLinearForCausalLM", NULL};
    nj_json_key(writer, "text_config");
    nj_json_begin_object(writer);
    write_string(writer, "model_type", "kimi_linear");
    write_strings(writer, "architectures", architectures);
    write_count(writer, "hidden_size", dims->n_hidden);
    write_count(writer, "num_hidden_layers", dims->n_layers);
    write_count(writer, "vocab_size", dims->n_vocabulary);
    write_count(writer, "intermediate_size", dims->n_dense);
    write_count(writer, "max_position_embeddings", dims->context_length);
    write_string(writer, "hidden_act", "situ");
    write_number(writer, "activation_situ_beta", (double)dims->situ_beta);
    write_number(writer, "activation_situ_linear_beta", (double)dims->situ_linear_beta);
    nj_json_key(writer, "rms_norm_eps");
    nj_json_write_number(writer, 1e-5); /* the decimal, not its nearest float */
    write_count(writer, "attn_res_block_size", dims->attention_residual_block);
    write_count(writer, "num_nextn_predict_layers", 0);
    write_switch(writer, "tie_word_embeddings", false);
    write_latent_attention(writer, dims);
    write_experts(writer, dims);
    write_delta_attention(writer, dims);
    write_quantization(writer);
    nj_json_end_object(writer);
}

void nj_synth_config_write(struct nj_json_writer *writer, const struct nj_dims *dims)
{
    static const char *const architectures[] = {"KimiK3ForConditionalGeneration", NULL};
    nj_json_begin_object(writer);
    write_strings(writer, "architectures", architectures);
    write_string(writer, "model_type", "kimi_k3");
    write_string(writer, "dtype", "bfloat16");
    write_switch(writer, "tie_word_embeddings", false);
    write_text_config(writer, dims);
    nj_json_end_object(writer);
    nj_json_write_newline(writer);
}
