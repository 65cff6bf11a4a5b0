#include "generate/sequence.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

static enum nj_status append_token(struct nj_sequence *sequence, nj_token token,
                                   struct nj_error *err)
{
    enum nj_status status =
        nj_vector_reserve(&sequence->tokens, &sequence->tokens_capacity,
                          sizeof *sequence->tokens, sequence->n_tokens + 1, err);
    if (status == NJ_OK) {
        sequence->tokens[sequence->n_tokens++] = token;
    }
    return status;
}

/* Decodes bytes to the end of a text. */
static enum nj_status append_text(struct nj_text_buffer *text, struct nj_utf8_decoder *decoder,
                                  struct nj_bytes bytes, struct nj_error *err)
{
    size_t room = NJ_UTF8_DECODER_ROOM(bytes.length_bytes);
    enum nj_status status = nj_vector_reserve(&text->data, &text->capacity_bytes, 1,
                                              text->length_bytes + room, err);
    if (status == NJ_OK) {
        text->length_bytes +=
            nj_utf8_decoder_push(decoder, bytes, text->data + text->length_bytes);
    }
    return status;
}

/* What was held back is text after all. */
static enum nj_status finish_text(struct nj_text_buffer *text, struct nj_utf8_decoder *decoder,
                                  struct nj_bytes held, struct nj_error *err)
{
    enum nj_status status = append_text(text, decoder, held, err);
    if (status == NJ_OK) {
        status = nj_vector_reserve(&text->data, &text->capacity_bytes, 1,
                                   text->length_bytes + NJ_UTF8_DECODER_ROOM((size_t)0), err);
    }
    if (status == NJ_OK) {
        text->length_bytes += nj_utf8_decoder_finish(decoder, text->data + text->length_bytes);
    }
    return status;
}

static enum nj_status finish(struct nj_sequence *sequence, enum nj_finish how,
                             struct nj_error *err)
{
    struct nj_bytes held = {.data = (const uint8_t *)sequence->matcher.held,
                            .length_bytes = sequence->matcher.n_held};
    struct nj_bytes nothing = {0};
    enum nj_status status =
        finish_text(&sequence->response, &sequence->response_decoder, held, err);
    if (status == NJ_OK) {
        status = finish_text(&sequence->reasoning, &sequence->reasoning_decoder, nothing, err);
    }
    if (status == NJ_OK) {
        sequence->matcher.n_held = 0;
        sequence->finish = how;
    }
    return status;
}

static enum nj_status accept_response(struct nj_sequence *sequence, struct nj_bytes bytes,
                                      struct nj_error *err)
{
    size_t n_passed = 0;
    char *passed = malloc(sequence->matcher.n_held + bytes.length_bytes + 1);
    if (passed == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "keep the text of a sequence: out of memory");
    }
    int found = nj_stop_matcher_push(&sequence->matcher, bytes, passed, &n_passed);
    struct nj_bytes text = {.data = (const uint8_t *)passed, .length_bytes = n_passed};
    enum nj_status status =
        append_text(&sequence->response, &sequence->response_decoder, text, err);
    free(passed);
    if (status == NJ_OK && found >= 0) {
        sequence->stop_string = found;
        status = finish(sequence, NJ_FINISH_STOP, err);
    }
    return status;
}

static enum nj_status accept_text(struct nj_sequence *sequence, nj_token token,
                                  struct nj_error *err)
{
    enum nj_chat_part part = nj_chat_parser_next(&sequence->parser, sequence->tokenizer, token);
    bool is_special = false;
    struct nj_bytes bytes = nj_tokenizer_bytes(sequence->tokenizer, token, &is_special);
    if (part == NJ_PART_REASONING) {
        sequence->n_reasoning++;
    }
    if (is_special || part == NJ_PART_STRUCTURE) {
        return NJ_OK;
    }
    if (part == NJ_PART_REASONING) {
        return append_text(&sequence->reasoning, &sequence->reasoning_decoder, bytes, err);
    }
    return accept_response(sequence, bytes, err);
}

static bool is_among(const nj_token *ids, size_t n_ids, nj_token token)
{
    for (size_t i = 0; i < n_ids; i++) {
        if (ids[i] == token) {
            return true;
        }
    }
    return false;
}

static bool is_stop_id(const struct nj_sequence *sequence, nj_token token)
{
    return is_among(sequence->stop_ids, sequence->n_stop_ids, token) ||
           is_among(sequence->own_stop_ids, sequence->n_own_stop_ids, token);
}

enum nj_status nj_sequence_accept(struct nj_sequence *sequence, nj_token token,
                                  struct nj_error *err)
{
    enum nj_status status = append_token(sequence, token, err);
    if (status != NJ_OK) {
        return status;
    }
    if (is_stop_id(sequence, token)) {
        sequence->stop_id = token;
        return finish(sequence, NJ_FINISH_STOP, err);
    }
    if (sequence->tokenizer != NULL) {
        status = accept_text(sequence, token, err);
    }
    if (status == NJ_OK && sequence->finish == NJ_FINISH_NONE &&
        sequence->n_tokens - sequence->n_prompt >= sequence->max_tokens) {
        status = finish(sequence, NJ_FINISH_LENGTH, err);
    }
    return status;
}

