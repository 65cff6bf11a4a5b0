#include "runner/loop.h"

#include <string.h>

#include "generate/sequence.h"

enum {
    /* What an item may write besides its ids: two lines, two frames, an estimate. */
    ITEM_OVERHEAD_BYTES = 8 * 1024,
    /* Of one id: its entry in the token log and its text, twice. */
    TOKEN_BYTES = NJ_TOKEN_ENTRY_BYTES + 2 * 16,
    /* Of one log-probability: in the token log and as an object in two lines. */
    LOGPROB_BYTES = NJ_TOKEN_ALTERNATIVE_BYTES + 2 * 64
};

/* What finishing the item may write. */
static uint64_t bytes_of(const struct nj_sampling *sampling)
{
    uint64_t n_logprobs = sampling->wants_logprobs ? 1 + sampling->n_top_logprobs : 0;
    return ITEM_OVERHEAD_BYTES +
           sampling->max_tokens * (TOKEN_BYTES + n_logprobs * LOGPROB_BYTES);
}

static uint64_t now_ns(const struct nj_loop *loop)
{
    return loop->clock.monotonic_ns(loop->clock.context);
}

static void tell(struct nj_loop *loop, struct nj_event *event)
{
    const struct nj_ledger *ledger = loop->checkpoint->ledger;
    event->unix_ms = loop->clock.unix_ms(loop->clock.context);
    event->n_items = ledger->n_items;
    event->n_items_done = ledger->n_ok + ledger->n_failed;
    event->n_items_failed = ledger->n_failed;
    event->n_items_kept = loop->n_items_kept;
    loop->host->event(loop->host->context, event);
}

static struct nj_event event_of(enum nj_event_type type, const struct nj_slot *slot)
{
    size_t n_chosen = 0;
    (void)nj_sequence_chosen(slot->sequence, &n_chosen);
    return (struct nj_event){.type = type,
                             .item_index = slot->item.index,
                             .sample = slot->item.sample,
                             .item_id = slot->item.id,
                             .n_tokens_restored = slot->n_restored,
                             .n_prompt_tokens = slot->prompt.n_ids,
                             .n_output_tokens = n_chosen};
}

static void tell_begun(struct nj_loop *loop, const struct nj_slot *slot,
                       const struct nj_item_restoration *restoration)
{
    struct nj_event event =
        event_of(restoration->is_resumed ? NJ_EVENT_ITEM_RESUMED : NJ_EVENT_ITEM_STARTED, slot);
    event.n_from_snapshot = restoration->n_from_snapshot;
    event.n_fed_again = restoration->n_fed_again;
    event.n_snapshot_bytes = restoration->n_snapshot_bytes;
    event.restore_ns = restoration->restore_ns;
    tell(loop, &event);
}

static void tell_done(struct nj_loop *loop, const struct nj_slot *slot)
{
    struct nj_event event = event_of(NJ_EVENT_ITEM_DONE, slot);
    event.text = nj_text_from(nj_slot_finish_reason(slot));
    tell(loop, &event);
}

static struct nj_slot *free_slot(struct nj_loop *loop)
{
    for (uint32_t i = 0; i < loop->n_slots; i++) {
        if (loop->slots[i].sequence == NULL) {
            return &loop->slots[i];
        }
    }
    return NULL;
}

static uint32_t index_of(const struct nj_loop *loop, const struct nj_slot *slot)
{
    return (uint32_t)(slot - loop->slots);
}

