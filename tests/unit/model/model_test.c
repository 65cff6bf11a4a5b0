#include "model/model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "edited_model.h"
#include "model/memory_plan.h"
#include "model/state.h"
#include "model/weights.h"
#include "support/check.h"
#include "support/failing_malloc.h"
#include "support/faulty_files.h"

static const char *t5_directory(void)
{
    static const char *directory;
    if (directory == NULL) {
        directory = edited_model(TINY_MODEL_T5);
    }
    return directory;
}

static void an_open_model_tells_what_it_is(void)
{
    struct nj_model *model = NULL;
    struct nj_error error;

    REQUIRE_OK(open_edited(t5_directory(), &model, &error), &error);

    CHECK_EQ(nj_model_n_vocabulary(model), 256);
    CHECK_EQ(nj_model_n_layers(model), 5);
    CHECK_EQ(nj_model_max_rows(model), 64);
    CHECK_TEXT(nj_model_cpu_level(model), "scalar");
    CHECK_EQ(strlen(nj_model_fingerprint(model)), 64);
    CHECK_NEAR(nj_model_dims(model)->latent_norm_eps, 1e-6, 1e-12);
    nj_model_close(model);
}

static void the_latent_norm_eps_can_be_overridden(void)
{
    struct nj_model_options options = {.path = t5_directory(), .latent_norm_eps = 1e-5};
    struct nj_model *model = NULL;
    struct nj_error error;

    REQUIRE_OK(nj_model_open(&options, &model, &error), &error);

    CHECK_NEAR(nj_model_dims(model)->latent_norm_eps, 1e-5, 1e-11);
    nj_model_close(model);
}

static void options_that_make_no_sense_are_refused(void)
{
    struct nj_model *model = NULL;
    struct nj_error error;
    struct nj_model_options no_path = {.path = NULL};
    struct nj_model_options negative = {.path = t5_directory(), .latent_norm_eps = -1.0};
    struct nj_model_options level = {.path = t5_directory(), .cpu_level = "mmx"};

    CHECK_EQ(nj_model_open(&no_path, &model, &error), NJ_E_USAGE);
    CHECK_EQ(nj_model_open(&negative, &model, &error), NJ_E_USAGE);
    CHECK_EQ(nj_model_open(&level, &model, &error), NJ_E_USAGE);
    CHECK(model == NULL);
}

static void a_folder_that_does_not_exist_is_not_found(void)
{
    struct nj_model *model = NULL;
    struct nj_error error;

    CHECK_EQ(open_edited("/nonexistent/model", &model, &error), NJ_E_NOT_FOUND);

    CHECK_CONTAINS(error.text, "/nonexistent/model");
}

/* The floor as the plan gives it, by way of the error that a ceiling of one byte causes. */
static void a_ceiling_below_the_floor_is_refused_with_both_figures(void)
{
    struct nj_model_info info;
    struct nj_weights weights;
    struct nj_memory_plan plan;
    struct nj_error error;
    char floor_text[32];
    REQUIRE_OK(nj_model_info_open(nj_file_system_real(), t5_directory(), &info, &error),
               &error);
    REQUIRE_OK(nj_weights_init(&weights, &info.dims, info.index, NJ_RECORD_LIMIT_BYTES, &error),
               &error);
    nj_memory_plan_make(&info.dims, &weights, 64, 1, &plan);
    (void)snprintf(floor_text, sizeof floor_text, "%llu", (unsigned long long)plan.floor_bytes);
    struct nj_model_options options = {.path = t5_directory(),
                                       .n_threads = 1,
                                       .max_rows = 64,
                                       .memory_bytes = plan.floor_bytes - 1};
    struct nj_model *model = NULL;

    CHECK_EQ(nj_model_open(&options, &model, &error), NJ_E_BUDGET);

    CHECK_CONTAINS(error.text, floor_text);
    nj_weights_deinit(&weights);
    nj_model_info_close(&info);
}

/* What the model holds once it is open, one sequence of one page included, is the floor. */
static void the_floor_is_enough_for_one_sequence(void)
{
    struct nj_model_info info;
    struct nj_weights weights;
    struct nj_memory_plan plan;
    struct nj_error error;
    REQUIRE_OK(nj_model_info_open(nj_file_system_real(), t5_directory(), &info, &error),
               &error);
    REQUIRE_OK(nj_weights_init(&weights, &info.dims, info.index, NJ_RECORD_LIMIT_BYTES, &error),
               &error);
    nj_memory_plan_make(&info.dims, &weights, 64, 1, &plan);
    struct nj_model_options options = {.path = t5_directory(),
                                       .n_threads = 1,
                                       .max_rows = 64,
                                       .memory_bytes = plan.floor_bytes};
    struct nj_model *model = NULL;
    struct nj_state *state = NULL;

    REQUIRE_OK(nj_model_open(&options, &model, &error), &error);
    REQUIRE_OK(nj_state_create(nj_model_dims(model), nj_model_budget(model), &state, &error),
               &error);
    CHECK_EQ(nj_state_reserve(state, NJ_PAGE_POSITIONS, &error), NJ_OK);
    CHECK(nj_model_budget(model)->held_bytes <= plan.floor_bytes);
    CHECK(nj_model_budget(model)->held_bytes > plan.floor_bytes / 100 * 98);
    CHECK_EQ(nj_state_reserve(state, 8 * NJ_PAGE_POSITIONS, &error), NJ_E_BUDGET);

    nj_state_destroy(state);
    nj_model_close(model);
    nj_weights_deinit(&weights);
    nj_model_info_close(&info);
}

