#include "generate/sampler.h"

#include <math.h>
#include <stdlib.h>

#include "base/elementary.h"
#include "base/random.h"
#include "support/check.h"

enum { N_VOCABULARY = 257 };

static struct nj_sampler *sampler;

static void spread_logits(float *logits, uint64_t seed)
{
    for (uint32_t i = 0; i < N_VOCABULARY; i++) {
        logits[i] = (float)(8.0 * nj_draw_uniform(seed, 1, i, 9) - 4.0);
    }
}

static void greedy_takes_the_lowest_id_of_equal_logits(void)
{
    float logits[N_VOCABULARY] = {0};
    struct nj_sampling_options options = {.temperature = 0.0, .seed = 4};
    logits[20] = 3.0f;
    logits[7] = 3.0f;
    logits[200] = 3.0f;

    CHECK_EQ(nj_sampler_choose(sampler, logits, &options, 0).token, 7);
}

static void a_tiny_temperature_is_greedy(void)
{
    float logits[N_VOCABULARY];
    struct nj_sampling_options greedy = {.temperature = 0.0};
    struct nj_sampling_options cold = {.temperature = 1e-300, .seed = 5};
    spread_logits(logits, 1);

    CHECK_EQ(nj_sampler_choose(sampler, logits, &cold, 3).token,
             nj_sampler_choose(sampler, logits, &greedy, 3).token);
}

/* The specification again, with a full sort: docs/formats/sampling.md. */
struct ranked {
    float logit;
    int32_t token;
    bool is_kept;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;
    if (x->logit != y->logit) {
        return x->logit < y->logit ? 1 : -1;
    }
    return (x->token > y->token) - (x->token < y->token);
}

static int32_t choose_by_the_book(const float *logits,
                                  const struct nj_sampling_options *options, uint64_t position)
{
    struct ranked ranked[N_VOCABULARY];
    double weights[N_VOCABULARY];
    bool is_kept[N_VOCABULARY] = {false};
    for (int32_t i = 0; i < N_VOCABULARY; i++) {
        ranked[i] = (struct ranked){.logit = logits[i], .token = i};
    }
    qsort(ranked, N_VOCABULARY, sizeof *ranked, by_rank);
    uint32_t n_kept = options->top_k > 0 ? options->top_k : N_VOCABULARY;
    for (uint32_t rank = 0; rank < n_kept; rank++) {
        is_kept[ranked[rank].token] = true;
    }
    double mass = 0.0;
    for (uint32_t i = 0; i < N_VOCABULARY; i++) {
        weights[i] = (double)nj_exp(
            (float)((double)(logits[i] - ranked[0].logit) / options->temperature));
        mass += is_kept[i] ? weights[i] : 0.0;
    }
    if (options->top_p > 0.0 && options->top_p < 1.0) {
        double wanted = options->top_p * mass;
        uint32_t n = 0;
        mass = 0.0;
        do {
            mass += weights[ranked[n++].token];
        } while (n < n_kept && mass < wanted);
        n_kept = n;
    }
    double aim = mass * nj_draw_uniform(options->seed, options->sample, position, 0);
    double reached = 0.0;
    for (uint32_t rank = 0; rank < n_kept; rank++) {
        reached += weights[ranked[rank].token];
        if (reached > aim) {
            return ranked[rank].token;
        }
    }
    return ranked[n_kept - 1].token;
}

static void choices_are_those_of_a_full_sort(void)
{
    static const uint32_t top_ks[] = {0, 1, 3, 40, N_VOCABULARY};
    static const double top_ps[] = {0.0, 0.1, 0.7, 0.999, 1.0};
    float logits[N_VOCABULARY];
    for (uint64_t round = 0; round < 200; round++) {
        spread_logits(logits, round);
        logits[3] = logits[90]; /* a tie */
        struct nj_sampling_options options = {.temperature = 0.3 + 0.01 * (double)round,
                                              .top_k = top_ks[round % 5],
                                              .top_p = top_ps[round / 5 % 5],
                                              .seed = round,
                                              .sample = (uint32_t)(round % 3)};
        CHECK_EQ(nj_sampler_choose(sampler, logits, &options, round * 7).token,
                 choose_by_the_book(logits, &options, round * 7));
    }
}

