/* The weights of a model, bound: which records hold which matrix, and the small vectors in
 * memory.
 *
 * Matrices stay in the stream as records. Vectors (norms, convolution taps, decay rates,
 * router biases) are needed at every layer of every sweep and are small (60 MB of Kimi K3's
 * 1.56 TB), so they are widened to F32 once and stay (docs/decisions/0001-records.md).
 *
 * Binding reads no weight byte: it checks names, types and shapes against the index, all
 * problems in one error.
 */
#ifndef NJ_MODEL_WEIGHTS_H
#define NJ_MODEL_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "format/weight_index.h"
#include "model/bound_matrix.h"
#include "model/dims.h"
#include "stream/stream.h"

/* In these structs an absent matrix is all zero and an absent vector NULL; what is absent
 * follows from the dims. Vectors are written while loading and never after. */

/* Weights of one mix over the residual sources: nothing but norm * projection is ever used. */
struct nj_residual_mix_weights {
    float *norm;       /* (hidden) */
    float *projection; /* (hidden) */
    float *product;    /* (hidden), made by nj_residual_mix_prepare */
};

struct nj_delta_weights {
    struct nj_bound_matrix q, k, v, output;      /* width n_delta_heads * n_delta */
    struct nj_bound_matrix decay_down, decay_up; /* f_a, f_b */
    struct nj_bound_matrix beta;
    struct nj_bound_matrix gate;               /* full rank */
    struct nj_bound_matrix gate_down, gate_up; /* low rank: g_a, g_b */
    float *taps;                               /* (q, k, v channels; n_taps), oldest first */
    float *a_log;                              /* (n_delta_heads) */
    float *rates;                              /* exp(a_log), made by nj_delta_prepare */
    float *decay_bias;                         /* dt_bias (n_delta_heads, n_delta) */
    float *output_norm;                        /* (n_delta), shared by the heads */
};

struct nj_latent_weights {
    struct nj_bound_matrix q;            /* direct */
    struct nj_bound_matrix q_down, q_up; /* through a latent of q_rank */
    struct nj_bound_matrix kv_down;      /* (kv_rank + n_rope, hidden) */
    struct nj_bound_matrix kv_up;        /* per head n_nope key rows, then n_value rows */
    struct nj_bound_matrix gate, output;
    float *q_norm;  /* (q_rank) */
    float *kv_norm; /* (kv_rank) */
};

/* Dense, shared and routed alike: output(activation(gate x, up x)). */
struct nj_feed_forward_weights {
    struct nj_bound_matrix gate, up, down;
};

struct nj_moe_weights {
    struct nj_bound_matrix router; /* (n_experts, hidden) */
    float *correction_bias;        /* (n_experts) */
    struct nj_bound_matrix latent_down, latent_up;
    float *latent_norm; /* (n_latent) */
    struct nj_feed_forward_weights shared;
    struct nj_feed_forward_weights *experts; /* (n_experts) */
    uint32_t *file_order;                    /* (n_experts): ids as they lie in the files */
};

struct nj_layer_weights {
    float *attention_norm;    /* input_layernorm (hidden) */
    float *feed_forward_norm; /* post_attention_layernorm (hidden) */
    struct nj_residual_mix_weights attention_mix, feed_forward_mix;
    struct nj_delta_weights delta;
    struct nj_latent_weights latent;
    struct nj_feed_forward_weights dense;
    struct nj_moe_weights moe;
    uint32_t first_trunk_record; /* all but the routed experts, one after another */
    uint32_t n_trunk_records;
    uint32_t n_late_records; /* the last of them: used after the routed experts */
};

struct nj_global_weights {
    struct nj_bound_matrix embedding; /* (vocabulary, hidden) */
    struct nj_bound_matrix head;      /* (vocabulary, hidden) */
    float *norm;                      /* (hidden) */
    struct nj_residual_mix_weights output_mix;
};

/* A vector still to be read: where it lies and where it goes. */
struct nj_vector_extent {
    const struct nj_weight *source;
    float *values;
    uint32_t n_values;
    bool has_zero_tail; /* the file may hold more, which must be zero */
};

struct nj_weights {
    struct nj_global_weights global;
    struct nj_layer_weights *layers; /* (n_layers) */

    struct nj_extent *extents; /* record i */
    uint32_t n_records;
    size_t extents_capacity;
    uint32_t *record_numbers; /* 0, 1, 2, ...: a run of records as a list to want */
    uint64_t record_bytes;
    uint64_t expert_bytes; /* of the largest expert */
    uint64_t unit_bytes;   /* of the largest piece that no two records may share */

    struct nj_vector_extent *vectors;
    size_t n_vectors;
    size_t vectors_capacity;
    struct nj_arena arena;
};

/* How tensors are cut into records, which changes no bit. */
struct nj_record_cut {
    uint64_t limit_bytes; /* at most NJ_RECORD_LIMIT_BYTES */
    bool is_table_by_row; /* each row of the embedding is a record, so that one can be read */
};

/* Binds every tensor that the graph of `dims` needs. `index` must live until
 * nj_resident_vectors_load. NJ_E_WEIGHTS names what is missing or wrong; NJ_E_MEMORY. */
enum nj_status nj_weights_init(struct nj_weights *weights, const struct nj_dims *dims,
                               const struct nj_weight_index *index, struct nj_record_cut cut,
                               struct nj_error *err);
void nj_weights_deinit(struct nj_weights *weights);

/* Vectors in F32, and this binding with all that lies in its arena. */
uint64_t nj_weights_held_bytes(const struct nj_weights *weights);

#endif
