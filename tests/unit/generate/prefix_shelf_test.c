#include "generate/prefix_shelf.h"

#include "support/check.h"

/* One KDA and one MLA layer. */
static struct nj_dims make_dims(void)
{
    struct nj_dims dims = {.n_layers = 2,
                           .n_delta_heads = 1,
                           .n_delta = 4,
                           .n_taps = 2,
                           .kv_rank = 3,
                           .n_rope = 1};
    dims.mixers[0] = NJ_MIXER_DELTA;
    dims.mixers[1] = NJ_MIXER_LATENT;
    return dims;
}

/* Prefixes are told apart by their first id; as many prompts as their number are to come. */
struct fixture {
    struct nj_dims dims;
    struct nj_prefix_tree *tree;
    struct nj_byte_budget budget;
    struct nj_state *state;
    struct nj_prefix_shelf shelf;
};

enum { N_IDS = 70 };

static void ids_of(nj_token first, nj_token ids[N_IDS])
{
    for (nj_token i = 0; i < N_IDS; i++) {
        ids[i] = first + i;
    }
}

static void open_shelf(struct fixture *fixture, uint64_t n_states)
{
    struct nj_error err;
    *fixture = (struct fixture){.dims = make_dims()};
    REQUIRE_OK(nj_prefix_tree_create(&fixture->tree, &err), &err);
    for (nj_token first = 1; first <= 5; first++) {
        nj_token ids[N_IDS];
        ids_of(first, ids);
        for (nj_token n = 0; n < first; n++) {
            REQUIRE_OK(nj_prefix_tree_announce(fixture->tree, ids, N_IDS, &err), &err);
        }
    }
    nj_byte_budget_init(&fixture->budget, UINT64_MAX);
    REQUIRE_OK(nj_state_create(&fixture->dims, &fixture->budget, &fixture->state, &err), &err);
    REQUIRE_OK(nj_state_reserve(fixture->state, N_IDS, &err), &err);
    nj_state_advance(fixture->state, N_IDS);
    fixture->shelf = (struct nj_prefix_shelf){
        .dims = &fixture->dims,
        .tree = fixture->tree,
        .limit_bytes = n_states * nj_prefix_state_bytes(&fixture->dims, N_IDS)};
}

static void close_shelf(struct fixture *fixture)
{
    CHECK(fixture->shelf.peak_bytes <= fixture->shelf.limit_bytes);
    nj_prefix_shelf_deinit(&fixture->shelf);
    nj_state_destroy(fixture->state);
    nj_byte_budget_deinit(&fixture->budget);
    nj_prefix_tree_destroy(fixture->tree);
}

static bool put(struct fixture *fixture, nj_token first)
{
    nj_token ids[N_IDS];
    ids_of(first, ids);
    return nj_prefix_shelf_put(&fixture->shelf, ids, fixture->state,
                               nj_prefix_tree_to_come(fixture->tree, ids, N_IDS)) != NULL;
}

static const struct nj_prefix_entry *find(const struct fixture *fixture, nj_token first)
{
    nj_token ids[N_IDS];
    ids_of(first, ids);
    return nj_prefix_shelf_find(&fixture->shelf, ids, N_IDS);
}

static void a_prefix_is_found_by_its_ids_up_to_the_length_asked_for(void)
{
    struct fixture fixture;
    nj_token ids[N_IDS];
    open_shelf(&fixture, 2);
    CHECK(put(&fixture, 3));

    ids_of(3, ids);
    CHECK(nj_prefix_shelf_find(&fixture.shelf, ids, N_IDS) != NULL);
    CHECK(nj_prefix_shelf_find(&fixture.shelf, ids, N_IDS - 1) == NULL);
    ids[N_IDS - 1] += 1;
    CHECK(nj_prefix_shelf_find(&fixture.shelf, ids, N_IDS) == NULL);
    close_shelf(&fixture);
}

