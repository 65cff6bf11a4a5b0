#include "runner/result_line.h"

#include <stdbool.h>
#include <stdio.h>

#include "runner/prompt.h"

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
    if (slot->item.n_ids == 0 || slot->timeout_ns > 0) { /* how far it came is no answer */
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
    char expired[120];
    (void)snprintf(expired, sizeof expired,
                   "not done within `budget.item_timeout`, which is %.3f seconds",
                   (double)slot->timeout_ns * 1e-9);
    bool is_expired = slot->timeout_ns > 0;
    nj_json_begin_object(writer);
    nj_json_key(writer, "code");
    nj_json_write_string(writer, is_expired ? "timeout" : nj_status_name(NJ_E_NUMBERS));
    nj_json_key(writer, "message");
    nj_json_write_string(writer, is_expired ? expired : nj_sequence_error(slot->sequence));
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

enum nj_status nj_result_line_write(const struct nj_slot *slot,
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
