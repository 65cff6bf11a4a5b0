#include "generate/sampler.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/elementary.h"
#include "base/random.h"

struct candidate {
    float logit;
    nj_token token;
};

struct nj_sampler {
    uint32_t n_vocabulary;
    struct nj_adjuster adjuster;
    struct candidate *candidates; /* (n_vocabulary) heap in front, ranked ones at the back */
    struct candidate *by_id;      /* (n_vocabulary) scratch for the kept ones in id order */
};

static enum nj_status check_biases(const struct nj_sampling_options *options,
                                   uint32_t n_vocabulary, struct nj_error *err)
{
    for (size_t i = 0; i < options->n_logit_biases; i++) {
        const struct nj_token_bias *bias = &options->logit_biases[i];
        if (bias->token < 0 || (uint32_t)bias->token >= n_vocabulary) {
            return nj_fail(err, NJ_E_USAGE,
                           "logit bias of id %d: the vocabulary has %u entries, from 0",
                           bias->token, n_vocabulary);
        }
        if (!isfinite(bias->bias)) {
            return nj_fail(err, NJ_E_USAGE, "the logit bias of id %d is not finite",
                           bias->token);
        }
    }
    return NJ_OK;
}

enum nj_status nj_sampling_options_check(const struct nj_sampling_options *options,
                                         uint32_t n_vocabulary, struct nj_error *err)
{
    if (!(options->temperature >= 0.0 && isfinite(options->temperature))) {
        return nj_fail(err, NJ_E_USAGE, "temperature %g: at least 0", options->temperature);
    }
    if (!(options->min_p >= 0.0 && options->min_p <= 1.0)) {
        return nj_fail(err, NJ_E_USAGE, "min_p %g: from 0 to 1", options->min_p);
    }
    if (!(options->repeat_penalty >= 0.0 && isfinite(options->repeat_penalty))) {
        return nj_fail(err, NJ_E_USAGE, "repeat_penalty %g: above 0, or 0 for none",
                       options->repeat_penalty);
    }
    if (!isfinite(options->presence_penalty) || !isfinite(options->frequency_penalty)) {
        return nj_fail(err, NJ_E_USAGE, "a presence or frequency penalty is not finite");
    }
    if (options->n_top_logprobs > NJ_MAX_TOP_LOGPROBS) {
        return nj_fail(err, NJ_E_USAGE, "%u top logprobs: at most %d", options->n_top_logprobs,
                       NJ_MAX_TOP_LOGPROBS);
    }
    return check_biases(options, n_vocabulary, err);
}

enum nj_status nj_sampler_create(uint32_t n_vocabulary, struct nj_sampler **sampler,
                                 struct nj_error *err)
{
    struct nj_sampler *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "create a sampler: out of memory");
    }
    created->n_vocabulary = n_vocabulary;
    created->candidates = calloc(n_vocabulary, sizeof *created->candidates);
    created->by_id = calloc(n_vocabulary, sizeof *created->by_id);
    if (created->candidates == NULL || created->by_id == NULL) {
        nj_sampler_destroy(created);
        return nj_fail(err, NJ_E_MEMORY, "create a sampler for %u ids: out of memory",
                       n_vocabulary);
    }
    enum nj_status status = nj_adjuster_init(&created->adjuster, n_vocabulary, err);
    if (status != NJ_OK) {
        nj_sampler_destroy(created);
        return status;
    }
    *sampler = created;
    return NJ_OK;
}

void nj_sampler_destroy(struct nj_sampler *sampler)
{
    if (sampler == NULL) {
        return;
    }
    nj_adjuster_deinit(&sampler->adjuster);
    free(sampler->candidates);
    free(sampler->by_id);
    free(sampler);
}

static nj_token argmax(const float *logits, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) {
        if (logits[i] > logits[best]) {
            best = i;
        }
    }
    return (nj_token)best;
}

