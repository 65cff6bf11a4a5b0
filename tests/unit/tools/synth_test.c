/* Made-up models: the released layout, bytes that follow from the options, and refusals that
 * leave nothing behind. */
#include "tools/synth.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/weight_index.h"
#include "model/model.h"
#include "support/check.h"
#include "support/faulty_files.h"
#include "tools/synth_dims.h"
#include "tools/synth_tensors.h"
#include "tools/synth_values.h"

/* Small enough to be made dozens of times. */
static const struct nj_synth_options tiny = {.n_layers = 4,
                                             .n_experts = 6,
                                             .n_chosen = 2,
                                             .n_hidden = 64,
                                             .n_latent = 32,
                                             .n_expert = 32,
                                             .n_dense = 48,
                                             .n_vocabulary = 60,
                                             .residual_block = 2,
                                             .seed = 1};

static const char *path_of(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

static enum nj_status make(const struct nj_synth_options *options, const char *name,
                           struct nj_synth_report *report, struct nj_error *err)
{
    return nj_synth_write(nj_file_system_real(), options, path_of(name), report, err);
}

static uint32_t n_files(const char *name)
{
    uint32_t n = 0;
    DIR *folder = opendir(path_of(name));
    if (folder == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        n += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    return n;
}

/* The digest over everything that can change a bit of output. */
static void fingerprint_of(const char *name, char hex[NJ_DIGEST_HEX_BYTES])
{
    struct nj_model_info info;
    struct nj_error err = {0};
    hex[0] = '\0';
    REQUIRE_OK(nj_model_info_open(nj_file_system_real(), path_of(name), &info, &err), &err);
    nj_digest_to_hex(&info.fingerprint, hex);
    nj_model_info_close(&info);
}

/* The sums that the released index file and shards have. */
static void released_sizes_give_released_bytes(void)
{
    const struct nj_synth_options options = {.like = "k3"};
    struct nj_dims dims;
    struct nj_error err = {0};
    uint64_t total = 0;
    REQUIRE_OK(nj_synth_dims_choose(&options, &dims, &err), &err);

    for (uint32_t layer = 0; layer <= dims.n_layers; layer++) {
        total += nj_synth_layer_bytes(&dims, layer);
    }

    CHECK_EQ(nj_synth_expert_bytes(&dims), 17547264);
    CHECK_EQ(nj_synth_layer_bytes(&dims, 0), 2341213184);
    CHECK_EQ(nj_synth_layer_bytes(&dims, 1), 16990092800);
    CHECK_EQ(nj_synth_layer_bytes(&dims, 3), 16566684160);
    CHECK_EQ(nj_synth_layer_bytes(&dims, 92), 16566684160);
    CHECK_EQ(nj_synth_layer_bytes(&dims, 93), 4697663488);
    CHECK_EQ(total, 1560860324864 - 894717952); /* without the vision tower */
}

static void a_made_up_model_has_the_sizes_that_were_wanted(void)
{
    struct nj_model_info info;
    struct nj_synth_report report;
    struct nj_error err = {0};
    REQUIRE_OK(make(&tiny, "sizes", &report, &err), &err);

    REQUIRE_OK(nj_model_info_open(nj_file_system_real(), path_of("sizes"), &info, &err), &err);

    CHECK_EQ(info.dims.n_layers, 4);
    CHECK_EQ(info.dims.n_experts, 6);
    CHECK_EQ(info.dims.n_chosen, 2);
    CHECK_EQ(info.dims.n_hidden, 64);
    CHECK_EQ(info.dims.n_latent, 32);
    CHECK_EQ(info.dims.n_expert, 32);
    CHECK_EQ(info.dims.n_vocabulary, 60);
    CHECK_EQ(info.dims.attention_residual_block, 2);
    CHECK(info.dims.is_nested);
    CHECK_EQ(nj_weight_index_count(info.index), report.n_tensors);
    CHECK_EQ(nj_weight_index_file_count(info.index), 5);
    CHECK_EQ(n_files("sizes"), 5 + 2);
    nj_model_info_close(&info);
}

static void types_and_shapes_are_the_released_ones(void)
{
    static const struct {
        const char *name;
        enum nj_value_type type;
        uint32_t n_dimensions;
        uint64_t shape[3];
    } wanted[] = {
        {"model.embed_tokens.weight", NJ_VALUE_BF16, 2, {60, 64}},
        {"model.output_attn_res_proj.weight", NJ_VALUE_BF16, 2, {1, 64}},
        {"model.layers.0.input_layernorm.weight", NJ_VALUE_BF16, 1, {64}},
        {"model.layers.0.self_attn.A_log", NJ_VALUE_F32, 1, {32}},
        {"model.layers.0.self_attn.k_conv1d.weight", NJ_VALUE_F32, 3, {128, 1, 4}},
        {"model.layers.0.self_attn.dt_bias", NJ_VALUE_F32, 1, {128}},
        {"model.layers.0.mlp.up_proj.weight", NJ_VALUE_BF16, 2, {48, 64}},
        {"model.layers.3.self_attn.kv_a_layernorm.weight", NJ_VALUE_BF16, 1, {64}},
        {"model.layers.3.block_sparse_moe.gate.e_score_correction_bias", NJ_VALUE_F32, 1, {6}},
        {"model.layers.3.block_sparse_moe.experts.5.w1.weight_packed",
         NJ_VALUE_U8,
         2,
         {32, 16}},
        {"model.layers.3.block_sparse_moe.experts.5.w2.weight_scale", NJ_VALUE_U8, 2, {32, 1}},
    };
    struct nj_weight_index *index = NULL;
    struct nj_error err = {0};
    REQUIRE_OK(make(&tiny, "types", NULL, &err), &err);
    REQUIRE_OK(nj_weight_index_open(nj_file_system_real(), path_of("types"), &index, &err),
               &err);

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        char name[128];
        (void)snprintf(name, sizeof name, "language_model.%s", wanted[i].name);
        const struct nj_weight *weight = nj_weight_index_find(index, name);
        if (!test_check(weight != NULL, name, __FILE__, __LINE__)) {
            continue;
        }
        CHECK_EQ(weight->type, wanted[i].type);
        CHECK_EQ(weight->n_dimensions, wanted[i].n_dimensions);
        for (uint32_t j = 0; j < wanted[i].n_dimensions; j++) {
            CHECK_EQ(weight->shape[j], wanted[i].shape[j]);
        }
    }
    nj_weight_index_close(index);
}

/* By file order: the six tensors of an expert touch, and experts are not sorted by id. */
static void an_expert_is_one_run_of_bytes_and_experts_are_out_of_order(void)
{
    static const char *const endings[] = {".w1.weight_packed", ".w1.weight_scale",
                                          ".w2.weight_packed", ".w2.weight_scale",
                                          ".w3.weight_packed", ".w3.weight_scale"};
    struct nj_weight_index *index = NULL;
    struct nj_error err = {0};
    uint64_t end = 0;
    uint32_t place = 0;
    bool is_sorted = true;
    unsigned long before = 0;
    REQUIRE_OK(make(&tiny, "runs", NULL, &err), &err);
    REQUIRE_OK(nj_weight_index_open(nj_file_system_real(), path_of("runs"), &index, &err),
               &err);
    for (size_t i = 0; i < nj_weight_index_count(index); i++) {
        const struct nj_weight *weight = nj_weight_index_at(index, i);
        const char *expert = strstr(weight->name, "layers.2.block_sparse_moe.experts.");
        if (expert == NULL) {
            continue;
        }
        unsigned long id =
            strtoul(expert + strlen("layers.2.block_sparse_moe.experts."), NULL, 10);
        CHECK_CONTAINS(weight->name, endings[place % 6]);
        CHECK(place == 0 || weight->offset_bytes == end);
        is_sorted = is_sorted && id >= before;
        before = id;
        end = weight->offset_bytes + weight->length_bytes;
        place++;
    }

    CHECK_EQ(place, 36);
    CHECK(!is_sorted);
    nj_weight_index_close(index);
}

static void equal_options_make_equal_bytes_and_seeds_differ(void)
{
    struct nj_synth_options other = tiny;
    struct nj_error err = {0};
    char first[NJ_DIGEST_HEX_BYTES];
    char again[NJ_DIGEST_HEX_BYTES];
    char seeded[NJ_DIGEST_HEX_BYTES];
    other.seed = 2;
    REQUIRE_OK(make(&tiny, "first", NULL, &err), &err);
    REQUIRE_OK(make(&tiny, "again", NULL, &err), &err);
    REQUIRE_OK(make(&other, "seeded", NULL, &err), &err);

    fingerprint_of("first", first);
    fingerprint_of("again", again);
    fingerprint_of("seeded", seeded);

    CHECK_TEXT(again, first);
    CHECK(strcmp(seeded, first) != 0);
}

/* Shards of a size part layers, but no expert, and the model is the same. */
static void small_shards_part_no_expert(void)
{
    struct nj_synth_options options = tiny;
    struct nj_synth_report report;
    struct nj_weight_index *index = NULL;
    struct nj_error err = {0};
    uint32_t n_parted = 0;
    options.shard_bytes = 4000;
    REQUIRE_OK(make(&options, "shards", &report, &err), &err);
    REQUIRE_OK(nj_weight_index_open(nj_file_system_real(), path_of("shards"), &index, &err),
               &err);

    for (size_t i = 0; i + 1 < nj_weight_index_count(index); i++) {
        const struct nj_weight *weight = nj_weight_index_at(index, i);
        const struct nj_weight *next = nj_weight_index_at(index, i + 1);
        n_parted += strstr(next->name, ".experts.") != NULL &&
                    strstr(next->name, ".w1.weight_packed") == NULL &&
                    weight->file != next->file;
    }

    CHECK_EQ(n_parted, 0);
    CHECK(report.n_shards > 20);
    CHECK_EQ(nj_weight_index_file_count(index), report.n_shards);
    nj_weight_index_close(index);
}

/* A buffer's end may fall anywhere. */
static void a_tensor_is_the_same_filled_in_any_pieces(void)
{
    enum { LENGTH = 20011, STEP = 1237 };
    static const enum nj_synth_source sources[] = {NJ_SYNTH_NORMAL, NJ_SYNTH_CODES,
                                                   NJ_SYNTH_SCALES};
    static uint8_t whole[LENGTH];
    static uint8_t pieces[LENGTH];
    struct nj_synth_values *values = NULL;
    struct nj_error err = {0};
    REQUIRE_OK(nj_synth_values_create(9, &values, &err), &err);
    for (size_t i = 0; i < 4; i++) {
        struct nj_synth_tensor tensor = {.name = "a",
                                         .type = i == 3 ? NJ_VALUE_F32 : NJ_VALUE_BF16,
                                         .source = sources[i % 3],
                                         .sigma = 1.0F,
                                         .lowest_scale = 120,
                                         .n_used = 4000};
        CHECK_EQ(nj_synth_values_fill(values, &tensor, 0, whole, LENGTH, &err), NJ_OK);
        for (uint32_t at = 0; at < LENGTH; at += STEP) {
            uint32_t take = LENGTH - at < STEP ? LENGTH - at : STEP;
            CHECK_EQ(nj_synth_values_fill(values, &tensor, at, pieces + at, take, &err), NJ_OK);
        }
        CHECK_BYTES(pieces, whole, LENGTH);
    }
    nj_synth_values_destroy(values);
}

static void bytes_choose_experts_first_and_then_layers(void)
{
    struct nj_synth_options options = {.like = "k3", .n_vocabulary = 16384};
    struct nj_dims dims;
    struct nj_error err = {0};

    options.target_bytes = 20ULL << 30;
    REQUIRE_OK(nj_synth_dims_choose(&options, &dims, &err), &err);
    CHECK_EQ(dims.n_layers, 4);
    CHECK_EQ(dims.n_experts, 290);

    options.target_bytes = 60ULL << 30;
    REQUIRE_OK(nj_synth_dims_choose(&options, &dims, &err), &err);
    CHECK_EQ(dims.n_layers, 5);
    CHECK(dims.n_experts < 896);

    options.n_experts = 32;
    REQUIRE_OK(nj_synth_dims_choose(&options, &dims, &err), &err);
    CHECK(dims.n_layers > 30);
    CHECK_EQ(dims.n_experts, 32);
}

static void bytes_that_hold_no_model_are_refused_with_the_smallest(void)
{
    struct nj_synth_options options = {.like = "k3", .target_bytes = 1000};
    struct nj_dims dims;
    struct nj_error err = {0};

    CHECK_EQ(nj_synth_dims_choose(&options, &dims, &err), NJ_E_USAGE);
    CHECK_CONTAINS(err.text, "1000 bytes hold no model");
    CHECK_CONTAINS(err.text, "4 layers of 16 experts");
}

/* 600 MB of small layers were refused for their residual blocks, which nobody had asked for. */
static void many_layers_have_longer_residual_blocks_unless_somebody_says_how_long(void)
{
    struct nj_synth_options options = {.target_bytes = 600000000};
    struct nj_dims dims;
    struct nj_error err = {0};

    REQUIRE_OK(nj_synth_dims_choose(&options, &dims, &err), &err);
    CHECK(dims.n_layers > 189);
    CHECK(nj_dims_n_residual_blocks(&dims) <= 63);

    options.residual_block = 3;
    REQUIRE_OK(nj_synth_dims_choose(&options, &dims, &err), &err);
    CHECK_EQ(dims.attention_residual_block, 3);
}

static void more_bytes_than_layers_can_hold_are_refused_with_what_to_do(void)
{
    struct nj_synth_options options = {.target_bytes = UINT64_C(900000000000)};
    struct nj_dims dims;
    struct nj_error err = {0};

    CHECK_EQ(nj_synth_dims_choose(&options, &dims, &err), NJ_E_USAGE);
    CHECK_CONTAINS(err.text, "--hidden");
    CHECK_CONTAINS(err.text, "--like k3");
}

static void sizes_that_are_no_model_are_refused_before_anything_is_made(void)
{
    struct nj_synth_options options = tiny;
    struct nj_error err = {0};

    options.n_chosen = 7;
    CHECK_EQ(make(&options, "none", NULL, &err), NJ_E_USAGE);
    CHECK_CONTAINS(err.text, "num_experts_per_token 7 exceeds num_experts 6");
    options = tiny;
    options.n_latent = 40;
    CHECK_EQ(make(&options, "none", NULL, &err), NJ_E_USAGE);
    options = tiny;
    options.like = "k2";
    CHECK_EQ(make(&options, "none", NULL, &err), NJ_E_USAGE);
    CHECK_CONTAINS(err.text, "small and k3");
    CHECK(opendir(path_of("none")) == NULL);
}

static void a_folder_with_anything_in_it_is_refused(void)
{
    struct nj_error err = {0};
    REQUIRE_OK(make(&tiny, "full", NULL, &err), &err);

    CHECK_EQ(make(&tiny, "full", NULL, &err), NJ_E_STATE);
    CHECK_CONTAINS(err.text, "is not empty");
    CHECK_EQ(n_files("full"), 7);
}

static void too_little_room_is_refused_with_both_figures(void)
{
    struct nj_synth_options options = tiny;
    struct nj_error err = {0};
    options.free_bytes = 12345;

    CHECK_EQ(make(&options, "room", NULL, &err), NJ_E_BUDGET);
    CHECK_CONTAINS(err.text, "needs ");
    CHECK_CONTAINS(err.text, "12345 are free");
    CHECK(opendir(path_of("room")) == NULL);
}

/* The folder after the n-th call of a kind has failed; false when there was no n-th. */
static bool fails_cleanly(enum faulty_call call, unsigned long at)
{
    char name[32];
    struct faulty_files faulty;
    struct nj_error err = {0};
    (void)snprintf(name, sizeof name, "faulty-%d-%lu", (int)call, at);
    faulty_files_init(&faulty, nj_file_system_real());
    faulty_files_fail(&faulty, call, at, ENOSPC);
    enum nj_status status = nj_synth_write(&faulty.table, &tiny, path_of(name), NULL, &err);
    if (!faulty_files_fired(&faulty)) {
        CHECK_EQ(status, NJ_OK);
        return false;
    }
    CHECK(status != NJ_OK);
    CHECK_EQ(n_files(name), 0);
    return true;
}

static void a_failed_call_leaves_nothing_in_the_folder(void)
{
    static const enum faulty_call calls[] = {FAULTY_OPEN, FAULTY_WRITE, FAULTY_TRUNCATE,
                                             FAULTY_DATA_SYNC, FAULTY_SYNC};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        unsigned long at = 1;
        while (at < 100 && fails_cleanly(calls[i], at)) {
            at++;
        }
        CHECK(at > 1);
        CHECK(at < 100);
    }
}

int main(void)
{
    RUN(released_sizes_give_released_bytes);
    RUN(a_made_up_model_has_the_sizes_that_were_wanted);
    RUN(types_and_shapes_are_the_released_ones);
    RUN(an_expert_is_one_run_of_bytes_and_experts_are_out_of_order);
    RUN(equal_options_make_equal_bytes_and_seeds_differ);
    RUN(small_shards_part_no_expert);
    RUN(a_tensor_is_the_same_filled_in_any_pieces);
    RUN(bytes_choose_experts_first_and_then_layers);
    RUN(bytes_that_hold_no_model_are_refused_with_the_smallest);
    RUN(many_layers_have_longer_residual_blocks_unless_somebody_says_how_long);
    RUN(more_bytes_than_layers_can_hold_are_refused_with_what_to_do);
    RUN(sizes_that_are_no_model_are_refused_before_anything_is_made);
    RUN(a_folder_with_anything_in_it_is_refused);
    RUN(too_little_room_is_refused_with_both_figures);
    RUN(a_failed_call_leaves_nothing_in_the_folder);
    return test_result();
}
