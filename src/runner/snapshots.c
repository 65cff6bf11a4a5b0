#include "runner/snapshots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "generate/sequence.h"
#include "runner/journal.h"
#include "snapshot/folder.h"
#include "snapshot/retention.h"

enum {
    /* What a first snapshot is taken to cost, until one was measured: copying at a rate that
     * any machine reaches. */
    GUESSED_BYTES_PER_US = 1000,
    /* Its estimate is an upper bound, and the one before it goes only when it is there. */
    ROOM_FACTOR = 2
};

/* Left for ids and results: snapshots spare time, without these nothing goes on. */
static const uint64_t room_floor_bytes = UINT64_C(64) << 20;

static uint64_t now_ns(const struct nj_run_snapshots *snapshots)
{
    const struct nj_clock *clock = &snapshots->place.clock;
    return clock->monotonic_ns(clock->context);
}

static void warn(const struct nj_run_snapshots *snapshots, const char *what,
                 const struct nj_error *why)
{
    nj_log_write(snapshots->place.log, NJ_LOG_WARNING, "%s: %s", what, why->text);
}

static int pack_level(const struct nj_job_snapshot *wanted)
{
    switch (wanted->compress) {
    case NJ_COMPRESS_AUTO:
        return NJ_PACK_AUTO;
    case NJ_COMPRESS_OFF:
        return NJ_PACK_OFF;
    default:
        return wanted->compress;
    }
}

/* --- opening --- */

static enum nj_status take_memory(struct nj_run_snapshots *snapshots, struct nj_error *err)
{
    size_t n = (size_t)snapshots->place.n_slots + 1;
    snapshots->items = calloc(n, sizeof *snapshots->items);
    snapshots->round = calloc(n, sizeof *snapshots->round);
    snapshots->targets = calloc(n, sizeof *snapshots->targets);
    if (snapshots->items == NULL || snapshots->round == NULL || snapshots->targets == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "snapshots of %u items: out of memory",
                       snapshots->place.n_slots);
    }
    for (size_t i = 0; i < n; i++) {
        snapshots->items[i].directory_fd = -1;
    }
    return NJ_OK;
}

static enum nj_status open_writer(struct nj_run_snapshots *snapshots, struct nj_error *err)
{
    const struct nj_run_snapshots_place *place = &snapshots->place;
    struct nj_snapshot_writer_options options = {.fs = place->fs,
                                                 .dims = nj_model_dims(place->model),
                                                 .clock = place->clock,
                                                 .pack_level = pack_level(&snapshots->wanted),
                                                 .max_targets = place->n_slots,
                                                 .buffer_bytes = place->buffer_bytes,
                                                 .entropy = place->entropy};
    return nj_snapshot_writer_create(&options, &snapshots->writer, err);
}

enum nj_status nj_run_snapshots_open(struct nj_run_snapshots *snapshots,
                                     const struct nj_run_snapshots_place *place,
                                     const struct nj_job_snapshot *wanted,
                                     struct nj_generator *generator, struct nj_error *err)
{
    memset(snapshots, 0, sizeof *snapshots);
    snapshots->place = *place;
    snapshots->wanted = *wanted;
    enum nj_status status = take_memory(snapshots, err);
    if (status == NJ_OK && !place->only_reads) {
        status = open_writer(snapshots, err);
    }
    if (status != NJ_OK) {
        nj_run_snapshots_close(snapshots);
        return status;
    }
    uint64_t budget = wanted->write_budget_bytes > 0 ? wanted->write_budget_bytes
                                                     : NJ_SNAPSHOT_WRITE_BUDGET_BYTES;
    snapshots->last_ns = now_ns(snapshots);
    nj_write_budget_init(&snapshots->budget, budget, snapshots->last_ns);
    snapshots->hooks = (struct nj_sweep_hooks){.context = snapshots->writer,
                                               .on_layer_final = nj_snapshot_writer_layer};
    if (snapshots->writer != NULL) {
        nj_generator_set_hooks(generator, &snapshots->hooks);
    }
    return NJ_OK;
}

void nj_run_snapshots_close(struct nj_run_snapshots *snapshots)
{
    const struct nj_file_system *fs = snapshots->place.fs;
    nj_snapshot_writer_destroy(snapshots->writer);
    for (uint32_t i = 0; snapshots->items != NULL && i < snapshots->place.n_slots; i++) {
        if (snapshots->items[i].directory_fd >= 0) {
            (void)fs->close(fs->context, snapshots->items[i].directory_fd); /* a folder's */
        }
    }
    free(snapshots->items);
    free(snapshots->round);
    free(snapshots->targets);
    memset(snapshots, 0, sizeof *snapshots);
}