static enum nj_status begin_item(struct nj_loop *loop, struct nj_slot *slot, uint64_t index,
                                 struct nj_error *err)
{
    enum nj_status status = nj_slot_begin(slot, &loop->supply, index, err);
    if (status != NJ_OK) {
        return status;
    }
    status = loop->host->reserve(loop->host->context, bytes_of(slot->item.sampling), err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_item_restoration restoration;
    slot->began_ns = now_ns(loop);
    status = nj_run_snapshots_begin_item(loop->snapshots, index_of(loop, slot), slot,
                                         &restoration, err);
    if (status == NJ_OK) {
        status = nj_disk_states_begin_item(loop->states, index_of(loop, slot), slot,
                                           &restoration, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    loop->counts.n_prompt += slot->prompt.n_ids;
    loop->counts.n_restored += slot->n_restored;
    loop->counts.n_resumed += slot->n_restored > 0 ? 1 : 0;
    if (slot->n_restored > 0) {
        loop->counts.n_fed_again += nj_sequence_n_pending(slot->sequence);
    }
    tell_begun(loop, slot, &restoration);
    return NJ_OK;
}

/* Items join only here, between sweeps. */
static enum nj_status fill_slots(struct nj_loop *loop, struct nj_error *err)
{
    struct nj_slot *slot = NULL;
    while ((slot = free_slot(loop)) != NULL &&
           nj_disk_states_have_room(loop->states, nj_generator_count(loop->supply.generator))) {
        uint64_t index = 0;
        bool has_item = false;
        enum nj_status status = loop->host->claim(loop->host->context, &index, &has_item, err);
        if (status != NJ_OK || !has_item) {
            return status;
        }
        status = begin_item(loop, slot, index, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    return NJ_OK;
}

static enum nj_status note_tokens(const struct nj_loop *loop, uint32_t n_events,
                                  struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (uint32_t i = 0; i < n_events && status == NJ_OK; i++) {
        if (loop->events[i].type == NJ_STEP_TOKEN) {
            struct nj_slot *slot = nj_sequence_owner(loop->events[i].sequence);
            status = nj_slot_note(slot, &loop->events[i], err);
        }
    }
    return status;
}

static void tell_tokens(struct nj_loop *loop, uint32_t n_events)
{
    for (uint32_t i = 0; i < n_events; i++) {
        if (loop->events[i].type == NJ_STEP_TOKEN) {
            const struct nj_slot *slot = nj_sequence_owner(loop->events[i].sequence);
            struct nj_event event = {.type = NJ_EVENT_TOKEN,
                                     .item_index = slot->item.index,
                                     .sample = slot->item.sample,
                                     .item_id = slot->item.id,
                                     .token = loop->events[i].token};
            loop->counts.n_generated++;
            tell(loop, &event);
        }
    }
}

/* Items that still read what they were given: a long prompt takes many sweeps that choose
 * nothing. */
static void count_prefill(const struct nj_loop *loop, struct nj_event *event)
{
    for (uint32_t i = 0; i < loop->n_slots; i++) {
        const struct nj_slot *slot = &loop->slots[i];
        size_t n_chosen = 0;
        if (slot->sequence == NULL) {
            continue;
        }
        (void)nj_sequence_chosen(slot->sequence, &n_chosen);
        if (n_chosen > slot->n_restored) {
            continue;
        }
        uint64_t n_given = slot->prompt.n_ids + slot->n_restored;
        event->n_prefill += n_given;
        event->n_prefill_read += n_given - nj_sequence_n_pending(slot->sequence);
    }
}

/* The rows in which a sequence read what it was given, not the id that it chose before. */
static uint64_t n_prefill_rows(const struct nj_step_event *event)
{
    const struct nj_slot *slot = nj_sequence_owner(event->sequence);
    size_t n_chosen = 0;
    (void)nj_sequence_chosen(event->sequence, &n_chosen);
    bool had_chosen = event->type == NJ_STEP_TOKEN && n_chosen > slot->n_restored + 1;
    return had_chosen ? 0 : event->n_rows;
}

static void tell_sweep(struct nj_loop *loop, uint32_t n_events, uint64_t began_ns)
{
    struct nj_event event = {.type = NJ_EVENT_SWEEP_DONE,
                             .n_running = nj_generator_count(loop->supply.generator),
                             .n_output_tokens = loop->counts.n_generated,
                             .n_prompt_tokens = loop->counts.n_prompt,
                             .n_tokens_restored = loop->counts.n_restored,
                             .sweep_ns = now_ns(loop) - began_ns};
    for (uint32_t i = 0; i < n_events; i++) {
        event.n_rows += loop->events[i].n_rows;
        event.n_prefill_rows += n_prefill_rows(&loop->events[i]);
    }
    count_prefill(loop, &event);
    loop->counts.n_sweeps++;
    tell(loop, &event);
}

static enum nj_status sweep(struct nj_loop *loop, struct nj_error *err)
{
    uint32_t n_events = 0;
    uint64_t began_ns = now_ns(loop);
    nj_generator_prepare(
        loop->supply.generator); /* snapshots look at the states from here on */
    enum nj_status status = nj_run_snapshots_before_sweep(loop->snapshots, loop->slots, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_disk_states_before_sweep(loop->states);
    status = nj_generator_step(loop->supply.generator, loop->events, &n_events, err);
    if (status == NJ_E_IO) {
        status = NJ_E_WEIGHTS; /* all that a sweep reads are weights */
    }
    if (status == NJ_OK) {
        status = nj_checkpoint_tokens(loop->checkpoint, loop->events, n_events, err);
    }
    if (status == NJ_OK) { /* what a snapshot holds is in the token log now */
        nj_run_snapshots_after_sweep(loop->snapshots);
    } else {
        nj_run_snapshots_abandon(loop->snapshots);
    }
    if (status == NJ_OK) {
        status = nj_disk_states_after_sweep(loop->states, loop->slots, err);
    }
    if (status == NJ_OK) {
        status = note_tokens(loop, n_events, err);
    }
    if (status == NJ_OK) {
        tell_tokens(loop, n_events);
        tell_sweep(loop, n_events, began_ns);
    }
    return status;
}

/* An item that did not finish in this sweep, and is over its time, has failed. */
static void expire_items(struct nj_loop *loop)
{
    uint64_t timeout_ns = loop->limits.item_timeout_ns;
    uint64_t now = timeout_ns > 0 ? now_ns(loop) : 0;
    for (uint32_t i = 0; i < loop->n_slots && timeout_ns > 0; i++) {
        struct nj_slot *slot = &loop->slots[i];
        if (slot->sequence != NULL && !nj_slot_is_finished(slot) &&
            now - slot->began_ns >= timeout_ns) {
            slot->timeout_ns = timeout_ns;
        }
    }
}

static enum nj_status finish_items(struct nj_loop *loop, struct nj_error *err)
{
    expire_items(loop);
    enum nj_status status =
        nj_checkpoint_results(loop->checkpoint, loop->slots, loop->n_slots, err);
    for (uint32_t i = 0; i < loop->n_slots && status == NJ_OK; i++) {
        struct nj_slot *slot = &loop->slots[i];
        if (nj_slot_is_finished(slot)) {
            tell_done(loop, slot);
            nj_run_snapshots_end_item(loop->snapshots, i);
            nj_slot_end(slot, loop->supply.generator);
        }
    }
    loop->counts.n_under_way = nj_generator_count(loop->supply.generator);
    return status;
}

static void end_all(struct nj_loop *loop)
{
    for (uint32_t i = 0; i < loop->n_slots; i++) {
        nj_slot_end(&loop->slots[i], loop->supply.generator);
    }
}

/* Between two sweeps: whether there is to be another one. */
static enum nj_status look_around(struct nj_loop *loop, struct nj_error *err)
{
    enum nj_run_control control = loop->host->poll(loop->host->context);
    if (control == NJ_RUN_BREAK) {
        return nj_fail(err, NJ_E_INTERNAL, "asked to end as if nightjar had a bug");
    }
    loop->was_stopped = control == NJ_RUN_DRAIN;
    if (!loop->was_stopped) {
        loop->limit = nj_run_limits_reached(&loop->limits, loop->checkpoint->ledger->n_failed,
                                            now_ns(loop) - loop->began_ns);
    }
    return NJ_OK;
}

enum nj_status nj_loop_run(struct nj_loop *loop, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    loop->began_ns = now_ns(loop);
    while (status == NJ_OK) {
        status = fill_slots(loop, err);
        if (status != NJ_OK || nj_generator_count(loop->supply.generator) == 0) {
            break;
        }
        status = look_around(loop, err);
        if (status == NJ_OK && (loop->was_stopped || loop->limit != NJ_RUN_LIMIT_NONE)) {
            status = nj_run_snapshots_stop(loop->snapshots, loop->slots, err);
            break;
        }
        if (status != NJ_OK) {
            break;
        }
        status = sweep(loop, err);
        if (status == NJ_OK) {
            status = finish_items(loop, err);
        }
    }
    if (status == NJ_OK) {
        status = nj_disk_states_stop(loop->states, err);
    }
    end_all(loop);
    return status;
}
