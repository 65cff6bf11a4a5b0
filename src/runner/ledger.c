#include "runner/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

void nj_ledger_deinit(struct nj_ledger *ledger)
{
    for (size_t i = 0; i < ledger->n_restored; i++) {
        nj_token_list_deinit(&ledger->restored[i].tokens);
        nj_logprobs_deinit(&ledger->restored[i].logprobs);
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
                        uint64_t line_offset, uint32_t line_bytes)
{
    struct nj_ledger_item *item = &ledger->items[item_index];
    if (item->state != NJ_ITEM_OPEN) {
        return;
    }
    item->state = is_ok ? NJ_ITEM_OK : NJ_ITEM_FAILED;
    item->line_offset = line_offset;
    item->line_bytes = line_bytes;
    ledger->n_ok += is_ok ? 1 : 0;
    ledger->n_failed += is_ok ? 0 : 1;
}

/* Few items are under way at once, so a walk is enough. */
static struct nj_restored *find(const struct nj_ledger *ledger, uint64_t item_index)
{
    for (size_t i = ledger->n_restored; i-- > 0;) {
        if (ledger->restored[i].item_index == item_index) {
            return &ledger->restored[i];
        }
    }
    return NULL;
}

enum nj_status nj_ledger_restore(struct nj_ledger *ledger, const struct nj_token_entry *entry,
                                 struct nj_error *err)
{
    if (entry->item_index >= ledger->n_items) {
        return NJ_OK;
    }
    const struct nj_ledger_item *item = &ledger->items[entry->item_index];
    if (item->state != NJ_ITEM_OPEN || nj_item_tag(&item->digest) != entry->item_tag) {
        return NJ_OK;
    }
    struct nj_restored *restored = find(ledger, entry->item_index);
    if (restored == NULL) {
        enum nj_status status =
            nj_vector_reserve(&ledger->restored, &ledger->restored_capacity,
                              sizeof *ledger->restored, ledger->n_restored + 1, err);
        if (status != NJ_OK) {
            return status;
        }
        restored = &ledger->restored[ledger->n_restored++];
        *restored = (struct nj_restored){.item_index = entry->item_index,
                                         .first_position = entry->position,
                                         .logprobs.n_top = entry->n_top};
    }
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

const struct nj_restored *nj_ledger_restored(const struct nj_ledger *ledger,
                                             uint64_t item_index)
{
    return find(ledger, item_index);
}

uint64_t nj_ledger_n_tokens_restored(const struct nj_ledger *ledger)
{
    uint64_t n_tokens = 0;
    for (size_t i = 0; i < ledger->n_restored; i++) {
        n_tokens += ledger->restored[i].tokens.n_ids;
    }
    return n_tokens;
}
