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
#include "nightjar/generate.h"

struct nj_sampler;

struct nj_choice {
    nj_token token;
    float logprob; /* log-softmax of the logits as the model gave them */
};

/* Caller owns `*sampler`. */
enum nj_status nj_sampler_create(uint32_t n_vocabulary, struct nj_sampler **sampler,
                                 struct nj_error *err);
void nj_sampler_destroy(struct nj_sampler *sampler);

/* `logits` (n_vocabulary) are finite; `position` is that of the token being chosen. */
struct nj_choice nj_sampler_choose(struct nj_sampler *sampler, const float *logits,
                                   const struct nj_sampling_options *options,
                                   uint64_t position);

#endif
