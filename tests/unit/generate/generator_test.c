#include "generate/generator.h"

#include <stdio.h>
#include <string.h>

#include "format/weight_index.h"
#include "support/check.h"
#include "support/tiny_model.h"

static char model_path[256];
static struct nj_model *model;

enum { N_IDS = 12 };

static const int32_t prompt[] = {5, 6, 7, 8, 9};

static struct nj_sequence_options sampled(void)
{
    return (struct nj_sequence_options){.prompt = prompt,
                                        .n_prompt = 5,
                                        .max_tokens = N_IDS,
                                        .sampling = {.temperature = 0.9, .seed = 4}};
}

/* Steps until the sequence is finished; its ids go to `ids`. */
static void finish(struct nj_generator *generator, const struct nj_sequence *sequence,
                   int32_t ids[N_IDS])
{
    struct nj_error err;
    size_t n = 0;
    for (int i = 0; i < 100 && nj_sequence_finish(sequence) == NJ_FINISH_NONE; i++) {
        REQUIRE_OK(nj_generator_step(generator, NULL, NULL, &err), &err);
    }
    const int32_t *chosen = nj_sequence_chosen(sequence, &n);
    REQUIRE(n == N_IDS);
    memcpy(ids, chosen, N_IDS * sizeof *ids);
}

static void generate_alone(int32_t ids[N_IDS])
{
    struct nj_generator *generator = NULL;
    struct nj_sequence *sequence = NULL;
    struct nj_sequence_options options = sampled();
    struct nj_error err;
    REQUIRE_OK(nj_generator_create(model, NULL, NULL, &generator, &err), &err);
    REQUIRE_OK(nj_generator_add(generator, &options, &sequence, &err), &err);
    finish(generator, sequence, ids);
    CHECK_EQ(nj_sequence_finish(sequence), NJ_FINISH_LENGTH);
    nj_generator_destroy(generator);
}

static void company_changes_no_id(void)
{
    int32_t alone[N_IDS];
    int32_t together[N_IDS];
    struct nj_generator *generator = NULL;
    struct nj_sequence *other = NULL;
    struct nj_sequence *sequence = NULL;
    struct nj_error err;
    generate_alone(alone);
    struct nj_generator_options chunks = {.prefill_chunk = 2, .max_sequences = 3};
    REQUIRE_OK(nj_generator_create(model, NULL, &chunks, &generator, &err), &err);
    struct nj_sequence_options options = sampled();
    options.n_prompt = 3;
    REQUIRE_OK(nj_generator_add(generator, &options, &other, &err), &err);
    REQUIRE_OK(nj_generator_step(generator, NULL, NULL, &err), &err);
    options = sampled();
    REQUIRE_OK(nj_generator_add(generator, &options, &sequence, &err), &err);

    finish(generator, sequence, together);

    CHECK_BYTES(together, alone, sizeof alone);
    nj_generator_remove(generator, other);
    CHECK_EQ(nj_generator_count(generator), 1);
    nj_generator_destroy(generator);
}

static void a_sequence_continued_with_its_ids_goes_on_as_before(void)
{
    int32_t wanted[N_IDS];
    struct nj_error err;
    generate_alone(wanted);
    for (size_t n_chosen = 0; n_chosen <= N_IDS; n_chosen++) {
        struct nj_generator *generator = NULL;
        struct nj_sequence *sequence = NULL;
        struct nj_sequence_options options = sampled();
        int32_t ids[N_IDS];
        options.chosen = wanted;
        options.n_chosen = n_chosen;
        REQUIRE_OK(nj_generator_create(model, NULL, NULL, &generator, &err), &err);
        REQUIRE_OK(nj_generator_add(generator, &options, &sequence, &err), &err);
        CHECK_EQ(nj_sequence_finish(sequence),
                 n_chosen == N_IDS ? NJ_FINISH_LENGTH : NJ_FINISH_NONE);
        finish(generator, sequence, ids);
        CHECK_BYTES(ids, wanted, sizeof wanted);
        nj_generator_destroy(generator);
    }
}

/* Everything that looks back on earlier ids. */
static struct nj_sequence_options penalized(void)
{
    static const struct nj_token_bias biases[] = {{17, 2.0}, {40, -100.0}};
    struct nj_sequence_options options = sampled();
    options.sampling.repeat_penalty = 1.3;
    options.sampling.presence_penalty = 0.4;
    options.sampling.frequency_penalty = 0.3;
    options.sampling.min_p = 0.01;
    options.sampling.logit_biases = biases;
    options.sampling.n_logit_biases = 2;
    options.sampling.n_top_logprobs = 4;
    return options;
}

