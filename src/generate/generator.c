#include "generate/generator.h"

#include <stdlib.h>
#include <string.h>

#include "generate/batch.h"
#include "generate/sampler.h"

struct nj_generator {
    struct nj_sequence_setting setting;
    nj_token end_of_text; /* from config.json, the only stop id without a tokenizer */
    struct nj_batch_limits limits;
    uint32_t max_sequences;
    struct nj_sequence **sequences; /* (max_sequences), in the order they were added */
    uint32_t n_sequences;
    struct nj_row *rows;           /* (max_rows) */
    struct nj_batch_share *shares; /* (max_sequences) */
    float *logits;                 /* (max_sequences, n_vocabulary) */
    uint64_t logits_bytes;         /* paid for from the model's budget */
    struct nj_sampler *sampler;
    const struct nj_sweep_hooks *hooks;
    struct nj_prefix_sharing prefixes;
    uint64_t n_rows_total;
};

static void find_stop_ids(struct nj_generator *generator)
{
    struct nj_sequence_setting *setting = &generator->setting;
    if (setting->tokenizer != NULL) {
        setting->n_stop_ids = nj_tokenizer_stops(setting->tokenizer, &setting->stop_ids);
        return;
    }
    int64_t eos_token = nj_model_dims(setting->model)->eos_token;
    generator->end_of_text = (nj_token)eos_token;
    setting->stop_ids = &generator->end_of_text;
    setting->n_stop_ids = eos_token >= 0 ? 1 : 0;
}

static enum nj_status pay_for_logits(struct nj_generator *generator, struct nj_error *err)
{
    struct nj_model *model = generator->setting.model;
    uint64_t row_bytes = nj_model_n_vocabulary(model) * sizeof(float);
    uint64_t bytes = generator->max_sequences * row_bytes; /* below 2^32 times 2^31 */
    enum nj_status status = nj_byte_budget_take(nj_model_budget(model), bytes, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "logits of %u sequences", generator->max_sequences);
    }
    generator->logits_bytes = bytes;
    generator->logits = calloc(generator->max_sequences, row_bytes);
    return generator->logits != NULL
               ? NJ_OK
               : nj_fail(err, NJ_E_MEMORY, "logits of %u sequences: out of memory",
                         generator->max_sequences);
}

static enum nj_status take_buffers(struct nj_generator *generator, struct nj_error *err)
{
    uint32_t n = generator->max_sequences;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers is meant */
    generator->sequences = calloc(n, sizeof *generator->sequences);
    generator->shares = calloc(n, sizeof *generator->shares);
    generator->rows = calloc(generator->limits.max_rows, sizeof *generator->rows);
    if (generator->sequences == NULL || generator->shares == NULL || generator->rows == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "plan sweeps of %u rows: out of memory",
                       generator->limits.max_rows);
    }
    enum nj_status status = pay_for_logits(generator, err);
    if (status == NJ_OK) {
        status = nj_sampler_create(nj_model_n_vocabulary(generator->setting.model),
                                   &generator->sampler, err);
    }
    return status;
}

enum nj_status nj_generator_create(struct nj_model *model, struct nj_tokenizer *tokenizer,
                                   const struct nj_generator_options *options,
                                   struct nj_generator **generator, struct nj_error *err)
{
    uint32_t max_rows = nj_model_max_rows(model);
    uint32_t max_sequences = NJ_DEFAULT_SEQUENCES < max_rows ? NJ_DEFAULT_SEQUENCES : max_rows;
    if (options != NULL && options->max_sequences > 0) {
        max_sequences = options->max_sequences;
    }
    if (max_sequences > max_rows) {
        return nj_fail(err, NJ_E_USAGE, "%u sequences at once: a sweep of this model holds %u",
                       max_sequences, max_rows);
    }
    struct nj_generator *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "create a generator: out of memory");
    }
    created->setting.model = model;
    created->setting.tokenizer = tokenizer;
    created->max_sequences = max_sequences;
    created->limits.max_rows = max_rows;
    created->limits.prefill_chunk = options != NULL ? options->prefill_chunk : 0;
    find_stop_ids(created);
    enum nj_status status = take_buffers(created, err);
    if (status != NJ_OK) {
        nj_generator_destroy(created);
        return status;
    }
    *generator = created;
    return NJ_OK;
}

void nj_generator_destroy(struct nj_generator *generator)
{
    if (generator == NULL) {
        return;
    }
    while (generator->n_sequences > 0) {
        nj_generator_remove(generator, generator->sequences[generator->n_sequences - 1]);
    }
    nj_prefix_sharing_deinit(&generator->prefixes);
    nj_sampler_destroy(generator->sampler);
    free(generator->logits);
    nj_byte_budget_give_back(nj_model_budget(generator->setting.model),
                             generator->logits_bytes);
    free(generator->rows);
    free(generator->shares);
    free(generator->sequences);
    free(generator);
}