static bool ranks_before(struct candidate a, struct candidate b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

static void sift_down(struct candidate *heap, uint32_t n, uint32_t parent)
{
    struct candidate moved = heap[parent];
    for (uint32_t child = 2 * parent + 1; child < n; child = 2 * parent + 1) {
        if (child + 1 < n && ranks_before(heap[child + 1], heap[child])) {
            child++;
        }
        if (!ranks_before(heap[child], moved)) {
            break;
        }
        heap[parent] = heap[child];
        parent = child;
    }
    heap[parent] = moved;
}

/* Ranks 0 .. n_ranked - 1 stand at the array's end, last to first; the heap is before them. */
struct ranking {
    struct candidate *candidates;
    uint32_t n;
    uint32_t n_ranked;
};

static void ranking_init(struct ranking *ranking, struct candidate *candidates,
                         const float *logits, uint32_t n)
{
    *ranking = (struct ranking){.candidates = candidates, .n = n};
    for (uint32_t i = 0; i < n; i++) {
        candidates[i] = (struct candidate){.logit = logits[i], .token = (nj_token)i};
    }
    for (uint32_t i = n / 2; i-- > 0;) {
        sift_down(candidates, n, i);
    }
}

static struct candidate ranking_at(struct ranking *ranking, uint32_t rank)
{
    while (ranking->n_ranked <= rank) {
        uint32_t last = ranking->n - 1 - ranking->n_ranked;
        struct candidate top = ranking->candidates[0];
        ranking->candidates[0] = ranking->candidates[last];
        ranking->candidates[last] = top;
        ranking->n_ranked++;
        sift_down(ranking->candidates, last, 0);
    }
    return ranking->candidates[ranking->n - 1 - rank];
}

static int compare_ids(const void *a, const void *b)
{
    nj_token first = ((const struct candidate *)a)->token;
    nj_token second = ((const struct candidate *)b)->token;
    return (first > second) - (first < second);
}

/* The unnormalised probability; 1 for the largest logit. The difference is taken first, so that
 * a tiny temperature cannot turn it into inf - inf. */
static double weight_of(struct candidate candidate, float largest, double temperature)
{
    return (double)nj_exp((float)((double)(candidate.logit - largest) / temperature));
}

/* The kept candidates' weights, added in rising id: what top_p is a share of. */
static double total_weight(struct nj_sampler *sampler, struct ranking *ranking,
                           const float *logits, uint32_t n_kept, float largest,
                           double temperature)
{
    double total = 0.0;
    if (n_kept == sampler->n_vocabulary) {
        for (uint32_t i = 0; i < n_kept; i++) {
            struct candidate candidate = {.logit = logits[i], .token = (nj_token)i};
            total += weight_of(candidate, largest, temperature);
        }
        return total;
    }
    for (uint32_t rank = 0; rank < n_kept; rank++) {
        sampler->by_id[rank] = ranking_at(ranking, rank);
    }
    qsort(sampler->by_id, n_kept, sizeof *sampler->by_id, compare_ids);
    for (uint32_t i = 0; i < n_kept; i++) {
        total += weight_of(sampler->by_id[i], largest, temperature);
    }
    return total;
}

/* The first ranks, and the sum of their weights. */
struct kept {
    uint32_t n;
    double mass;
};

/* By rank, until the share is reached; at least one. */
static struct kept cut_top_p(struct ranking *ranking, struct kept kept, float largest,
                             const struct nj_sampling_options *options)
{
    double wanted = options->top_p * kept.mass;
    struct kept cut = {0};
    while (cut.n < kept.n && (cut.n == 0 || cut.mass < wanted)) {
        cut.mass += weight_of(ranking_at(ranking, cut.n++), largest, options->temperature);
    }
    return cut;
}

/* By rank, while the weight is at least that share of the largest, which is 1. */
static struct kept cut_min_p(struct ranking *ranking, struct kept kept, float largest,
                             const struct nj_sampling_options *options)
{
    struct kept cut = {0};
    while (cut.n < kept.n) {
        double weight = weight_of(ranking_at(ranking, cut.n), largest, options->temperature);
        if (weight < options->min_p) {
            break;
        }
        cut.mass += weight;
        cut.n++;
    }
    return cut;
}

static nj_token pick(struct ranking *ranking, struct kept kept, float largest,
                     double temperature, double uniform)
{
    double aim = kept.mass * uniform;
    double reached = 0.0;
    nj_token chosen = ranking_at(ranking, 0).token;
    for (uint32_t rank = 0; rank < kept.n; rank++) {
        struct candidate candidate = ranking_at(ranking, rank);
        double weight = weight_of(candidate, largest, temperature);
        if (weight == 0.0) {
            break; /* rounding kept the sum below the aim: the last possible one is taken */
        }
        chosen = candidate.token;
        reached += weight;
        if (reached > aim) {
            break;
        }
    }
    return chosen;
}

static nj_token draw(struct nj_sampler *sampler, const float *logits, float largest,
                     const struct nj_sampling_options *options, uint64_t position)
{
    double temperature = options->temperature;
    struct kept kept = {.n = sampler->n_vocabulary};
    struct ranking ranking;
    ranking_init(&ranking, sampler->candidates, logits, kept.n);
    if (options->top_k > 0 && options->top_k < kept.n) {
        kept.n = options->top_k;
    }
    kept.mass = total_weight(sampler, &ranking, logits, kept.n, largest, temperature);
    if (options->top_p > 0.0 && options->top_p < 1.0) {
        kept = cut_top_p(&ranking, kept, largest, options);
    }
    if (options->min_p > 0.0) {
        kept = cut_min_p(&ranking, kept, largest, options);
    }
    double uniform = nj_draw_uniform(options->seed, options->sample, position, 0);
    return pick(&ranking, kept, largest, temperature, uniform);
}

/* Log of the sum of exp(logit - largest): in FP64, in rising id. */
static float log_sum(const float *logits, uint32_t n, float largest)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (double)nj_exp(logits[i] - largest);
    }
    return nj_log((float)sum);
}

