/* Makes up checkpoints in the released layout: for benchmarks and tests that need a model
 * larger than memory without a download of one.
 *
 * Everything that costs time or bytes is as in a released Kimi K3: names, types, shapes, shards
 * and index, the experts' six tensors in one run and out of id order. The values are random, so
 * the text is noise, but logits stay finite and each branch of the graph is used. There is no
 * end token: every item runs to its max_tokens.
 *
 * A byte is a pure function of the options.
 */
#ifndef NJ_TOOLS_SYNTH_H
#define NJ_TOOLS_SYNTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

/* Sizes that are 0 are taken from `like`. */
struct nj_synth_options {
    const char *like; /* "small" (also NULL) or "k3" */
    uint32_t n_layers;
    uint32_t n_experts;
    uint32_t n_chosen;
    uint32_t n_shared;
    uint32_t n_hidden;
    uint32_t n_heads; /* of both mixers */
    uint32_t n_latent;
    uint32_t n_expert; /* width of one */
    uint32_t n_dense;
    uint32_t n_vocabulary;
    uint32_t residual_block;
    uint64_t target_bytes; /* of all tensors, at most: chooses layers or experts */
    uint64_t shard_bytes;  /* 0: one shard a layer, as released; else layers are cut into shards
                              of about this size */
    uint32_t seed;
    bool is_skewed;      /* some experts are chosen far more often than others */
    uint64_t free_bytes; /* room there is; 0: ask the system */
};

struct nj_synth_report {
    uint32_t n_layers;
    uint32_t n_experts;
    uint64_t n_tensors;
    uint32_t n_shards;
    uint64_t tensor_bytes;
    uint64_t file_bytes; /* with headers, config and index */
};

/* Makes `directory` if it is absent; what is in a failed one is removed again. `fs` does all
 * the writing, two threads the work. NJ_E_USAGE sizes that are no model; NJ_E_STATE a directory
 * that is not empty; NJ_E_BUDGET too little room, with both figures, before the first byte;
 * NJ_E_STORAGE, NJ_E_PERMISSION, NJ_E_MEMORY. `report` may be NULL. */
enum nj_status nj_synth_write(const struct nj_file_system *fs,
                              const struct nj_synth_options *options, const char *directory,
                              struct nj_synth_report *report, struct nj_error *err);

#endif
