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
    struct nj_model_options reader = {.path = t5_directory(), .reader = "mmap"};

    CHECK_EQ(nj_model_open(&no_path, &model, &error), NJ_E_USAGE);
    CHECK_EQ(nj_model_open(&negative, &model, &error), NJ_E_USAGE);
    CHECK_EQ(nj_model_open(&level, &model, &error), NJ_E_USAGE);
    CHECK_EQ(nj_model_open(&reader, &model, &error), NJ_E_USAGE);
    CHECK(model == NULL);
}

static void a_folder_that_does_not_exist_is_not_found(void)
{
    struct nj_model *model = NULL;
    struct nj_error error;

    CHECK_EQ(open_edited("/nonexistent/model", &model, &error), NJ_E_NOT_FOUND);

    CHECK_CONTAINS(error.text, "/nonexistent/model");
}

/* What opening T5 with 64 rows a sweep takes at least. */
static struct nj_memory_plan least_plan(void)
{
    struct nj_model_seams seams = {.fs = nj_file_system_real(), .machine_root = ""};
    struct nj_model_options options = {
        .path = t5_directory(), .n_threads = 1, .max_rows = 64, .memory_bytes = 1};
    struct nj_memory_plan plan = {.floor_bytes = 0};
    struct nj_error error;
    CHECK_EQ(nj_model_plan_with(&seams, &options, &plan, &error), NJ_E_BUDGET);
    return plan;
}

/* Counts what is read of shards past their headers. */
struct counted_files {
    struct nj_file_system table;
    uint64_t n_read_bytes;
};

static ssize_t count_read(void *context, int fd, void *data, size_t length_bytes, off_t offset)
{
    struct counted_files *files = context;
    const struct nj_file_system *real = nj_file_system_real();
    ssize_t n = real->read_at(real->context, fd, data, length_bytes, offset);
    files->n_read_bytes += n > 0 ? (uint64_t)n : 0;
    return n;
}

static void count_reads(struct counted_files *files)
{
    *files = (struct counted_files){.table = *nj_file_system_real()};
    files->table.context = files;
    files->table.read_at = count_read;
}

/* What the headers alone take to read. */
static uint64_t header_bytes(void)
{
    struct counted_files files;
    struct nj_dims dims;
    struct nj_weight_index *index = NULL;
    struct nj_error error;
    count_reads(&files);
    CHECK_EQ(nj_dims_read(&files.table, t5_directory(), &dims, &error), NJ_OK);
    CHECK_EQ(nj_weight_index_open(&files.table, t5_directory(), &index, &error), NJ_OK);
    nj_weight_index_close(index);
    return files.n_read_bytes;
}

static void a_ceiling_below_the_floor_is_refused_with_both_figures_and_reads_no_weight(void)
{
    char floor_text[32];
    char ceiling_text[32];
    uint64_t floor = least_plan().floor_bytes;
    (void)snprintf(floor_text, sizeof floor_text, "%llu", (unsigned long long)floor);
    (void)snprintf(ceiling_text, sizeof ceiling_text, "%llu", (unsigned long long)floor - 1);
    struct counted_files files;
    struct nj_model_options options = {
        .path = t5_directory(), .n_threads = 1, .max_rows = 64, .memory_bytes = floor - 1};
    struct nj_model *model = NULL;
    struct nj_error error;
    count_reads(&files);

    CHECK_EQ(nj_model_open_through(&files.table, &options, &model, &error), NJ_E_BUDGET);

    CHECK_CONTAINS(error.text, floor_text);
    CHECK_CONTAINS(error.text, ceiling_text);
    CHECK_EQ(files.n_read_bytes, header_bytes());
}

/* What the model holds once it is open, one sequence of one page included, is what was
 * promised: not a byte more, and little less. */
static void check_holds_what_it_promises(uint64_t memory_bytes)
{
    uint64_t logits_bytes = 256 * sizeof(float); /* the caller's */
    struct nj_model_options options = {
        .path = t5_directory(), .n_threads = 1, .max_rows = 64, .memory_bytes = memory_bytes};
    struct nj_model *model = NULL;
    struct nj_state *state = NULL;
    struct nj_error error;

    REQUIRE_OK(nj_model_open(&options, &model, &error), &error);
    REQUIRE_OK(nj_state_create(nj_model_dims(model), nj_model_budget(model), &state, &error),
               &error);
    CHECK_EQ(nj_state_reserve(state, NJ_PAGE_POSITIONS, &error), NJ_OK);
    CHECK(nj_model_budget(model)->held_bytes + logits_bytes <= memory_bytes);
    CHECK(nj_model_budget(model)->held_bytes > memory_bytes / 100 * 98);
    CHECK_EQ(nj_state_reserve(state, 8 * NJ_PAGE_POSITIONS, &error), NJ_E_BUDGET);

    nj_state_destroy(state);
    nj_model_close(model);
}

static void what_is_useful_is_enough_to_hold_everything(void)
{
    struct nj_memory_plan plan = least_plan();

    CHECK(plan.floor_bytes < plan.useful_bytes);
    check_holds_what_it_promises(plan.useful_bytes);
}

static void the_floor_is_enough_for_one_sequence(void)
{
    check_holds_what_it_promises(least_plan().floor_bytes);
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
    RUN(a_ceiling_below_the_floor_is_refused_with_both_figures_and_reads_no_weight);
    RUN(the_floor_is_enough_for_one_sequence);
    RUN(what_is_useful_is_enough_to_hold_everything);
    RUN(describing_and_opening_give_the_same_fingerprint);
    RUN(one_bit_of_a_weight_changes_the_fingerprint);
    RUN(one_character_of_the_config_changes_the_fingerprint);
    RUN(every_failed_read_is_reported);
    RUN(every_failed_allocation_is_reported);
    return test_result();
}
