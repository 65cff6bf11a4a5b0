#include "runner/prompt.h"

#include <stdlib.h>
#include <string.h>

#include "nightjar/model.h"

/* "item 3 (heron)": how complaints name an item. */
static enum nj_status name_item(const struct nj_item *item, enum nj_status status,
                                struct nj_error *err)
{
    int length = item->id.length_bytes < 80 ? (int)item->id.length_bytes : 80;
    return nj_prefix(err, status, "item %llu (%.*s)", (unsigned long long)item->index, length,
                     item->id.data != NULL ? item->id.data : "");
}

static enum nj_chat_role chat_role(enum nj_job_role role)
{
    switch (role) {
    case NJ_JOB_ROLE_SYSTEM:
        return NJ_ROLE_SYSTEM;
    case NJ_JOB_ROLE_ASSISTANT:
        return NJ_ROLE_ASSISTANT;
    case NJ_JOB_ROLE_USER:
        break;
    }
    return NJ_ROLE_USER;
}

static enum nj_thinking chat_thinking(enum nj_job_thinking thinking)
{
    switch (thinking) {
    case NJ_JOB_THINKING_LOW:
        return NJ_THINKING_LOW;
    case NJ_JOB_THINKING_HIGH:
        return NJ_THINKING_HIGH;
    case NJ_JOB_THINKING_MAX:
        return NJ_THINKING_MAX;
    case NJ_JOB_THINKING_OFF:
        break;
    }
    return NJ_THINKING_OFF;
}

static enum nj_status render_chat(const struct nj_prompt_setting *setting,
                                  const struct nj_item *item, struct nj_token_list *ids,
                                  struct nj_error *err)
{
    struct nj_chat_message *messages = calloc(item->n_messages + 1, sizeof *messages);
    if (messages == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "render a chat: out of memory");
    }
    for (size_t i = 0; i < item->n_messages; i++) {
        messages[i].role = chat_role(item->messages[i].role);
        messages[i].content = item->messages[i].content;
    }
    enum nj_status status = nj_chat_render(setting->tokenizer, messages, item->n_messages,
                                           chat_thinking(setting->spec->thinking), ids, err);
    free(messages);
    return status == NJ_E_UNSUPPORTED ? NJ_E_INPUT : status;
}

static enum nj_status write_ids(const struct nj_prompt_setting *setting,
                                const struct nj_item *item, struct nj_token_list *ids,
                                struct nj_error *err)
{
    if (item->n_ids > 0) {
        return nj_token_list_append(ids, item->ids, item->n_ids, err);
    }
    if (setting->tokenizer == NULL) {
        return nj_fail(err, NJ_E_INPUT,
                       "the model has no tokenizer files, so its prompts must be given as "
                       "`ids`");
    }
    if (item->uses_chat) {
        return render_chat(setting, item, ids, err);
    }
    return nj_tokenizer_encode(setting->tokenizer, item->prompt, ids, err);
}

static enum nj_status check_ids(const struct nj_dims *dims, const struct nj_token_list *ids,
                                struct nj_error *err)
{
    if (ids->n_ids == 0) {
        return nj_fail(err, NJ_E_INPUT, "the prompt is empty: it gives no token to begin with");
    }
    for (size_t i = 0; i < ids->n_ids; i++) {
        if (ids->ids[i] < 0 || (uint32_t)ids->ids[i] >= dims->n_vocabulary) {
            return nj_fail(err, NJ_E_INPUT,
                           "id %zu is %d: the model's vocabulary has %u entries, from 0", i,
                           ids->ids[i], dims->n_vocabulary);
        }
    }
    return NJ_OK;
}

