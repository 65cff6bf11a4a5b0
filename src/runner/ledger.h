/* What is known of every item: what it is, whether it is done, where its result lies, and the
 * ids that earlier runs chose for it.
 *
 * Items are those of the run: each sample of a job's item is one of its own, with a digest that
 * tells it from the others.
 *
 * An item done takes 48 bytes here, whatever its text; ids are kept for items under way only.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_LEDGER_H
#define NJ_RUNNER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/status.h"
#include "runner/held_records.h"
#include "runner/logprobs.h"
#include "runner/token_log.h"
#include "tokenizer/tokenizer.h"

enum nj_item_state {
    NJ_ITEM_OPEN,  /* no durable result */
    NJ_ITEM_OK,    /* done */
    NJ_ITEM_FAILED /* done, with an error instead of an answer */
};

struct nj_ledger_item {
    struct nj_digest digest; /* everything that decides its result */
    uint64_t line_offset;    /* of its result line in results.log, when done */
    uint32_t line_bytes;
    uint16_t line_segment; /* of results.log, from 1 */
    uint8_t state;         /* enum nj_item_state */
    bool had_timed_out;    /* open, but it was over its time when that was another */
};

/* Ids of one item under way, restored from the token log. Zeroed is empty. */
struct nj_restored {
    uint64_t item_index;
    uint32_t first_position;
    struct nj_token_list tokens;
    struct nj_logprobs logprobs; /* of the same ids */
};

/* Takes an id that continues those taken before; of several at one position the first. */
enum nj_status nj_restored_add(struct nj_restored *restored, const struct nj_token_entry *entry,
                               struct nj_error *err);
void nj_restored_deinit(struct nj_restored *restored);

/* Zeroed is valid and empty. */
struct nj_ledger {
    struct nj_ledger_item *items;
    uint64_t n_items;
    size_t items_capacity;
    struct nj_restored *restored;
    size_t n_restored;
    size_t restored_capacity;
    uint64_t n_ok;
    uint64_t n_failed;
};

void nj_ledger_deinit(struct nj_ledger *ledger);

/* Appends the next item, open. */
enum nj_status nj_ledger_add(struct nj_ledger *ledger, const struct nj_digest *digest,
                             struct nj_error *err);

/* What ties log entries to the item: the first 8 bytes of its digest. */
uint64_t nj_item_tag(const struct nj_digest *digest);

/* The item is done with the line at this place in results.log. The first result wins. */
void nj_ledger_set_done(struct nj_ledger *ledger, uint64_t item_index, bool is_ok,
                        const struct nj_log_spot *line);

/* Where the result line of an item that is done lies. */
struct nj_log_spot nj_ledger_line(const struct nj_ledger_item *item);

/* Takes ids that belong to an item of the ledger, and empties `restored`; those of an item that
 * is done are thrown away. */
enum nj_status nj_ledger_take_restored(struct nj_ledger *ledger, struct nj_restored *restored,
                                       struct nj_error *err);

/* NULL when none was restored. */
const struct nj_restored *nj_ledger_restored(const struct nj_ledger *ledger,
                                             uint64_t item_index);
uint64_t nj_ledger_n_tokens_restored(const struct nj_ledger *ledger);

#endif
