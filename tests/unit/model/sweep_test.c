#include "model/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "edited_model.h"
#include "support/check.h"

enum { N_TOKENS = 70, MOST_ROWS = 128 };
static const size_t n_vocabulary = 256;
#define LOGITS_BYTES (n_vocabulary * sizeof(float))

static const char *t5_directory(void)
{
    static const char *directory;
    if (directory == NULL) {
        directory = edited_model(TINY_MODEL_T5);
    }
    return directory;
}

static struct nj_model *open_model(const char *directory, const char *level, uint32_t n_threads)
{
    struct nj_model_options options = {
        .path = directory, .cpu_level = level, .n_threads = n_threads, .max_rows = MOST_ROWS};
    struct nj_model *model = NULL;
    struct nj_error error;
    if (nj_model_open(&options, &model, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
        abort();
    }
    return model;
}

static struct nj_state *make_state(struct nj_model *model)
{
    struct nj_state *state = NULL;
    struct nj_error error;
    if (nj_state_create(nj_model_dims(model), nj_model_budget(model), &state, &error) !=
        NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
        abort();
    }
    return state;
}

/* Some tokens without a pattern. */
static nj_token token_at(uint32_t position)
{
    return (nj_token)((position * 97 + position * position * 31 + 5) % 256);
}

static uint32_t add_rows(struct nj_row *rows, uint32_t n_rows, struct nj_state *state,
                         uint32_t n)
{
    uint32_t length = nj_state_length(state);
    for (uint32_t i = 0; i < n; i++) {
        rows[n_rows + i] = (struct nj_row){.state = state,
                                           .position = length + i,
                                           .token = token_at(length + i),
                                           .wants_logits = true};
    }
    return n_rows + n;
}

/* Feeds positions up to `end` in chunks; logits from position 0 on. */
static void feed(struct nj_model *model, struct nj_state *state, uint32_t end, uint32_t chunk,
                 float *logits)
{
    struct nj_row rows[MOST_ROWS];
    struct nj_error error;
    while (nj_state_length(state) < end) {
        uint32_t length = nj_state_length(state);
        uint32_t n = end - length < chunk ? end - length : chunk;
        (void)add_rows(rows, 0, state, n);
        if (nj_sweep_run(model, rows, n, NULL, logits + length * n_vocabulary, &error) !=
            NJ_OK) {
            test_fail(__FILE__, __LINE__, "%s", error.text);
            abort();
        }
    }
}

static float reference[N_TOKENS * 256];
static float logits[N_TOKENS * 256];
static float together[MOST_ROWS * 256];

static void check_equals_reference(uint32_t first, uint32_t end)
{
    CHECK_BYTES(logits + first * n_vocabulary, reference + first * n_vocabulary,
                (end - first) * LOGITS_BYTES);
}

static void make_reference(void)
{
    struct nj_model *model = open_model(t5_directory(), "scalar", 1);
    struct nj_state *state = make_state(model);
    feed(model, state, N_TOKENS, N_TOKENS, reference);
    nj_state_destroy(state);
    nj_model_close(model);
}

static void chunks_change_no_bit(void)
{
    static const uint32_t chunks[] = {1, 2, 17, 64};
    struct nj_model *model = open_model(t5_directory(), "auto", 1);
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        struct nj_state *state = make_state(model);

        feed(model, state, N_TOKENS, chunks[i], logits);

        check_equals_reference(0, N_TOKENS);
        nj_state_destroy(state);
    }
    nj_model_close(model);
}

static void threads_and_instruction_set_change_no_bit(void)
{
    for (uint32_t n_threads = 1; n_threads <= 5; n_threads += 2) {
        struct nj_model *model = open_model(t5_directory(), "auto", n_threads);
        struct nj_state *state = make_state(model);

        feed(model, state, N_TOKENS, N_TOKENS, logits);

        check_equals_reference(0, N_TOKENS);
        nj_state_destroy(state);
        nj_model_close(model);
    }
}

static enum nj_status open_in_records(const struct nj_model_options *options,
                                      uint64_t record_limit_bytes, struct nj_model **model,
                                      struct nj_error *err)
{
    struct nj_model_seams seams = {.fs = nj_file_system_real(),
                                   .record_limit_bytes = record_limit_bytes,
                                   .machine_root = ""};
    return nj_model_open_with(&seams, options, model, err);
}

/* 3,600 bytes hold one head of kv_b_proj, one matrix of an expert, 18 rows of the head. */
static void small_records_change_no_bit(void)
{
    struct nj_model_options options = {
        .path = t5_directory(), .n_threads = 2, .max_rows = MOST_ROWS};
    struct nj_model *model = NULL;
    struct nj_error error;
    REQUIRE_OK(open_in_records(&options, 3600, &model, &error), &error);
    struct nj_state *state = make_state(model);

    feed(model, state, N_TOKENS, 33, logits);

    check_equals_reference(0, N_TOKENS);
    nj_state_destroy(state);
    nj_model_close(model);
}