/* What a run logs of each token. */
struct chosen {
    int32_t token;
    float logprob;
    struct nj_token_logprob top[4];
};

/* Goes on from the first `n_before` of `chosen` and fills in the rest. */
static void choose_from(size_t n_before, struct chosen chosen[N_IDS])
{
    struct nj_generator *generator = NULL;
    struct nj_sequence *sequence = NULL;
    struct nj_sequence_options options = penalized();
    struct nj_step_event event;
    int32_t before[N_IDS];
    struct nj_error err;
    for (size_t i = 0; i < n_before; i++) {
        before[i] = chosen[i].token;
    }
    options.chosen = before;
    options.n_chosen = n_before;
    REQUIRE_OK(nj_generator_create(model, NULL, NULL, &generator, &err), &err);
    REQUIRE_OK(nj_generator_add(generator, &options, &sequence, &err), &err);
    for (size_t i = n_before; i < N_IDS; i++) {
        uint32_t n_events = 0;
        REQUIRE_OK(nj_generator_step(generator, &event, &n_events, &err), &err);
        REQUIRE(n_events == 1 && event.type == NJ_STEP_TOKEN && event.n_top == 4);
        chosen[i].token = event.token;
        chosen[i].logprob = event.logprob;
        memcpy(chosen[i].top, event.top, sizeof chosen[i].top);
    }
    CHECK(nj_sequence_finish(sequence) == NJ_FINISH_LENGTH);
    nj_generator_destroy(generator);
}

static void penalties_after_a_restart_at_any_token_give_the_same_bits(void)
{
    struct chosen wanted[N_IDS];
    int32_t plain[N_IDS];
    size_t n_changed = 0;
    memset(wanted, 0, sizeof wanted);
    choose_from(0, wanted);
    for (size_t n_before = 1; n_before < N_IDS; n_before++) {
        struct chosen again[N_IDS];
        memset(again, 0, sizeof again);
        memcpy(again, wanted, n_before * sizeof *again);
        choose_from(n_before, again);
        CHECK_BYTES(again, wanted, sizeof wanted);
    }
    generate_alone(plain);
    for (size_t i = 0; i < N_IDS; i++) {
        n_changed += plain[i] != wanted[i].token;
    }
    CHECK(n_changed > 0); /* the penalties were not idle */
}

static void samples_in_one_batch_are_those_of_single_runs(void)
{
    enum { N_SAMPLES = 3 };
    int32_t together[N_SAMPLES][N_IDS];
    struct nj_sequence *sequences[N_SAMPLES];
    struct nj_generator *generator = NULL;
    struct nj_error err;
    REQUIRE_OK(nj_generator_create(model, NULL, NULL, &generator, &err), &err);
    for (uint32_t i = 0; i < N_SAMPLES; i++) {
        struct nj_sequence_options options = penalized();
        options.sampling.sample = i;
        REQUIRE_OK(nj_generator_add(generator, &options, &sequences[i], &err), &err);
    }
    for (uint32_t i = 0; i < N_SAMPLES; i++) {
        finish(generator, sequences[i], together[i]);
    }
    nj_generator_destroy(generator);

    for (uint32_t i = 0; i < N_SAMPLES; i++) {
        int32_t alone[N_IDS];
        struct nj_sequence_options options = penalized();
        options.sampling.sample = i;
        REQUIRE_OK(nj_generator_create(model, NULL, NULL, &generator, &err), &err);
        REQUIRE_OK(nj_generator_add(generator, &options, &sequences[i], &err), &err);
        finish(generator, sequences[i], alone);
        CHECK_BYTES(together[i], alone, sizeof alone);
        nj_generator_destroy(generator);
    }
    CHECK(memcmp(together[0], together[1], sizeof together[0]) != 0);
    CHECK(memcmp(together[1], together[2], sizeof together[0]) != 0);
}

