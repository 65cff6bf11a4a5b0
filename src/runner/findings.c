#include "runner/findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "runner/limits.h"

/* What is known of one item: whether it has a result, and which entry of `ids` is its. */
struct nj_found_slot {
    uint64_t item_index;
    uint64_t item_tag;
    size_t ids; /* counted from 1; 0: none */
    bool is_used;
    bool has_result;
};

void nj_findings_deinit(struct nj_findings *findings)
{
    for (size_t i = 0; i < findings->n_ids; i++) {
        nj_restored_deinit(&findings->ids[i].restored);
    }
    free(findings->ids);
    free(findings->results);
    free(findings->slots);
    memset(findings, 0, sizeof *findings);
}

/* The slot of the item, or the free one where it would be. There is always a free one. */
static struct nj_found_slot *find(const struct nj_findings *findings, uint64_t item_index,
                                  uint64_t item_tag)
{
    uint64_t hash = (item_index ^ item_tag) * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash >> 32) & (findings->n_slots - 1);
    while (findings->slots[at].is_used && (findings->slots[at].item_index != item_index ||
                                           findings->slots[at].item_tag != item_tag)) {
        at = (at + 1) & (findings->n_slots - 1);
    }
    return &findings->slots[at];
}

static enum nj_status grow(struct nj_findings *findings, struct nj_error *err)
{
    enum { FIRST_SLOTS = 64 };
    struct nj_findings larger = *findings;
    larger.n_slots = findings->n_slots == 0 ? FIRST_SLOTS : 2 * findings->n_slots;
    larger.slots = calloc(larger.n_slots, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "read what earlier runs did: out of memory");
    }
    for (size_t i = 0; i < findings->n_slots; i++) {
        const struct nj_found_slot *slot = &findings->slots[i];
        if (slot->is_used) {
            *find(&larger, slot->item_index, slot->item_tag) = *slot;
        }
    }
    free(findings->slots);
    findings->slots = larger.slots;
    findings->n_slots = larger.n_slots;
    return NJ_OK;
}