static enum nj_status check_ids(const struct nj_generator *generator, const char *what,
                                const int32_t *ids, size_t n_ids, struct nj_error *err)
{
    uint32_t n_vocabulary = nj_model_n_vocabulary(generator->setting.model);
    for (size_t i = 0; i < n_ids; i++) {
        if (ids[i] < 0 || (uint32_t)ids[i] >= n_vocabulary) {
            return nj_fail(err, NJ_E_USAGE,
                           "%s id %zu is %d: the vocabulary has %u entries, from 0", what, i,
                           ids[i], n_vocabulary);
        }
    }
    return NJ_OK;
}

static enum nj_status check_options(const struct nj_generator *generator,
                                    const struct nj_sequence_options *options,
                                    struct nj_error *err)
{
    if (options->n_prompt == 0) {
        return nj_fail(err, NJ_E_USAGE, "a sequence needs at least one prompt id");
    }
    if (options->max_tokens == 0) {
        return nj_fail(err, NJ_E_USAGE, "a sequence needs room for at least one token");
    }
    if (options->n_prompt > UINT32_MAX - options->max_tokens) {
        return nj_fail(err, NJ_E_USAGE, "a sequence of %zu + %u positions is too long",
                       options->n_prompt, options->max_tokens);
    }
    for (size_t i = 0; i < options->n_stop; i++) {
        if (options->stop[i].length_bytes == 0) {
            return nj_fail(err, NJ_E_USAGE, "stop string %zu is empty", i);
        }
    }
    enum nj_status status =
        check_ids(generator, "prompt", options->prompt, options->n_prompt, err);
    if (status == NJ_OK) {
        status = check_ids(generator, "chosen", options->chosen, options->n_chosen, err);
    }
    if (status == NJ_OK) {
        status = check_ids(generator, "stop", options->stop_ids, options->n_stop_ids, err);
    }
    if (status == NJ_OK) {
        status = nj_sampling_options_check(
            &options->sampling, nj_model_n_vocabulary(generator->setting.model), err);
    }
    return status;
}

