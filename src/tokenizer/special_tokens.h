/* The tokens that text cannot spell: ids by name and names by id.
 *
 * Read from `added_tokens_decoder` of `tokenizer_config.json`. The file's `special` flag plays
 * no part: released files say false for three of the chat's control tokens. What is named here
 * is a control token, whatever the flag.
 */
#ifndef NJ_TOKENIZER_SPECIAL_TOKENS_H
#define NJ_TOKENIZER_SPECIAL_TOKENS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"
#include "base/value_types.h"

#define NJ_TOKENIZER_CONFIG_FILE "tokenizer_config.json"

struct nj_special_token {
    struct nj_text name; /* in the arena, NUL behind it */
    nj_token id;
};

/* Invariant: ids and names are each unique. Both arrays hold the same tokens. */
struct nj_special_tokens {
    uint32_t n_tokens;
    struct nj_special_token *by_id;
    struct nj_special_token *by_name;
    nj_token end_id; /* of `eos_token`, or -1 */
};

/* Ids must lie in n_ranks .. n_vocabulary - 1. A file without `added_tokens_decoder` has no
 * special tokens. NJ_E_WEIGHTS for anything else that is not as released. */
enum nj_status nj_special_tokens_parse(struct nj_text json, uint32_t n_ranks,
                                       uint32_t n_vocabulary, struct nj_arena *arena,
                                       struct nj_special_tokens *tokens, struct nj_error *err);

/* -1 when there is none. */
nj_token nj_special_tokens_id(const struct nj_special_tokens *tokens, struct nj_text name);

/* Empty when there is none. */
struct nj_text nj_special_tokens_name(const struct nj_special_tokens *tokens, nj_token id);

#endif
