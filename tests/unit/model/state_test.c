#include "model/state.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"

/* One KDA and two MLA layers. */
static struct nj_dims make_dims(void)
{
    struct nj_dims dims = {.n_layers = 3,
                           .n_delta_heads = 2,
                           .n_delta = 4,
                           .n_taps = 3,
                           .kv_rank = 5,
                           .n_rope = 2};
    dims.mixers[0] = NJ_MIXER_LATENT;
    dims.mixers[1] = NJ_MIXER_DELTA;
    dims.mixers[2] = NJ_MIXER_LATENT;
    return dims;
}

static void sizes_follow_from_the_dims(void)
{
    struct nj_dims dims = make_dims();

    CHECK_EQ(nj_state_recurrent_bytes(&dims), (2 * 4 * 4 + 2 * 3 * 2 * 4) * 4);
    CHECK_EQ(nj_state_page_bytes(&dims), 2 * 64 * 7 * 4);
}

static void only_delta_layers_have_a_recurrent_part(void)
{
    struct nj_dims dims = make_dims();
    struct nj_state *state = NULL;
    struct nj_error error;
    uint64_t n_values = 1;
    REQUIRE_OK(nj_state_create(&dims, NULL, &state, &error), &error);

    CHECK(nj_state_recurrent(state, 0, &n_values) == NULL);
    CHECK_EQ(n_values, 0);
    float *recurrent = nj_state_recurrent(state, 1, &n_values);
    CHECK_EQ(n_values, 2 * 4 * 4 + 2 * 3 * 2 * 4);
    CHECK(nj_state_conv_history(state, 1) == recurrent + 32);

    nj_state_destroy(state);
}

static void pages_are_paid_as_positions_are_reserved(void)
{
    struct nj_dims dims = make_dims();
    struct nj_state *state = NULL;
    struct nj_error error;
    struct nj_byte_budget budget;
    uint64_t recurrent = nj_state_recurrent_bytes(&dims);
    uint64_t page = nj_state_page_bytes(&dims);
    nj_byte_budget_init(&budget, recurrent + 2 * page);
    REQUIRE_OK(nj_state_create(&dims, &budget, &state, &error), &error);
    CHECK_EQ(budget.held_bytes, recurrent);

    CHECK_EQ(nj_state_reserve(state, 64, &error), NJ_OK);
    CHECK_EQ(budget.held_bytes, recurrent + page);
    CHECK_EQ(nj_state_reserve(state, 65, &error), NJ_OK);
    CHECK_EQ(budget.held_bytes, recurrent + 2 * page);
    CHECK_EQ(nj_state_reserve(state, 129, &error), NJ_E_BUDGET);
    CHECK_EQ(budget.held_bytes, recurrent + 2 * page);

    nj_state_destroy(state);
    CHECK_EQ(budget.held_bytes, 0);
    nj_byte_budget_deinit(&budget);
}

/* Marks one position of both MLA layers and the recurrent part. */
static void fill(struct nj_state *state, uint32_t position, float value)
{
    uint64_t n_values = 0;
    nj_state_recurrent(state, 1, &n_values)[0] = value;
    nj_state_page(state, 0, position / 64)[(size_t)(position % 64) * 7] = value;
    nj_state_page(state, 2, position / 64)[(size_t)(position % 64) * 7] = -value;
}

static float value_at(struct nj_state *state, uint32_t position)
{
    return nj_state_page(state, 0, position / 64)[(size_t)(position % 64) * 7];
}

static void reset_forgets_recurrent_part_and_pages_together(void)
{
    struct nj_dims dims = make_dims();
    struct nj_state *state = NULL;
    struct nj_error error;
    uint64_t n_values = 0;
    struct nj_byte_budget budget;
    nj_byte_budget_init(&budget, UINT64_MAX);
    REQUIRE_OK(nj_state_create(&dims, &budget, &state, &error), &error);
    REQUIRE_OK(nj_state_reserve(state, 3, &error), &error);
    fill(state, 2, 7.0F);
    nj_state_mark_broken(state);

    nj_state_reset(state);

    CHECK_EQ(nj_state_length(state), 0);
    CHECK(!nj_state_is_broken(state));
    CHECK_EQ(budget.held_bytes, nj_state_recurrent_bytes(&dims));
    CHECK_NEAR(nj_state_recurrent(state, 1, &n_values)[0], 0.0, 0.0);
    REQUIRE_OK(nj_state_reserve(state, 3, &error), &error);
    CHECK_NEAR(value_at(state, 2), 0.0, 0.0);
    nj_state_destroy(state);
    nj_byte_budget_deinit(&budget);
}

