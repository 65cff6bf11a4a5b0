#include "generate/prefix_tree.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"

static struct nj_prefix_tree *make_tree(void)
{
    struct nj_prefix_tree *tree = NULL;
    CHECK_EQ(nj_prefix_tree_create(&tree, NULL), NJ_OK);
    return tree;
}

static void announce(struct nj_prefix_tree *tree, const nj_token *ids, size_t n_ids)
{
    REQUIRE(nj_prefix_tree_announce(tree, ids, n_ids, NULL) == NJ_OK);
}

static void begin(struct nj_prefix_tree *tree, const nj_token *ids, size_t n_ids)
{
    REQUIRE(nj_prefix_tree_begin(tree, ids, n_ids, NULL) == NJ_OK);
}

static void prompts_part_at_the_first_id_that_differs(void)
{
    struct nj_prefix_tree *tree = make_tree();
    struct nj_prefix_point points[8];
    announce(tree, (nj_token[]){1, 2, 3, 4, 5}, 5);
    announce(tree, (nj_token[]){1, 2, 3, 9}, 4);
    announce(tree, (nj_token[]){1, 2, 7}, 3);

    size_t n = nj_prefix_tree_points(tree, (nj_token[]){1, 2, 3, 4, 5}, 5, points, 8);

    CHECK_EQ(n, 3);
    CHECK_EQ(points[0].n_ids, 2);
    CHECK_EQ(points[0].n_to_come, 3);
    CHECK_EQ(points[1].n_ids, 3);
    CHECK_EQ(points[1].n_to_come, 2);
    CHECK_EQ(points[2].n_ids, 5);
    CHECK_EQ(points[2].n_to_come, 1);
    CHECK_EQ(nj_prefix_tree_longest_shared(tree, 3), 3);
    CHECK_EQ(nj_prefix_tree_longest_shared(tree, 4), 0);
    nj_prefix_tree_destroy(tree);
}

static void who_has_begun_is_not_to_come(void)
{
    struct nj_prefix_tree *tree = make_tree();
    announce(tree, (nj_token[]){1, 2, 3}, 3);
    announce(tree, (nj_token[]){1, 2, 4}, 3);

    begin(tree, (nj_token[]){1, 2, 3}, 3);
    CHECK_EQ(nj_prefix_tree_to_come(tree, (nj_token[]){1, 2}, 2), 1);
    CHECK_EQ(nj_prefix_tree_to_come(tree, (nj_token[]){1, 2, 3}, 3), 0);
    begin(tree, (nj_token[]){1, 2, 4}, 3);
    CHECK_EQ(nj_prefix_tree_to_come(tree, (nj_token[]){1, 2}, 2), 0);

    nj_prefix_tree_destroy(tree);
}

static void what_came_twice_unannounced_is_expected_again(void)
{
    struct nj_prefix_tree *tree = make_tree();

    begin(tree, (nj_token[]){1, 2, 3}, 3);
    CHECK_EQ(nj_prefix_tree_to_come(tree, (nj_token[]){1, 2, 3}, 3), 0);
    begin(tree, (nj_token[]){1, 2, 3}, 3);
    CHECK_EQ(nj_prefix_tree_to_come(tree, (nj_token[]){1, 2, 3}, 3), 1);

    nj_prefix_tree_destroy(tree);
}

static void a_prompt_that_only_agrees_in_part_has_no_point_there(void)
{
    struct nj_prefix_tree *tree = make_tree();
    struct nj_prefix_point points[8];
    announce(tree, (nj_token[]){1, 2, 3}, 3);

    CHECK_EQ(nj_prefix_tree_points(tree, (nj_token[]){1, 2, 4}, 3, points, 8), 0);
    CHECK_EQ(nj_prefix_tree_points(tree, (nj_token[]){1, 2}, 2, points, 8), 0);
    CHECK_EQ(nj_prefix_tree_to_come(tree, (nj_token[]){1, 2}, 2), 0);
    CHECK_EQ(nj_prefix_tree_points(tree, NULL, 0, points, 8), 0);

    nj_prefix_tree_destroy(tree);
}

