#include "model/weight_walk.h"
#include "model/weights.h"

#include <string.h>

#include "edited_model.h"
#include "support/check.h"

#define LAYER(n) "language_model.model.layers." #n "."

/* Opens an edited model and expects a complaint. */
static void check_refused(const char *directory, const char *complaint)
{
    struct nj_model *model = NULL;
    struct nj_error error = {.status = NJ_OK};

    CHECK_EQ(open_edited(directory, &model, &error), NJ_E_WEIGHTS);

    CHECK_CONTAINS(error.text, complaint);
    CHECK(model == NULL);
    nj_model_close(model);
}

static void a_missing_tensor_is_named(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    edit_entry(directory, LAYER(3) "self_attn.kv_b_proj.weight", "kv_b_proj", "kv_x_proj");

    check_refused(directory, LAYER(3) "self_attn.kv_b_proj.weight is missing");
}

static void all_missing_tensors_come_in_one_error(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    edit_entry(directory, LAYER(0) "self_attn.A_log", "A_log", "A_lox");
    edit_entry(directory, "language_model.lm_head.weight", "lm_head", "lm_heax");
    edit_entry(directory, LAYER(2) "block_sparse_moe.experts.5.w2.weight_scale", "scale",
               "scalx");
    struct nj_model *model = NULL;
    struct nj_error error;

    CHECK_EQ(open_edited(directory, &model, &error), NJ_E_WEIGHTS);

    CHECK_CONTAINS(error.text, "language_model.lm_head.weight is missing");
    CHECK_CONTAINS(error.text, LAYER(0) "self_attn.A_log is missing");
    CHECK_CONTAINS(error.text, "experts.5.w2.weight_scale is missing");
}

static void of_very_many_missing_tensors_the_number_is_told(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    edit_config(directory, "\"num_experts\": 8", "\"num_experts\": 64");

    /* 4 layers of 56 experts of 3 matrices, and 4 routers with their biases of another size */
    check_refused(directory, "block_sparse_moe.gate.weight is [8, 96], not [64, 96]");
    check_refused(directory, " more");
}

static void a_transposed_matrix_is_refused_with_both_shapes(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    edit_entry(directory, LAYER(0) "mlp.gate_proj.weight", "[160,96]", "[96,160]");

    check_refused(directory, "mlp.gate_proj.weight is [96, 160], not [160, 96]");
}

static void a_vector_of_another_length_is_refused(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    edit_config(directory, "\"vocab_size\": 256", "\"vocab_size\": 255");

    check_refused(directory, "embed_tokens.weight is [256, 96], not [255, 96]");
}

static void conv_taps_may_have_a_middle_axis_of_one_or_none(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    struct nj_model *model = NULL;
    struct nj_error error;
    edit_entry(directory, LAYER(0) "self_attn.q_conv1d.weight", "[128,1,4]", "[128,4]  ");

    REQUIRE_OK(open_edited(directory, &model, &error), &error);

    nj_model_close(model);
}

static void swapped_conv_axes_are_refused(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    edit_entry(directory, LAYER(0) "self_attn.q_conv1d.weight", "[128,1,4]", "[4,1,128]");

    check_refused(directory, "q_conv1d.weight is [4, 1, 128], not [128, 4]");
}

static void a_type_that_is_not_computed_with_is_refused(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    edit_entry(directory, LAYER(0) "mlp.gate_proj.weight", "\"BF16\"", " \"F16\"");

    check_refused(directory, "mlp.gate_proj.weight is of a type that is not computed with");
}

static void packed_values_that_are_no_bytes_are_refused(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    edit_entry(directory, LAYER(1) "block_sparse_moe.experts.0.w1.weight_packed", "\"U8\"",
               "\"I8\"");

    check_refused(directory, "experts.0.w1.weight_packed is of a type");
}

static void decay_rates_past_the_heads_must_be_zero(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    const float value = 0.5F;
    edit_data(directory, LAYER(1) "self_attn.A_log", 31 * sizeof value, &value, sizeof value);

    check_refused(directory, "self_attn.A_log: entry 31 is 0.5");
}