static void a_fork_shares_full_pages_and_copies_the_rest(void)
{
    struct nj_dims dims = make_dims();
    struct nj_state *state = NULL;
    struct nj_state *fork = NULL;
    struct nj_error error;
    struct nj_byte_budget budget;
    uint64_t recurrent = nj_state_recurrent_bytes(&dims);
    uint64_t page = nj_state_page_bytes(&dims);
    nj_byte_budget_init(&budget, UINT64_MAX);
    REQUIRE_OK(nj_state_create(&dims, &budget, &state, &error), &error);
    REQUIRE_OK(nj_state_reserve(state, 70, &error), &error);
    fill(state, 10, 1.0F);
    fill(state, 69, 2.0F);
    nj_state_advance(state, 70);

    REQUIRE_OK(nj_state_fork(state, &fork, &error), &error);

    CHECK_EQ(nj_state_length(fork), 70);
    CHECK_EQ(budget.held_bytes, 2 * recurrent + 3 * page);
    CHECK(nj_state_page(fork, 2, 0) == nj_state_page(state, 2, 0));
    CHECK(nj_state_page(fork, 2, 1) != nj_state_page(state, 2, 1));
    CHECK_NEAR(value_at(fork, 69), 2.0, 0.0);
    fill(fork, 69, 3.0F);
    CHECK_NEAR(value_at(state, 69), 2.0, 0.0);

    nj_state_destroy(state);
    CHECK_EQ(budget.held_bytes, recurrent + 2 * page);
    CHECK_NEAR(value_at(fork, 10), 1.0, 0.0);
    nj_state_destroy(fork);
    CHECK_EQ(budget.held_bytes, 0);
    nj_byte_budget_deinit(&budget);
}

static void a_fork_at_a_page_boundary_copies_no_page(void)
{
    struct nj_dims dims = make_dims();
    struct nj_state *state = NULL;
    struct nj_state *fork = NULL;
    struct nj_error error;
    REQUIRE_OK(nj_state_create(&dims, NULL, &state, &error), &error);
    REQUIRE_OK(nj_state_reserve(state, 64, &error), &error);
    nj_state_advance(state, 64);

    REQUIRE_OK(nj_state_fork(state, &fork, &error), &error);
    REQUIRE_OK(nj_state_reserve(state, 1, &error), &error);
    REQUIRE_OK(nj_state_reserve(fork, 1, &error), &error);

    CHECK(nj_state_page(fork, 0, 0) == nj_state_page(state, 0, 0));
    CHECK(nj_state_page(fork, 0, 1) != nj_state_page(state, 0, 1));
    nj_state_destroy(fork);
    nj_state_destroy(state);
}

/* Whoever takes a prefix over holds a state already, and memory is counted to the byte. */
static void a_fork_into_a_state_takes_no_second_recurrent_part(void)
{
    struct nj_dims dims = make_dims();
    struct nj_state *state = NULL;
    struct nj_state *other = NULL;
    struct nj_error error;
    struct nj_byte_budget budget;
    uint64_t n_values = 0;
    uint64_t recurrent = nj_state_recurrent_bytes(&dims);
    uint64_t page = nj_state_page_bytes(&dims);
    nj_byte_budget_init(&budget, 2 * recurrent + 3 * page);
    REQUIRE_OK(nj_state_create(&dims, &budget, &state, &error), &error);
    REQUIRE_OK(nj_state_reserve(state, 70, &error), &error);
    fill(state, 10, 1.0F);
    fill(state, 69, 2.0F);
    nj_state_advance(state, 70);
    REQUIRE_OK(nj_state_create(&dims, &budget, &other, &error), &error);
    REQUIRE_OK(nj_state_reserve(other, 3, &error), &error);
    fill(other, 2, 9.0F);
    nj_state_mark_broken(other);

    REQUIRE_OK(nj_state_fork_into(other, state, &error), &error);

    CHECK_EQ(nj_state_length(other), 70);
    CHECK(!nj_state_is_broken(other));
    CHECK_EQ(budget.held_bytes, 2 * recurrent + 3 * page);
    CHECK(nj_state_page(other, 2, 0) == nj_state_page(state, 2, 0));
    CHECK_NEAR(value_at(other, 69), 2.0, 0.0);
    CHECK_NEAR(nj_state_recurrent(other, 1, &n_values)[0], 2.0, 0.0);
    nj_state_destroy(state);
    nj_state_destroy(other);
    nj_byte_budget_deinit(&budget);
}

static void a_fork_into_a_state_without_room_for_pages_leaves_it_empty(void)
{
    struct nj_dims dims = make_dims();
    struct nj_state *state = NULL;
    struct nj_state *other = NULL;
    struct nj_error error;
    struct nj_byte_budget budget;
    uint64_t n_values = 0;
    nj_byte_budget_init(&budget,
                        2 * nj_state_recurrent_bytes(&dims) + 2 * nj_state_page_bytes(&dims));
    REQUIRE_OK(nj_state_create(&dims, &budget, &state, &error), &error);
    REQUIRE_OK(nj_state_create(&dims, &budget, &other, &error), &error);
    REQUIRE_OK(nj_state_reserve(state, 70, &error), &error);
    fill(state, 69, 2.0F);
    nj_state_advance(state, 70);

    CHECK_EQ(nj_state_fork_into(other, state, &error), NJ_E_BUDGET);

    CHECK_EQ(nj_state_length(other), 0);
    CHECK_NEAR(nj_state_recurrent(other, 1, &n_values)[0], 0.0, 0.0);
    CHECK_EQ(nj_state_length(state), 70);
    nj_state_destroy(state);
    nj_state_destroy(other);
    nj_byte_budget_deinit(&budget);
}

