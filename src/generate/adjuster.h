/* What is done to logits before a token is chosen: biases and penalties.
 *
 * All of it is a function of the logits, the options and the ids so far. Counts are taken anew
 * from those ids each time, which costs little beside a sweep, so there is no state that a
 * restart could lose.
 *
 * Threads: one owner; holds scratch for one vocabulary.
 */
#ifndef NJ_GENERATE_ADJUSTER_H
#define NJ_GENERATE_ADJUSTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/value_types.h"
#include "nightjar/generate.h"

/* The ids so far; the prompt's first. Borrowed. */
struct nj_token_history {
    const nj_token *tokens;
    size_t n_prompt;
    size_t n_tokens;
};

/* Invariant between calls: `counts` is all zero. */
struct nj_adjuster {
    uint32_t n_vocabulary;
    float *logits;    /* (n_vocabulary) the adjusted copy */
    uint32_t *counts; /* (n_vocabulary) */
};

/* Releases nothing on failure: deinit does. */
enum nj_status nj_adjuster_init(struct nj_adjuster *adjuster, uint32_t n_vocabulary,
                                struct nj_error *err);
void nj_adjuster_deinit(struct nj_adjuster *adjuster);

/* Returns `logits` themselves when no option changes them, else the adjuster's copy, valid
 * until the next call. Finite logits stay finite. */
const float *nj_adjuster_apply(struct nj_adjuster *adjuster, const float *logits,
                               const struct nj_sampling_options *options,
                               const struct nj_token_history *history);

#endif
