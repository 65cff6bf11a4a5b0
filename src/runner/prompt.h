/* An item as the model will read it: ids, and the digest of everything that decides its result.
 *
 * Threads: one owner; the tokenizer is used.
 */
#ifndef NJ_RUNNER_PROMPT_H
#define NJ_RUNNER_PROMPT_H

#include <stdint.h>

#include "base/digest.h"
#include "base/status.h"
#include "job/items.h"
#include "job/spec.h"
#include "model/dims.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

/* What all prompts of a run share. Borrowed. */
struct nj_prompt_setting {
    const struct nj_job_spec *spec;
    const struct nj_dims *dims;
    struct nj_tokenizer *tokenizer; /* NULL: prompts are ids */
    struct nj_digest model;         /* fingerprint */
    float latent_norm_eps;          /* in force */
};

/* Appends the item's ids to `ids`. NJ_E_INPUT, naming the item: text without a tokenizer, a
 * chat without chat tokens, an id outside the vocabulary, an empty prompt, or a prompt that
 * with its max_tokens is longer than the model's context. */
enum nj_status nj_prompt_build(const struct nj_prompt_setting *setting,
                               const struct nj_item *item, struct nj_token_list *ids,
                               struct nj_error *err);

/* Two items with equal digests have equal results. */
enum nj_status nj_prompt_digest(const struct nj_prompt_setting *setting,
                                const struct nj_item *item, const struct nj_token_list *ids,
                                struct nj_digest *digest, struct nj_error *err);

/* SHA-256 over the ids as 32-bit little-endian words: `prompt_sha256` of the result line. */
enum nj_status nj_prompt_ids_digest(const struct nj_token_list *ids, struct nj_digest *digest,
                                    struct nj_error *err);

#endif
