#include "runner/slot.h"

#include <stdlib.h>
#include <string.h>

static enum nj_status check_digest(const struct nj_slot *slot, const struct nj_ledger *ledger,
                                   struct nj_error *err)
{
    const struct nj_digest *surveyed = &ledger->items[slot->index].digest;
    if (memcmp(surveyed->bytes, slot->digest.bytes, NJ_DIGEST_BYTES) != 0) {
        return nj_fail(err, NJ_E_STATE,
                       "item %llu is not what it was when the run began: the job's rows or "
                       "prompt files changed under it",
                       (unsigned long long)slot->item.index);
    }
    return NJ_OK;
}

static enum nj_status copy_stop_strings(struct nj_slot *slot,
                                        struct nj_sequence_options *options,
                                        struct nj_error *err)
{
    const struct nj_sampling *sampling = slot->item.sampling;
    struct nj_stop_string *stop =
        nj_arena_take_array(&slot->arena, sampling->n_stop, sizeof *stop);
    if (stop == NULL) {
        return nj_arena_fail(&slot->arena, "keep stop strings", err);
    }
    for (size_t i = 0; i < sampling->n_stop; i++) {
        stop[i] = (struct nj_stop_string){.bytes = sampling->stop[i].data,
                                          .length_bytes = sampling->stop[i].length_bytes};
    }
    options->stop = stop;
    options->n_stop = sampling->n_stop;
    return NJ_OK;
}

static enum nj_status copy_sampling(struct nj_slot *slot, struct nj_sequence_options *options,
                                    struct nj_error *err)
{
    const struct nj_sampling *sampling = slot->item.sampling;
    struct nj_token_bias *biases =
        nj_arena_take_array(&slot->arena, sampling->n_logit_biases, sizeof *biases);
    if (biases == NULL) {
        return nj_arena_fail(&slot->arena, "keep logit biases", err);
    }
    for (size_t i = 0; i < sampling->n_logit_biases; i++) {
        biases[i] = (struct nj_token_bias){.token = sampling->logit_biases[i].token,
                                           .bias = sampling->logit_biases[i].bias};
    }
    options->sampling =
        (struct nj_sampling_options){.temperature = sampling->temperature,
                                     .top_p = sampling->top_p,
                                     .min_p = sampling->min_p,
                                     .presence_penalty = sampling->presence_penalty,
                                     .frequency_penalty = sampling->frequency_penalty,
                                     .repeat_penalty = sampling->repeat_penalty,
                                     .logit_biases = biases,
                                     .n_logit_biases = sampling->n_logit_biases,
                                     .top_k = sampling->top_k,
                                     .n_top_logprobs = sampling->n_top_logprobs,
                                     .sample = slot->item.sample,
                                     .seed = slot->item.seed};
    return NJ_OK;
}

/* Ids from the token log, if they continue this prompt. They do not, whatever their tag says,
 * with another number of alternatives. */
static enum nj_status restore(struct nj_slot *slot, const struct nj_slot_supply *supply,
                              struct nj_sequence_options *options, struct nj_error *err)
{
    uint32_t n_vocabulary = supply->setting->dims->n_vocabulary;
    const struct nj_restored *restored = nj_ledger_restored(supply->ledger, slot->index);
    uint32_t n_top = options->sampling.n_top_logprobs;
    if (restored == NULL || restored->first_position != slot->prompt.n_ids ||
        restored->logprobs.n_top != (n_top < n_vocabulary ? n_top : n_vocabulary)) {
        return NJ_OK;
    }
    options->chosen = restored->tokens.ids;
    options->n_chosen = restored->tokens.n_ids;
    slot->n_restored = options->n_chosen;
    return slot->item.sampling->wants_logprobs
               ? nj_logprobs_copy(&slot->logprobs, &restored->logprobs, err)
               : NJ_OK;
}

static enum nj_status add_sequence(struct nj_slot *slot, const struct nj_slot_supply *supply,
                                   struct nj_error *err)
{
    const struct nj_sampling *sampling = slot->item.sampling;
    struct nj_sequence_options options = {
        .prompt = slot->prompt.ids,
        .n_prompt = slot->prompt.n_ids,
        .max_tokens = sampling->max_tokens,
        .stop_ids = sampling->stop_tokens,
        .n_stop_ids = sampling->n_stop_tokens,
        .is_chat = slot->item.uses_chat,
        .thinking = (uint8_t)supply->setting->spec->thinking,
        .owner = slot,
    };
    enum nj_status status = copy_stop_strings(slot, &options, err);
    if (status == NJ_OK) {
        status = copy_sampling(slot, &options, err);
    }
    if (status == NJ_OK) {
        status = restore(slot, supply, &options, err);
    }
    if (status == NJ_OK) {
        status = nj_generator_add(supply->generator, &options, &slot->sequence, err);
    }
    return status;
}

