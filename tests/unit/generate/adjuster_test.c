#include "generate/adjuster.h"

#include <float.h>

#include "support/check.h"

enum { N_VOCABULARY = 6 };

static struct nj_adjuster adjuster;

/* Two ids of prompt, four chosen: 1 twice in all, 2 three times, of these 1 once and 2 three
 * times chosen. */
static const int32_t tokens[] = {0, 1, 1, 2, 2, 2};
static const struct nj_token_history history = {.tokens = tokens, .n_prompt = 2, .n_tokens = 6};
static const float logits[N_VOCABULARY] = {2.0f, -1.0f, 3.0f, 0.5f, 0.0f, -4.0f};

static void check_adjusted(const struct nj_sampling_options *options,
                           const float wanted[N_VOCABULARY])
{
    const float *adjusted = nj_adjuster_apply(&adjuster, logits, options, &history);
    for (uint32_t i = 0; i < N_VOCABULARY; i++) {
        CHECK_NEAR(adjusted[i], wanted[i], 0.0);
    }
}

static void without_options_the_logits_are_handed_through(void)
{
    struct nj_sampling_options zeroed = {0};
    struct nj_sampling_options off = {.repeat_penalty = 1.0};

    CHECK(nj_adjuster_apply(&adjuster, logits, &zeroed, &history) == logits);
    CHECK(nj_adjuster_apply(&adjuster, logits, &off, &history) == logits);
}

static void a_repeat_penalty_weakens_ids_of_prompt_and_output_once(void)
{
    struct nj_sampling_options options = {.repeat_penalty = 2.0};
    const float wanted[N_VOCABULARY] = {1.0f, -2.0f, 1.5f, 0.5f, 0.0f, -4.0f};

    check_adjusted(&options, wanted);
    check_adjusted(&options, wanted); /* nothing is left behind from the first time */
}

static void a_presence_penalty_weakens_chosen_ids_once(void)
{
    struct nj_sampling_options options = {.presence_penalty = 0.5};
    const float wanted[N_VOCABULARY] = {2.0f, -1.5f, 2.5f, 0.5f, 0.0f, -4.0f};

    check_adjusted(&options, wanted);
    check_adjusted(&options, wanted);
}

static void a_frequency_penalty_weakens_chosen_ids_for_each_time(void)
{
    struct nj_sampling_options options = {.frequency_penalty = 0.5};
    const float wanted[N_VOCABULARY] = {2.0f, -1.5f, 1.5f, 0.5f, 0.0f, -4.0f};

    check_adjusted(&options, wanted);
}

static void negative_penalties_strengthen(void)
{
    struct nj_sampling_options options = {.presence_penalty = -1.0, .frequency_penalty = -0.25};
    const float wanted[N_VOCABULARY] = {2.0f, 0.25f, 4.75f, 0.5f, 0.0f, -4.0f};

    check_adjusted(&options, wanted);
}

static void biases_are_added_whether_an_id_occurred_or_not(void)
{
    const struct nj_token_bias biases[] = {{2, -100.0}, {5, 6.5}};
    struct nj_sampling_options options = {.logit_biases = biases, .n_logit_biases = 2};
    const float wanted[N_VOCABULARY] = {2.0f, -1.0f, -97.0f, 0.5f, 0.0f, 2.5f};

    check_adjusted(&options, wanted);
}

/* Id 1: (-1 + 3) is positive, so it is divided: 2 / 2 = 1, less 0.5 + 0.25. In another order it
 * would be another number. */
static void biases_come_first_then_repeats_then_counts(void)
{
    const struct nj_token_bias bias = {1, 3.0};
    struct nj_sampling_options options = {.logit_biases = &bias,
                                          .n_logit_biases = 1,
                                          .repeat_penalty = 2.0,
                                          .presence_penalty = 0.5,
                                          .frequency_penalty = 0.25};
    const float wanted[N_VOCABULARY] = {1.0f, 0.25f, 0.25f, 0.5f, 0.0f, -4.0f};

    check_adjusted(&options, wanted);
}

static void an_empty_output_has_no_counts(void)
{
    struct nj_sampling_options options = {.presence_penalty = 2.0};
    const struct nj_token_history prompt_only = {
        .tokens = tokens, .n_prompt = 2, .n_tokens = 2};

    const float *adjusted = nj_adjuster_apply(&adjuster, logits, &options, &prompt_only);

    CHECK_BYTES(adjusted, logits, sizeof logits);
}

static void extreme_logits_stay_finite(void)
{
    const float extreme[N_VOCABULARY] = {FLT_MAX, -FLT_MAX, 0.0f};
    struct nj_sampling_options weaken = {.repeat_penalty = 10.0};
    struct nj_sampling_options strengthen = {.repeat_penalty = 0.1};

    CHECK(nj_adjuster_apply(&adjuster, extreme, &weaken, &history)[1] == -FLT_MAX);
    CHECK(nj_adjuster_apply(&adjuster, extreme, &strengthen, &history)[0] == FLT_MAX);
}

int main(void)
{
    struct nj_error err;
    if (nj_adjuster_init(&adjuster, N_VOCABULARY, &err) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", err.text);
        return 1;
    }
    RUN(without_options_the_logits_are_handed_through);
    RUN(a_repeat_penalty_weakens_ids_of_prompt_and_output_once);
    RUN(a_presence_penalty_weakens_chosen_ids_once);
    RUN(a_frequency_penalty_weakens_chosen_ids_for_each_time);
    RUN(negative_penalties_strengthen);
    RUN(biases_are_added_whether_an_id_occurred_or_not);
    RUN(biases_come_first_then_repeats_then_counts);
    RUN(an_empty_output_has_no_counts);
    RUN(extreme_logits_stay_finite);
    nj_adjuster_deinit(&adjuster);
    return test_result();
}
