#include "generate/adjuster.h"

#include <float.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum nj_status nj_adjuster_init(struct nj_adjuster *adjuster, uint32_t n_vocabulary,
                                struct nj_error *err)
{
    adjuster->n_vocabulary = n_vocabulary;
    adjuster->logits = calloc(n_vocabulary, sizeof *adjuster->logits);
    adjuster->counts = calloc(n_vocabulary, sizeof *adjuster->counts);
    if (adjuster->logits == NULL || adjuster->counts == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "adjust logits of %u ids: out of memory",
                       n_vocabulary);
    }
    return NJ_OK;
}

void nj_adjuster_deinit(struct nj_adjuster *adjuster)
{
    free(adjuster->logits);
    free(adjuster->counts);
    memset(adjuster, 0, sizeof *adjuster);
}

/* Extreme logits must not become infinite: the difference of two of them would be no number. */
static float to_finite(double value)
{
    if (value > (double)FLT_MAX) {
        return FLT_MAX;
    }
    return value < -(double)FLT_MAX ? -FLT_MAX : (float)value;
}

static void add_biases(float *logits, const struct nj_sampling_options *options)
{
    for (size_t i = 0; i < options->n_logit_biases; i++) {
        float *logit = &logits[options->logit_biases[i].token];
        *logit = to_finite((double)*logit + options->logit_biases[i].bias);
    }
}

/* Whoever goes over the same ids after it takes each count back to zero. */
static void count(uint32_t *counts, const nj_token *tokens, size_t n_tokens)
{
    for (size_t i = 0; i < n_tokens; i++) {
        counts[tokens[i]]++;
    }
}

/* Every id that occurs, once. A penalty above 1 makes it less likely whatever its sign. */
static void penalize_repeats(struct nj_adjuster *adjuster, double penalty,
                             const struct nj_token_history *history)
{
    count(adjuster->counts, history->tokens, history->n_tokens);
    for (size_t i = 0; i < history->n_tokens; i++) {
        nj_token token = history->tokens[i];
        if (adjuster->counts[token] > 0) {
            double logit = (double)adjuster->logits[token];
            adjuster->logits[token] =
                to_finite(logit > 0.0 ? logit / penalty : logit * penalty);
            adjuster->counts[token] = 0;
        }
    }
}

/* Every id that was chosen, by how often. */
static void penalize_counts(struct nj_adjuster *adjuster,
                            const struct nj_sampling_options *options,
                            const struct nj_token_history *history)
{
    const nj_token *chosen = history->tokens + history->n_prompt;
    size_t n_chosen = history->n_tokens - history->n_prompt;
    count(adjuster->counts, chosen, n_chosen);
    for (size_t i = 0; i < n_chosen; i++) {
        uint32_t times = adjuster->counts[chosen[i]];
        if (times > 0) {
            double penalty =
                (double)times * options->frequency_penalty + options->presence_penalty;
            float *logit = &adjuster->logits[chosen[i]];
            *logit = to_finite((double)*logit - penalty);
            adjuster->counts[chosen[i]] = 0;
        }
    }
}

const float *nj_adjuster_apply(struct nj_adjuster *adjuster, const float *logits,
                               const struct nj_sampling_options *options,
                               const struct nj_token_history *history)
{
    bool penalizes_repeats = options->repeat_penalty > 0.0 && options->repeat_penalty != 1.0;
    bool penalizes_counts =
        options->frequency_penalty != 0.0 || options->presence_penalty != 0.0;
    if (options->n_logit_biases == 0 && !penalizes_repeats && !penalizes_counts) {
        return logits;
    }
    memcpy(adjuster->logits, logits, adjuster->n_vocabulary * sizeof *logits);
    add_biases(adjuster->logits, options);
    if (penalizes_repeats && history->n_tokens > 0) {
        penalize_repeats(adjuster, options->repeat_penalty, history);
    }
    if (penalizes_counts && history->n_tokens > history->n_prompt) {
        penalize_counts(adjuster, options, history);
    }
    return adjuster->logits;
}