static void top_k_and_top_p_never_choose_below_their_cut(void)
{
    float logits[N_VOCABULARY] = {0};
    struct nj_sampling_options top_k = {.temperature = 2.0, .top_k = 2, .seed = 8};
    struct nj_sampling_options top_p = {.temperature = 1.0, .top_p = 0.6, .seed = 8};
    for (uint32_t i = 0; i < N_VOCABULARY; i++) {
        logits[i] = -20.0f;
    }
    logits[5] = 1.0f;
    logits[6] = 1.0f; /* the two share nearly everything: 0.6 is reached with both */
    for (uint64_t position = 0; position < 300; position++) {
        int32_t by_k = nj_sampler_choose(sampler, logits, &top_k, position).token;
        int32_t by_p = nj_sampler_choose(sampler, logits, &top_p, position).token;
        CHECK(by_k == 5 || by_k == 6);
        CHECK(by_p == 5 || by_p == 6);
    }
    top_p.top_p = 0.4; /* reached with the first alone */
    CHECK_EQ(nj_sampler_choose(sampler, logits, &top_p, 1).token, 5);
}

/* Chi-square over 8 unequal ids, 7 degrees of freedom: 24.3 is exceeded once in a thousand. */
static void draws_follow_the_distribution(void)
{
    enum { N = 8, N_DRAWS = 6000 };
    float logits[N_VOCABULARY];
    double expected[N];
    double total = 0.0;
    unsigned counted[N] = {0};
    double chi_square = 0.0;
    struct nj_sampling_options options = {.temperature = 0.7, .seed = 31};
    for (uint32_t i = 0; i < N_VOCABULARY; i++) {
        logits[i] = i < N ? 0.2f * (float)i : -200.0f;
    }
    for (uint32_t i = 0; i < N; i++) {
        expected[i] = exp(0.2 * i / 0.7);
        total += expected[i];
    }
    for (uint64_t position = 0; position < N_DRAWS; position++) {
        int32_t token = nj_sampler_choose(sampler, logits, &options, position).token;
        REQUIRE(token < N);
        counted[token]++;
    }
    for (uint32_t i = 0; i < N; i++) {
        double wanted = N_DRAWS * expected[i] / total;
        chi_square += (counted[i] - wanted) * (counted[i] - wanted) / wanted;
    }
    CHECK(chi_square < 24.3);
}

static void the_draw_depends_on_seed_sample_and_position(void)
{
    float logits[N_VOCABULARY] = {0};
    struct nj_sampling_options options = {.temperature = 1.0, .seed = 1};
    int32_t first = nj_sampler_choose(sampler, logits, &options, 10).token;
    CHECK_EQ(nj_sampler_choose(sampler, logits, &options, 10).token, first);
    CHECK(nj_sampler_choose(sampler, logits, &options, 11).token != first);
    options.sample = 1;
    CHECK(nj_sampler_choose(sampler, logits, &options, 10).token != first);
    options.sample = 0;
    options.seed = 2;
    CHECK(nj_sampler_choose(sampler, logits, &options, 10).token != first);
}

static void the_logprob_is_that_of_the_raw_logits(void)
{
    float logits[N_VOCABULARY];
    double sum = 0.0;
    struct nj_sampling_options options = {.temperature = 3.0, .top_k = 2, .seed = 6};
    spread_logits(logits, 3);
    for (uint32_t i = 0; i < N_VOCABULARY; i++) {
        sum += exp((double)logits[i]);
    }

    struct nj_choice choice = nj_sampler_choose(sampler, logits, &options, 5);

    CHECK_NEAR(choice.logprob, (double)logits[choice.token] - log(sum), 1e-5);
}

int main(void)
{
    struct nj_error err;
    if (nj_sampler_create(N_VOCABULARY, &sampler, &err) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", err.text);
        return 1;
    }
    RUN(greedy_takes_the_lowest_id_of_equal_logits);
    RUN(a_tiny_temperature_is_greedy);
    RUN(choices_are_those_of_a_full_sort);
    RUN(top_k_and_top_p_never_choose_below_their_cut);
    RUN(draws_follow_the_distribution);
    RUN(the_draw_depends_on_seed_sample_and_position);
    RUN(the_logprob_is_that_of_the_raw_logits);
    nj_sampler_destroy(sampler);
    return test_result();
}
