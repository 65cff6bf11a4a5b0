/* The log-probabilities of one answer, id by id: what its result line shows under `logprobs`.
 *
 * They are logged with the ids and restored with them, bit for bit, so a continued answer shows
 * what one that never stopped would have shown.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_LOGPROBS_H
#define NJ_RUNNER_LOGPROBS_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "nightjar/generate.h"
#include "tokenizer/tokenizer.h"

/* Zeroed is valid and empty. Each id has 1 + n_top values: itself, then its alternatives.
 * Invariant: n_values is n_ids * (1 + n_top). */
struct nj_logprobs {
    struct nj_token_logprob *values;
    size_t n_values;
    size_t values_capacity;
    size_t n_ids;
    uint32_t n_top; /* the same for all ids: decided by the first */
};

void nj_logprobs_deinit(struct nj_logprobs *logprobs);

/* `n_top` must be that of the ids before. */
enum nj_status nj_logprobs_add(struct nj_logprobs *logprobs, struct nj_token_logprob chosen,
                               const struct nj_token_logprob *top, uint32_t n_top,
                               struct nj_error *err);

/* Appends all of `others`. */
enum nj_status nj_logprobs_copy(struct nj_logprobs *logprobs, const struct nj_logprobs *others,
                                struct nj_error *err);

/* Writes an array for the first `n_ids` (docs/formats/results.md). Without a tokenizer (NULL)
 * tokens have no text. */
void nj_logprobs_write(const struct nj_logprobs *logprobs, size_t n_ids,
                       const struct nj_tokenizer *tokenizer, struct nj_json_writer *writer);

#endif
