/* Any text as the config.json of a model.
 *
 * Links: model/dims.c model/complaints.c
 *
 * What is taken keeps the promises of model/dims.h, and everything derived from it can be
 * asked.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/dims.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_experts(const struct nj_dims *dims)
{
    if (dims->n_experts == 0) {
        return;
    }
    require(dims->n_chosen >= 1 && dims->n_chosen <= dims->n_experts);
    require(dims->n_groups >= 1 && dims->n_experts % dims->n_groups == 0);
    require(dims->n_chosen_groups >= 1 && dims->n_chosen_groups <= dims->n_groups);
    require(dims->n_expert >= 1 && dims->n_latent >= 1);
    require(isfinite(dims->routed_scale));
}

static void check_layers(const struct nj_dims *dims)
{
    uint32_t n_blocks = 0;
    require(dims->n_layers >= 1 && dims->n_layers <= NJ_LAYERS_LIMIT);
    for (uint32_t layer = 0; layer < dims->n_layers; layer++) {
        enum nj_mixer mixer = dims->mixers[layer];
        require(mixer == NJ_MIXER_DELTA || mixer == NJ_MIXER_LATENT);
        require(!nj_dims_layer_is_moe(dims, layer) || dims->n_experts > 0);
        n_blocks += nj_dims_layer_starts_block(dims, layer) ? 1 : 0;
    }
    require(n_blocks <= nj_dims_n_residual_blocks(dims));
}

static void check_sizes(const struct nj_dims *dims)
{
    require(dims->n_hidden >= 1 && dims->n_vocabulary >= 1);
    require(dims->rms_norm_eps > 0 && isfinite(dims->rms_norm_eps));
    require(dims->latent_norm_eps > 0 && isfinite(dims->latent_norm_eps));
    require((uint64_t)dims->n_heads * (dims->n_nope + dims->n_rope) <= UINT32_MAX);
    require((uint64_t)dims->n_heads * dims->n_value <= UINT32_MAX);
    require((uint64_t)dims->n_delta_heads * dims->n_delta <= UINT32_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    struct nj_text config = {(const char *)data, length_bytes};
    struct nj_dims dims;
    struct nj_error error = {0};
    if (nj_dims_parse(config, &dims, &error) == NJ_OK) {
        check_sizes(&dims);
        check_layers(&dims);
        check_experts(&dims);
    } else {
        require(error.status != NJ_OK && error.text[0] != '\0');
        require(strlen(error.text) < sizeof error.text);
    }
    return 0;
}
