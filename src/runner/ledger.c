#include "runner/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

void nj_ledger_deinit(struct nj_ledger *ledger)
{
    for (size_t i = 0; i < ledger->n_restored; i++) {
        nj_restored_deinit(&ledger->restored[i]);
    }
    free(ledger->restored);
    free(ledger->items);
    memset(ledger, 0, sizeof *ledger);
}

enum nj_status nj_ledger_add(struct nj_ledger *ledger, const struct nj_digest *digest,
                             struct nj_error *err)
{
    enum nj_status status = nj_vector_reserve(&ledger->items, &ledger->items_capacity,
                                              sizeof *ledger->items, ledger->n_items + 1, err);
    if (status == NJ_OK) {
        ledger->items[ledger->n_items++] = (struct nj_ledger_item){.digest = *digest};
    }
    return status;
}

uint64_t nj_item_tag(const struct nj_digest *digest)
{
    struct nj_byte_reader reader;
    nj_byte_reader_init(
        &reader, (struct nj_bytes){.data = digest->bytes, .length_bytes = NJ_DIGEST_BYTES});
    return nj_read_u64(&reader);
}

void nj_ledger_set_done(struct nj_ledger *ledger, uint64_t item_index, bool is_ok,
                        const struct nj_log_spot *line)
{
    struct nj_ledger_item *item = &ledger->items[item_index];
    if (item->state != NJ_ITEM_OPEN) {
        return;
    }
    item->state = is_ok ? NJ_ITEM_OK : NJ_ITEM_FAILED;
    item->line_segment = (uint16_t)line->segment;
    item->line_offset = line->offset_bytes;
    item->line_bytes = line->n_bytes;
    ledger->n_ok += is_ok ? 1 : 0;
    ledger->n_failed += is_ok ? 0 : 1;
}

struct nj_log_spot nj_ledger_line(const struct nj_ledger_item *item)
{
    return (struct nj_log_spot){.segment = item->line_segment,
                                .n_bytes = item->line_bytes,
                                .offset_bytes = item->line_offset};
}

void nj_restored_deinit(struct nj_restored *restored)
{
    nj_token_list_deinit(&restored->tokens);
    nj_logprobs_deinit(&restored->logprobs);
}

enum nj_status nj_restored_add(struct nj_restored *restored, const struct nj_token_entry *entry,
                               struct nj_error *err)
{
    if (entry->position != restored->first_position + restored->tokens.n_ids ||
        entry->n_top != restored->logprobs.n_top) {
        return NJ_OK; /* chosen again after a log was damaged: the same id, kept once */
    }
    struct nj_token_logprob chosen = {.token = entry->token, .logprob = entry->logprob};
    enum nj_status status =
        nj_logprobs_add(&restored->logprobs, chosen, entry->top, entry->n_top, err);
    return status == NJ_OK ? nj_token_list_append(&restored->tokens, &entry->token, 1, err)
                           : status;
}

enum nj_status nj_ledger_take_restored(struct nj_ledger *ledger, struct nj_restored *restored,
                                       struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    if (ledger->items[restored->item_index].state == NJ_ITEM_OPEN) {
        status = nj_vector_reserve(&ledger->restored, &ledger->restored_capacity,
                                   sizeof *ledger->restored, ledger->n_restored + 1, err);
        if (status == NJ_OK) {
            ledger->restored[ledger->n_restored++] = *restored;
            *restored = (struct nj_restored){0};
        }
    }
    nj_restored_deinit(restored);
    return status;
}

/* Few items are under way at once, so a walk is enough. */
const struct nj_restored *nj_ledger_restored(const struct nj_ledger *ledger,
                                             uint64_t item_index)
{
    for (size_t i = ledger->n_restored; i-- > 0;) {
        if (ledger->restored[i].item_index == item_index) {
            return &ledger->restored[i];
        }
    }
    return NULL;
}

uint64_t nj_ledger_n_tokens_restored(const struct nj_ledger *ledger)
{
    uint64_t n_tokens = 0;
    for (size_t i = 0; i < ledger->n_restored; i++) {
        n_tokens += ledger->restored[i].tokens.n_ids;
    }
    return n_tokens;
}
