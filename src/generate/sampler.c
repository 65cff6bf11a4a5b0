#include "generate/sampler.h"

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
    struct candidate *candidates; /* (n_vocabulary) heap in front, ranked ones at the back */
    struct candidate *by_id;      /* (n_vocabulary) scratch for the kept ones in id order */
};

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
    *sampler = created;
    return NJ_OK;
}

void nj_sampler_destroy(struct nj_sampler *sampler)
{
    if (sampler == NULL) {
        return;
    }
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

/* Log-softmax of one logit: the sum in FP64, in rising id, around the largest. */
static float log_probability(const float *logits, uint32_t n, float largest, nj_token token)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (double)nj_exp(logits[i] - largest);
    }
    return (logits[token] - largest) - nj_log((float)sum);
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

static nj_token draw(struct nj_sampler *sampler, const float *logits, float largest,
                     const struct nj_sampling_options *options, uint64_t position)
{
    double temperature = options->temperature;
    uint32_t n_kept = sampler->n_vocabulary;
    struct ranking ranking;
    ranking_init(&ranking, sampler->candidates, logits, n_kept);
    if (options->top_k > 0 && options->top_k < n_kept) {
        n_kept = options->top_k;
    }
    double mass = total_weight(sampler, &ranking, logits, n_kept, largest, temperature);
    if (options->top_p > 0.0 && options->top_p < 1.0) {
        double wanted = options->top_p * mass;
        double reached = 0.0;
        uint32_t n_reached = 0;
        while (n_reached < n_kept && (n_reached == 0 || reached < wanted)) {
            reached += weight_of(ranking_at(&ranking, n_reached++), largest, temperature);
        }
        n_kept = n_reached;
        mass = reached;
    }
    double aim = mass * nj_draw_uniform(options->seed, options->sample, position, 0);
    double reached = 0.0;
    nj_token chosen = ranking_at(&ranking, 0).token;
    for (uint32_t rank = 0; rank < n_kept; rank++) {
        struct candidate candidate = ranking_at(&ranking, rank);
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

struct nj_choice nj_sampler_choose(struct nj_sampler *sampler, const float *logits,
                                   const struct nj_sampling_options *options, uint64_t position)
{
    uint32_t n = sampler->n_vocabulary;
    nj_token greedy = argmax(logits, n);
    float largest = logits[greedy];
    nj_token token =
        options->temperature > 0.0 ? draw(sampler, logits, largest, options, position) : greedy;
    return (struct nj_choice){.token = token,
                              .logprob = log_probability(logits, n, largest, token)};
}