static void too_few_decay_rates_are_refused(void)
{
    const char *directory = edited_model(TINY_MODEL_KL5);
    edit_config(directory, "\"num_heads\": 3", "\"num_heads\": 4");

    check_refused(directory, "self_attn.A_log is");
}

static void a_scale_that_is_no_number_is_refused_with_its_place(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    const uint8_t scale = 255;
    edit_data(directory, LAYER(2) "block_sparse_moe.experts.3.w3.weight_scale", 7, &scale, 1);

    check_refused(directory, "layer 2, expert 3, w3.weight_scale: scale 255 at byte");
}

static void scales_of_zero_and_254_are_numbers(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    const uint8_t scales[2] = {0, 254};
    struct nj_model *model = NULL;
    struct nj_error error;
    edit_data(directory, LAYER(2) "block_sparse_moe.experts.3.w3.weight_scale", 7, scales, 2);

    REQUIRE_OK(open_edited(directory, &model, &error), &error);

    nj_model_close(model);
}

/* What is packed is told by the suffix in the file, never by the config. */
static void packed_experts_are_found_without_a_quantization_config(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    struct nj_model *model = NULL;
    struct nj_error error;
    edit_config(directory, "\"quantization_config\"", "\"_\"");

    REQUIRE_OK(open_edited(directory, &model, &error), &error);

    nj_model_close(model);
}

/* Counts records and bytes while walking the bound matrices. */
struct totals {
    uint32_t n_matrices;
    uint32_t n_packed;
    uint32_t n_records;
};

static enum nj_status count_matrix(void *context, int32_t layer, int32_t expert,
                                   const struct nj_bound_matrix *matrix, struct nj_error *err)
{
    struct totals *totals = context;
    (void)layer;
    (void)expert;
    (void)err;
    CHECK_EQ(matrix->first_record, totals->n_records);
    totals->n_matrices += 1;
    totals->n_packed += matrix->type == NJ_MATRIX_MXFP4;
    totals->n_records += nj_bound_matrix_n_records(matrix);
    return NJ_OK;
}

static void records_are_numbered_in_the_order_of_the_recipe(void)
{
    struct nj_model_info info;
    struct nj_weights weights;
    struct totals totals = {0};
    struct nj_record_cut whole = {.limit_bytes = NJ_RECORD_LIMIT_BYTES};
    struct nj_error error;
    REQUIRE_OK(
        nj_model_info_open(nj_file_system_real(), edited_model(TINY_MODEL_T5), &info, &error),
        &error);
    REQUIRE_OK(nj_weights_init(&weights, &info.dims, info.index, whole, &error), &error);

    REQUIRE_OK(nj_weight_walk(&weights, &info.dims, count_matrix, &totals, &error), &error);

    CHECK_EQ(totals.n_records, weights.n_records);
    CHECK_EQ(totals.n_packed, 4 * 8 * 3);
    /* embedding, head; 3 KDA of 8; 2 MLA of 6; dense 3; 4 MoE of 3 + 3 + experts */
    CHECK_EQ(totals.n_matrices, 2 + 3 * 8 + 2 * 6 + 3 + 4 * (1 + 2 + 3 + 8 * 3));
    nj_weights_deinit(&weights);
    nj_model_info_close(&info);
}

int main(void)
{
    RUN(a_missing_tensor_is_named);
    RUN(all_missing_tensors_come_in_one_error);
    RUN(of_very_many_missing_tensors_the_number_is_told);
    RUN(a_transposed_matrix_is_refused_with_both_shapes);
    RUN(a_vector_of_another_length_is_refused);
    RUN(conv_taps_may_have_a_middle_axis_of_one_or_none);
    RUN(swapped_conv_axes_are_refused);
    RUN(a_type_that_is_not_computed_with_is_refused);
    RUN(packed_values_that_are_no_bytes_are_refused);
    RUN(decay_rates_past_the_heads_must_be_zero);
    RUN(too_few_decay_rates_are_refused);
    RUN(a_scale_that_is_no_number_is_refused_with_its_place);
    RUN(scales_of_zero_and_254_are_numbers);
    RUN(packed_experts_are_found_without_a_quantization_config);
    RUN(records_are_numbered_in_the_order_of_the_recipe);
    return test_result();
}