/* A hundred thousand rows stream by; what they have in common must not be lost among them. */
static void many_ends_are_given_up_and_what_they_share_is_kept(void)
{
    struct nj_prefix_tree *tree = make_tree();
    struct nj_prefix_point points[8];
    nj_token ids[40];
    for (nj_token i = 0; i < 40; i++) {
        ids[i] = i;
    }
    for (nj_token row = 0; row < 20000; row++) {
        ids[20] = 1000 + row;
        announce(tree, ids, 40);
    }

    CHECK_EQ(nj_prefix_tree_points(tree, ids, 20, points, 8), 1);
    CHECK_EQ(points[0].n_ids, 20);
    CHECK_EQ(points[0].n_to_come, 20000);
    CHECK_EQ(nj_prefix_tree_points(tree, ids, 40, points, 8), 2); /* the newest end */
    ids[20] = 1000;
    CHECK_EQ(nj_prefix_tree_points(tree, ids, 40, points, 8), 1); /* the oldest is forgotten */

    nj_prefix_tree_destroy(tree);
}

static void of_a_prompt_beyond_the_bound_the_beginning_is_known(void)
{
    struct nj_prefix_tree *tree = make_tree();
    struct nj_prefix_point points[8];
    nj_token *ids = calloc(NJ_PREFIX_IDS_LIMIT, sizeof *ids);
    REQUIRE(ids != NULL);
    for (nj_token first = 0; first < 12; first++) {
        ids[0] = first;
        announce(tree, ids, NJ_PREFIX_IDS_LIMIT);
    }

    CHECK_EQ(nj_prefix_tree_points(tree, ids, NJ_PREFIX_IDS_LIMIT, points, 8), 1);
    CHECK_EQ(points[0].n_ids, NJ_PREFIX_IDS_LIMIT / 4);
    free(ids);
    nj_prefix_tree_destroy(tree);
}

/* Every prefix of random prompts over few ids is counted as a plain list would count it. */
static void counts_are_those_of_a_plain_list(void)
{
    enum { N_PROMPTS = 200, LENGTH = 8 };
    struct nj_prefix_tree *tree = make_tree();
    struct nj_prefix_point points[LENGTH];
    nj_token prompts[N_PROMPTS][LENGTH];
    uint32_t drawn = 1;
    for (int i = 0; i < N_PROMPTS; i++) {
        for (int k = 0; k < LENGTH; k++) {
            drawn = drawn * 1664525 + 1013904223;
            prompts[i][k] = (nj_token)(drawn >> 30);
        }
        announce(tree, prompts[i], LENGTH);
    }
    for (int i = 0; i < N_PROMPTS; i++) {
        size_t n = nj_prefix_tree_points(tree, prompts[i], LENGTH, points, LENGTH);
        for (size_t k = 0; k < n; k++) {
            uint64_t wanted = 0;
            for (int other = 0; other < N_PROMPTS; other++) {
                wanted +=
                    memcmp(prompts[i], prompts[other], points[k].n_ids * sizeof(nj_token)) == 0;
            }
            CHECK_EQ(points[k].n_to_come, wanted);
        }
    }
    nj_prefix_tree_destroy(tree);
}

int main(void)
{
    RUN(prompts_part_at_the_first_id_that_differs);
    RUN(who_has_begun_is_not_to_come);
    RUN(what_came_twice_unannounced_is_expected_again);
    RUN(a_prompt_that_only_agrees_in_part_has_no_point_there);
    RUN(many_ends_are_given_up_and_what_they_share_is_kept);
    RUN(of_a_prompt_beyond_the_bound_the_beginning_is_known);
    RUN(counts_are_those_of_a_plain_list);
    return test_result();
}