enum nj_status nj_slot_begin(struct nj_slot *slot, const struct nj_slot_supply *supply,
                             uint64_t index, struct nj_error *err)
{
    slot->index = index;
    enum nj_status status =
        nj_item_source_read(supply->source, index, &slot->arena, &slot->item, err);
    if (status == NJ_OK) {
        status = nj_prompt_build(supply->setting, &slot->item, &slot->prompt, err);
    }
    if (status == NJ_OK) {
        status =
            nj_prompt_digest(supply->setting, &slot->item, &slot->prompt, &slot->digest, err);
    }
    if (status == NJ_OK) {
        status = check_digest(slot, supply->ledger, err);
    }
    if (status == NJ_OK) {
        status = add_sequence(slot, supply, err);
    }
    if (status != NJ_OK) {
        nj_slot_end(slot, supply->generator);
    }
    return status;
}

enum nj_status nj_slot_note(struct nj_slot *slot, const struct nj_step_event *event,
                            struct nj_error *err)
{
    struct nj_token_logprob chosen = {.token = event->token, .logprob = event->logprob};
    return slot->item.sampling->wants_logprobs
               ? nj_logprobs_add(&slot->logprobs, chosen, event->top, event->n_top, err)
               : NJ_OK;
}

void nj_slot_end(struct nj_slot *slot, struct nj_generator *generator)
{
    if (slot->sequence != NULL) {
        nj_generator_remove(generator, slot->sequence);
    }
    nj_logprobs_deinit(&slot->logprobs);
    nj_token_list_deinit(&slot->prompt);
    nj_arena_deinit(&slot->arena);
    memset(slot, 0, sizeof *slot);
}

bool nj_slot_is_ok(const struct nj_slot *slot)
{
    return nj_sequence_finish(slot->sequence) != NJ_FINISH_ERROR;
}

const char *nj_slot_finish_reason(const struct nj_slot *slot)
{
    switch (nj_sequence_finish(slot->sequence)) {
    case NJ_FINISH_STOP:
        return "stop";
    case NJ_FINISH_LENGTH:
        return "length";
    case NJ_FINISH_ERROR:
    case NJ_FINISH_NONE:
        break;
    }
    return "error";
}

static void write_vars(struct nj_json_writer *writer, const struct nj_item *item)
{
    nj_json_key(writer, "vars");
    nj_json_begin_object(writer);
    for (size_t i = 0; i < item->n_vars; i++) {
        nj_json_write_key(writer, item->vars[i].name);
        nj_json_write_text(writer, item->vars[i].value);
    }
    nj_json_end_object(writer);
}

static void write_hex(struct nj_json_writer *writer, const struct nj_digest *digest)
{
    char hex[NJ_DIGEST_HEX_BYTES];
    nj_digest_to_hex(digest, hex);
    nj_json_write_string(writer, hex);
}

static void write_texts(struct nj_json_writer *writer, const struct nj_slot *slot,
                        bool has_text)
{
    struct nj_text text = {0};
    bool is_shown = has_text && nj_slot_is_ok(slot);
    nj_json_key(writer, "reasoning");
    text.data = nj_sequence_reasoning(slot->sequence, &text.length_bytes);
    if (is_shown && nj_sequence_n_reasoning(slot->sequence) > 0) {
        nj_json_write_text(writer, text);
    } else {
        nj_json_write_null(writer);
    }
    nj_json_key(writer, "response");
    text.data = nj_sequence_response(slot->sequence, &text.length_bytes);
    if (is_shown) {
        nj_json_write_text(writer, text);
    } else {
        nj_json_write_null(writer);
    }
}

static void write_ids(struct nj_json_writer *writer, const struct nj_slot *slot)
{
    nj_json_key(writer, "ids");
    if (slot->item.n_ids == 0) {
        nj_json_write_null(writer);
        return;
    }
    size_t n_chosen = 0;
    const int32_t *chosen = nj_sequence_chosen(slot->sequence, &n_chosen);
    nj_json_begin_array(writer);
    for (size_t i = 0; i < n_chosen; i++) {
        nj_json_write_integer(writer, chosen[i]);
    }
    nj_json_end_array(writer);
}

