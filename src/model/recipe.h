/* Which tensors a model of given dims has: names, shapes, and the field each is bound to.
 *
 * Data, so that the list can be read beside a checkpoint's own. A part is a group of tensors
 * that some layers have and others have not; inside a part, matrices come first. Matrices stand
 * in the order in which a sweep uses them, so that memory for a few of them is enough.
 */
#ifndef NJ_MODEL_RECIPE_H
#define NJ_MODEL_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dims.h"

/* A size that follows from the dims. */
enum nj_axis {
    NJ_AXIS_ONE,
    NJ_AXIS_VOCABULARY,
    NJ_AXIS_HIDDEN,
    NJ_AXIS_DENSE,
    NJ_AXIS_DELTA_HEADS,
    NJ_AXIS_DELTA_HEAD, /* channels of one head */
    NJ_AXIS_DELTA,      /* channels of all heads */
    NJ_AXIS_TAPS,
    NJ_AXIS_Q_RANK,
    NJ_AXIS_QUERIES, /* heads x (nope + rope) */
    NJ_AXIS_KV_RANK,
    NJ_AXIS_KV_CACHED, /* kv_rank + rope */
    NJ_AXIS_KV_HEAD,   /* nope + value rows of one head */
    NJ_AXIS_KV,        /* of all heads */
    NJ_AXIS_VALUES,    /* heads x value */
    NJ_AXIS_EXPERTS,
    NJ_AXIS_EXPERT,
    NJ_AXIS_LATENT,
    NJ_AXIS_SHARED
};

uint32_t nj_axis_size(const struct nj_dims *dims, enum nj_axis axis);

/* (outputs, inputs); the file's name is `name` + ".weight", or + ".weight_packed" and
 * ".weight_scale". */
struct nj_recipe_matrix {
    const char *name;
    size_t offset; /* of the struct nj_bound_matrix in the part's struct */
    enum nj_axis outputs;
    enum nj_axis inputs;
    enum nj_axis row_unit; /* rows that a tile must not part */
    bool is_never_packed;  /* read by other forms than `multiply` */
    bool is_table;         /* rows are looked up one by one, not multiplied with */
};

/* Axes of length 1 in the file do not count: [hidden], [1, hidden] and [channels, 1, taps] are
 * all fine. */
struct nj_recipe_vector {
    const char *name;
    size_t offset; /* of the float * in the part's struct */
    enum nj_axis outer;
    enum nj_axis inner;
    uint32_t part; /* this tensor is part `part` of the n_parts that the field holds */
    uint32_t n_parts;
    bool has_zero_tail; /* more entries are allowed if they are zero (A_log) */
};

struct nj_recipe_part {
    bool (*applies)(const struct nj_dims *dims, uint32_t layer);
    const struct nj_recipe_matrix *matrices;
    const struct nj_recipe_vector *vectors;
    uint32_t n_matrices;
    uint32_t n_vectors;
};

struct nj_recipe_parts {
    const struct nj_recipe_part *parts;
    uint32_t n_parts;
};

/* Fields of struct nj_global_weights; names below the model's prefix. `layer` is ignored. */
struct nj_recipe_parts nj_recipe_global(void);
/* Fields of struct nj_layer_weights; names below "model.layers.<layer>.". */
struct nj_recipe_parts nj_recipe_layer(void);
/* Fields of struct nj_feed_forward_weights; names below
 * "model.layers.<layer>.block_sparse_moe.experts.<expert>.". */
struct nj_recipe_parts nj_recipe_expert(void);

/* What stands before every tensor name: "language_model." in the nested layout. */
const char *nj_recipe_prefix(const struct nj_dims *dims);

#endif
