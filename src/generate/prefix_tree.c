#include "generate/prefix_tree.h"

#include <stdlib.h>
#include <string.h>

/* Reached from its parent by `ids`; what begins so goes through it. */
struct node {
    struct node *parent;
    struct node *children; /* each begins with another id */
    struct node *next;     /* of the same parent */
    nj_token *ids;
    size_t n_ids;
    uint64_t n_announced;
    uint64_t n_begun;
    uint64_t seen; /* the tree's clock when it was last passed */
};

/* Invariants: the counts of a node are at least the sums over its children; `nodes` holds every
 * node but the root. */
struct nj_prefix_tree {
    struct node root;
    struct node *nodes[NJ_PREFIX_NODES_LIMIT];
    size_t n_nodes;
    size_t n_ids; /* of all nodes */
    uint64_t clock;
};

enum nj_status nj_prefix_tree_create(struct nj_prefix_tree **tree, struct nj_error *err)
{
    struct nj_prefix_tree *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "look for shared prefixes: out of memory");
    }
    *tree = created;
    return NJ_OK;
}

static void free_node(struct node *node)
{
    free(node->ids);
    free(node);
}

void nj_prefix_tree_destroy(struct nj_prefix_tree *tree)
{
    if (tree == NULL) {
        return;
    }
    for (size_t i = 0; i < tree->n_nodes; i++) {
        free_node(tree->nodes[i]);
    }
    free(tree);
}

static size_t n_common(const struct node *node, const nj_token *ids, size_t n_ids)
{
    size_t most = node->n_ids < n_ids ? node->n_ids : n_ids;
    size_t n = 0;
    while (n < most && node->ids[n] == ids[n]) {
        n++;
    }
    return n;
}

static struct node *child_of(const struct node *parent, nj_token first)
{
    struct node *child = parent->children;
    while (child != NULL && child->ids[0] != first) {
        child = child->next;
    }
    return child;
}

/* --- giving up --- */

static void unlink_child(struct node *child)
{
    struct node **place = &child->parent->children;
    while (*place != child) {
        place = &(*place)->next;
    }
    *place = child->next;
}

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;
    return (*a > *b) - (*a < *b);
}

/* The time before which half of the ends were seen. */
static uint64_t median_end(const struct nj_prefix_tree *tree)
{
    uint64_t seen[NJ_PREFIX_NODES_LIMIT];
    size_t n = 0;
    for (size_t i = 0; i < tree->n_nodes; i++) {
        if (tree->nodes[i]->children == NULL) {
            seen[n++] = tree->nodes[i]->seen;
        }
    }
    qsort(seen, n, sizeof seen[0], compare);
    return n == 0 ? 0 : seen[n / 2];
}

/* Half at a time, so that looking for them costs little per prompt. */
static void give_up_old_ends(struct nj_prefix_tree *tree)
{
    uint64_t oldest = median_end(tree);
    for (size_t i = 0; i < tree->n_nodes;) {
        struct node *node = tree->nodes[i];
        if (node->children != NULL || node->seen > oldest) {
            i++;
            continue;
        }
        tree->n_ids -= node->n_ids;
        unlink_child(node);
        free_node(node);
        tree->nodes[i] = tree->nodes[--tree->n_nodes];
    }
}

/* A prompt makes at most two nodes. */
static void make_room(struct nj_prefix_tree *tree, size_t n_ids)
{
    while (tree->n_nodes + 2 > NJ_PREFIX_NODES_LIMIT ||
           tree->n_ids + n_ids > NJ_PREFIX_IDS_LIMIT) {
        give_up_old_ends(tree);
    }
}

/* --- entering --- */

/* A node without parent, not in the tree yet. */
static struct node *make_node(const nj_token *ids, size_t n_ids)
{
    struct node *node = calloc(1, sizeof *node);
    if (node == NULL) {
        return NULL;
    }
    node->ids = malloc(n_ids * sizeof *ids);
    if (node->ids == NULL) {
        free(node);
        return NULL;
    }
    memcpy(node->ids, ids, n_ids * sizeof *ids);
    node->n_ids = n_ids;
    return node;
}

static void add_node(struct nj_prefix_tree *tree, struct node *parent, struct node *node)
{
    node->parent = parent;
    node->next = parent->children;
    parent->children = node;
    tree->nodes[tree->n_nodes++] = node;
}

