#include "generate/sampler.h"

#include <math.h>
#include <stdlib.h>

#include "base/elementary.h"
#include "base/random.h"
#include "support/check.h"

enum { N_VOCABULARY = 257 };

static struct nj_sampler *sampler;

static const int32_t zeros[7000];

/* Chooses at a position after ids that do not matter. */
static struct nj_choice choose(const float *logits, const struct nj_sampling_options *options,
                               uint64_t position)
{
    struct nj_token_history history = {.tokens = zeros, .n_tokens = position};
    struct nj_choice choice;
    nj_sampler_choose(sampler, logits, options, &history, &choice);
    return choice;
}

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

    CHECK_EQ(choose(logits, &options, 0).token, 7);
}

static void a_tiny_temperature_is_greedy(void)
{
    float logits[N_VOCABULARY];
    struct nj_sampling_options greedy = {.temperature = 0.0};
    struct nj_sampling_options cold = {.temperature = 1e-300, .seed = 5};
    spread_logits(logits, 1);

    CHECK_EQ(choose(logits, &cold, 3).token, choose(logits, &greedy, 3).token);
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
    if (options->min_p > 0.0) {
        uint32_t n = 0;
        mass = 0.0;
        while (n < n_kept && weights[ranked[n].token] >= options->min_p) {
            mass += weights[ranked[n++].token];
        }
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
    static const double min_ps[] = {0.0, 0.02, 0.3, 1.0};
    float logits[N_VOCABULARY];
    for (uint64_t round = 0; round < 200; round++) {
        spread_logits(logits, round);
        logits[3] = logits[90]; /* a tie */
        struct nj_sampling_options options = {.temperature = 0.3 + 0.01 * (double)round,
                                              .top_k = top_ks[round % 5],
                                              .top_p = top_ps[round / 5 % 5],
                                              .min_p = min_ps[round / 25 % 4],
                                              .seed = round,
                                              .sample = (uint32_t)(round % 3)};
        CHECK_EQ(choose(logits, &options, round * 7).token,
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
        int32_t by_k = choose(logits, &top_k, position).token;
        int32_t by_p = choose(logits, &top_p, position).token;
        CHECK(by_k == 5 || by_k == 6);
        CHECK(by_p == 5 || by_p == 6);
    }
    top_p.top_p = 0.4; /* reached with the first alone */
    CHECK_EQ(choose(logits, &top_p, 1).token, 5);
}

/* Of weights 1, 1/2, 1/4, 1/8: a min_p of 1/4 keeps three, at temperature 2 (weights 1, 0.71,
 * 0.5, 0.35) all four. Just above 1/4 keeps two. */
static void min_p_keeps_what_is_likely_enough_beside_the_likeliest(void)
{
    static const double min_ps[] = {0.24, 0.24, 0.26};
    static const double temperatures[] = {1.0, 2.0, 1.0};
    static const int32_t n_kept[] = {3, 4, 2};
    float logits[N_VOCABULARY];
    for (uint32_t i = 0; i < N_VOCABULARY; i++) {
        logits[i] = i < 4 ? -0.6931472f * (float)i : -40.0f;
    }
    for (uint32_t k = 0; k < 3; k++) {
        struct nj_sampling_options options = {
            .temperature = temperatures[k], .min_p = min_ps[k], .seed = 12};
        int32_t last = 0;
        for (uint64_t position = 0; position < 300; position++) {
            int32_t token = choose(logits, &options, position).token;
            last = token > last ? token : last;
        }
        CHECK_EQ(last, n_kept[k] - 1);
    }
}

static void a_min_p_of_one_keeps_the_ties_of_the_largest(void)
{
    float logits[N_VOCABULARY] = {0};
    struct nj_sampling_options options = {.temperature = 1.0, .min_p = 1.0, .seed = 3};
    unsigned counted[2] = {0};
    logits[11] = 5.0f;
    logits[200] = 5.0f;
    for (uint64_t position = 0; position < 200; position++) {
        int32_t token = choose(logits, &options, position).token;
        REQUIRE(token == 11 || token == 200);
        counted[token == 200]++;
    }
    CHECK(counted[0] > 60 && counted[1] > 60);
}

enum { N_DRAWN_IDS = 8, N_DRAWS = 6000 };

/* Counts draws at many positions beside `expected`, the weights of the first ids: no other may
 * be drawn, and none with weight 0. Returns chi-square. */
static double chi_square_of(const float *logits, const struct nj_sampling_options *options,
                            const double expected[N_DRAWN_IDS])
{
    unsigned counted[N_DRAWN_IDS] = {0};
    double total = 0.0;
    double chi_square = 0.0;
    for (uint64_t position = 0; position < N_DRAWS; position++) {
        int32_t token = choose(logits, options, position).token;
        if (!CHECK(token < N_DRAWN_IDS)) {
            return (double)INFINITY;
        }
        counted[token]++;
    }
    for (uint32_t i = 0; i < N_DRAWN_IDS; i++) {
        total += expected[i];
    }
    for (uint32_t i = 0; i < N_DRAWN_IDS; i++) {
        double wanted = N_DRAWS * expected[i] / total;
        if (expected[i] == 0.0) {
            CHECK_EQ(counted[i], 0);
            continue;
        }
        chi_square += (counted[i] - wanted) * (counted[i] - wanted) / wanted;
    }
    return chi_square;
}

static void slope(float logits[N_VOCABULARY])
{
    for (uint32_t i = 0; i < N_VOCABULARY; i++) {
        logits[i] = i < N_DRAWN_IDS ? 0.2f * (float)i : -200.0f;
    }
}

/* 7 degrees of freedom: 24.3 is exceeded once in a thousand. */
static void draws_follow_the_distribution(void)
{
    float logits[N_VOCABULARY];
    double expected[N_DRAWN_IDS];
    slope(logits);
    for (uint32_t seed = 31; seed < 34; seed++) {
        struct nj_sampling_options options = {.temperature = 0.7, .seed = seed};
        for (uint32_t i = 0; i < N_DRAWN_IDS; i++) {
            expected[i] = exp(0.2 * i / 0.7);
        }
        CHECK(chi_square_of(logits, &options, expected) < 24.3);
    }
}

/* Ids 0 to 7 weigh e^(0.2 i); a bias makes 2 the likeliest, with e^1.6. top_k 6 keeps 2 and 3
 * to 7, of which top_p 0.9 leaves out 3 (the others are 0.905 of the whole); a min_p of a half
 * leaves out 4 as well. The bound is exceeded once in a thousand, with 4 and 3 degrees of
 * freedom. */
static void draws_follow_the_distribution_after_biases_and_cuts(void)
{
    const struct nj_token_bias biases[] = {{2, 1.2}, {200, 100.0}};
    float logits[N_VOCABULARY];
    double expected[N_DRAWN_IDS] = {0};
    struct nj_sampling_options options = {.temperature = 1.0,
                                          .seed = 90,
                                          .top_k = 6,
                                          .top_p = 0.9,
                                          .logit_biases = biases,
                                          .n_logit_biases = 2};
    slope(logits);
    expected[2] = exp(1.6);
    for (uint32_t i = 4; i < N_DRAWN_IDS; i++) {
        expected[i] = exp(0.2 * i);
    }
    CHECK(chi_square_of(logits, &options, expected) < 18.5);
    options.min_p = 0.5;
    expected[4] = 0.0;
    CHECK(chi_square_of(logits, &options, expected) < 16.3);
}

static void a_sample_draws_apart_from_the_others(void)
{
    enum { N_POSITIONS = 400 };
    float logits[N_VOCABULARY] = {0};
    struct nj_sampling_options first = {.temperature = 1.0, .seed = 7};
    struct nj_sampling_options second = {.temperature = 1.0, .seed = 7, .sample = 1};
    unsigned n_equal = 0;
    for (uint64_t position = 0; position < N_POSITIONS; position++) {
        n_equal +=
            choose(logits, &first, position).token == choose(logits, &second, position).token;
    }
    CHECK(n_equal < 12); /* 1.6 of 400 are expected */
}

static void the_draw_depends_on_seed_sample_and_position(void)
{
    float logits[N_VOCABULARY] = {0};
    struct nj_sampling_options options = {.temperature = 1.0, .seed = 1};
    int32_t first = choose(logits, &options, 10).token;
    CHECK_EQ(choose(logits, &options, 10).token, first);
    CHECK(choose(logits, &options, 11).token != first);
    options.sample = 1;
    CHECK(choose(logits, &options, 10).token != first);
    options.sample = 0;
    options.seed = 2;
    CHECK(choose(logits, &options, 10).token != first);
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

    struct nj_choice choice = choose(logits, &options, 5);

    CHECK_NEAR(choice.logprob, (double)logits[choice.token] - log(sum), 1e-5);
    CHECK_EQ(choice.n_top, 0);
}

static void a_biased_choice_is_reported_as_the_model_weighed_it(void)
{
    const struct nj_token_bias bias = {9, 100.0};
    float logits[N_VOCABULARY] = {0};
    struct nj_sampling_options options = {
        .logit_biases = &bias, .n_logit_biases = 1, .n_top_logprobs = 3};
    logits[40] = 2.0f;
    logits[30] = 1.0f;
    logits[50] = 1.0f;
    double log_of_sum = log(254.0 + exp(2.0) + 2.0 * exp(1.0));

    struct nj_choice choice = choose(logits, &options, 0);

    CHECK_EQ(choice.token, 9);
    CHECK_NEAR(choice.logprob, -log_of_sum, 1e-5);
    CHECK_EQ(choice.n_top, 3);
    CHECK_EQ(choice.top[0].token, 40);
    CHECK_NEAR(choice.top[0].logprob, 2.0 - log_of_sum, 1e-5);
    CHECK_EQ(choice.top[1].token, 30); /* of equal ones the lower id */
    CHECK_EQ(choice.top[2].token, 50);
    CHECK_NEAR(choice.top[2].logprob, 1.0 - log_of_sum, 1e-5);
}

static void the_top_are_the_first_ranks_of_a_full_sort(void)
{
    float logits[N_VOCABULARY];
    struct ranked ranked[N_VOCABULARY];
    struct nj_sampling_options options = {.n_top_logprobs = NJ_MAX_TOP_LOGPROBS};
    spread_logits(logits, 77);
    logits[250] = logits[3];
    for (int32_t i = 0; i < N_VOCABULARY; i++) {
        ranked[i] = (struct ranked){.logit = logits[i], .token = i};
    }
    qsort(ranked, N_VOCABULARY, sizeof *ranked, by_rank);

    struct nj_choice choice = choose(logits, &options, 0);

    REQUIRE(choice.n_top == NJ_MAX_TOP_LOGPROBS);
    for (uint32_t i = 0; i < choice.n_top; i++) {
        CHECK_EQ(choice.top[i].token, ranked[i].token);
    }
    CHECK(choice.top[0].logprob == choice.logprob); /* the same id, the same bits */
}

static void penalties_change_the_greedy_choice(void)
{
    static const int32_t tokens[] = {5, 6, 6};
    struct nj_token_history history = {.tokens = tokens, .n_prompt = 1, .n_tokens = 3};
    float logits[N_VOCABULARY] = {0};
    struct nj_sampling_options repeat = {.repeat_penalty = 2.0};
    struct nj_sampling_options frequency = {.frequency_penalty = 0.5};
    struct nj_choice choice;
    logits[5] = 4.0f;
    logits[6] = 4.5f;
    logits[7] = 3.0f;

    nj_sampler_choose(sampler, logits, &repeat, &history, &choice);
    CHECK_EQ(choice.token, 7); /* the others are halved */
    nj_sampler_choose(sampler, logits, &frequency, &history, &choice);
    CHECK_EQ(choice.token, 5); /* of the prompt, so not weakened; 6 is 3.5 now */
}

static void options_out_of_range_are_refused(void)
{
    const struct nj_token_bias foreign = {N_VOCABULARY, 1.0};
    const struct nj_token_bias infinite = {1, (double)INFINITY};
    const struct nj_sampling_options bad[] = {{.temperature = -1.0},
                                              {.temperature = (double)NAN},
                                              {.min_p = 1.5},
                                              {.repeat_penalty = -0.5},
                                              {.presence_penalty = (double)INFINITY},
                                              {.n_top_logprobs = NJ_MAX_TOP_LOGPROBS + 1},
                                              {.logit_biases = &foreign, .n_logit_biases = 1},
                                              {.logit_biases = &infinite, .n_logit_biases = 1}};
    struct nj_error err;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_EQ(nj_sampling_options_check(&bad[i], N_VOCABULARY, &err), NJ_E_USAGE);
    }
    CHECK_EQ(nj_sampling_options_check(&(struct nj_sampling_options){0}, N_VOCABULARY, &err),
             NJ_OK);
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
    RUN(min_p_keeps_what_is_likely_enough_beside_the_likeliest);
    RUN(a_min_p_of_one_keeps_the_ties_of_the_largest);
    RUN(draws_follow_the_distribution);
    RUN(draws_follow_the_distribution_after_biases_and_cuts);
    RUN(a_sample_draws_apart_from_the_others);
    RUN(the_draw_depends_on_seed_sample_and_position);
    RUN(the_logprob_is_that_of_the_raw_logits);
    RUN(a_biased_choice_is_reported_as_the_model_weighed_it);
    RUN(the_top_are_the_first_ranks_of_a_full_sort);
    RUN(penalties_change_the_greedy_choice);
    RUN(options_out_of_range_are_refused);
    nj_sampler_destroy(sampler);
    return test_result();
}