/* The stop string, or the stop id, or null. */
static void write_stop_reason(struct nj_json_writer *writer, const struct nj_slot *slot)
{
    nj_json_key(writer, "stop_reason");
    int string = nj_sequence_stop_string(slot->sequence);
    if (string >= 0) {
        nj_json_write_text(writer, slot->item.sampling->stop[string]);
    } else if (nj_sequence_stop_id(slot->sequence) >= 0) {
        nj_json_write_integer(writer, nj_sequence_stop_id(slot->sequence));
    } else {
        nj_json_write_null(writer);
    }
}

static void write_usage(struct nj_json_writer *writer, const struct nj_slot *slot)
{
    size_t n_chosen = 0;
    (void)nj_sequence_chosen(slot->sequence, &n_chosen);
    nj_json_key(writer, "usage");
    nj_json_begin_object(writer);
    nj_json_key(writer, "prompt_tokens");
    nj_json_write_unsigned(writer, slot->prompt.n_ids);
    nj_json_key(writer, "completion_tokens");
    nj_json_write_unsigned(writer, n_chosen);
    nj_json_key(writer, "reasoning_tokens");
    nj_json_write_unsigned(writer, nj_sequence_n_reasoning(slot->sequence));
    nj_json_key(writer, "total_tokens");
    nj_json_write_unsigned(writer, slot->prompt.n_ids + n_chosen);
    nj_json_end_object(writer);
}

static void write_error(struct nj_json_writer *writer, const struct nj_slot *slot)
{
    nj_json_key(writer, "error");
    if (nj_slot_is_ok(slot)) {
        nj_json_write_null(writer);
        return;
    }
    nj_json_begin_object(writer);
    nj_json_key(writer, "code");
    nj_json_write_string(writer, nj_status_name(NJ_E_NUMBERS));
    nj_json_key(writer, "message");
    nj_json_write_string(writer, nj_sequence_error(slot->sequence));
    nj_json_end_object(writer);
}

static void write_logprobs(struct nj_json_writer *writer, const struct nj_slot *slot,
                           const struct nj_tokenizer *tokenizer)
{
    size_t n_chosen = 0;
    (void)nj_sequence_chosen(slot->sequence, &n_chosen);
    nj_json_key(writer, "logprobs");
    if (slot->item.sampling->wants_logprobs && nj_slot_is_ok(slot)) {
        nj_logprobs_write(&slot->logprobs, n_chosen, tokenizer, writer);
    } else {
        nj_json_write_null(writer);
    }
}

enum nj_status nj_slot_write_result(const struct nj_slot *slot,
                                    const struct nj_tokenizer *tokenizer,
                                    struct nj_json_writer *writer, struct nj_error *err)
{
    struct nj_digest prompt;
    enum nj_status status = nj_prompt_ids_digest(&slot->prompt, &prompt, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_json_begin_object(writer);
    nj_json_key(writer, "index");
    nj_json_write_unsigned(writer, slot->item.index);
    nj_json_key(writer, "id");
    nj_json_write_text(writer, slot->item.id);
    nj_json_key(writer, "sample");
    nj_json_write_unsigned(writer, slot->item.sample);
    nj_json_key(writer, "status");
    nj_json_write_string(writer, nj_slot_is_ok(slot) ? "ok" : "failed");
    write_vars(writer, &slot->item);
    nj_json_key(writer, "prompt_sha256");
    write_hex(writer, &prompt);
    write_texts(writer, slot, tokenizer != NULL);
    write_ids(writer, slot);
    nj_json_key(writer, "finish_reason");
    nj_json_write_string(writer, nj_slot_finish_reason(slot));
    write_stop_reason(writer, slot);
    write_usage(writer, slot);
    nj_json_key(writer, "seed");
    if (slot->item.sampling->temperature > 0.0) {
        nj_json_write_unsigned(writer, slot->item.seed);
    } else {
        nj_json_write_null(writer); /* nothing is drawn */
    }
    write_logprobs(writer, slot, tokenizer);
    write_error(writer, slot);
    nj_json_end_object(writer);
    return NJ_OK;
}