/* Prompt, then the ids of an earlier run, accepted as if they were chosen now. */
static enum nj_status take_tokens(struct nj_sequence *sequence,
                                  const struct nj_sequence_options *options,
                                  struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (size_t i = 0; i < options->n_prompt && status == NJ_OK; i++) {
        status = append_token(sequence, options->prompt[i], err);
    }
    sequence->n_prompt = options->n_prompt;
    for (size_t i = 0;
         i < options->n_chosen && status == NJ_OK && sequence->finish == NJ_FINISH_NONE; i++) {
        status = nj_sequence_accept(sequence, options->chosen[i], err);
    }
    return status;
}

/* A copy with one entry to spare, so that NULL means out of memory. */
static void *copy_array(const void *items, size_t n_items, size_t item_bytes)
{
    void *copy = calloc(n_items + 1, item_bytes);
    if (copy != NULL && n_items > 0) {
        memcpy(copy, items, n_items * item_bytes);
    }
    return copy;
}

static enum nj_status copy_options(struct nj_sequence *sequence,
                                   const struct nj_sequence_options *options,
                                   struct nj_error *err)
{
    const struct nj_sampling_options *sampling = &options->sampling;
    sequence->logit_biases = copy_array(sampling->logit_biases, sampling->n_logit_biases,
                                        sizeof *sequence->logit_biases);
    sequence->own_stop_ids =
        copy_array(options->stop_ids, options->n_stop_ids, sizeof *sequence->own_stop_ids);
    if (sequence->logit_biases == NULL || sequence->own_stop_ids == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "keep the options of a sequence: out of memory");
    }
    sequence->sampling = *sampling;
    sequence->sampling.logit_biases = sequence->logit_biases;
    sequence->n_own_stop_ids = options->n_stop_ids;
    return nj_stop_matcher_init(&sequence->matcher, options->stop, options->n_stop, err);
}

enum nj_status nj_sequence_create(const struct nj_sequence_setting *setting,
                                  const struct nj_sequence_options *options,
                                  struct nj_sequence **sequence, struct nj_error *err)
{
    struct nj_sequence *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "create a sequence: out of memory");
    }
    created->tokenizer = setting->tokenizer;
    created->stop_ids = setting->stop_ids;
    created->n_stop_ids = setting->n_stop_ids;
    created->max_tokens = options->max_tokens;
    created->stop_string = -1;
    created->stop_id = -1;
    created->owner = options->owner;
    enum nj_chat_format format = options->is_chat && setting->tokenizer != NULL
                                     ? nj_chat_format_of(setting->tokenizer)
                                     : NJ_CHAT_NONE;
    nj_chat_parser_init(&created->parser, format, (enum nj_thinking)options->thinking);
    enum nj_status status = copy_options(created, options, err);
    if (status == NJ_OK) {
        status = nj_state_create_in(nj_model_state_home(setting->model),
                                    nj_model_dims(setting->model),
                                    nj_model_budget(setting->model), &created->state, err);
    }
    if (status == NJ_OK) {
        status = take_tokens(created, options, err);
    }
    if (status != NJ_OK) {
        nj_sequence_destroy(created);
        return status;
    }
    *sequence = created;
    return NJ_OK;
}

void nj_sequence_destroy(struct nj_sequence *sequence)
{
    if (sequence == NULL) {
        return;
    }
    nj_state_destroy(sequence->state);
    nj_stop_matcher_deinit(&sequence->matcher);
    free(sequence->logit_biases);
    free(sequence->own_stop_ids);
    free(sequence->tokens);
    free(sequence->response.data);
    free(sequence->reasoning.data);
    free(sequence);
}

void nj_sequence_fail(struct nj_sequence *sequence, uint32_t position, uint32_t layer,
                      uint32_t n_layers)
{
    sequence->finish = NJ_FINISH_ERROR;
    if (layer < n_layers) {
        (void)snprintf(sequence->error, sizeof sequence->error,
                       "values are not finite after layer %u at position %u", layer, position);
    } else {
        (void)snprintf(sequence->error, sizeof sequence->error,
                       "logits are not finite at position %u", position);
    }
}

size_t nj_sequence_n_pending(const struct nj_sequence *sequence)
{
    return sequence->n_tokens - nj_state_length(sequence->state);
}

void *nj_sequence_owner(const struct nj_sequence *sequence)
{
    return sequence->owner;
}

enum nj_finish nj_sequence_finish(const struct nj_sequence *sequence)
{
    return sequence->finish;
}

const char *nj_sequence_error(const struct nj_sequence *sequence)
{
    return sequence->error;
}

size_t nj_sequence_n_prompt(const struct nj_sequence *sequence)
{
    return sequence->n_prompt;
}

const int32_t *nj_sequence_chosen(const struct nj_sequence *sequence, size_t *n_chosen)
{
    *n_chosen = sequence->n_tokens - sequence->n_prompt;
    return sequence->tokens + sequence->n_prompt;
}

const char *nj_sequence_response(const struct nj_sequence *sequence, size_t *length_bytes)
{
    *length_bytes = sequence->response.length_bytes;
    return sequence->response.data;
}

const char *nj_sequence_reasoning(const struct nj_sequence *sequence, size_t *length_bytes)
{
    *length_bytes = sequence->reasoning.length_bytes;
    return sequence->reasoning.data;
}

size_t nj_sequence_n_reasoning(const struct nj_sequence *sequence)
{
    return sequence->n_reasoning;
}

int nj_sequence_stop_string(const struct nj_sequence *sequence)
{
    return sequence->stop_string;
}

int32_t nj_sequence_stop_id(const struct nj_sequence *sequence)
{
    return sequence->stop_id;
}