/* --- items --- */

static struct nj_snapshot_identity identity_of(const struct nj_run_snapshots *snapshots,
                                               const struct nj_slot *slot)
{
    return (struct nj_snapshot_identity){
        .item_index = slot->index,
        .item = slot->digest,
        .sample = slot->item.sample,
        .numerics_version = NJ_NUMERICS_VERSION,
        .latent_norm_eps = nj_model_dims(snapshots->place.model)->latent_norm_eps,
        .weights = *snapshots->place.weights};
}

static enum nj_status load(struct nj_run_snapshots *snapshots, struct nj_item_snapshots *item,
                           const struct nj_slot *slot, struct nj_snapshot_loaded *loaded,
                           struct nj_error *err)
{
    const struct nj_run_snapshots_place *place = &snapshots->place;
    struct nj_snapshot_loader loader = {.fs = place->fs,
                                        .dims = nj_model_dims(place->model),
                                        .pool = nj_model_pool(place->model),
                                        .budget = nj_model_budget(place->model),
                                        .log = place->log};
    enum nj_status status = nj_snapshot_load(&loader, item->directory_fd, &item->identity,
                                             slot->sequence, &item->chain, loaded, err);
    if (status == NJ_OK) {
        snapshots->counts.n_positions += loaded->n_positions;
        snapshots->counts.n_put_aside += loaded->n_put_aside;
        snapshots->counts.n_unfinished += loaded->n_unfinished;
    }
    return status;
}

/* What its folder holds is taken up if it can be; without any of it the item begins all the
 * same. */
static void take_up(struct nj_run_snapshots *snapshots, struct nj_item_snapshots *item,
                    const struct nj_slot *slot, struct nj_snapshot_loaded *loaded)
{
    struct nj_error why;
    enum nj_status status =
        nj_segment_folder_open(snapshots->place.fs, snapshots->place.run_directory_fd,
                               slot->index, false, &item->directory_fd, &why);
    bool can_load = status == NJ_OK && item->directory_fd >= 0 &&
                    nj_sequence_finish(slot->sequence) == NJ_FINISH_NONE;
    if (can_load) {
        status = load(snapshots, item, slot, loaded, &why);
    }
    if (status != NJ_OK) {
        item->is_off = true; /* what its folder holds is not known, so nothing is added to it */
        warn(snapshots, "an item's snapshots cannot be used, it is read again from its ids",
             &why);
    }
}

static enum nj_status note_restored(struct nj_run_snapshots *snapshots,
                                    const struct nj_slot *slot,
                                    const struct nj_item_restoration *restoration,
                                    uint32_t n_put_aside, struct nj_error *err)
{
    struct nj_journal_entry entry = {.type = NJ_JOURNAL_RESTORED,
                                     .item_index = slot->index,
                                     .sample = slot->item.sample,
                                     .n_put_aside = n_put_aside,
                                     .n_tokens_restored = slot->n_restored,
                                     .n_from_snapshot = restoration->n_from_snapshot,
                                     .n_tokens_fed_again = restoration->n_fed_again,
                                     .n_snapshot_bytes = restoration->n_snapshot_bytes,
                                     .restore_us = restoration->restore_ns / 1000};
    enum nj_status status = nj_journal_append(snapshots->place.journal, &entry, err);
    return status == NJ_OK ? nj_history_add(snapshots->place.history, &entry, err) : status;
}

enum nj_status nj_run_snapshots_begin_item(struct nj_run_snapshots *snapshots,
                                           uint32_t slot_index, const struct nj_slot *slot,
                                           struct nj_item_restoration *restoration,
                                           struct nj_error *err)
{
    *restoration = (struct nj_item_restoration){.is_resumed = slot->n_restored > 0};
    if (snapshots->items == NULL) {
        return NJ_OK;
    }
    struct nj_snapshot_loaded loaded = {.number = 0};
    struct nj_item_snapshots *item = &snapshots->items[slot_index];
    *item = (struct nj_item_snapshots){.identity = identity_of(snapshots, slot),
                                       .directory_fd = -1};
    uint64_t began_ns = now_ns(snapshots);
    take_up(snapshots, item, slot, &loaded);
    restoration->is_resumed = slot->n_restored > 0 || loaded.number > 0 ||
                              loaded.n_put_aside > 0 || loaded.n_unfinished > 0;
    if (!restoration->is_resumed) {
        return NJ_OK;
    }
    restoration->restore_ns = now_ns(snapshots) - began_ns;
    restoration->n_from_snapshot = loaded.n_positions;
    restoration->n_fed_again = nj_sequence_n_pending(slot->sequence);
    restoration->n_snapshot_bytes = loaded.n_bytes;
    return note_restored(snapshots, slot, restoration, loaded.n_put_aside, err);
}

