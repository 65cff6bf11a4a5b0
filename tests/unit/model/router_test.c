#include "model/router.h"

#include <math.h>

#include "support/check.h"

enum { MOST = 8 };

struct chosen {
    uint32_t experts[MOST];
    float weights[MOST];
};

static struct nj_dims make_dims(uint32_t n_experts, uint32_t n_chosen)
{
    return (struct nj_dims){.n_experts = n_experts,
                            .n_chosen = n_chosen,
                            .renormalizes = true,
                            .n_groups = 1,
                            .n_chosen_groups = 1,
                            .routed_scale = 1.0F};
}

static struct chosen choose(const struct nj_dims *dims, const float *scores, const float *bias)
{
    struct chosen chosen;
    float biased[MOST];
    struct nj_ranked best[MOST];
    struct nj_ranked groups[MOST];
    nj_router_choose_row(dims, scores, bias, biased, best, groups, chosen.experts,
                         chosen.weights);
    return chosen;
}

static const float no_bias[MOST] = {0.0F};

static void slots_are_in_falling_order_of_score(void)
{
    struct nj_dims dims = make_dims(5, 3);
    const float scores[5] = {0.1F, 0.4F, 0.3F, 0.9F, 0.2F};

    struct chosen chosen = choose(&dims, scores, no_bias);

    CHECK_EQ(chosen.experts[0], 3);
    CHECK_EQ(chosen.experts[1], 1);
    CHECK_EQ(chosen.experts[2], 2);
}

static void ties_go_to_the_lower_id(void)
{
    struct nj_dims dims = make_dims(6, 3);
    const float scores[6] = {0.5F, 0.7F, 0.5F, 0.7F, 0.5F, 0.7F};

    struct chosen chosen = choose(&dims, scores, no_bias);

    CHECK_EQ(chosen.experts[0], 1);
    CHECK_EQ(chosen.experts[1], 3);
    CHECK_EQ(chosen.experts[2], 5);
}

static void the_bias_chooses_but_does_not_weigh(void)
{
    struct nj_dims dims = make_dims(4, 2);
    const float scores[4] = {0.2F, 0.6F, 0.3F, 0.5F};
    const float bias[4] = {1.0F, 0.0F, 0.0F, 0.0F};

    struct chosen chosen = choose(&dims, scores, bias);

    CHECK_EQ(chosen.experts[0], 0);
    CHECK_EQ(chosen.experts[1], 1);
    CHECK_NEAR(chosen.weights[0], 0.25, 1e-7);
    CHECK_NEAR(chosen.weights[1], 0.75, 1e-7);
}

static void weights_are_scaled_and_shared_out_only_when_asked_for(void)
{
    struct nj_dims dims = make_dims(3, 2);
    const float scores[3] = {0.2F, 0.6F, 0.1F};
    dims.routed_scale = 2.0F;
    struct chosen shared_out = choose(&dims, scores, no_bias);
    dims.renormalizes = false;
    struct chosen plain = choose(&dims, scores, no_bias);

    CHECK_NEAR(shared_out.weights[0], 1.5, 1e-6);
    CHECK_NEAR(shared_out.weights[1], 0.5, 1e-6);
    CHECK_NEAR(plain.weights[0], 1.2, 1e-6);
    CHECK_NEAR(plain.weights[1], 0.4, 1e-6);
}

static void a_single_choice_is_not_shared_out(void)
{
    struct nj_dims dims = make_dims(3, 1);
    const float scores[3] = {0.2F, 0.6F, 0.1F};

    CHECK_NEAR(choose(&dims, scores, no_bias).weights[0], 0.6, 1e-7);
}

/* Groups {0,1}, {2,3}, {4,5}: by their two best they rank 1, 2, 0 although expert 0 is the best
 * of all. */
static void only_the_best_groups_offer_experts(void)
{
    struct nj_dims dims = make_dims(6, 2);
    dims.n_groups = 3;
    dims.n_chosen_groups = 2;
    const float scores[6] = {0.9F, 0.0F, 0.6F, 0.7F, 0.5F, 0.5F};

    struct chosen chosen = choose(&dims, scores, no_bias);

    CHECK_EQ(chosen.experts[0], 3);
    CHECK_EQ(chosen.experts[1], 2);
}

/* Negative biased scores outside the kept groups must not be beaten by a mask of 0. */
static void groups_work_with_negative_scores(void)
{
    struct nj_dims dims = make_dims(4, 2);
    dims.n_groups = 2;
    dims.n_chosen_groups = 1;
    const float scores[4] = {0.1F, 0.2F, 0.3F, 0.4F};
    const float bias[4] = {-1.0F, -1.0F, -2.0F, -2.0F};

    struct chosen chosen = choose(&dims, scores, bias);

    CHECK_EQ(chosen.experts[0], 1);
    CHECK_EQ(chosen.experts[1], 0);
}

static void scores_that_are_no_numbers_still_give_different_experts(void)
{
    struct nj_dims dims = make_dims(4, 3);
    const float scores[4] = {NAN, NAN, 0.5F, NAN};

    struct chosen chosen = choose(&dims, scores, no_bias);

    CHECK(chosen.experts[0] != chosen.experts[1]);
    CHECK(chosen.experts[1] != chosen.experts[2]);
    CHECK(chosen.experts[0] != chosen.experts[2]);
    CHECK(chosen.experts[0] < 4 && chosen.experts[1] < 4 && chosen.experts[2] < 4);
}

int main(void)
{
    RUN(slots_are_in_falling_order_of_score);
    RUN(ties_go_to_the_lower_id);
    RUN(the_bias_chooses_but_does_not_weigh);
    RUN(weights_are_scaled_and_shared_out_only_when_asked_for);
    RUN(a_single_choice_is_not_shared_out);
    RUN(only_the_best_groups_offer_experts);
    RUN(groups_work_with_negative_scores);
    RUN(scores_that_are_no_numbers_still_give_different_experts);
    return test_result();
}
