#include "model/weight_walk.h"

#include "model/recipe.h"

struct walk {
    const struct nj_dims *dims;
    nj_weight_visit *visit;
    void *context;
    struct nj_error *err;
};

/* `layer` is -1 for parts that belong to none. */
static enum nj_status visit_parts(const struct walk *walk, struct nj_recipe_parts parts,
                                  int32_t layer, int32_t expert, const void *fields)
{
    for (uint32_t i = 0; i < parts.n_parts; i++) {
        const struct nj_recipe_part *part = &parts.parts[i];
        if (!part->applies(walk->dims, layer < 0 ? 0 : (uint32_t)layer)) {
            continue;
        }
        for (uint32_t j = 0; j < part->n_matrices; j++) {
            const void *matrix = (const char *)fields + part->matrices[j].offset;
            enum nj_status status =
                walk->visit(walk->context, layer, expert, matrix, walk->err);
            if (status != NJ_OK) {
                return status;
            }
        }
    }
    return NJ_OK;
}

static enum nj_status visit_layer(const struct walk *walk, uint32_t layer,
                                  const struct nj_layer_weights *fields)
{
    enum nj_status status = visit_parts(walk, nj_recipe_layer(), (int32_t)layer, -1, fields);
    bool is_moe = nj_dims_layer_is_moe(walk->dims, layer);
    uint32_t n_experts = is_moe ? walk->dims->n_experts : 0;
    for (uint32_t expert = 0; expert < n_experts && status == NJ_OK; expert++) {
        status = visit_parts(walk, nj_recipe_expert(), (int32_t)layer, (int32_t)expert,
                             &fields->moe.experts[expert]);
    }
    return status;
}

enum nj_status nj_weight_walk(const struct nj_weights *weights, const struct nj_dims *dims,
                              nj_weight_visit *visit, void *context, struct nj_error *err)
{
    struct walk walk = {dims, visit, context, err};
    enum nj_status status = visit_parts(&walk, nj_recipe_global(), -1, -1, &weights->global);
    for (uint32_t layer = 0; layer < dims->n_layers && status == NJ_OK; layer++) {
        status = visit_layer(&walk, layer, &weights->layers[layer]);
    }
    return status;
}