/* ... and one byte less than a head takes is refused by name. */
static void records_too_small_for_what_must_stay_together_are_refused(void)
{
    struct nj_model_options options = {.path = t5_directory()};
    struct nj_model *model = NULL;
    struct nj_error error;

    CHECK_EQ(open_in_records(&options, 44 * 40 * 2 - 1, &model, &error), NJ_E_WEIGHTS);

    CHECK_CONTAINS(error.text, "kv_b_proj.weight: 44 rows do not fit a record of 3519 bytes");
    CHECK(model == NULL);
}

/* Turns the list round and counts the lists that did not come rising. */
static void reverse_experts(void *context, uint32_t layer, uint32_t *experts,
                            uint32_t n_experts)
{
    uint32_t *n_unsorted = context;
    (void)layer;
    for (uint32_t i = 1; i < n_experts; i++) {
        *n_unsorted += experts[i] <= experts[i - 1];
    }
    for (uint32_t i = 0; i < n_experts / 2; i++) {
        uint32_t other = experts[n_experts - 1 - i];
        experts[n_experts - 1 - i] = experts[i];
        experts[i] = other;
    }
}

static void the_order_in_which_experts_run_changes_no_bit(void)
{
    struct nj_model *model = open_model(t5_directory(), "auto", 1);
    struct nj_state *state = make_state(model);
    struct nj_row rows[MOST_ROWS];
    struct nj_error error;
    uint32_t n_unsorted = 0;
    struct nj_sweep_hooks hooks = {.context = &n_unsorted, .arrange_experts = reverse_experts};
    uint32_t n_rows = add_rows(rows, 0, state, N_TOKENS);

    REQUIRE_OK(nj_sweep_run(model, rows, n_rows, &hooks, logits, &error), &error);

    CHECK_EQ(n_unsorted, 0);
    check_equals_reference(0, N_TOKENS);
    nj_state_destroy(state);
    nj_model_close(model);
}

static void company_changes_no_bit(void)
{
    struct nj_model *model = open_model(t5_directory(), "auto", 2);
    struct nj_state *first = make_state(model);
    struct nj_state *second = make_state(model);
    struct nj_row rows[MOST_ROWS];
    struct nj_error error;
    feed(model, second, 31, 31, logits);

    uint32_t n_rows = add_rows(rows, add_rows(rows, 0, first, N_TOKENS), second, 5);
    REQUIRE_OK(nj_sweep_run(model, rows, n_rows, NULL, together, &error), &error);

    CHECK_BYTES(together, reference, sizeof reference);
    CHECK_BYTES(together + N_TOKENS * n_vocabulary, reference + 31 * n_vocabulary,
                5 * LOGITS_BYTES);
    nj_state_destroy(first);
    nj_state_destroy(second);
    nj_model_close(model);
}

static void a_fork_goes_on_as_its_origin_would(void)
{
    struct nj_model *model = open_model(t5_directory(), "auto", 1);
    struct nj_state *state = make_state(model);
    struct nj_state *fork = NULL;
    struct nj_error error;
    feed(model, state, 66, 66, logits);

    REQUIRE_OK(nj_state_fork(state, &fork, &error), &error);
    nj_state_reset(state);
    feed(model, state, 3, 1, logits);
    feed(model, fork, N_TOKENS, 2, logits);

    check_equals_reference(66, N_TOKENS);
    nj_state_destroy(fork);
    nj_state_destroy(state);
    nj_model_close(model);
}

static void a_reset_state_starts_over(void)
{
    struct nj_model *model = open_model(t5_directory(), "auto", 1);
    struct nj_state *state = make_state(model);
    feed(model, state, 40, 40, logits);

    nj_state_reset(state);
    feed(model, state, N_TOKENS, 33, logits);

    check_equals_reference(0, N_TOKENS);
    nj_state_destroy(state);
    nj_model_close(model);
}

static void logits_are_given_only_to_rows_that_want_them(void)
{
    struct nj_model *model = open_model(t5_directory(), "auto", 1);
    struct nj_state *state = make_state(model);
    struct nj_row rows[MOST_ROWS];
    struct nj_error error;
    (void)add_rows(rows, 0, state, 10);
    for (uint32_t i = 0; i < 10; i++) {
        rows[i].wants_logits = i == 3 || i == 9;
    }
    memset(logits, 0, sizeof logits);

    REQUIRE_OK(nj_sweep_run(model, rows, 10, NULL, logits, &error), &error);

    CHECK_BYTES(logits, reference + 3 * n_vocabulary, LOGITS_BYTES);
    CHECK_BYTES(logits + n_vocabulary, reference + 9 * n_vocabulary, LOGITS_BYTES);
    CHECK_NEAR(logits[2 * n_vocabulary], 0.0, 0.0);
    nj_state_destroy(state);
    nj_model_close(model);
}

