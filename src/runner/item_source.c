#include "runner/item_source.h"

#include <stdbool.h>

void nj_item_source_deinit(struct nj_item_source *source)
{
    nj_item_iterator_close(source->iterator);
    source->iterator = NULL;
    source->next_index = 0;
}

static enum nj_status next(struct nj_item_source *source, struct nj_arena *arena,
                           struct nj_item *item, struct nj_error *err)
{
    bool has_item = false;
    enum nj_status status =
        nj_item_iterator_next(source->iterator, arena, item, &has_item, err);
    if (status == NJ_OK && !has_item) {
        return nj_fail(err, NJ_E_INPUT, "the job has only %llu items now: its rows changed",
                       (unsigned long long)source->next_index);
    }
    source->next_index++;
    return status;
}

enum nj_status nj_item_source_read(struct nj_item_source *source, uint64_t index,
                                   struct nj_arena *arena, struct nj_item *item,
                                   struct nj_error *err)
{
    if (source->iterator != NULL && source->next_index > index) {
        nj_item_source_deinit(source);
    }
    enum nj_status status = NJ_OK;
    if (source->iterator == NULL) {
        status = nj_item_iterator_open(source->spec, source->fs, source->job_seed,
                                       &source->iterator, err);
    }
    while (status == NJ_OK && source->next_index < index) {
        struct nj_arena skipped_arena = {0};
        struct nj_item skipped;
        status = next(source, &skipped_arena, &skipped, err);
        nj_arena_deinit(&skipped_arena);
    }
    return status == NJ_OK ? next(source, arena, item, err) : status;
}
