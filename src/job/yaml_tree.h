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
    NJ_YAML_NODES_LIMIT = 100000, /* of a file, counted with every alias written out */
    NJ_YAML_DOCUMENTS_LIMIT = 1000
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

/* The documents of a file in order. */
struct nj_documents {
    const struct nj_node **roots;
    size_t n_roots;
};

/* `*documents` lives in the arena; none when there were complaints that leave no whole tree.
 * The status is not NJ_OK only when memory ran out; complaints are in `diagnostics`. */
enum nj_status nj_yaml_tree_read(const char *path, struct nj_text source,
                                 struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                                 struct nj_documents *documents, struct nj_error *err);

/* A text that nobody wrote into the file, such as a value of the command line. NULL when memory
 * ran out. `text` must live as long as the arena. */
struct nj_node *nj_node_of_text(struct nj_arena *arena, struct nj_place place,
                                struct nj_text text, bool is_plain);

/* A copy of the map with the pair, in the place of one with the same key or behind all. NULL
 * when memory ran out. */
struct nj_node *nj_node_with(struct nj_arena *arena, const struct nj_node *map,
                             struct nj_node_pair pair);

/* The value under `key`, or NULL. */
const struct nj_node *nj_node_get(const struct nj_node *map, const char *key);

/* "a list", "a map", "text", for messages. */
const char *nj_node_kind_name(const struct nj_node *node);

#endif