static void read_fingerprint(const char *directory, char hex[NJ_DIGEST_HEX_BYTES])
{
    struct nj_model_info info;
    struct nj_error error;
    REQUIRE_OK(nj_model_info_open(nj_file_system_real(), directory, &info, &error), &error);
    nj_digest_to_hex(&info.fingerprint, hex);
    nj_model_info_close(&info);
}

static void describing_and_opening_give_the_same_fingerprint(void)
{
    struct nj_model *model = NULL;
    struct nj_error error;
    char hex[NJ_DIGEST_HEX_BYTES];
    read_fingerprint(t5_directory(), hex);

    REQUIRE_OK(open_edited(t5_directory(), &model, &error), &error);

    CHECK_TEXT(nj_model_fingerprint(model), hex);
    nj_model_close(model);
}

static void one_bit_of_a_weight_changes_the_fingerprint(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    char before[NJ_DIGEST_HEX_BYTES];
    char after[NJ_DIGEST_HEX_BYTES];
    const uint8_t byte = 0x5a;
    read_fingerprint(directory, before);
    CHECK(strcmp(before, "") != 0);

    edit_data(directory, "language_model.lm_head.weight", 1000, &byte, 1);
    read_fingerprint(directory, after);

    CHECK(strcmp(before, after) != 0);
}

static void one_character_of_the_config_changes_the_fingerprint(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    char before[NJ_DIGEST_HEX_BYTES];
    char after[NJ_DIGEST_HEX_BYTES];
    read_fingerprint(directory, before);

    edit_config(directory, "\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": 2e-05");
    read_fingerprint(directory, after);

    CHECK(strcmp(before, after) != 0);
}

/* A read of opening a model fails; every failure is reported and leaks nothing. */
static void every_failed_read_is_reported(void)
{
    struct nj_model_options options = {
        .path = t5_directory(), .cpu_level = "scalar", .n_threads = 1, .max_rows = 4};
    bool fired = true;
    unsigned n = 0;
    while (fired) {
        struct faulty_files faulty;
        struct nj_model *model = NULL;
        struct nj_error error = {.status = NJ_OK};
        n += 1 + n / 4; /* more and more sparsely: there are a few hundred, all alike */
        faulty_files_init(&faulty, nj_file_system_real());
        faulty_files_fail(&faulty, FAULTY_READ, n, EIO);

        enum nj_status status = nj_model_open_through(&faulty.table, &options, &model, &error);

        fired = faulty_files_fired(&faulty);
        CHECK_EQ(status != NJ_OK, fired);
        CHECK(!fired || error.text[0] != '\0');
        nj_model_close(model);
    }
    CHECK(n > 1);
}

/* Early allocations one by one, later ones (one a tensor) more and more sparsely. */
static void every_failed_allocation_is_reported(void)
{
    bool failed = true;
    for (unsigned long n = 1; failed; n += 1 + n / 16) {
        struct nj_model *model = NULL;
        struct nj_error error = {.status = NJ_OK};
        failing_malloc_arm(n);

        enum nj_status status = open_edited(t5_directory(), &model, &error);

        failed = failing_malloc_disarm();
        CHECK_EQ(status != NJ_OK, failed);
        CHECK(!failed || error.text[0] != '\0');
        nj_model_close(model);
    }
}

int main(void)
{
    RUN(an_open_model_tells_what_it_is);
    RUN(the_latent_norm_eps_can_be_overridden);
    RUN(options_that_make_no_sense_are_refused);
    RUN(a_folder_that_does_not_exist_is_not_found);
    RUN(a_ceiling_below_the_floor_is_refused_with_both_figures);
    RUN(the_floor_is_enough_for_one_sequence);
    RUN(describing_and_opening_give_the_same_fingerprint);
    RUN(one_bit_of_a_weight_changes_the_fingerprint);
    RUN(one_character_of_the_config_changes_the_fingerprint);
    RUN(every_failed_read_is_reported);
    RUN(every_failed_allocation_is_reported);
    return test_result();
}
