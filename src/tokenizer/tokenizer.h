/* Text to token ids and back, for models that ship `tiktoken.model` and
 * `tokenizer_config.json`.
 *
 * Rank BPE as released: the text is split by the pattern of kimi-k3 (PCRE2, Han ranges written
 * out), each piece starts from single bytes and merges the adjacent pair of lowest rank,
 * leftmost first. Special tokens have ids and names but are never recognised in text from
 * people: `encode` gives ordinary tokens for the literal text "<|open|>"; only `special` looks
 * names up.
 *
 * Threads: after open, `encode` and `decode` of one tokenizer belong to one thread.
 */
#ifndef NJ_TOKENIZER_TOKENIZER_H
#define NJ_TOKENIZER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "base/value_types.h"

struct nj_tokenizer;

/* A growing list of ids; zeroed is valid and empty. */
struct nj_token_list {
    nj_token *ids;
    size_t n_ids;
    size_t capacity;
};

void nj_token_list_deinit(struct nj_token_list *list);
enum nj_status nj_token_list_append(struct nj_token_list *list, const nj_token *ids,
                                    size_t n_ids, struct nj_error *err);

/* Reads both files (docs/formats/tokenizer.md) from a model directory. `n_vocabulary` is the
 * model's: ids at or above it are an error. NJ_E_NOT_FOUND when the directory has neither file
 * (such models are driven by ids); NJ_E_WEIGHTS with file and line for a bad one, or when one
 * is missing. On success the caller owns `*tokenizer`. */
enum nj_status nj_tokenizer_open(const struct nj_file_system *fs, const char *directory,
                                 uint32_t n_vocabulary, struct nj_tokenizer **tokenizer,
                                 struct nj_error *err);
void nj_tokenizer_close(struct nj_tokenizer *tokenizer);

/* Appends the ids of `text` with specials disabled. The text must be valid UTF-8 (NJ_E_INPUT
 * with the byte offset otherwise). The list is unchanged on failure. */
enum nj_status nj_tokenizer_encode(struct nj_tokenizer *tokenizer, struct nj_text text,
                                   struct nj_token_list *list, struct nj_error *err);

/* The id of a special token by its name ("<|open|>"), or -1. */
nj_token nj_tokenizer_special(const struct nj_tokenizer *tokenizer, const char *name);

/* The bytes of an ordinary token; for any other id its name with `*is_special` true, an empty
 * span when no file names it. Valid until close. */
struct nj_bytes nj_tokenizer_bytes(const struct nj_tokenizer *tokenizer, nj_token token,
                                   bool *is_special);

/* Ids that end a generation: <|end_of_msg|> or <|im_end|>, and [EOS], those that exist; when
 * none does, the configuration's `eos_token`. */
size_t nj_tokenizer_stops(const struct nj_tokenizer *tokenizer, const nj_token **stops);

uint32_t nj_tokenizer_n_ranks(const struct nj_tokenizer *tokenizer);
uint32_t nj_tokenizer_n_specials(const struct nj_tokenizer *tokenizer);

/* SHA-256 over both files and the chat template's version. */
const struct nj_digest *nj_tokenizer_digest(const struct nj_tokenizer *tokenizer);

#endif