static void more_than_the_bound_is_never_held(void)
{
    struct fixture fixture;
    open_shelf(&fixture, 2);

    for (nj_token first = 1; first <= 5; first++) {
        CHECK(put(&fixture, first));
        CHECK(fixture.shelf.held_bytes <= fixture.shelf.limit_bytes);
    }

    CHECK_EQ(fixture.shelf.n_entries, 2);
    CHECK(find(&fixture, 4) != NULL);
    CHECK(find(&fixture, 5) != NULL);
    /* Two full pages belong to the state and both forks; each has its own partial one. */
    CHECK_EQ(fixture.budget.held_bytes, 3 * nj_state_recurrent_bytes(&fixture.dims) +
                                            4 * nj_state_page_bytes(&fixture.dims));
    close_shelf(&fixture);
}

static void what_more_prompts_want_is_not_given_up_for_less(void)
{
    struct fixture fixture;
    open_shelf(&fixture, 1);
    CHECK(put(&fixture, 3));

    CHECK(!put(&fixture, 2));
    CHECK(find(&fixture, 3) != NULL);
    CHECK(put(&fixture, 4));
    CHECK(find(&fixture, 3) == NULL);
    CHECK(find(&fixture, 4) != NULL);
    close_shelf(&fixture);
}

static void of_equals_the_one_unused_for_longest_is_given_up(void)
{
    struct fixture fixture;
    struct nj_error err;
    nj_token ids[N_IDS];
    open_shelf(&fixture, 2);
    CHECK(put(&fixture, 3));
    CHECK(put(&fixture, 4));
    nj_prefix_shelf_use(&fixture.shelf, find(&fixture, 3));
    ids_of(4, ids);
    REQUIRE_OK(nj_prefix_tree_begin(fixture.tree, ids, N_IDS, &err), &err); /* 3 to come */

    CHECK(put(&fixture, 5));

    CHECK(find(&fixture, 3) != NULL);
    CHECK(find(&fixture, 4) == NULL);
    close_shelf(&fixture);
}

static void a_prefix_that_nobody_wants_is_not_kept(void)
{
    struct fixture fixture;
    open_shelf(&fixture, 2);

    CHECK(!put(&fixture, 9));

    CHECK_EQ(fixture.shelf.held_bytes, 0);
    close_shelf(&fixture);
}

/* The bound is a promise of the caller's; the budget has the last word. */
static void without_memory_it_gives_in_and_asks_for_no_more(void)
{
    struct fixture fixture;
    open_shelf(&fixture, 2);
    fixture.budget.ceiling_bytes = fixture.budget.held_bytes;

    CHECK(!put(&fixture, 5));

    CHECK_EQ(fixture.shelf.limit_bytes, 0);
    CHECK(!nj_prefix_shelf_has_room(&fixture.shelf, N_IDS, 5));
    close_shelf(&fixture);
}

static void everything_can_be_dropped_one_by_one(void)
{
    struct fixture fixture;
    open_shelf(&fixture, 3);
    CHECK(put(&fixture, 5));
    CHECK(put(&fixture, 2));

    CHECK(nj_prefix_shelf_drop(&fixture.shelf));
    CHECK(find(&fixture, 5) != NULL);
    CHECK(nj_prefix_shelf_drop(&fixture.shelf));
    CHECK(!nj_prefix_shelf_drop(&fixture.shelf));
    CHECK_EQ(fixture.shelf.held_bytes, 0);
    close_shelf(&fixture);
}

int main(void)
{
    RUN(a_prefix_is_found_by_its_ids_up_to_the_length_asked_for);
    RUN(more_than_the_bound_is_never_held);
    RUN(what_more_prompts_want_is_not_given_up_for_less);
    RUN(of_equals_the_one_unused_for_longest_is_given_up);
    RUN(a_prefix_that_nobody_wants_is_not_kept);
    RUN(without_memory_it_gives_in_and_asks_for_no_more);
    RUN(everything_can_be_dropped_one_by_one);
    return test_result();
}