static void rows_that_make_no_sense_are_refused_untouched(void)
{
    struct nj_model *model = open_model(t5_directory(), "auto", 1);
    struct nj_state *state = make_state(model);
    struct nj_state *other = make_state(model);
    struct nj_row rows[MOST_ROWS + 1];
    struct nj_error error;

    (void)add_rows(rows, 0, state, 3);
    rows[2].token = 256;
    CHECK_EQ(nj_sweep_run(model, rows, 3, NULL, logits, &error), NJ_E_INPUT);
    CHECK_CONTAINS(error.text, "token 256 is not in the vocabulary of 256");
    rows[2].token = -1;
    CHECK_EQ(nj_sweep_run(model, rows, 3, NULL, logits, &error), NJ_E_INPUT);

    (void)add_rows(rows, 0, state, 3);
    rows[2].position = 4;
    CHECK_EQ(nj_sweep_run(model, rows, 3, NULL, logits, &error), NJ_E_USAGE);

    (void)add_rows(rows, add_rows(rows, 0, state, 1), other, 1);
    rows[2] = rows[0];
    CHECK_EQ(nj_sweep_run(model, rows, 3, NULL, logits, &error), NJ_E_USAGE);
    CHECK_EQ(nj_sweep_run(model, rows, 2, NULL, NULL, &error), NJ_E_USAGE);
    CHECK_EQ(nj_sweep_run(model, rows, 0, NULL, logits, &error), NJ_E_USAGE);
    CHECK_EQ(nj_sweep_run(model, rows, MOST_ROWS + 1, NULL, logits, &error), NJ_E_USAGE);

    CHECK_EQ(nj_state_length(state), 0);
    CHECK(!nj_state_is_broken(state));
    nj_state_destroy(other);
    nj_state_destroy(state);
    nj_model_close(model);
}

static void no_room_for_pages_touches_nothing(void)
{
    struct nj_model *model = open_model(t5_directory(), "auto", 1);
    struct nj_byte_budget budget;
    struct nj_state *state = NULL;
    struct nj_row rows[MOST_ROWS];
    struct nj_error error;
    nj_byte_budget_init(&budget, nj_state_recurrent_bytes(nj_model_dims(model)));
    REQUIRE_OK(nj_state_create(nj_model_dims(model), &budget, &state, &error), &error);
    (void)add_rows(rows, 0, state, 2);

    CHECK_EQ(nj_sweep_run(model, rows, 2, NULL, logits, &error), NJ_E_BUDGET);

    CHECK(!nj_state_is_broken(state));
    nj_state_destroy(state);
    nj_byte_budget_deinit(&budget);
    nj_model_close(model);
}

/* What the hooks saw. */
struct seen {
    uint32_t n_layers;
    uint32_t n_routings;
    uint32_t stop_after;
    float weight_sum;
};

static void see_layer(void *context, uint32_t layer)
{
    struct seen *seen = context;
    CHECK_EQ(layer, seen->n_layers);
    seen->n_layers += 1;
}

static void see_routing(void *context, uint32_t layer, uint32_t row, const uint32_t *experts,
                        const float *weights, uint32_t n_chosen)
{
    struct seen *seen = context;
    CHECK_EQ(layer, 1 + seen->n_routings / 4);
    CHECK_EQ(row, seen->n_routings % 4);
    CHECK_EQ(n_chosen, 2);
    CHECK(experts[0] < 8 && experts[1] < 8 && experts[0] != experts[1]);
    seen->weight_sum += weights[0] + weights[1];
    seen->n_routings += 1;
}

static bool stop_when_told(void *context)
{
    const struct seen *seen = context;
    return seen->n_layers >= seen->stop_after;
}

static void hooks_see_every_layer_and_every_choice(void)
{
    struct nj_model *model = open_model(t5_directory(), "auto", 1);
    struct nj_state *state = make_state(model);
    struct seen seen = {.stop_after = 100};
    struct nj_sweep_hooks hooks = {.context = &seen,
                                   .on_layer_final = see_layer,
                                   .on_routing = see_routing,
                                   .should_stop = stop_when_told};
    struct nj_row rows[MOST_ROWS];
    struct nj_error error;
    (void)add_rows(rows, 0, state, 4);

    REQUIRE_OK(nj_sweep_run(model, rows, 4, &hooks, logits, &error), &error);

    CHECK_EQ(seen.n_layers, 5);
    CHECK_EQ(seen.n_routings, 4 * 4);
    CHECK_NEAR(seen.weight_sum, 16.0, 1e-5);
    nj_state_destroy(state);
    nj_model_close(model);
}

