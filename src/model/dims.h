/* The sizes and switches of a model, read from config.json and checked before anything is
 * believed.
 *
 * Both layouts are read: nested as Kimi K3 is released (`text_config`) and flat as Kimi-Linear.
 * A field that shapes the graph is required unless its absence has a meaning of its own (plain
 * residuals, softplus decay, no latent, ...). All missing, absurd and contradictory fields come
 * in one error. Null means the same as absence.
 *
 * After a successful read every size is at least 1 unless it says what 0 means, the mixers part
 * the layers, and every axis of a tensor fits 32 bits.
 */
#ifndef NJ_MODEL_DIMS_H
#define NJ_MODEL_DIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "base/text.h"

enum { NJ_LAYERS_LIMIT = 1024 };

enum nj_mixer { NJ_MIXER_DELTA, NJ_MIXER_LATENT }; /* KDA, MLA */
enum nj_activation { NJ_ACTIVATION_SITU, NJ_ACTIVATION_SWIGLU };

/* Everything that shapes the graph. Layer numbers are zero-based here (one-based in the file).
 */
struct nj_dims {
    bool is_nested; /* text_config, and the tensor prefix that goes with it */
    uint32_t n_layers;
    uint32_t n_hidden;
    uint32_t n_vocabulary;
    uint32_t n_dense; /* width of the dense feed-forward */
    float rms_norm_eps;
    float latent_norm_eps; /* 1e-6 unless overridden */
    enum nj_activation activation;
    float situ_beta;
    float situ_linear_beta;
    uint32_t attention_residual_block; /* 0: plain residuals */
    uint32_t first_dense_layers;       /* layers below this are dense */
    uint32_t moe_layer_freq;

    uint32_t n_heads; /* MLA */
    uint32_t q_rank;  /* 0: direct q_proj */
    uint32_t kv_rank;
    uint32_t n_nope;
    uint32_t n_rope; /* not rotated: ordinary dimensions here */
    uint32_t n_value;
    bool has_mla_gate;

    uint32_t n_delta_heads; /* KDA */
    uint32_t n_delta;       /* key and value channels of a head */
    uint32_t n_taps;
    float gate_lower_bound; /* < 0; 0: softplus decay */
    bool has_full_rank_gate;

    uint32_t n_experts; /* 0: no mixture of experts */
    uint32_t n_chosen;
    uint32_t n_shared; /* fused into one of width n_shared * n_expert */
    uint32_t n_expert; /* width of one routed expert */
    uint32_t n_latent; /* width routed experts work in; n_hidden when has_latent is false */
    bool has_latent;
    bool has_latent_norm;
    bool renormalizes;
    uint32_t n_groups;
    uint32_t n_chosen_groups;
    float routed_scale;

    uint32_t context_length; /* max_position_embeddings: said, numerically irrelevant */
    int64_t bos_token, eos_token, pad_token; /* -1: not said */

    enum nj_mixer mixers[NJ_LAYERS_LIMIT];
};

/* Reads `<directory>/config.json`. NJ_E_NOT_FOUND or NJ_E_WEIGHTS. */
enum nj_status nj_dims_read(const struct nj_file_system *fs, const char *directory,
                            struct nj_dims *dims, struct nj_error *err);

/* The same of the text of a config.json. NJ_E_WEIGHTS. */
enum nj_status nj_dims_parse(struct nj_text config, struct nj_dims *dims, struct nj_error *err);

bool nj_dims_layer_is_moe(const struct nj_dims *dims, uint32_t layer);

/* Whether a snapshot is taken before this layer's output (never with plain residuals). */
bool nj_dims_layer_starts_block(const struct nj_dims *dims, uint32_t layer);

/* Attention residual snapshots held at the end of a forward pass; 0 with plain residuals. */
uint32_t nj_dims_n_residual_blocks(const struct nj_dims *dims);

#endif