/* The item's slot, made if it has none. At least half of them stay free. */
static enum nj_status take_slot(struct nj_findings *findings, uint64_t item_index,
                                uint64_t item_tag, struct nj_found_slot **slot,
                                struct nj_error *err)
{
    if (2 * findings->n_used_slots >= findings->n_slots) {
        enum nj_status status = grow(findings, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    struct nj_found_slot *found = find(findings, item_index, item_tag);
    if (!found->is_used) {
        findings->n_used_slots++;
        *found = (struct nj_found_slot){
            .item_index = item_index, .item_tag = item_tag, .is_used = true};
    }
    *slot = found;
    return NJ_OK;
}

enum nj_status nj_findings_add_result(struct nj_findings *findings,
                                      const struct nj_result_record *result,
                                      struct nj_log_spot payload, struct nj_error *err)
{
    struct nj_found_slot *slot = NULL;
    enum nj_status status =
        take_slot(findings, result->item_index, nj_item_tag(&result->item_digest), &slot, err);
    if (status == NJ_OK) {
        status = nj_vector_reserve(&findings->results, &findings->results_capacity,
                                   sizeof *findings->results, findings->n_results + 1, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    slot->has_result = true;
    findings->results[findings->n_results++] = (struct nj_found_result){
        .item_index = result->item_index,
        .item_digest = result->item_digest,
        .line = {.segment = payload.segment,
                 .n_bytes = payload.n_bytes - NJ_RESULT_PREFIX_BYTES,
                 .offset_bytes = payload.offset_bytes + NJ_RESULT_PREFIX_BYTES},
        .generation = findings->generation,
        .is_ok = result->is_ok};
    return NJ_OK;
}

static enum nj_status begin_ids(struct nj_findings *findings, struct nj_found_slot *slot,
                                const struct nj_token_entry *entry, struct nj_error *err)
{
    enum nj_status status = nj_vector_reserve(&findings->ids, &findings->ids_capacity,
                                              sizeof *findings->ids, findings->n_ids + 1, err);
    if (status == NJ_OK) {
        findings->ids[findings->n_ids++] =
            (struct nj_found_ids){.item_index = entry->item_index,
                                  .item_tag = entry->item_tag,
                                  .restored = {.item_index = entry->item_index,
                                               .first_position = entry->position,
                                               .logprobs.n_top = entry->n_top}};
        slot->ids = findings->n_ids;
    }
    return status;
}

enum nj_status nj_findings_add_id(struct nj_findings *findings,
                                  const struct nj_token_entry *entry, struct nj_error *err)
{
    struct nj_found_slot *slot = NULL;
    enum nj_status status = take_slot(findings, entry->item_index, entry->item_tag, &slot, err);
    if (status == NJ_OK && !slot->has_result && slot->ids == 0) {
        status = begin_ids(findings, slot, entry, err);
    }
    if (status != NJ_OK || slot->has_result) {
        return status;
    }
    return nj_restored_add(&findings->ids[slot->ids - 1].restored, entry, err);
}

static void enter_if_equal(const struct nj_found_result *result, const struct nj_digest *wanted,
                           struct nj_ledger *ledger)
{
    if (memcmp(wanted->bytes, result->item_digest.bytes, NJ_DIGEST_BYTES) == 0) {
        nj_ledger_set_done(ledger, result->item_index, result->is_ok, &result->line);
    }
}

static void enter_answers(const struct nj_findings *findings, struct nj_ledger *ledger)
{
    for (size_t i = 0; i < findings->n_results; i++) {
        const struct nj_found_result *result = &findings->results[i];
        if (result->item_index < ledger->n_items) {
            enter_if_equal(result, &ledger->items[result->item_index].digest, ledger);
        }
    }
}

/* Where there is no answer. */
static enum nj_status enter_timeouts(const struct nj_findings *findings,
                                     struct nj_ledger *ledger, uint64_t item_timeout_ns,
                                     struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (size_t i = 0; i < findings->n_results && status == NJ_OK; i++) {
        const struct nj_found_result *result = &findings->results[i];
        if (result->is_ok || result->item_index >= ledger->n_items ||
            ledger->items[result->item_index].state != NJ_ITEM_OPEN) {
            continue;
        }
        struct nj_digest wanted;
        status = nj_timeout_digest(&ledger->items[result->item_index].digest, item_timeout_ns,
                                   &wanted, err);
        if (status == NJ_OK) {
            enter_if_equal(result, &wanted, ledger);
        }
    }
    return status;
}

/* Every other failure has the item's own digest, and was entered. */
static void note_timed_out(const struct nj_findings *findings, struct nj_ledger *ledger)
{
    for (size_t i = 0; i < findings->n_results; i++) {
        const struct nj_found_result *result = &findings->results[i];
        if (!result->is_ok && result->item_index < ledger->n_items &&
            ledger->items[result->item_index].state == NJ_ITEM_OPEN) {
            ledger->items[result->item_index].had_timed_out = true;
        }
    }
}

enum nj_status nj_findings_enter(struct nj_findings *findings, struct nj_ledger *ledger,
                                 uint64_t item_timeout_ns, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    enter_answers(findings, ledger);
    if (item_timeout_ns > 0) {
        status = enter_timeouts(findings, ledger, item_timeout_ns, err);
    }
    note_timed_out(findings, ledger);
    for (size_t i = 0; i < findings->n_ids && status == NJ_OK; i++) {
        struct nj_found_ids *ids = &findings->ids[i];
        bool is_wanted = ids->restored.tokens.n_ids > 0 && ids->item_index < ledger->n_items &&
                         nj_item_tag(&ledger->items[ids->item_index].digest) == ids->item_tag;
        if (is_wanted) {
            status = nj_ledger_take_restored(ledger, &ids->restored, err);
        }
    }
    return status;
}