/* The `n_top` first ranks, by insertion: few of so many. `.logprob` is the logit. Returns how
 * many there are. */
static uint32_t find_top(const float *logits, uint32_t n, uint32_t n_top,
                         struct nj_token_logprob *top)
{
    uint32_t n_found = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = n_found;
        while (place > 0 && logits[i] > top[place - 1].logprob) {
            place--;
        }
        if (place == n_top) {
            continue;
        }
        n_found += n_found < n_top ? 1 : 0;
        memmove(&top[place + 1], &top[place], (n_found - 1 - place) * sizeof *top);
        top[place] = (struct nj_token_logprob){.token = (nj_token)i, .logprob = logits[i]};
    }
    return n_found;
}

static void tell_logprobs(const float *logits, uint32_t n, uint32_t n_top,
                          struct nj_choice *choice)
{
    float largest = logits[argmax(logits, n)];
    float log_of_sum = log_sum(logits, n, largest);
    choice->logprob = (logits[choice->token] - largest) - log_of_sum;
    choice->n_top = find_top(logits, n, n_top, choice->top);
    for (uint32_t i = 0; i < choice->n_top; i++) {
        choice->top[i].logprob = (choice->top[i].logprob - largest) - log_of_sum;
    }
}

void nj_sampler_choose(struct nj_sampler *sampler, const float *logits,
                       const struct nj_sampling_options *options,
                       const struct nj_token_history *history, struct nj_choice *choice)
{
    uint32_t n = sampler->n_vocabulary;
    const float *adjusted = nj_adjuster_apply(&sampler->adjuster, logits, options, history);
    nj_token greedy = argmax(adjusted, n);
    choice->token = options->temperature > 0.0
                        ? draw(sampler, adjusted, adjusted[greedy], options, history->n_tokens)
                        : greedy;
    tell_logprobs(logits, n, options->n_top_logprobs, choice);
}
