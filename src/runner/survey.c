#include "runner/survey.h"

#include <string.h>

static enum nj_status chain(struct nj_digest *items, const struct nj_digest *item,
                            struct nj_error *err)
{
    uint8_t both[2 * NJ_DIGEST_BYTES];
    memcpy(both, items->bytes, NJ_DIGEST_BYTES);
    memcpy(both + NJ_DIGEST_BYTES, item->bytes, NJ_DIGEST_BYTES);
    return nj_digest_of((struct nj_bytes){.data = both, .length_bytes = sizeof both}, items,
                        err);
}

static enum nj_status survey_item(const struct nj_prompt_setting *setting,
                                  const struct nj_item *item, struct nj_token_list *ids,
                                  struct nj_ledger *ledger, struct nj_survey *survey,
                                  struct nj_error *err)
{
    struct nj_digest digest;
    ids->n_ids = 0;
    enum nj_status status = nj_prompt_build(setting, item, ids, err);
    if (status == NJ_OK) {
        status = nj_prompt_digest(setting, item, ids, &digest, err);
    }
    if (status == NJ_OK) {
        status = nj_ledger_add(ledger, &digest, err);
    }
    if (status == NJ_OK) {
        status = chain(&survey->items, &digest, err);
    }
    survey->n_items++;
    survey->uses_job_seed = survey->uses_job_seed ||
                            (item->sampling->temperature > 0.0 && !item->sampling->has_seed);
    survey->n_prompt_tokens += ids->n_ids;
    survey->n_output_tokens_limit += item->sampling->max_tokens;
    return status;
}

enum nj_status nj_survey_run(const struct nj_prompt_setting *setting,
                             const struct nj_file_system *fs, uint64_t job_seed,
                             uint64_t n_before, struct nj_ledger *ledger,
                             struct nj_survey *survey, struct nj_error *err)
{
    struct nj_item_iterator *iterator = NULL;
    struct nj_token_list ids = {0};
    bool has_item = true;
    memset(survey, 0, sizeof *survey);
    enum nj_status status = nj_item_iterator_open(setting->spec, fs, job_seed, &iterator, err);
    while (status == NJ_OK && has_item) {
        struct nj_arena arena = {0};
        struct nj_item item;
        status = nj_item_iterator_next(iterator, &arena, &item, &has_item, err);
        if (status == NJ_OK && has_item) {
            status = survey_item(setting, &item, &ids, ledger, survey, err);
            if (survey->n_items <= n_before) {
                survey->items_before = survey->items;
            }
        }
        nj_arena_deinit(&arena);
    }
    nj_item_iterator_close(iterator);
    nj_token_list_deinit(&ids);
    if (status == NJ_OK && survey->n_items == 0) {
        return nj_fail(err, NJ_E_INPUT, "the job has no items");
    }
    return status;
}