/* The ids that the options name must be there too. */
static enum nj_status check_sampling(const struct nj_dims *dims,
                                     const struct nj_sampling *sampling, struct nj_error *err)
{
    const char *key = "sampling.stop_token_ids";
    nj_token largest = -1;
    if (sampling->n_stop_tokens > 0) {
        largest = sampling->stop_tokens[sampling->n_stop_tokens - 1]; /* they ascend */
    }
    if (sampling->n_logit_biases > 0 &&
        sampling->logit_biases[sampling->n_logit_biases - 1].token > largest) {
        key = "sampling.logit_bias";
        largest = sampling->logit_biases[sampling->n_logit_biases - 1].token;
    }
    if (largest >= 0 && (uint32_t)largest >= dims->n_vocabulary) {
        return nj_fail(err, NJ_E_INPUT,
                       "`%s` names id %d: the model's vocabulary has %u entries, from 0", key,
                       largest, dims->n_vocabulary);
    }
    return NJ_OK;
}

static enum nj_status check_context(const struct nj_prompt_setting *setting,
                                    const struct nj_token_list *ids, uint32_t max_tokens,
                                    struct nj_error *err)
{
    uint64_t n_positions = (uint64_t)ids->n_ids + max_tokens;
    uint32_t of_model = setting->dims->context_length;
    uint32_t of_job = setting->spec->context;
    if (of_model > 0 && n_positions > of_model) {
        return nj_fail(err, NJ_E_INPUT,
                       "a prompt of %zu tokens and max_tokens %u are %llu positions: the model "
                       "was made for %u; shorten the prompt or lower `max_tokens`",
                       ids->n_ids, max_tokens, (unsigned long long)n_positions, of_model);
    }
    if (of_job > 0 && n_positions > of_job) {
        return nj_fail(err, NJ_E_INPUT,
                       "a prompt of %zu tokens and max_tokens %u are %llu positions: the job's "
                       "`context` is %u; raise it, shorten the prompt or lower `max_tokens`",
                       ids->n_ids, max_tokens, (unsigned long long)n_positions, of_job);
    }
    return NJ_OK;
}

enum nj_status nj_prompt_build(const struct nj_prompt_setting *setting,
                               const struct nj_item *item, struct nj_token_list *ids,
                               struct nj_error *err)
{
    enum nj_status status = write_ids(setting, item, ids, err);
    if (status == NJ_OK) {
        status = check_ids(setting->dims, ids, err);
    }
    if (status == NJ_OK) {
        status = check_sampling(setting->dims, item->sampling, err);
    }
    if (status == NJ_OK) {
        status = check_context(setting, ids, item->sampling->max_tokens, err);
    }
    return status == NJ_OK ? NJ_OK : name_item(item, status, err);
}

/* Ids as bytes that are the same on every machine. */
static void add_ids(struct nj_digest_stream *stream, const struct nj_token_list *ids)
{
    uint8_t words[256 * 4];
    for (size_t begin = 0; begin < ids->n_ids; begin += 256) {
        struct nj_byte_writer writer;
        nj_byte_writer_init(&writer, words, sizeof words);
        for (size_t i = begin; i < ids->n_ids && i < begin + 256; i++) {
            nj_write_u32(&writer, (uint32_t)ids->ids[i]);
        }
        nj_digest_stream_add(stream, words, writer.offset);
    }
}

static void add_u64(struct nj_digest_stream *stream, const char *name, uint64_t value)
{
    uint8_t bytes[8];
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, bytes, sizeof bytes);
    nj_write_u64(&writer, value);
    nj_digest_stream_add_field(stream, name, bytes, sizeof bytes);
}

static void add_double(struct nj_digest_stream *stream, const char *name, double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    add_u64(stream, name, bits);
}

static void add_text(struct nj_digest_stream *stream, const char *name, struct nj_text text)
{
    nj_digest_stream_add_field(stream, name, text.data, text.length_bytes);
}

static void add_double_unless(struct nj_digest_stream *stream, const char *name, double value,
                              double off)
{
    if (value != off) {
        add_double(stream, name, value);
    }
}

/* Options that are off are left out, so that an item has the digest that it had before they
 * came into being. */
