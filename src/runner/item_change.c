#include "runner/item_change.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_BYTES = 48 }; /* of a value; longer ones are only said to differ */

bool nj_text_change_describe(const char *field, struct nj_text before, struct nj_text now,
                             char text[NJ_ITEM_CHANGE_BYTES])
{
    if (nj_text_equal(before, now)) {
        return false;
    }
    if (before.length_bytes > SHOWN_BYTES || now.length_bytes > SHOWN_BYTES) {
        (void)snprintf(text, NJ_ITEM_CHANGE_BYTES, "`%.80s` differs", field);
        return true;
    }
    (void)snprintf(text, NJ_ITEM_CHANGE_BYTES, "`%.80s` was \"%.*s\" and is \"%.*s\"", field,
                   (int)before.length_bytes, before.data != NULL ? before.data : "",
                   (int)now.length_bytes, now.data != NULL ? now.data : "");
    return true;
}

static bool describe_number(const char *field, double before, double now,
                            char text[NJ_ITEM_CHANGE_BYTES])
{
    if (before == now) {
        return false;
    }
    (void)snprintf(text, NJ_ITEM_CHANGE_BYTES, "`%s` was %.15g and is %.15g", field, before,
                   now);
    return true;
}

static bool describe_seed(uint64_t before, uint64_t now, char text[NJ_ITEM_CHANGE_BYTES])
{
    if (before == now) {
        return false;
    }
    (void)snprintf(text, NJ_ITEM_CHANGE_BYTES, "its seed was %llu and is %llu",
                   (unsigned long long)before, (unsigned long long)now);
    return true;
}

/* What has no short value. */
static bool describe_differing(const char *field, bool differs, char text[NJ_ITEM_CHANGE_BYTES])
{
    if (differs) {
        (void)snprintf(text, NJ_ITEM_CHANGE_BYTES, "`%s` differs", field);
    }
    return differs;
}

static bool describe_variables(const struct nj_item *before, const struct nj_item *now,
                               char text[NJ_ITEM_CHANGE_BYTES])
{
    size_t n = before->n_vars < now->n_vars ? before->n_vars : now->n_vars;
    for (size_t i = 0; i < n; i++) {
        char field[100];
        const struct nj_variable *old_one = &before->vars[i];
        const struct nj_variable *new_one = &now->vars[i];
        if (!nj_text_equal(old_one->name, new_one->name)) {
            return nj_text_change_describe("vars", old_one->name, new_one->name, text);
        }
        (void)snprintf(field, sizeof field, "vars.%.*s", (int)old_one->name.length_bytes,
                       old_one->name.data);
        if (nj_text_change_describe(field, old_one->value, new_one->value, text)) {
            return true;
        }
    }
    return describe_number("number of vars", (double)before->n_vars, (double)now->n_vars, text);
}

static bool describe_messages(const struct nj_item *before, const struct nj_item *now,
                              char text[NJ_ITEM_CHANGE_BYTES])
{
    if (before->n_messages != now->n_messages) {
        return describe_differing("messages", true, text);
    }
    for (size_t i = 0; i < before->n_messages; i++) {
        const struct nj_item_message *old_one = &before->messages[i];
        const struct nj_item_message *new_one = &now->messages[i];
        if (old_one->role != new_one->role) {
            return describe_differing("messages", true, text);
        }
        const char *field = old_one->role == NJ_JOB_ROLE_SYSTEM ? "system" : "prompt";
        if (nj_text_change_describe(field, old_one->content, new_one->content, text)) {
            return true;
        }
    }
    return false;
}

static bool describe_prompt(const struct nj_item *before, const struct nj_item *now,
                            char text[NJ_ITEM_CHANGE_BYTES])
{
    bool ids_differ =
        before->n_ids != now->n_ids ||
        (now->n_ids > 0 && memcmp(before->ids, now->ids, now->n_ids * sizeof *now->ids) != 0);
    return describe_differing("ids", ids_differ, text) ||
           describe_differing("messages", before->uses_chat != now->uses_chat, text) ||
           nj_text_change_describe("prompt", before->prompt, now->prompt, text) ||
           describe_messages(before, now, text);
}

static bool stops_differ(const struct nj_sampling *a, const struct nj_sampling *b)
{
    bool differ = a->n_stop != b->n_stop;
    for (size_t i = 0; i < a->n_stop && !differ; i++) {
        differ = !nj_text_equal(a->stop[i], b->stop[i]);
    }
    return differ;
}

static bool stop_tokens_differ(const struct nj_sampling *a, const struct nj_sampling *b)
{
    return a->n_stop_tokens != b->n_stop_tokens ||
           (a->n_stop_tokens > 0 && memcmp(a->stop_tokens, b->stop_tokens,
                                           a->n_stop_tokens * sizeof *a->stop_tokens) != 0);
}

static bool biases_differ(const struct nj_sampling *a, const struct nj_sampling *b)
{
    bool differ = a->n_logit_biases != b->n_logit_biases;
    for (size_t i = 0; i < a->n_logit_biases && !differ; i++) {
        differ = a->logit_biases[i].token != b->logit_biases[i].token ||
                 a->logit_biases[i].bias != b->logit_biases[i].bias;
    }
    return differ;
}

static bool describe_numbers(const struct nj_sampling *a, const struct nj_sampling *b,
                             char text[NJ_ITEM_CHANGE_BYTES])
{
    const struct {
        const char *field;
        double before, now;
    } numbers[] = {
        {"sampling.temperature", a->temperature, b->temperature},
        {"sampling.top_p", a->top_p, b->top_p},
        {"sampling.top_k", a->top_k, b->top_k},
        {"sampling.min_p", a->min_p, b->min_p},
        {"sampling.max_tokens", a->max_tokens, b->max_tokens},
        {"sampling.n", a->n, b->n},
        {"sampling.presence_penalty", a->presence_penalty, b->presence_penalty},
        {"sampling.frequency_penalty", a->frequency_penalty, b->frequency_penalty},
        {"sampling.repeat_penalty", a->repeat_penalty, b->repeat_penalty},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (describe_number(numbers[i].field, numbers[i].before, numbers[i].now, text)) {
            return true;
        }
    }
    return false;
}

static bool describe_sampling(const struct nj_sampling *a, const struct nj_sampling *b,
                              char text[NJ_ITEM_CHANGE_BYTES])
{
    bool logprobs_differ =
        a->wants_logprobs != b->wants_logprobs || a->n_top_logprobs != b->n_top_logprobs;
    return describe_numbers(a, b, text) ||
           describe_differing("sampling.stop", stops_differ(a, b), text) ||
           describe_differing("sampling.stop_token_ids", stop_tokens_differ(a, b), text) ||
           describe_differing("sampling.logit_bias", biases_differ(a, b), text) ||
           describe_differing("sampling.logprobs", logprobs_differ, text);
}

bool nj_item_change_describe(const struct nj_item_of_job *before,
                             const struct nj_item_of_job *now, char text[NJ_ITEM_CHANGE_BYTES])
{
    const struct nj_item *a = before->item;
    const struct nj_item *b = now->item;
    return nj_text_change_describe("id", a->id, b->id, text) ||
           describe_variables(a, b, text) || describe_prompt(a, b, text) ||
           describe_differing("thinking", before->spec->thinking != now->spec->thinking,
                              text) ||
           describe_sampling(a->sampling, b->sampling, text) ||
           describe_number("sample", a->sample, b->sample, text) ||
           describe_seed(a->seed, b->seed, text);
}