enum nj_status nj_generator_add(struct nj_generator *generator,
                                const struct nj_sequence_options *options,
                                struct nj_sequence **sequence, struct nj_error *err)
{
    if (generator->n_sequences == generator->max_sequences) {
        return nj_fail(err, NJ_E_USAGE, "%u sequences are running: there is room for no more",
                       generator->n_sequences);
    }
    enum nj_status status = check_options(generator, options, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_sequence *added = NULL;
    do {
        status = nj_sequence_create(&generator->setting, options, &added, err);
    } while (status == NJ_E_BUDGET && nj_prefix_shelf_drop(&generator->prefixes.shelf));
    if (status == NJ_OK) {
        generator->sequences[generator->n_sequences++] = added;
        nj_prefix_sharing_begin(&generator->prefixes, added);
        *sequence = added;
    }
    return status;
}

void nj_generator_remove(struct nj_generator *generator, struct nj_sequence *sequence)
{
    for (uint32_t i = 0; i < generator->n_sequences; i++) {
        if (generator->sequences[i] == sequence) {
            for (uint32_t k = i + 1; k < generator->n_sequences; k++) {
                generator->sequences[k - 1] = generator->sequences[k];
            }
            generator->n_sequences--;
            nj_sequence_destroy(sequence);
            return;
        }
    }
}

uint32_t nj_generator_count(const struct nj_generator *generator)
{
    return generator->n_sequences;
}

void nj_generator_set_hooks(struct nj_generator *generator, const struct nj_sweep_hooks *hooks)
{
    generator->hooks = hooks;
}

void nj_generator_share_prefixes(struct nj_generator *generator,
                                 const struct nj_prefix_options *options)
{
    nj_prefix_sharing_deinit(&generator->prefixes);
    nj_prefix_sharing_init(&generator->prefixes, options,
                           nj_model_dims(generator->setting.model));
}

struct nj_prefix_counts nj_generator_prefix_counts(const struct nj_generator *generator)
{
    return generator->prefixes.counts;
}

const struct nj_prefix_shelf *nj_generator_prefix_shelf(const struct nj_generator *generator)
{
    return &generator->prefixes.shelf;
}

uint64_t nj_generator_n_rows(const struct nj_generator *generator)
{
    return generator->n_rows_total;
}

/* A state that a broken sweep half changed is never carried on: its ids are fed again. */
static void reset_broken_states(struct nj_generator *generator)
{
    for (uint32_t i = 0; i < generator->n_sequences; i++) {
        if (nj_state_is_broken(generator->sequences[i]->state)) {
            nj_state_reset(generator->sequences[i]->state);
        }
    }
}

void nj_generator_prepare(struct nj_generator *generator)
{
    reset_broken_states(generator);
    nj_prefix_sharing_prepare(&generator->prefixes, generator->sequences,
                              generator->n_sequences);
}

/* The sequences from `first` on were read but got no id: they must be read again. */
static void reset_states_from(struct nj_generator *generator, uint32_t first, uint32_t n_shares)
{
    for (uint32_t i = first; i < n_shares; i++) {
        nj_state_reset(generator->shares[i].sequence->state);
    }
}

/* True when a row of the share was not finite; the sequence is then finished. */
static bool fail_if_not_finite(const struct nj_generator *generator,
                               const struct nj_batch_share *share)
{
    const struct nj_model *model = generator->setting.model;
    for (uint32_t row = share->first_row; row < share->first_row + share->n_rows; row++) {
        int32_t layer = nj_sweep_first_bad_layer(model, row);
        if (layer >= 0) {
            nj_sequence_fail(share->sequence, generator->rows[row].position, (uint32_t)layer,
                             nj_model_n_layers(model));
            return true;
        }
    }
    return false;
}

/* What the sweep meant for one sequence. `logits` is only looked at when the share wants them.
 */
static enum nj_status finish_share(struct nj_generator *generator,
                                   const struct nj_batch_share *share, const float *logits,
                                   struct nj_step_event *event, struct nj_error *err)
{
    struct nj_sequence *sequence = share->sequence;
    *event = (struct nj_step_event){
        .type = NJ_STEP_FED, .sequence = sequence, .n_rows = share->n_rows, .token = -1};
    if (fail_if_not_finite(generator, share)) {
        event->type = NJ_STEP_FAILED;
        return NJ_OK;
    }
    if (!share->wants_logits) {
        return NJ_OK;
    }
    event->type = NJ_STEP_TOKEN;
    event->position = (uint32_t)sequence->n_tokens;
    struct nj_token_history history = {.tokens = sequence->tokens,
                                       .n_prompt = sequence->n_prompt,
                                       .n_tokens = sequence->n_tokens};
    struct nj_choice choice;
    nj_sampler_choose(generator->sampler, logits, &sequence->sampling, &history, &choice);
    event->token = choice.token;
    event->logprob = choice.logprob;
    event->n_top = choice.n_top;
    memcpy(event->top, choice.top, choice.n_top * sizeof *choice.top);
    return nj_sequence_accept(sequence, choice.token, err);
}

/* Shares a sweep's time among those who read prompts in it, by rows. */
static void note_cost(const struct nj_generator *generator, uint32_t n_rows, uint32_t n_shares,
                      uint64_t sweep_ns)
{
    for (uint32_t i = 0; i < n_shares; i++) {
        const struct nj_batch_share *share = &generator->shares[i];
        share->sequence->prefill_ns += sweep_ns / n_rows * share->n_rows;
    }
}

static uint64_t now_ns(const struct nj_generator *generator)
{
    const struct nj_clock *clock = &generator->prefixes.options.clock;
    return clock->monotonic_ns != NULL ? clock->monotonic_ns(clock->context) : 0;
}

/* States of prefixes give way to pages of sequences. */
static enum nj_status run_sweep(struct nj_generator *generator, uint32_t n_rows,
                                uint32_t n_shares, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    uint64_t began_ns = now_ns(generator);
    do {
        status = nj_sweep_run(generator->setting.model, generator->rows, n_rows,
                              generator->hooks, generator->logits, err);
    } while (status == NJ_E_BUDGET && nj_prefix_shelf_drop(&generator->prefixes.shelf));
    if (status == NJ_OK) {
        generator->n_rows_total += n_rows;
        note_cost(generator, n_rows, n_shares, now_ns(generator) - began_ns);
    }
    return status;
}

enum nj_status nj_generator_step(struct nj_generator *generator, struct nj_step_event *events,
                                 uint32_t *n_events, struct nj_error *err)
{
    uint32_t n_rows = 0;
    uint32_t n_shares = 0;
    nj_generator_prepare(generator);
    nj_batch_plan(generator->sequences, generator->n_sequences, &generator->limits,
                  generator->rows, &n_rows, generator->shares, &n_shares);
    enum nj_status status = n_rows > 0 ? run_sweep(generator, n_rows, n_shares, err) : NJ_OK;
    if (status != NJ_OK) {
        return status;
    }
    uint32_t n_vocabulary = nj_model_n_vocabulary(generator->setting.model);
    const float *logits = generator->logits;
    for (uint32_t i = 0; i < n_shares && status == NJ_OK; i++) {
        struct nj_step_event event;
        status = finish_share(generator, &generator->shares[i], logits, &event, err);
        if (events != NULL) {
            events[i] = event;
        }
        logits += generator->shares[i].wants_logits ? n_vocabulary : 0;
        if (status != NJ_OK) {
            reset_states_from(generator, i, n_shares);
        }
    }
    if (n_events != NULL) {
        *n_events = n_shares;
    }
    return status;
}
