/* One place in the batch: carries an item from its claim to its result.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_RUNNER_SLOT_H
#define NJ_RUNNER_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "generate/generator.h"
#include "job/items.h"
#include "runner/item_source.h"
#include "runner/ledger.h"
#include "runner/logprobs.h"
#include "runner/prompt.h"

/* Free when `sequence` is NULL. Zeroed is free. */
struct nj_slot {
    struct nj_sequence *sequence; /* the generator's */
    struct nj_arena arena;        /* of the item's texts */
    uint64_t index; /* in the run, where each sample of an item is one of its own */
    struct nj_item item;
    struct nj_token_list prompt;
    struct nj_digest digest;
    uint64_t n_restored;         /* ids that an earlier run had chosen */
    uint64_t began_ns;           /* monotonic: when it joined the batch */
    uint64_t timeout_ns;         /* it is over its time, which was so much; 0: it is not */
    struct nj_logprobs logprobs; /* of all chosen ids; empty where the item wants none */
};

/* Where slots get what they need. Borrowed. */
struct nj_slot_supply {
    struct nj_generator *generator;
    struct nj_item_source *source;
    const struct nj_prompt_setting *setting;
    const struct nj_ledger *ledger;
};

/* Renders and tokenizes item `index` of the run and adds its sequence, with the ids restored
 * for it. NJ_E_STATE when the item is not the one that was surveyed: its rows changed under the
 * run. */
enum nj_status nj_slot_begin(struct nj_slot *slot, const struct nj_slot_supply *supply,
                             uint64_t index, struct nj_error *err);

/* Keeps what the result line will say of the id that the event chose for this slot. */
enum nj_status nj_slot_note(struct nj_slot *slot, const struct nj_step_event *event,
                            struct nj_error *err);

/* Removes the sequence and releases the item. */
void nj_slot_end(struct nj_slot *slot, struct nj_generator *generator);

/* Its sequence is finished, or it is over its time. */
bool nj_slot_is_finished(const struct nj_slot *slot);

/* Of a finished one: it has an answer, not an error. */
bool nj_slot_is_ok(const struct nj_slot *slot);

/* "stop", "length", "error", or "expired" when it was over its time. */
const char *nj_slot_finish_reason(const struct nj_slot *slot);

#endif
