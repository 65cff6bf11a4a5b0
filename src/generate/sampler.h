/* Chooses a token from logits.
 *
 * The order of operations is fixed (docs/formats/sampling.md), and the draw is a function of
 * (seed, sample, position), so there is no generator state to save or lose. Candidates are
 * ranked by a total order, larger logit first and then lower id, and only as far down as a
 * choice needs: the result is that of a full sort.
 *
 * Threads: one owner; holds scratch for one vocabulary.
 */
#ifndef NJ_GENERATE_SAMPLER_H
#define NJ_GENERATE_SAMPLER_H

#include <stdint.h>

#include "base/status.h"
#include "base/value_types.h"
#include "generate/adjuster.h"
#include "nightjar/generate.h"

struct nj_sampler;

/* Log-probabilities are of the logits as the model gave them. */
struct nj_choice {
    nj_token token;
    float logprob;
    uint32_t n_top; /* n_top_logprobs, or the whole vocabulary if that is less */
    struct nj_token_logprob top[NJ_MAX_TOP_LOGPROBS]; /* larger first, then lower id */
};

/* NJ_E_USAGE when an option is out of its range or names an id outside the vocabulary. */
enum nj_status nj_sampling_options_check(const struct nj_sampling_options *options,
                                         uint32_t n_vocabulary, struct nj_error *err);

/* Caller owns `*sampler`. */
enum nj_status nj_sampler_create(uint32_t n_vocabulary, struct nj_sampler **sampler,
                                 struct nj_error *err);
void nj_sampler_destroy(struct nj_sampler *sampler);

/* `logits` (n_vocabulary) are finite, the options have been checked. The position of the token
 * being chosen is the number of ids so far. */
void nj_sampler_choose(struct nj_sampler *sampler, const float *logits,
                       const struct nj_sampling_options *options,
                       const struct nj_token_history *history, struct nj_choice *choice);

#endif
