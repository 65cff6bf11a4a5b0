#include "model/dims.h"

#include <stdio.h>
#include <string.h>

#include "edited_model.h"
#include "support/check.h"

static enum nj_status read_dims(const char *directory, struct nj_dims *dims,
                                struct nj_error *err)
{
    return nj_dims_read(nj_file_system_real(), directory, dims, err);
}

/* Reads a config with one edit and expects a complaint. */
static void check_refused(enum tiny_model_kind kind, const char *from, const char *to,
                          const char *complaint)
{
    const char *directory = edited_config(kind);
    struct nj_dims dims;
    struct nj_error error = {.status = NJ_OK};
    edit_config(directory, from, to);

    CHECK_EQ(read_dims(directory, &dims, &error), NJ_E_WEIGHTS);

    CHECK_EQ(error.status, NJ_E_WEIGHTS);
    CHECK_CONTAINS(error.text, complaint);
}

static void the_nested_layout_of_kimi_k3_is_read(void)
{
    struct nj_dims dims;
    struct nj_error error;

    REQUIRE_OK(read_dims(edited_config(TINY_MODEL_T5), &dims, &error), &error);

    CHECK(dims.is_nested);
    CHECK_EQ(dims.n_layers, 5);
    CHECK_EQ(dims.n_hidden, 96);
    CHECK_EQ(dims.n_vocabulary, 256);
    CHECK_EQ(dims.q_rank, 48);
    CHECK_EQ(dims.n_latent, 64);
    CHECK(dims.has_latent && dims.has_latent_norm);
    CHECK(dims.has_mla_gate && dims.has_full_rank_gate);
    CHECK_NEAR(dims.gate_lower_bound, -5.0, 0.0);
    CHECK_NEAR(dims.situ_linear_beta, 25.0, 0.0);
    CHECK_EQ(dims.activation, NJ_ACTIVATION_SITU);
    CHECK_EQ(dims.eos_token, 254);
}

static void the_flat_layout_of_kimi_linear_is_read_with_absence_meaning_off(void)
{
    struct nj_dims dims;
    struct nj_error error;

    REQUIRE_OK(read_dims(edited_config(TINY_MODEL_KL5), &dims, &error), &error);

    CHECK(!dims.is_nested);
    CHECK_EQ(dims.q_rank, 0);
    CHECK_NEAR(dims.gate_lower_bound, 0.0, 0.0);
    CHECK(!dims.has_full_rank_gate && !dims.has_mla_gate && !dims.has_latent_norm);
    CHECK(!dims.has_latent);
    CHECK_EQ(dims.n_latent, dims.n_hidden);
    CHECK_EQ(dims.attention_residual_block, 0);
    CHECK_EQ(nj_dims_n_residual_blocks(&dims), 0);
    CHECK_EQ(dims.activation, NJ_ACTIVATION_SWIGLU);
    CHECK_NEAR(dims.routed_scale, 2.446, 1e-6);
}

static void layer_lists_are_one_based(void)
{
    struct nj_dims dims;
    struct nj_error error;

    REQUIRE_OK(read_dims(edited_config(TINY_MODEL_T5), &dims, &error), &error);

    CHECK_EQ(dims.mixers[0], NJ_MIXER_DELTA);
    CHECK_EQ(dims.mixers[2], NJ_MIXER_DELTA);
    CHECK_EQ(dims.mixers[3], NJ_MIXER_LATENT);
    CHECK_EQ(dims.mixers[4], NJ_MIXER_LATENT);
}

static void blocks_and_experts_begin_where_the_config_says(void)
{
    struct nj_dims dims;
    struct nj_error error;

    REQUIRE_OK(read_dims(edited_config(TINY_MODEL_T5), &dims, &error), &error);

    CHECK(nj_dims_layer_starts_block(&dims, 0));
    CHECK(!nj_dims_layer_starts_block(&dims, 1));
    CHECK(nj_dims_layer_starts_block(&dims, 4));
    CHECK_EQ(nj_dims_n_residual_blocks(&dims), 3);
    CHECK(!nj_dims_layer_is_moe(&dims, 0));
    CHECK(nj_dims_layer_is_moe(&dims, 1));
}

