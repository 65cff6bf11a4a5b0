#include "runner/prefixes.h"

#include "model/model.h"

enum {
    /* Copying a state takes less time than reading one id (docs/decisions/0011); a sweep more
     * costs something even if no weight is read in it. */
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

static uint64_t shelf_bytes(const struct nj_run_prefixes_place *place, uint32_t n_ids)
{
    const struct nj_dims *dims = nj_model_dims(place->model);
    const struct nj_byte_budget *budget = nj_model_budget(place->model);
    uint64_t promised = place->batch * nj_prefix_state_bytes(dims, place->most_positions);
    uint64_t room = less(less(budget->ceiling_bytes, budget->held_bytes), promised);
    uint64_t one = nj_prefix_state_bytes(dims, n_ids);
    uint64_t share = budget->ceiling_bytes / SHELF_SHARE;
    uint64_t most = share > one ? share : one;
    return room < most ? room : most;
}

/* --- the cache --- */

static void warn(const struct nj_run_prefixes *prefixes, const char *what,
                 const struct nj_error *why)
{
    nj_log_write(prefixes->place.log, NJ_LOG_WARNING, "%s: %s", what, why->text);
}

/* A flag wins over the job. */
static uint64_t cache_bytes(const struct nj_run_prefixes_place *place)
{
    uint64_t given = place->options->prefix_cache_bytes > 0
                         ? place->options->prefix_cache_bytes
                         : place->resources->prefix_cache_bytes;
    return given > 0 ? given : NJ_PREFIX_CACHE_BYTES;
}

static void open_cache(struct nj_run_prefixes *prefixes)
{
    const struct nj_run_prefixes_place *place = &prefixes->place;
    struct nj_error why;
    uint64_t limit_bytes = cache_bytes(place);
    if (place->options->prefix_cache_directory == NULL || limit_bytes == NJ_CACHE_NOTHING ||
        place->options->share_prefixes == NJ_SHARE_NOTHING) {
        return;
    }
    const struct nj_prefix_cache_place cache = {.fs = place->fs,
                                                .path = place->options->prefix_cache_directory,
                                                .dims = nj_model_dims(place->model),
                                                .weights = place->weights,
                                                .budget = nj_model_budget(place->model),
                                                .log = place->log,
                                                .clock = place->clock,
                                                .entropy = place->entropy,
                                                .limit_bytes = limit_bytes};
    if (nj_prefix_cache_open(&cache, &prefixes->cache, &why) != NJ_OK) {
        warn(prefixes, "the run goes on without its prefix cache", &why);
    }
}

static bool load(void *context, struct nj_sequence *sequence)
{
    return nj_prefix_cache_load(context, sequence);
}

void nj_run_prefixes_open(struct nj_run_prefixes *prefixes,
                          const struct nj_run_prefixes_place *place)
{
    prefixes->place = *place;
    if (place->least_store_ns == 0) {
        prefixes->place.least_store_ns = NJ_PREFIX_STORE_NS;
    }
    place = &prefixes->place;
    if (nj_model_state_home(place->model) != NULL) {
        return;
    }
    open_cache(prefixes);
    uint32_t longest = nj_run_prefixes_longest(place->tree, place->options);
    if (longest == 0 && prefixes->cache == NULL) {
        return;
    }
    const struct nj_prefix_options options = {
        .tree = place->tree,
        .least_ids = least_ids(place->options),
        .least_rows = least_rows(place->options, place->model),
        .shelf_bytes = shelf_bytes(place, longest),
        .clock = place->clock,
        .storage = {.context = prefixes->cache,
                    .load = prefixes->cache != NULL ? load : NULL,
                    .least_store_ns = place->least_store_ns}};
    nj_generator_share_prefixes(place->generator, &options);
}

/* False: it could not be written, and the next would fare no better. */
static bool store_one(struct nj_run_prefixes *prefixes, const struct nj_prefix_entry *entry,
                      struct nj_write_budget *budget)
{
    struct nj_error why;
    uint64_t n_written = 0;
    if (nj_prefix_cache_store(prefixes->cache, entry, &n_written, &why) != NJ_OK) {
        warn(prefixes, "a prefix could not be stored for later runs", &why);
        return false;
    }
    nj_write_budget_spend(budget, n_written);
    prefixes->n_stored += n_written > 0 ? 1 : 0;
    prefixes->stored_bytes += n_written;
    return true;
}

void nj_run_prefixes_store(struct nj_run_prefixes *prefixes, struct nj_write_budget *budget)
{
    const struct nj_run_prefixes_place *place = &prefixes->place;
    if (prefixes->cache == NULL) {
        return;
    }
    const struct nj_prefix_shelf *shelf = nj_generator_prefix_shelf(place->generator);
    for (size_t i = 0; i < shelf->n_entries; i++) {
        const struct nj_prefix_entry *entry = &shelf->entries[i];
        uint64_t n_bytes = nj_prefix_cache_cost_bytes(prefixes->cache, entry->n_ids);
        uint64_t now_ns = place->clock.monotonic_ns(place->clock.context);
        if (entry->is_from_storage || entry->cost_ns < place->least_store_ns ||
            !nj_write_budget_allows(budget, n_bytes, now_ns)) {
            continue;
        }
        if (!store_one(prefixes, entry, budget)) {
            return;
        }
    }
}

void nj_run_prefixes_close(struct nj_run_prefixes *prefixes)
{
    nj_prefix_cache_close(prefixes->cache);
    prefixes->cache = NULL;
}