static void a_sweep_that_is_broken_off_leaves_its_states_broken(void)
{
    struct nj_model *model = open_model(t5_directory(), "auto", 1);
    struct nj_state *state = make_state(model);
    struct nj_state *other = make_state(model);
    struct seen seen = {.stop_after = 2};
    struct nj_sweep_hooks hooks = {
        .context = &seen, .on_layer_final = see_layer, .should_stop = stop_when_told};
    struct nj_row rows[MOST_ROWS];
    struct nj_error error;
    (void)add_rows(rows, 0, state, 4);

    CHECK_EQ(nj_sweep_run(model, rows, 4, &hooks, logits, &error), NJ_E_STOPPED);

    CHECK_CONTAINS(error.text, "before layer 2 of 5");
    CHECK(nj_state_is_broken(state));
    CHECK(!nj_state_is_broken(other));
    CHECK_EQ(nj_state_length(state), 0);
    CHECK_EQ(nj_sweep_run(model, rows, 4, NULL, logits, &error), NJ_E_STATE);
    nj_state_reset(state);
    feed(model, state, N_TOKENS, N_TOKENS, logits);
    check_equals_reference(0, N_TOKENS);
    nj_state_destroy(other);
    nj_state_destroy(state);
    nj_model_close(model);
}

/* One token's embedding is not a number: its row is bad from the first layer on, and a row of
 * another sequence never notices. */
static void values_that_are_not_finite_are_told_per_row(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    const uint16_t nan_bits = 0x7fc0;
    size_t at = (size_t)token_at(1) * 96 * sizeof nan_bits;
    edit_data(directory, "language_model.model.embed_tokens.weight", at, &nan_bits, 2);
    struct nj_model *model = open_model(directory, "auto", 1);
    struct nj_state *first = make_state(model);
    struct nj_state *second = make_state(model);
    struct nj_row rows[MOST_ROWS];
    struct nj_error error;
    (void)add_rows(rows, add_rows(rows, 0, first, 3), second, 1);

    REQUIRE_OK(nj_sweep_run(model, rows, 4, NULL, logits, &error), &error);

    CHECK_EQ(nj_sweep_first_bad_layer(model, 0), -1);
    CHECK_EQ(nj_sweep_first_bad_layer(model, 1), 0);
    CHECK_EQ(nj_sweep_first_bad_layer(model, 2), 0);
    CHECK_EQ(nj_sweep_first_bad_layer(model, 3), -1);
    CHECK_BYTES(logits + 3 * n_vocabulary, reference, LOGITS_BYTES);
    nj_state_destroy(first);
    nj_state_destroy(second);
    nj_model_close(model);
}

static void logits_that_are_not_finite_are_told_as_the_layer_after_the_last(void)
{
    const char *directory = edited_model(TINY_MODEL_T5);
    const uint16_t infinity_bits = 0x7f80;
    edit_data(directory, "language_model.lm_head.weight", 40, &infinity_bits, 2);
    struct nj_model *model = open_model(directory, "auto", 1);
    struct nj_state *state = make_state(model);
    struct nj_row rows[MOST_ROWS];
    struct nj_error error;
    (void)add_rows(rows, 0, state, 2);
    rows[0].wants_logits = false;

    REQUIRE_OK(nj_sweep_run(model, rows, 2, NULL, logits, &error), &error);

    CHECK_EQ(nj_sweep_first_bad_layer(model, 0), -1);
    CHECK_EQ(nj_sweep_first_bad_layer(model, 1), 5);
    nj_state_destroy(state);
    nj_model_close(model);
}

int main(void)
{
    make_reference();
    RUN(chunks_change_no_bit);
    RUN(threads_and_instruction_set_change_no_bit);
    RUN(small_records_change_no_bit);
    RUN(records_too_small_for_what_must_stay_together_are_refused);
    RUN(the_order_in_which_experts_run_changes_no_bit);
    RUN(company_changes_no_bit);
    RUN(a_fork_goes_on_as_its_origin_would);
    RUN(a_reset_state_starts_over);
    RUN(logits_are_given_only_to_rows_that_want_them);
    RUN(rows_that_make_no_sense_are_refused_untouched);
    RUN(no_room_for_pages_touches_nothing);
    RUN(hooks_see_every_layer_and_every_choice);
    RUN(a_sweep_that_is_broken_off_leaves_its_states_broken);
    RUN(values_that_are_not_finite_are_told_per_row);
    RUN(logits_that_are_not_finite_are_told_as_the_layer_after_the_last);
    return test_result();
}