static void add_options(struct nj_digest_stream *stream, const struct nj_sampling *sampling)
{
    if (sampling->wants_logprobs) {
        add_u64(stream, "logprobs", sampling->n_top_logprobs);
    }
    add_double_unless(stream, "min_p", sampling->min_p, 0.0);
    add_double_unless(stream, "presence_penalty", sampling->presence_penalty, 0.0);
    add_double_unless(stream, "frequency_penalty", sampling->frequency_penalty, 0.0);
    add_double_unless(stream, "repeat_penalty", sampling->repeat_penalty, 1.0);
    for (size_t i = 0; i < sampling->n_stop_tokens; i++) {
        add_u64(stream, "stop_token_id", (uint64_t)sampling->stop_tokens[i]);
    }
    for (size_t i = 0; i < sampling->n_logit_biases; i++) {
        add_u64(stream, "logit_bias_id", (uint64_t)sampling->logit_biases[i].token);
        add_double(stream, "logit_bias", sampling->logit_biases[i].bias);
    }
}

static void add_sampling(struct nj_digest_stream *stream, const struct nj_item *item)
{
    const struct nj_sampling *sampling = item->sampling;
    add_double(stream, "temperature", sampling->temperature);
    add_double(stream, "top_p", sampling->top_p);
    add_u64(stream, "top_k", sampling->top_k);
    add_u64(stream, "max_tokens", sampling->max_tokens);
    if (item->sample > 0) {
        add_u64(stream, "sample", item->sample);
    }
    add_u64(stream, "seed", sampling->temperature > 0.0 ? item->seed : 0);
    for (size_t i = 0; i < sampling->n_stop; i++) {
        add_text(stream, "stop", sampling->stop[i]);
    }
    add_options(stream, sampling);
}

static void add_item(struct nj_digest_stream *stream, const struct nj_prompt_setting *setting,
                     const struct nj_item *item, const struct nj_token_list *ids)
{
    nj_digest_stream_add_field(stream, "model", setting->model.bytes, NJ_DIGEST_BYTES);
    add_u64(stream, "numerics_version", NJ_NUMERICS_VERSION);
    add_double(stream, "latent_norm_eps", (double)setting->latent_norm_eps);
    add_text(stream, "id", item->id);
    for (size_t i = 0; i < item->n_vars; i++) {
        add_text(stream, "variable", item->vars[i].name);
        add_text(stream, "value", item->vars[i].value);
    }
    add_u64(stream, "given_as_ids", item->n_ids > 0 ? 1 : 0);
    add_u64(stream, "chat", item->uses_chat ? 1 : 0);
    add_u64(stream, "thinking", item->uses_chat ? (uint64_t)setting->spec->thinking : 0);
    add_sampling(stream, item);
    add_u64(stream, "prompt", ids->n_ids);
    add_ids(stream, ids);
}

enum nj_status nj_prompt_digest(const struct nj_prompt_setting *setting,
                                const struct nj_item *item, const struct nj_token_list *ids,
                                struct nj_digest *digest, struct nj_error *err)
{
    struct nj_digest_stream *stream = NULL;
    enum nj_status status = nj_digest_stream_create(&stream, err);
    if (status != NJ_OK) {
        return status;
    }
    add_item(stream, setting, item, ids);
    status = nj_digest_stream_finish(stream, digest, err);
    nj_digest_stream_destroy(stream);
    return status;
}

enum nj_status nj_prompt_ids_digest(const struct nj_token_list *ids, struct nj_digest *digest,
                                    struct nj_error *err)
{
    struct nj_digest_stream *stream = NULL;
    enum nj_status status = nj_digest_stream_create(&stream, err);
    if (status != NJ_OK) {
        return status;
    }
    add_ids(stream, ids);
    status = nj_digest_stream_finish(stream, digest, err);
    nj_digest_stream_destroy(stream);
    return status;
}
