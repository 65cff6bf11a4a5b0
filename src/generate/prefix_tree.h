/* Which prompts begin with the same ids: a radix tree of bounded size over all prompts that
 * were announced or have begun.
 *
 * A point is a number of ids behind which prompts part, or at which some end that others
 * repeat: there, and only there, a state can serve several of them. Prompts come one after the
 * other and are not kept: what is known of the least recently seen ends is given up when the
 * bound is reached, and then they only share less.
 *
 * Threads: one owner.
 */
#ifndef NJ_GENERATE_PREFIX_TREE_H
#define NJ_GENERATE_PREFIX_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/value_types.h"

enum {
    NJ_PREFIX_NODES_LIMIT = 1024,
    NJ_PREFIX_IDS_LIMIT = 256 * 1024 /* 1 MiB */
};

struct nj_prefix_tree;

/* NJ_E_MEMORY. Caller owns `*tree`. */
enum nj_status nj_prefix_tree_create(struct nj_prefix_tree **tree, struct nj_error *err);
void nj_prefix_tree_destroy(struct nj_prefix_tree *tree);

/* A prompt that will begin. Of one that is longer than a quarter of the bound the beginning is
 * looked at. NJ_E_MEMORY. */
enum nj_status nj_prefix_tree_announce(struct nj_prefix_tree *tree, const nj_token *ids,
                                       size_t n_ids, struct nj_error *err);

/* A prompt that begins, announced or not. NJ_E_MEMORY. */
enum nj_status nj_prefix_tree_begin(struct nj_prefix_tree *tree, const nj_token *ids,
                                    size_t n_ids, struct nj_error *err);

struct nj_prefix_point {
    uint32_t n_ids;
    /* Prompts that begin so and have not begun. Of those that were never announced one is
     * expected, once two have come. */
    uint64_t n_to_come;
};

/* The points on the way of `ids`, at most `limit`, rising; returns how many. */
size_t nj_prefix_tree_points(const struct nj_prefix_tree *tree, const nj_token *ids,
                             size_t n_ids, struct nj_prefix_point *points, size_t limit);

/* `n_to_come` of the point that is exactly at n_ids; 0 when none is there. */
uint64_t nj_prefix_tree_to_come(const struct nj_prefix_tree *tree, const nj_token *ids,
                                size_t n_ids);

/* The longest beginning of at least `least_ids` that two announced prompts share, in ids; 0:
 * there is none. */
uint32_t nj_prefix_tree_longest_shared(const struct nj_prefix_tree *tree, uint32_t least_ids);

#endif