static void options_are_copied(void)
{
    struct nj_generator *generator = NULL;
    struct nj_sequence *sequence = NULL;
    struct nj_error err;
    struct nj_token_bias bias = {77, 100.0};
    int32_t stop_id = 77;
    size_t n_chosen = 0;
    struct nj_sequence_options options = sampled();
    options.sampling.logit_biases = &bias;
    options.sampling.n_logit_biases = 1;
    options.stop_ids = &stop_id;
    options.n_stop_ids = 1;
    REQUIRE_OK(nj_generator_create(model, NULL, NULL, &generator, &err), &err);
    REQUIRE_OK(nj_generator_add(generator, &options, &sequence, &err), &err);
    bias = (struct nj_token_bias){78, 100.0};
    stop_id = 79;

    REQUIRE_OK(nj_generator_step(generator, NULL, NULL, &err), &err);

    CHECK_EQ(nj_sequence_finish(sequence), NJ_FINISH_STOP);
    CHECK_EQ(nj_sequence_stop_id(sequence), 77);
    CHECK_EQ(nj_sequence_chosen(sequence, &n_chosen)[0], 77);
    CHECK_EQ(n_chosen, 1);
    nj_generator_destroy(generator);
}

static void events_tell_what_was_fed_and_chosen(void)
{
    struct nj_generator *generator = NULL;
    struct nj_sequence *sequence = NULL;
    struct nj_step_event event;
    uint32_t n_events = 0;
    struct nj_error err;
    int owner = 0;
    struct nj_generator_options chunks = {.prefill_chunk = 3};
    struct nj_sequence_options options = sampled();
    options.owner = &owner;
    REQUIRE_OK(nj_generator_create(model, NULL, &chunks, &generator, &err), &err);
    REQUIRE_OK(nj_generator_add(generator, &options, &sequence, &err), &err);

    REQUIRE_OK(nj_generator_step(generator, &event, &n_events, &err), &err);
    CHECK_EQ(n_events, 1);
    CHECK_EQ(event.type, NJ_STEP_FED);
    CHECK_EQ(event.n_rows, 3);
    REQUIRE_OK(nj_generator_step(generator, &event, &n_events, &err), &err);
    CHECK_EQ(event.type, NJ_STEP_TOKEN);
    CHECK_EQ(event.n_rows, 2);
    CHECK_EQ(event.position, 5);
    CHECK(event.logprob <= 0.0f);
    CHECK(nj_sequence_owner(event.sequence) == &owner);
    CHECK_EQ(nj_generator_n_rows(generator), 5);
    nj_generator_destroy(generator);
}

static void the_models_end_token_stops_a_sequence(void)
{
    struct nj_generator *generator = NULL;
    struct nj_sequence *sequence = NULL;
    struct nj_error err;
    const int32_t chosen[] = {1, 2, (int32_t)nj_model_dims(model)->eos_token, 3};
    size_t n_chosen = 0;
    struct nj_sequence_options options = sampled();
    options.chosen = chosen;
    options.n_chosen = 4;
    REQUIRE_OK(nj_generator_create(model, NULL, NULL, &generator, &err), &err);
    REQUIRE_OK(nj_generator_add(generator, &options, &sequence, &err), &err);

    CHECK_EQ(nj_sequence_finish(sequence), NJ_FINISH_STOP);
    CHECK_EQ(nj_sequence_stop_id(sequence), chosen[2]);
    CHECK_EQ(nj_sequence_stop_string(sequence), -1);
    (void)nj_sequence_chosen(sequence, &n_chosen);
    CHECK_EQ(n_chosen, 3);
    nj_generator_destroy(generator);
}

static void what_makes_no_sense_is_refused(void)
{
    struct nj_generator *generator = NULL;
    struct nj_sequence *sequence = NULL;
    struct nj_error err;
    struct nj_generator_options one = {.max_sequences = 1};
    struct nj_generator_options many = {.max_sequences = 100000};
    const int32_t foreign[] = {1, 256};
    CHECK_EQ(nj_generator_create(model, NULL, &many, &generator, &err), NJ_E_USAGE);
    REQUIRE_OK(nj_generator_create(model, NULL, &one, &generator, &err), &err);
    struct nj_sequence_options options = sampled();
    options.n_prompt = 0;
    CHECK_EQ(nj_generator_add(generator, &options, &sequence, &err), NJ_E_USAGE);
    options = sampled();
    options.prompt = foreign;
    options.n_prompt = 2;
    CHECK_EQ(nj_generator_add(generator, &options, &sequence, &err), NJ_E_USAGE);
    CHECK_CONTAINS(err.text, "prompt id 1 is 256");
    options = sampled();
    options.stop_ids = foreign;
    options.n_stop_ids = 2;
    CHECK_EQ(nj_generator_add(generator, &options, &sequence, &err), NJ_E_USAGE);
    CHECK_CONTAINS(err.text, "stop id 1 is 256");
    options = sampled();
    options.sampling.min_p = 2.0;
    CHECK_EQ(nj_generator_add(generator, &options, &sequence, &err), NJ_E_USAGE);
    CHECK_CONTAINS(err.text, "min_p");
    options = sampled();
    REQUIRE_OK(nj_generator_add(generator, &options, &sequence, &err), &err);
    CHECK_EQ(nj_generator_add(generator, &options, &sequence, &err), NJ_E_USAGE);
    nj_generator_destroy(generator);
}