static void every_required_field_is_missed_by_name(void)
{
    static const char *const names[] = {
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "vocab_size",
        "intermediate_size",
        "rms_norm_eps",
        "first_k_dense_replace",
        "moe_layer_freq",
        "moe_intermediate_size",
        "num_experts",
        "num_experts_per_token",
        "num_shared_experts",
        "moe_renormalize",
        "moe_router_activation_func",
        "routed_scaling_factor",
        "kv_lora_rank",
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "v_head_dim",
        "mla_use_nope",
        "hidden_act",
        "activation_situ_beta",
        "head_dim",
        "num_heads",
        "short_conv_kernel_size",
        "activation_situ_linear_beta",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char key[64];
        char hidden[64];
        char complaint[80];
        (void)snprintf(key, sizeof key, "\"%s\"", names[i]);
        (void)snprintf(hidden, sizeof hidden, "\"_%s\"", names[i]);
        (void)snprintf(complaint, sizeof complaint, "%s is missing", names[i]);
        check_refused(TINY_MODEL_T5, key, hidden, complaint);
    }
}

static void null_counts_as_missing(void)
{
    check_refused(TINY_MODEL_T5, "\"hidden_size\": 96", "\"hidden_size\": null",
                  "hidden_size is missing");
}

static void all_problems_come_in_one_error(void)
{
    const char *directory = edited_config(TINY_MODEL_T5);
    struct nj_dims dims;
    struct nj_error error;
    edit_config(directory, "\"hidden_size\"", "\"_1\"");
    edit_config(directory, "\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": -1");
    edit_config(directory, "\"num_experts_per_token\": 2", "\"num_experts_per_token\": 9");
    edit_config(directory, "\"full_attn_layers\": [4,5]", "\"full_attn_layers\": [3,4,5]");

    CHECK_EQ(read_dims(directory, &dims, &error), NJ_E_WEIGHTS);

    CHECK_CONTAINS(error.text, "config.json");
    CHECK_CONTAINS(error.text, "hidden_size is missing");
    CHECK_CONTAINS(error.text, "rms_norm_eps is -1");
    CHECK_CONTAINS(error.text, "num_experts_per_token 9 exceeds num_experts 8");
    CHECK_CONTAINS(error.text, "layer 3 more than once");
}

static void absurd_sizes_are_refused(void)
{
    check_refused(TINY_MODEL_T5, "\"hidden_size\": 96", "\"hidden_size\": 4294967297",
                  "hidden_size is 4294967297");
    check_refused(TINY_MODEL_T5, "\"vocab_size\": 256", "\"vocab_size\": -1",
                  "vocab_size is -1");
    check_refused(TINY_MODEL_T5, "\"v_head_dim\": 20", "\"v_head_dim\": 20.5",
                  "v_head_dim is not an integer");
    check_refused(TINY_MODEL_T5, "\"num_hidden_layers\": 5", "\"num_hidden_layers\": 0",
                  "num_hidden_layers is 0");
}

static void layer_lists_must_part_the_layers(void)
{
    check_refused(TINY_MODEL_T5, "[1,2,3]", "[1,2]", "layer 3 nowhere");
    check_refused(TINY_MODEL_T5, "[1,2,3]", "[0,1,2,3]", "kda_layers[0] is not a layer");
    check_refused(TINY_MODEL_T5, "[4,5]", "[4,5,6]", "full_attn_layers[2] is not a layer");
    check_refused(TINY_MODEL_T5, "[1,2,3]", "[1,2,2,3]", "layer 2 more than once");
    check_refused(TINY_MODEL_T5, "\"kda_layers\"", "\"_2\"", "kda_layers is not a list");
    check_refused(TINY_MODEL_T5, "\"linear_attn_config\"", "\"_3\"",
                  "linear_attn_config is missing");
}

static void what_is_not_implemented_is_refused_by_name(void)
{
    check_refused(TINY_MODEL_T5, "\"situ\"", "\"gelu\"", "hidden_act is \"gelu\"");
    check_refused(TINY_MODEL_T5, "\"sigmoid\"", "\"softmax\"", "moe_router_activation_func");
    check_refused(TINY_MODEL_T5, "\"noaux_tc\"", "\"greedy\"", "topk_method");
    check_refused(TINY_MODEL_T5, "\"mla_use_nope\": true", "\"mla_use_nope\": false",
                  "mla_use_nope is not true");
    check_refused(TINY_MODEL_T5, "\"tie_word_embeddings\": false",
                  "\"tie_word_embeddings\": true", "tie_word_embeddings");
    check_refused(TINY_MODEL_T5, "mxfp4-pack-quantized", "nvfp4", "quantization_config.format");
}

static void contradictions_are_refused(void)
{
    check_refused(TINY_MODEL_T5, "\"routed_expert_hidden_size\"", "\"_4\"",
                  "latent_moe_use_norm is true without routed_expert_hidden_size");
    check_refused(TINY_MODEL_T5, "\"num_expert_group\": 1", "\"num_expert_group\": 3",
                  "no multiple of num_expert_group");
    check_refused(TINY_MODEL_T5, "\"num_expert_group\": 1", "\"num_expert_group\": 8",
                  "1 groups of 1 hold fewer than 2 experts");
    check_refused(TINY_MODEL_T5, "\"moe_intermediate_size\": 64",
                  "\"moe_intermediate_size\": 40", "blocks of 32");
    check_refused(TINY_MODEL_T5, "\"gate_lower_bound\": -5.0", "\"gate_lower_bound\": 5.0",
                  "gate_lower_bound");
}

static void quantization_beside_the_text_config_is_seen_too(void)
{
    const char *directory = edited_config(TINY_MODEL_T5);
    struct nj_dims dims;
    struct nj_error error;
    edit_config(directory, "\"quantization_config\"", "\"_5\"");
    edit_config(directory, "\"dtype\": \"bfloat16\",",
                "\"dtype\": \"bfloat16\", \"quantization_config\": {\"format\": \"int4\"},");

    CHECK_EQ(read_dims(directory, &dims, &error), NJ_E_WEIGHTS);

    CHECK_CONTAINS(error.text, "quantization_config.format");
}

static void a_config_that_is_no_json_is_the_models_fault(void)
{
    const char *directory = edited_config(TINY_MODEL_T5);
    struct nj_dims dims;
    struct nj_error error;
    edit_config(directory, "\"hidden_size\": 96,", "\"hidden_size\" 96,");

    CHECK_EQ(read_dims(directory, &dims, &error), NJ_E_WEIGHTS);

    CHECK_EQ(error.status, NJ_E_WEIGHTS);
    CHECK_CONTAINS(error.text, "config.json");
}

static void a_folder_without_config_is_not_found(void)
{
    struct nj_dims dims;
    struct nj_error error;

    CHECK_EQ(read_dims(test_folder(), &dims, &error), NJ_E_NOT_FOUND);

    CHECK_CONTAINS(error.text, "config.json");
}

int main(void)
{
    RUN(the_nested_layout_of_kimi_k3_is_read);
    RUN(the_flat_layout_of_kimi_linear_is_read_with_absence_meaning_off);
    RUN(layer_lists_are_one_based);
    RUN(blocks_and_experts_begin_where_the_config_says);
    RUN(every_required_field_is_missed_by_name);
    RUN(null_counts_as_missing);
    RUN(all_problems_come_in_one_error);
    RUN(absurd_sizes_are_refused);
    RUN(layer_lists_must_part_the_layers);
    RUN(what_is_not_implemented_is_refused_by_name);
    RUN(contradictions_are_refused);
    RUN(quantization_beside_the_text_config_is_seen_too);
    RUN(a_config_that_is_no_json_is_the_models_fault);
    RUN(a_folder_without_config_is_not_found);
    return test_result();
}
