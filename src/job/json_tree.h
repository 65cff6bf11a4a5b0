/* JSON text as the tree that YAML gives, for files of other tools: strings are quoted scalars,
 * numbers and words plain ones, with their places. */
#ifndef NJ_JOB_JSON_TREE_H
#define NJ_JOB_JSON_TREE_H

#include "base/arena.h"
#include "base/text.h"
#include "job/diagnostics.h"
#include "job/yaml_tree.h"

/* One value and nothing behind it; `place` is where `text` begins. Nodes come from `nodes`, the
 * texts of values from `texts`, so that nodes can go before what was read from them. `*root` is
 * NULL when it is no JSON; a name that stands twice is complained of and kept twice. The status
 * is not NJ_OK only when memory ran out. */
enum nj_status nj_json_tree_read(struct nj_text text, struct nj_place place,
                                 struct nj_arena *nodes, struct nj_arena *texts,
                                 struct nj_diagnostics *diagnostics,
                                 const struct nj_node **root, struct nj_error *err);

#endif