static void a_broken_state_cannot_be_forked(void)
{
    struct nj_dims dims = make_dims();
    struct nj_state *state = NULL;
    struct nj_state *fork = NULL;
    struct nj_error error;
    REQUIRE_OK(nj_state_create(&dims, NULL, &state, &error), &error);
    nj_state_mark_broken(state);

    CHECK_EQ(nj_state_fork(state, &fork, &error), NJ_E_STATE);

    CHECK(fork == NULL);
    nj_state_destroy(state);
}

static void a_state_that_cannot_be_paid_is_refused(void)
{
    struct nj_dims dims = make_dims();
    struct nj_state *state = NULL;
    struct nj_error error;
    struct nj_byte_budget budget;
    nj_byte_budget_init(&budget, nj_state_recurrent_bytes(&dims) - 1);

    CHECK_EQ(nj_state_create(&dims, &budget, &state, &error), NJ_E_BUDGET);

    CHECK(state == NULL);
    CHECK_EQ(budget.held_bytes, 0);
    nj_byte_budget_deinit(&budget);
}

static void positions_come_back_as_they_were_taken_across_pages(void)
{
    struct nj_dims dims = make_dims();
    struct nj_state *from = NULL;
    struct nj_state *to = NULL;
    struct nj_error error;
    float values[100 * 7];
    float found[100 * 7];
    REQUIRE_OK(nj_state_create(&dims, NULL, &from, &error), &error);
    REQUIRE_OK(nj_state_create(&dims, NULL, &to, &error), &error);
    REQUIRE_OK(nj_state_reserve(from, 130, &error), &error);
    REQUIRE_OK(nj_state_reserve(to, 130, &error), &error);
    for (size_t i = 0; i < 100 * 7; i++) {
        values[i] = (float)i;
    }

    nj_state_set_positions(from, 2, 30, 100, values);
    CHECK(nj_state_page(from, 2, 1)[0] == values[34 * 7]);
    CHECK(nj_state_page(from, 0, 1)[0] == 0.0F);
    nj_state_get_positions(from, 2, 30, 100, found);
    CHECK_BYTES(found, values, sizeof values);
    nj_state_set_positions(to, 2, 30, 100, found);
    CHECK_BYTES(nj_state_page(to, 2, 0), nj_state_page(from, 2, 0), 64 * 7 * 4);
    CHECK_BYTES(nj_state_page(to, 2, 2), nj_state_page(from, 2, 2), 64 * 7 * 4);

    nj_state_destroy(from);
    nj_state_destroy(to);
}

/* What is taken away in the middle of a sweep is the state that its end will have. */
static void the_next_length_is_what_a_running_sweep_reserved(void)
{
    struct nj_dims dims = make_dims();
    struct nj_state *state = NULL;
    struct nj_error error;
    REQUIRE_OK(nj_state_create(&dims, NULL, &state, &error), &error);

    REQUIRE_OK(nj_state_reserve(state, 5, &error), &error);
    CHECK_EQ(nj_state_next_length(state), 0);
    nj_state_mark_broken(state);
    CHECK_EQ(nj_state_next_length(state), 5);
    nj_state_advance(state, 5);
    CHECK_EQ(nj_state_next_length(state), 5);
    REQUIRE_OK(nj_state_reserve(state, 2, &error), &error);
    nj_state_mark_broken(state);
    CHECK_EQ(nj_state_next_length(state), 7);
    nj_state_reset(state);
    CHECK_EQ(nj_state_next_length(state), 0);

    nj_state_destroy(state);
}

int main(void)
{
    RUN(positions_come_back_as_they_were_taken_across_pages);
    RUN(the_next_length_is_what_a_running_sweep_reserved);
    RUN(sizes_follow_from_the_dims);
    RUN(only_delta_layers_have_a_recurrent_part);
    RUN(pages_are_paid_as_positions_are_reserved);
    RUN(reset_forgets_recurrent_part_and_pages_together);
    RUN(a_fork_shares_full_pages_and_copies_the_rest);
    RUN(a_fork_at_a_page_boundary_copies_no_page);
    RUN(a_fork_into_a_state_takes_no_second_recurrent_part);
    RUN(a_fork_into_a_state_without_room_for_pages_leaves_it_empty);
    RUN(a_broken_state_cannot_be_forked);
    RUN(a_state_that_cannot_be_paid_is_refused);
    return test_result();
}
