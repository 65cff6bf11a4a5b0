/* The tensors of a made-up checkpoint, as a shard lists them: name, type, shape, and what its
 * values are drawn from.
 *
 * Which tensors there are comes from model/recipe.h; here stands only how they are spread,
 * after the fixtures of the tests: inputs of an activation large enough to reach its bends,
 * latents small enough that their epsilon shows, scores of residual mixes of about 1.
 */
#ifndef NJ_TOOLS_SYNTH_TENSORS_H
#define NJ_TOOLS_SYNTH_TENSORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/value_types.h"
#include "model/dims.h"

enum { NJ_SYNTH_NAME_BYTES = 112 };

enum nj_synth_source {
    NJ_SYNTH_NORMAL, /* mean + sigma * N(0, 1), as BF16 or F32 */
    NJ_SYNTH_CODES,  /* MXFP4 nibbles, all sixteen equally often */
    NJ_SYNTH_SCALES  /* E8M0 bytes, lowest_scale + 0..6 */
};

struct nj_synth_tensor {
    char name[NJ_SYNTH_NAME_BYTES];
    enum nj_value_type type;
    uint32_t n_dimensions;
    uint32_t shape[3];
    enum nj_synth_source source;
    float mean, sigma;
    uint8_t lowest_scale;
    uint32_t n_used;      /* of vectors: values from here on are zero */
    bool may_begin_shard; /* not one of the later tensors of an expert */
    uint64_t length_bytes;
};

/* The tensors of one layer, or of none. */
struct nj_synth_list {
    struct nj_synth_tensor *tensors;
    uint32_t n_tensors;
    uint32_t capacity;
};

void nj_synth_list_deinit(struct nj_synth_list *list);

/* Replaces the list by the tensors of `layer` in the order of their shard; `layer` n_layers
 * stands for what belongs to no layer. NJ_E_MEMORY. */
enum nj_status nj_synth_list_layer(struct nj_synth_list *list, const struct nj_dims *dims,
                                   bool is_skewed, uint32_t layer, struct nj_error *err);

/* Bytes of all tensors of `layer`, as above. */
uint64_t nj_synth_layer_bytes(const struct nj_dims *dims, uint32_t layer);
uint64_t nj_synth_expert_bytes(const struct nj_dims *dims);

#endif
