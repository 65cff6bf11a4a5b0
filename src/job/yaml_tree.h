/* YAML text as a tree of nodes that know their places.
 *
 * Built from libyaml's events, so that nesting and growth are stopped where they happen, and
 * anchors, merge keys and duplicate keys follow our rules: libyaml's own document reader keeps
 * duplicate keys and needs minutes for 100,000 open brackets.
 *
 * The tree is untyped: what a scalar means is decided by the key that it stands under.
 */
#ifndef NJ_JOB_YAML_TREE_H
#define NJ_JOB_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "job/diagnostics.h"

enum {
    NJ_YAML_DEPTH_LIMIT = 64,
    NJ_YAML_NODES_LIMIT = 100000 /* counted with every alias written out */
};

enum nj_node_kind { NJ_NODE_SCALAR, NJ_NODE_LIST, NJ_NODE_MAP };

struct nj_node;

struct nj_node_pair {
    const struct nj_node *key; /* a scalar; unique within its map */
    const struct nj_node *value;
};

/* An alias is not a node of its own: its parent points to the node of the anchor. */
struct nj_node {
    enum nj_node_kind kind;
    struct nj_place place;
    struct nj_text text; /* scalars */
    bool is_plain;       /* scalars: written without quotes and not as a block */
    bool has_comment;    /* plain scalars: a comment follows on the same line */
    size_t begin_byte;   /* scalars: extent in the source */
    size_t end_byte;
    const struct nj_node **items; /* lists */
    size_t n_items;
    struct nj_node_pair *pairs; /* maps: in file order, merged ones behind */
    size_t n_pairs;
    uint32_t n_expanded; /* nodes of this subtree with aliases written out */
    uint32_t height;     /* 1 for a scalar; 0 while being read */
    bool is_reported;    /* a complaint was made already: readers stay silent */
};

/* `*root` lives in the arena; NULL when there were complaints that leave no whole tree. The
 * status is not NJ_OK only when memory ran out; complaints are in `diagnostics`. */
enum nj_status nj_yaml_tree_read(const char *path, struct nj_text source,
                                 struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                                 const struct nj_node **root, struct nj_error *err);

/* The value under `key`, or NULL. */
const struct nj_node *nj_node_get(const struct nj_node *map, const char *key);

/* "a list", "a map", "text", for messages. */
const char *nj_node_kind_name(const struct nj_node *node);

#endif