/* Puts a node in front of `node` that has its first `n_ids`; NULL without memory. */
static struct node *split(struct nj_prefix_tree *tree, struct node *node, size_t n_ids)
{
    struct node *upper = make_node(node->ids, n_ids);
    if (upper == NULL) {
        return NULL;
    }
    upper->n_announced = node->n_announced;
    upper->n_begun = node->n_begun;
    unlink_child(node);
    add_node(tree, node->parent, upper);
    node->n_ids -= n_ids;
    memmove(node->ids, node->ids + n_ids, node->n_ids * sizeof *node->ids);
    node->parent = upper;
    node->next = NULL;
    upper->children = node;
    return upper;
}

/* The child of `parent` that has the first of `ids`, and as many more as agree; made where
 * there is none. */
static struct node *step_down(struct nj_prefix_tree *tree, struct node *parent,
                              const nj_token *ids, size_t n_ids)
{
    struct node *child = child_of(parent, ids[0]);
    if (child == NULL) {
        child = make_node(ids, n_ids);
        if (child != NULL) {
            add_node(tree, parent, child);
            tree->n_ids += n_ids;
        }
        return child;
    }
    size_t n = n_common(child, ids, n_ids);
    return n < child->n_ids ? split(tree, child, n) : child;
}

static enum nj_status enter(struct nj_prefix_tree *tree, const nj_token *ids, size_t n_ids,
                            bool has_begun, struct nj_error *err)
{
    size_t most = NJ_PREFIX_IDS_LIMIT / 4;
    size_t n_looked_at = n_ids < most ? n_ids : most;
    struct node *node = &tree->root;
    tree->clock += 1;
    make_room(tree, n_looked_at);
    for (size_t done = 0; done < n_looked_at; done += node->n_ids) {
        node = step_down(tree, node, ids + done, n_looked_at - done);
        if (node == NULL) {
            return nj_fail(err, NJ_E_MEMORY, "look for shared prefixes: out of memory");
        }
        node->seen = tree->clock;
        node->n_announced += has_begun ? 0 : 1;
        node->n_begun += has_begun ? 1 : 0;
    }
    return NJ_OK;
}

enum nj_status nj_prefix_tree_announce(struct nj_prefix_tree *tree, const nj_token *ids,
                                       size_t n_ids, struct nj_error *err)
{
    return enter(tree, ids, n_ids, false, err);
}

enum nj_status nj_prefix_tree_begin(struct nj_prefix_tree *tree, const nj_token *ids,
                                    size_t n_ids, struct nj_error *err)
{
    return enter(tree, ids, n_ids, true, err);
}

/* --- asking --- */

static uint64_t n_to_come(const struct node *node)
{
    if (node->n_announced > 0) {
        return node->n_announced > node->n_begun ? node->n_announced - node->n_begun : 0;
    }
    return node->n_begun >= 2 ? 1 : 0;
}

/* The next node whose ids all agree; NULL: they part. */
static const struct node *follow(const struct node *node, const nj_token *ids, size_t n_ids)
{
    const struct node *child = n_ids > 0 ? child_of(node, ids[0]) : NULL;
    return child != NULL && n_common(child, ids, n_ids) == child->n_ids ? child : NULL;
}

size_t nj_prefix_tree_points(const struct nj_prefix_tree *tree, const nj_token *ids,
                             size_t n_ids, struct nj_prefix_point *points, size_t limit)
{
    size_t done = 0;
    size_t n_points = 0;
    const struct node *node = follow(&tree->root, ids, n_ids);
    while (node != NULL && n_points < limit) {
        done += node->n_ids;
        points[n_points++] =
            (struct nj_prefix_point){.n_ids = (uint32_t)done, .n_to_come = n_to_come(node)};
        node = follow(node, ids + done, n_ids - done);
    }
    return n_points;
}

uint64_t nj_prefix_tree_to_come(const struct nj_prefix_tree *tree, const nj_token *ids,
                                size_t n_ids)
{
    size_t done = 0;
    const struct node *node = &tree->root;
    while (node != NULL && done < n_ids) {
        node = follow(node, ids + done, n_ids - done);
        done += node != NULL ? node->n_ids : 0;
    }
    return node != NULL && n_ids > 0 ? n_to_come(node) : 0;
}

static size_t depth_of(const struct node *node)
{
    size_t depth = 0;
    for (; node != NULL; node = node->parent) {
        depth += node->n_ids;
    }
    return depth;
}

uint32_t nj_prefix_tree_longest_shared(const struct nj_prefix_tree *tree, uint32_t least_ids)
{
    size_t longest = 0;
    for (size_t i = 0; i < tree->n_nodes; i++) {
        const struct node *node = tree->nodes[i];
        size_t depth = node->n_announced >= 2 ? depth_of(node) : 0;
        longest = depth > longest ? depth : longest;
    }
    return longest >= least_ids ? (uint32_t)longest : 0;
}