/* Without a writer's thread it is done here. What is left behind costs room only. */
static void remove_segments(const struct nj_run_snapshots *snapshots,
                            const struct nj_item_snapshots *item)
{
    struct nj_error why;
    const struct nj_file_system *fs = snapshots->place.fs;
    enum nj_status status = nj_retention_prune(fs, item->directory_fd, 0, 0, &why);
    if (status == NJ_OK) {
        status =
            nj_segment_folder_remove(fs, item->directory_fd, item->identity.item_index, &why);
    }
    if (status != NJ_OK) {
        warn(snapshots, "an item's snapshots could not be removed", &why);
    }
    (void)fs->close(fs->context, item->directory_fd); /* a folder's */
}

void nj_run_snapshots_end_item(struct nj_run_snapshots *snapshots, uint32_t slot_index)
{
    if (snapshots->items == NULL) {
        return;
    }
    struct nj_item_snapshots *item = &snapshots->items[slot_index];
    if (item->directory_fd >= 0 && snapshots->writer == NULL) {
        remove_segments(snapshots, item);
    } else if (item->directory_fd >= 0) {
        nj_snapshot_writer_forget(snapshots->writer, item->directory_fd,
                                  item->identity.item_index, &item->chain);
    }
    for (uint32_t i = 0; i < snapshots->n_round; i++) {
        if (snapshots->round[i] == slot_index) {
            snapshots->round[i] = UINT32_MAX; /* the slot is another item's now */
        }
    }
    *item = (struct nj_item_snapshots){.directory_fd = -1};
}

/* --- a round --- */

static enum nj_status note_durable(struct nj_run_snapshots *snapshots, uint32_t slot_index,
                                   const struct nj_snapshot_outcome *outcome,
                                   struct nj_error *err)
{
    const struct nj_item_snapshots *item = &snapshots->items[slot_index];
    struct nj_journal_entry entry = {.type = NJ_JOURNAL_SNAPSHOT,
                                     .item_index = item->identity.item_index,
                                     .sample = item->identity.sample,
                                     .segment_number = outcome->number};
    snapshots->counts.n_durable += 1;
    return nj_journal_append(snapshots->place.journal, &entry, err);
}

/* What the round cost the engine thread, its share of the interval. */
static void note_cost(struct nj_run_snapshots *snapshots, uint64_t n_bytes)
{
    struct nj_snapshot_stats stats = nj_snapshot_writer_stats(snapshots->writer);
    uint64_t cost_ns = stats.copied_ns - snapshots->copied_before_ns;
    snapshots->cost_ns = cost_ns > 0 ? cost_ns : 1;
    nj_write_budget_spend(&snapshots->budget, n_bytes);
}

/* A round that is over: its snapshots are current once the journal says so, and then what they
 * make superfluous goes. */
static enum nj_status settle(struct nj_run_snapshots *snapshots, struct nj_error *err)
{
    uint64_t n_bytes = 0;
    enum nj_status status = NJ_OK;
    snapshots->is_unsettled = false;
    for (uint32_t i = 0; i < snapshots->n_round && status == NJ_OK; i++) {
        struct nj_snapshot_outcome outcome;
        if (!nj_snapshot_writer_take_outcome(snapshots->writer, i, &outcome)) {
            continue;
        }
        n_bytes += outcome.file_bytes;
        if (outcome.is_durable) {
            status = note_durable(snapshots, snapshots->round[i], &outcome, err);
        } else {
            snapshots->round[i] = UINT32_MAX;
            if (outcome.status != NJ_E_STOPPED) {
                warn(snapshots, "a snapshot could not be written, the run goes on without it",
                     &outcome.error);
            }
        }
    }
    note_cost(snapshots, n_bytes);
    if (status == NJ_OK) {
        status = nj_log_file_sync(snapshots->place.journal, err);
    }
    for (uint32_t i = 0; i < snapshots->n_round && status == NJ_OK; i++) {
        if (snapshots->round[i] != UINT32_MAX) {
            const struct nj_item_snapshots *item = &snapshots->items[snapshots->round[i]];
            nj_snapshot_writer_prune(snapshots->writer, item->directory_fd, &item->chain);
        }
    }
    return status;
}

static bool is_worth_a_snapshot(const struct nj_item_snapshots *item,
                                const struct nj_slot *slot)
{
    return slot->sequence != NULL && !item->is_off && !nj_slot_is_finished(slot);
}

