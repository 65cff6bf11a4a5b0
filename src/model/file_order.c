#include "model/file_order.h"

#include <stdlib.h>

/* An expert lies where its first matrix does. */
struct placed {
    uint32_t file;
    uint32_t expert;
    uint64_t offset_bytes;
};

static int compare(const void *a, const void *b)
{
    const struct placed *left = a;
    const struct placed *right = b;
    if (left->file != right->file) {
        return left->file < right->file ? -1 : 1;
    }
    if (left->offset_bytes != right->offset_bytes) {
        return left->offset_bytes < right->offset_bytes ? -1 : 1;
    }
    return (left->expert > right->expert) - (left->expert < right->expert);
}

static void order_layer(const struct nj_weights *weights, struct nj_moe_weights *moe,
                        uint32_t n_experts, struct placed *placed)
{
    for (uint32_t expert = 0; expert < n_experts; expert++) {
        const struct nj_extent *extent =
            &weights->extents[moe->experts[expert].gate.first_record];
        placed[expert] = (struct placed){
            .file = extent->file, .expert = expert, .offset_bytes = extent->offset_bytes};
    }
    qsort(placed, n_experts, sizeof *placed, compare);
    for (uint32_t i = 0; i < n_experts; i++) {
        moe->file_order[i] = placed[i].expert;
    }
}

enum nj_status nj_file_order_make(struct nj_weights *weights, const struct nj_dims *dims,
                                  struct nj_error *err)
{
    struct placed *placed = calloc((size_t)dims->n_experts + 1, sizeof *placed);
    enum nj_status status = NJ_OK;
    if (placed == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "sort the experts: out of memory");
    }
    for (uint32_t layer = 0; layer < dims->n_layers && status == NJ_OK; layer++) {
        struct nj_moe_weights *moe = &weights->layers[layer].moe;
        if (!nj_dims_layer_is_moe(dims, layer)) {
            continue;
        }
        moe->file_order =
            nj_arena_take_array(&weights->arena, dims->n_experts, sizeof *moe->file_order);
        if (moe->file_order == NULL) {
            status = nj_arena_fail(&weights->arena, "experts", err);
        } else {
            order_layer(weights, moe, dims->n_experts, placed);
        }
    }
    free(placed);
    return status;
}
