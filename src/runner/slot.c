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

bool nj_slot_is_finished(const struct nj_slot *slot)
{
    return slot->sequence != NULL &&
           (slot->timeout_ns > 0 || nj_sequence_finish(slot->sequence) != NJ_FINISH_NONE);
}

bool nj_slot_is_ok(const struct nj_slot *slot)
{
    return slot->timeout_ns == 0 && nj_sequence_finish(slot->sequence) != NJ_FINISH_ERROR;
}

const char *nj_slot_finish_reason(const struct nj_slot *slot)
{
    if (slot->timeout_ns > 0) {
        return "expired";
    }
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