/* Between sweeps nothing is added: what the newest segment holds need not be written again. */
static bool has_read_more(const struct nj_item_snapshots *item, const struct nj_slot *slot)
{
    return slot->sequence != NULL &&
           nj_state_length(slot->sequence->state) > item->chain.n_positions;
}

/* What a round of all items would write at most. */
static uint64_t round_bytes(const struct nj_run_snapshots *snapshots,
                            const struct nj_slot *slots)
{
    uint64_t n_bytes = 0;
    const struct nj_dims *dims = nj_model_dims(snapshots->place.model);
    for (uint32_t i = 0; i < snapshots->place.n_slots; i++) {
        if (is_worth_a_snapshot(&snapshots->items[i], &slots[i])) {
            n_bytes += nj_chain_base_bytes(dims, (uint32_t)slots[i].sequence->n_tokens);
        }
    }
    return n_bytes;
}

/* Whether the disk has room for a round of so many bytes, as far as anybody can tell. Said once
 * until it has again. */
static bool has_room(struct nj_run_snapshots *snapshots, uint64_t n_bytes)
{
    const struct nj_run_snapshots_place *place = &snapshots->place;
    const struct nj_run_observer *observer = place->observer;
    if (observer == NULL || observer->free_bytes == NULL) {
        return true;
    }
    uint64_t n_free = observer->free_bytes(observer->context, place->folder_path);
    uint64_t n_wanted = ROOM_FACTOR * n_bytes + room_floor_bytes;
    bool lacked_room = snapshots->lacks_room;
    snapshots->lacks_room = n_free < n_wanted; /* UINT64_MAX: it cannot be told */
    if (snapshots->lacks_room && !lacked_room) {
        nj_log_write(place->log, NJ_LOG_WARNING,
                     "no snapshots for want of room: the disk of %s has %" PRIu64
                     " bytes left, %" PRIu64 " are wanted; the run goes on, and after a kill "
                     "more would be computed again",
                     place->folder_path, n_free, n_wanted);
    }
    return !snapshots->lacks_room;
}

static uint64_t interval_ns(const struct nj_run_snapshots *snapshots, uint64_t n_bytes)
{
    if (snapshots->wanted.every_ns > 0) {
        return snapshots->wanted.every_ns;
    }
    uint64_t cost_ns =
        snapshots->cost_ns > 0 ? snapshots->cost_ns : n_bytes * 1000 / GUESSED_BYTES_PER_US;
    return nj_snapshot_interval_ns(cost_ns, NJ_SNAPSHOT_KILLS_APART_NS);
}

static void begin_interval(struct nj_run_snapshots *snapshots)
{
    snapshots->last_ns = now_ns(snapshots);
    snapshots->n_sweeps = 0;
}

static bool is_due(struct nj_run_snapshots *snapshots, const struct nj_slot *slots)
{
    uint64_t now = now_ns(snapshots);
    uint64_t n_bytes = round_bytes(snapshots, slots);
    if (n_bytes == 0) {
        return false;
    }
    bool is_time = snapshots->wanted.every_sweeps > 0
                       ? snapshots->n_sweeps + 1 >= snapshots->wanted.every_sweeps
                       : now - snapshots->last_ns >= interval_ns(snapshots, n_bytes);
    if (!is_time || !nj_write_budget_allows(&snapshots->budget, n_bytes, now)) {
        return false;
    }
    if (!has_room(snapshots, n_bytes)) {
        begin_interval(snapshots); /* the disk is not asked in every sweep */
        return false;
    }
    return true;
}

static bool has_folder(struct nj_run_snapshots *snapshots, struct nj_item_snapshots *item)
{
    struct nj_error why;
    if (item->directory_fd >= 0) {
        return true;
    }
    if (nj_segment_folder_open(snapshots->place.fs, snapshots->place.run_directory_fd,
                               item->identity.item_index, true, &item->directory_fd,
                               &why) == NJ_OK) {
        return true;
    }
    warn(snapshots, "a snapshot could not be begun, the run goes on without it", &why);
    return false;
}