/* Overwrites the embedding of one token with NaN. */
static void poison_embedding(const char *path, int32_t token)
{
    struct nj_weight_index *index = NULL;
    struct nj_error err;
    char file_path[512];
    REQUIRE_OK(nj_weight_index_open(nj_file_system_real(), path, &index, &err), &err);
    const struct nj_weight *weight =
        nj_weight_index_find(index, "language_model.model.embed_tokens.weight");
    REQUIRE(weight != NULL);
    (void)snprintf(file_path, sizeof file_path, "%s/%s", path,
                   nj_weight_index_file(index, weight->file)->name);
    FILE *file = fopen(file_path, "r+b");
    REQUIRE(file != NULL);
    long row_bytes = (long)weight->shape[1] * 2;
    REQUIRE(fseek(file, (long)weight->offset_bytes + token * row_bytes, SEEK_SET) == 0);
    for (long i = 0; i < row_bytes / 2; i++) {
        CHECK_EQ(fwrite("\xC0\x7F", 1, 2, file), 2); /* BF16 NaN */
    }
    CHECK_EQ(fclose(file), 0);
    nj_weight_index_close(index);
}

static void values_that_are_not_finite_end_one_sequence_and_no_other(void)
{
    char path[300];
    struct nj_error err;
    struct nj_model *poisoned = NULL;
    struct nj_generator *generator = NULL;
    struct nj_sequence *good = NULL;
    struct nj_sequence *bad = NULL;
    const int32_t bad_prompt[] = {5, 201, 7};
    int32_t ids[N_IDS];
    (void)snprintf(path, sizeof path, "%s-poisoned", model_path);
    REQUIRE(tiny_model_write(TINY_MODEL_T5, path) == 0);
    poison_embedding(path, 201);
    struct nj_model_options model_options = {.path = path, .n_threads = 1};
    REQUIRE_OK(nj_model_open(&model_options, &poisoned, &err), &err);
    REQUIRE_OK(nj_generator_create(poisoned, NULL, NULL, &generator, &err), &err);
    struct nj_sequence_options options = sampled();
    options.sampling.top_k = 1;
    REQUIRE_OK(nj_generator_add(generator, &options, &good, &err), &err);
    options.prompt = bad_prompt;
    options.n_prompt = 3;
    REQUIRE_OK(nj_generator_add(generator, &options, &bad, &err), &err);

    finish(generator, good, ids);

    CHECK_EQ(nj_sequence_finish(good), NJ_FINISH_LENGTH);
    CHECK_EQ(nj_sequence_finish(bad), NJ_FINISH_ERROR);
    CHECK_CONTAINS(nj_sequence_error(bad), "not finite");
    CHECK_CONTAINS(nj_sequence_error(bad), "position 1");
    nj_generator_destroy(generator);
    nj_model_close(poisoned);
}

int main(void)
{
    struct nj_error err;
    (void)snprintf(model_path, sizeof model_path, "%s/t5", test_folder());
    struct nj_model_options options = {.path = model_path, .n_threads = 2, .max_rows = 64};
    if (tiny_model_write(TINY_MODEL_T5, model_path) != 0 ||
        nj_model_open(&options, &model, &err) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", err.text);
        return 1;
    }
    RUN(company_changes_no_id);
    RUN(a_sequence_continued_with_its_ids_goes_on_as_before);
    RUN(penalties_after_a_restart_at_any_token_give_the_same_bits);
    RUN(samples_in_one_batch_are_those_of_single_runs);
    RUN(options_are_copied);
    RUN(events_tell_what_was_fed_and_chosen);
    RUN(the_models_end_token_stops_a_sequence);
    RUN(what_makes_no_sense_is_refused);
    RUN(values_that_are_not_finite_end_one_sequence_and_no_other);
    nj_model_close(model);
    return test_result();
}
