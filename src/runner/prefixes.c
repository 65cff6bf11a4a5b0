#include "runner/prefixes.h"

#include "model/model.h"

enum {
    /* A fork copies the recurrent part twice, which takes about as long as reading one id on
     * the models there are; a sweep more is worth some rows even if no weight is read in it. */
    LEAST_IDS = 16,
    LEAST_ROWS = 32,
    SHELF_SHARE = 16
};

static uint32_t least_ids(const struct nj_run_options *options)
{
    return options->share_prefixes > 0 ? options->share_prefixes : LEAST_IDS;
}

uint32_t nj_run_prefixes_longest(const struct nj_prefix_tree *tree,
                                 const struct nj_run_options *options)
{
    return tree == NULL || options->share_prefixes == NJ_SHARE_NOTHING
               ? 0
               : nj_prefix_tree_longest_shared(tree, least_ids(options));
}

/* What a fork must spare to be worth a sweep more. Weights that are read again in every sweep
 * cost as much as the rows that fill it; who names a length of prefix has decided. */
static uint64_t least_rows(const struct nj_run_options *options, const struct nj_model *model)
{
    if (options->share_prefixes > 0) {
        return 1;
    }
    return nj_model_plan(model)->is_whole ? LEAST_ROWS : nj_model_max_rows(model);
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a < b ? 0 : a - b;
}

static uint64_t shelf_bytes(const struct nj_run_prefixes *prefixes, struct nj_model *model,
                            uint32_t n_ids)
{
    const struct nj_dims *dims = nj_model_dims(model);
    const struct nj_byte_budget *budget = nj_model_budget(model);
    uint64_t promised = prefixes->batch * nj_prefix_state_bytes(dims, prefixes->most_positions);
    uint64_t room = less(less(budget->ceiling_bytes, budget->held_bytes), promised);
    uint64_t one = nj_prefix_state_bytes(dims, n_ids);
    uint64_t share = budget->ceiling_bytes / SHELF_SHARE;
    uint64_t most = share > one ? share : one;
    return room < most ? room : most;
}

void nj_run_prefixes_share(const struct nj_run_prefixes *prefixes, struct nj_model *model,
                           struct nj_generator *generator)
{
    uint32_t longest = nj_run_prefixes_longest(prefixes->tree, prefixes->options);
    if (longest == 0 && prefixes->storage.load == NULL) {
        return;
    }
    const struct nj_prefix_options options = {
        .tree = prefixes->tree,
        .least_ids = least_ids(prefixes->options),
        .least_rows = least_rows(prefixes->options, model),
        .shelf_bytes = shelf_bytes(prefixes, model, longest),
        .clock = prefixes->clock,
        .storage = prefixes->storage};
    nj_generator_share_prefixes(generator, &options);
}