static enum nj_status begin_round(struct nj_run_snapshots *snapshots,
                                  const struct nj_slot *slots, bool is_between_sweeps,
                                  struct nj_error *err)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < snapshots->place.n_slots; i++) {
        struct nj_item_snapshots *item = &snapshots->items[i];
        bool is_wanted = is_worth_a_snapshot(item, &slots[i]) &&
                         (!is_between_sweeps || has_read_more(item, &slots[i]));
        if (is_wanted && has_folder(snapshots, item)) {
            snapshots->round[n] = i;
            snapshots->targets[n++] =
                (struct nj_snapshot_target){.sequence = slots[i].sequence,
                                            .directory_fd = item->directory_fd,
                                            .identity = item->identity,
                                            .chain = &item->chain};
        }
    }
    snapshots->n_round = n;
    begin_interval(snapshots);
    snapshots->copied_before_ns = nj_snapshot_writer_stats(snapshots->writer).copied_ns;
    enum nj_status status =
        n == 0 ? NJ_OK
               : nj_snapshot_writer_begin(snapshots->writer, snapshots->targets, n, err);
    snapshots->is_in_sweep = status == NJ_OK && n > 0;
    return status;
}

/* Settles the round before if it is over. `*is_idle` tells whether another one may begin. */
static enum nj_status look_after(struct nj_run_snapshots *snapshots, bool waits, bool *is_idle,
                                 struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    if (waits) {
        nj_snapshot_writer_wait(snapshots->writer);
    }
    *is_idle = !nj_snapshot_writer_is_busy(snapshots->writer);
    if (*is_idle && snapshots->is_unsettled) {
        status = settle(snapshots, err);
    }
    if (waits) {
        nj_snapshot_writer_wait(snapshots->writer);
    }
    *is_idle = !nj_snapshot_writer_is_busy(snapshots->writer);
    return status;
}

/* What a kill left of the items that were under way, which are the first to be taken up. */
static void tell_unfinished(struct nj_run_snapshots *snapshots)
{
    uint64_t n = snapshots->counts.n_unfinished;
    if (n == 0 || snapshots->has_told_unfinished) {
        return;
    }
    snapshots->has_told_unfinished = true;
    nj_log_write(snapshots->place.log, NJ_LOG_INFO,
                 "%" PRIu64 " %s; going on from what was there before", n,
                 n == 1 ? "snapshot was unfinished" : "snapshots were unfinished");
}

enum nj_status nj_run_snapshots_before_sweep(struct nj_run_snapshots *snapshots,
                                             const struct nj_slot *slots, struct nj_error *err)
{
    tell_unfinished(snapshots);
    if (snapshots->writer == NULL) {
        return NJ_OK;
    }
    /* Who counts sweeps wants no more than so many computed again, however slow the disk is. */
    bool waits = snapshots->wanted.every_sweeps > 0;
    bool is_idle = false;
    enum nj_status status = look_after(snapshots, waits, &is_idle, err);
    if (status == NJ_OK && is_idle && is_due(snapshots, slots)) {
        return begin_round(snapshots, slots, false, err);
    }
    snapshots->n_sweeps += 1;
    return status;
}

void nj_run_snapshots_after_sweep(struct nj_run_snapshots *snapshots)
{
    if (snapshots->is_in_sweep) {
        nj_snapshot_writer_commit(snapshots->writer);
        snapshots->is_unsettled = true;
    }
    snapshots->is_in_sweep = false;
}

void nj_run_snapshots_abandon(struct nj_run_snapshots *snapshots)
{
    if (snapshots->is_in_sweep) {
        nj_snapshot_writer_abandon(snapshots->writer);
        snapshots->is_unsettled = true;
    }
    snapshots->is_in_sweep = false;
}

static enum nj_status wait_and_settle(struct nj_run_snapshots *snapshots, struct nj_error *err)
{
    nj_snapshot_writer_wait(snapshots->writer);
    enum nj_status status = snapshots->is_unsettled ? settle(snapshots, err) : NJ_OK;
    nj_snapshot_writer_wait(snapshots->writer);
    return status;
}

enum nj_status nj_run_snapshots_stop(struct nj_run_snapshots *snapshots,
                                     const struct nj_slot *slots, struct nj_error *err)
{
    if (snapshots->writer == NULL) {
        return NJ_OK;
    }
    enum nj_status status = wait_and_settle(snapshots, err);
    if (status == NJ_OK && has_room(snapshots, round_bytes(snapshots, slots))) {
        status = begin_round(snapshots, slots, true, err);
    }
    if (status != NJ_OK || !snapshots->is_in_sweep) {
        return status;
    }
    nj_snapshot_writer_all_layers(snapshots->writer);
    nj_run_snapshots_after_sweep(snapshots);
    return wait_and_settle(snapshots, err);
}

void nj_run_snapshots_rest(struct nj_run_snapshots *snapshots)
{
    struct nj_error why;
    if (snapshots->writer != NULL &&
        nj_snapshot_writer_prune_status(snapshots->writer, &why) != NJ_OK) {
        warn(snapshots, "what snapshots of no more use take could not be freed", &why);
    }
}
