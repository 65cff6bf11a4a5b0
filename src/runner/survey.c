#include "runner/survey.h"

#include <string.h>

enum nj_status nj_items_chain(struct nj_digest *items, const struct nj_digest *item,
                              struct nj_error *err)
{
    uint8_t both[2 * NJ_DIGEST_BYTES];
    memcpy(both, items->bytes, NJ_DIGEST_BYTES);
    memcpy(both + NJ_DIGEST_BYTES, item->bytes, NJ_DIGEST_BYTES);
    return nj_digest_of((struct nj_bytes){.data = both, .length_bytes = sizeof both}, items,
                        err);
}

/* One pass: where it stands, and what is used again for each item. */
struct pass {
    const struct nj_survey_options *options;
    struct nj_diagnostics *complaints;
    struct nj_ledger *ledger;
    struct nj_survey *survey;
    struct nj_token_list ids;
    size_t n_complaints;
    bool is_full; /* the budget of output tokens is reserved */
};

/* An item that cannot be run does not end the pass: a person wants to hear of the others too.
 * Repeats and samples of one would only say it again. */
static void complain(struct pass *pass, const struct nj_item *item, const struct nj_error *why)
{
    if (pass->n_complaints > 0 && (item->repeat_index > 0 || item->sample > 0)) {
        return;
    }
    if (pass->n_complaints++ < NJ_SURVEY_COMPLAINTS_LIMIT) {
        nj_diagnose(pass->complaints, NJ_SEVERITY_ERROR, item->place, NULL, "%s", why->text);
    } else {
        pass->complaints->n_errors++; /* told as a number */
    }
}

static enum nj_status add_item(struct pass *pass, const struct nj_item *item,
                               struct nj_error *err)
{
    struct nj_digest digest;
    enum nj_status status =
        nj_prompt_digest(pass->options->setting, item, &pass->ids, &digest, err);
    if (status == NJ_OK) {
        status = nj_ledger_add(pass->ledger, &digest, err);
    }
    return status == NJ_OK ? nj_items_chain(&pass->survey->items, &digest, err) : status;
}

/* Whether the item, all of its samples, has room in the budget; the first that has none ends
 * the job. */
static bool has_room(struct pass *pass, const struct nj_item *item)
{
    uint64_t budget = pass->options->setting->spec->budget.max_output_tokens;
    if (budget == 0 || item->sample > 0 || pass->is_full) {
        return !pass->is_full;
    }
    uint64_t wanted = (uint64_t)item->sampling->max_tokens * item->sampling->n;
    uint64_t reserved = pass->survey->n_output_tokens_limit;
    pass->is_full = wanted > budget - reserved;
    return !pass->is_full;
}

/* All but the last id: who begins with them may have them read by another. */
static enum nj_status announce(const struct pass *pass, struct nj_error *err)
{
    struct nj_prefix_tree *prefixes = pass->options->prefixes;
    return prefixes != NULL && pass->ids.n_ids > 1
               ? nj_prefix_tree_announce(prefixes, pass->ids.ids, pass->ids.n_ids - 1, err)
               : NJ_OK;
}

/* What an item that is part of the run adds. */
static enum nj_status enter_item(struct pass *pass, const struct nj_item *item,
                                 struct nj_error *err)
{
    struct nj_survey *survey = pass->survey;
    enum nj_status status = pass->n_complaints == 0 ? add_item(pass, item, err) : NJ_OK;
    if (status == NJ_OK) {
        status = announce(pass, err);
    }
    survey->n_items++;
    survey->uses_job_seed = survey->uses_job_seed ||
                            (item->sampling->temperature > 0.0 && !item->sampling->has_seed);
    uint64_t n_positions = (uint64_t)pass->ids.n_ids + item->sampling->max_tokens;
    survey->n_prompt_tokens += pass->ids.n_ids;
    if (survey->most_positions < n_positions) {
        survey->most_positions = n_positions < UINT32_MAX ? (uint32_t)n_positions : UINT32_MAX;
    }
    survey->n_output_tokens_limit += item->sampling->max_tokens;
    if (survey->n_items <= pass->options->n_before) {
        survey->items_before = survey->items;
    }
    return status;
}

/* Also an item without room is looked at: it may be wrong all the same. */
static enum nj_status survey_item(struct pass *pass, const struct nj_item *item,
                                  uint64_t arena_bytes, struct nj_error *err)
{
    struct nj_error why;
    pass->ids.n_ids = 0;
    enum nj_status status = nj_prompt_build(pass->options->setting, item, &pass->ids, &why);
    if (status == NJ_E_INPUT) {
        complain(pass, item, &why);
    } else if (status != NJ_OK) {
        return nj_fail(err, status, "%s", why.text);
    }
    if (!has_room(pass, item)) {
        pass->survey->n_left_out++;
        return NJ_OK;
    }
    nj_item_memory_note(&pass->survey->memory, item, arena_bytes, pass->ids.n_ids);
    return enter_item(pass, item, err);
}

static enum nj_status survey_all(struct pass *pass, struct nj_error *err)
{
    const struct nj_survey_options *options = pass->options;
    struct nj_item_iterator *iterator = NULL;
    bool has_item = true;
    enum nj_status status = nj_item_iterator_open(options->setting->spec, options->fs,
                                                  options->job_seed, &iterator, err);
    while (status == NJ_OK && has_item) {
        struct nj_arena arena = {0};
        struct nj_item item;
        status = nj_item_iterator_next(iterator, &arena, &item, &has_item, err);
        if (status == NJ_OK && has_item) {
            status = survey_item(pass, &item, arena.used_bytes, err);
        }
        nj_arena_deinit(&arena);
    }
    nj_item_iterator_close(iterator);
    nj_token_list_deinit(&pass->ids);
    if (status == NJ_OK && pass->is_full && pass->survey->n_items == 0) {
        const struct nj_job_budget *budget = &options->setting->spec->budget;
        nj_diagnose(pass->complaints, NJ_SEVERITY_ERROR, budget->max_output_tokens_place,
                    "raise it, or lower `max_tokens`",
                    "`budget.max_output_tokens` of %llu has no room for the first item",
                    (unsigned long long)budget->max_output_tokens);
        pass->n_complaints++;
        return NJ_OK;
    }
    if (status == NJ_OK && pass->survey->n_items == 0) {
        return nj_fail(err, NJ_E_INPUT, "%s: the job has no items",
                       options->setting->spec->source_path);
    }
    return status;
}

enum nj_status nj_survey_run(const struct nj_survey_options *options, struct nj_ledger *ledger,
                             struct nj_survey *survey, struct nj_error *err)
{
    struct nj_arena arena = {0};
    struct nj_diagnostics own;
    struct pass pass = {.options = options,
                        .complaints = options->complaints != NULL ? options->complaints : &own,
                        .ledger = ledger,
                        .survey = survey};
    memset(survey, 0, sizeof *survey);
    nj_diagnostics_init(&own, &arena);
    enum nj_status status = survey_all(&pass, err);
    if (status == NJ_OK && pass.n_complaints > 0) {
        status = nj_diagnostics_status(pass.complaints, err);
    }
    nj_diagnostics_deinit(&own);
    nj_arena_deinit(&arena);
    return status;
}
