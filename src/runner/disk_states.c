#include "runner/disk_states.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "generate/sequence.h"
#include "runner/journal.h"
#include "snapshot/interval.h"
#include "snapshot/slot_name.h"

static uint64_t now_ns(const struct nj_disk_states *states)
{
    const struct nj_clock *clock = &states->place.clock;
    return clock->monotonic_ns(clock->context);
}

static uint64_t bytes_per_hour(const struct nj_disk_states *states)
{
    return states->place.bytes_per_hour > 0 ? states->place.bytes_per_hour
                                            : NJ_SNAPSHOT_WRITE_BUDGET_BYTES;
}

/* What is the same for all items. */
static struct nj_snapshot_identity run_identity(const struct nj_disk_states *states)
{
    const struct nj_disk_states_place *place = &states->place;
    return (struct nj_snapshot_identity){.numerics_version = NJ_NUMERICS_VERSION,
                                         .latent_norm_eps =
                                             nj_model_dims(place->model)->latent_norm_eps,
                                         .weights = *place->weights};
}

/* --- opening --- */

static enum nj_status take_memory(struct nj_disk_states *states, struct nj_error *err)
{
    size_t n_slots = (size_t)states->place.n_slots + 1;
    size_t n_items = nj_slot_store_n_items(states->store) + 1;
    states->is_taken_up = calloc(n_items, sizeof *states->is_taken_up);
    states->identities = calloc(n_slots, sizeof *states->identities);
    states->entries = calloc(n_slots, sizeof *states->entries);
    return states->is_taken_up != NULL && states->identities != NULL && states->entries != NULL
               ? NJ_OK
               : nj_fail(err, NJ_E_MEMORY, "states of %u items: out of memory",
                         states->place.n_slots);
}

static enum nj_status open_store(struct nj_disk_states *states, struct nj_error *err)
{
    const struct nj_disk_states_place *place = &states->place;
    struct nj_slot_store_options options = {.fs = place->fs,
                                            .directory_fd = place->run_directory_fd,
                                            .dims = nj_model_dims(place->model),
                                            .log = place->log};
    enum nj_status status = nj_slot_store_open(&options, &states->store, err);
    return status == NJ_OK ? take_memory(states, err) : status;
}

static void tell_place(const struct nj_disk_states *states)
{
    const struct nj_disk_states_place *place = &states->place;
    const struct nj_dims *dims = nj_model_dims(place->model);
    uint64_t all_bytes = place->n_slots * nj_slot_home_seat_bytes(dims, place->most_positions);
    nj_log_write(place->log, NJ_LOG_INFO,
                 "states on disk: room for %u items, %" PRIu64
                 " bytes; each writes about %" PRIu64 " bytes a sweep",
                 place->n_slots, all_bytes, nj_slot_home_sweep_bytes(dims));
}

static enum nj_status open_home(struct nj_disk_states *states, struct nj_error *err)
{
    const struct nj_disk_states_place *place = &states->place;
    struct nj_snapshot_identity identity = run_identity(states);
    struct nj_slot_home_options options = {.fs = place->fs,
                                           .reserving_fs = place->patient_fs,
                                           .directory_fd = place->run_directory_fd,
                                           .dims = nj_model_dims(place->model),
                                           .run = &identity,
                                           .n_seats = place->n_slots,
                                           .n_positions = place->most_positions,
                                           .file_number =
                                               nj_slot_store_highest_number(states->store) + 1,
                                           .entropy = place->entropy,
                                           .window_bytes = place->window_bytes};
    if (!place->is_on_disk) {
        return NJ_OK;
    }
    enum nj_status status = nj_slot_home_create(&options, &states->home, err);
    if (status == NJ_OK) {
        nj_model_set_state_home(place->model, nj_slot_home_table(states->home));
        tell_place(states);
    }
    return status;
}

enum nj_status nj_disk_states_open(struct nj_disk_states *states,
                                   const struct nj_disk_states_place *place,
                                   struct nj_error *err)
{
    *states = (struct nj_disk_states){.place = *place, .is_open = true};
    states->began_ns = now_ns(states);
    enum nj_status status = open_store(states, err);
    return status == NJ_OK ? open_home(states, err) : status;
}

void nj_disk_states_close(struct nj_disk_states *states)
{
    if (states->home != NULL) {
        nj_model_set_state_home(states->place.model, NULL);
    }
    nj_slot_home_destroy(states->home);
    nj_slot_store_close(states->store);
    free(states->is_taken_up);
    free(states->identities);
    free(states->entries);
    memset(states, 0, sizeof *states);
}

/* --- items --- */

bool nj_disk_states_have_room(const struct nj_disk_states *states, uint32_t n_running)
{
    if (states->home == NULL || !states->place.is_width_bound || n_running == 0) {
        return true;
    }
    uint64_t item_bytes = nj_slot_home_sweep_bytes(nj_model_dims(states->place.model));
    double sweeps_per_hour =
        states->sweep_ns == 0 ? 0.0 : (double)NJ_SNAPSHOT_HOUR_NS / (double)states->sweep_ns;
    return states->sweep_ns > 0 &&
           ((double)n_running + 1.0) * (double)item_bytes * sweeps_per_hour <=
               (double)bytes_per_hour(states);
}

static void note_taken_up(struct nj_disk_states *states, uint64_t item_index)
{
    for (size_t i = 0; i < nj_slot_store_n_items(states->store); i++) {
        if (nj_slot_store_item(states->store, i) == item_index) {
            states->is_taken_up[i] = true;
        }
    }
}

enum nj_status nj_disk_states_begin_item(struct nj_disk_states *states, uint32_t slot_index,
                                         const struct nj_slot *slot,
                                         struct nj_item_restoration *restoration,
                                         struct nj_error *err)
{
    if (!states->is_open) {
        return NJ_OK;
    }
    struct nj_slot_loaded loaded = {.n_positions = 0};
    struct nj_snapshot_identity *identity = &states->identities[slot_index];
    *identity = run_identity(states);
    identity->item_index = slot->index;
    identity->item = slot->digest;
    identity->sample = slot->item.sample;
    enum nj_status status = NJ_OK;
    if (nj_sequence_finish(slot->sequence) == NJ_FINISH_NONE) {
        uint32_t n_before = nj_state_length(slot->sequence->state);
        status = nj_slot_store_load(states->store, identity, slot->sequence, &loaded, err);
        states->n_positions += loaded.n_positions > 0 ? loaded.n_positions - n_before : 0;
        if (loaded.n_positions > 0) {
            restoration->is_resumed = true;
            restoration->n_from_snapshot = loaded.n_positions;
            restoration->n_fed_again = nj_sequence_n_pending(slot->sequence);
            restoration->n_snapshot_bytes += loaded.n_bytes;
        }
    }
    note_taken_up(states, slot->index);
    return status;
}

/* --- sweeps --- */

void nj_disk_states_before_sweep(struct nj_disk_states *states)
{
    if (states->home != NULL) {
        states->sweep_began_ns = now_ns(states);
    }
}

/* Every unfinished item of the store is under way here. */
static bool is_store_taken_up(const struct nj_disk_states *states)
{
    const struct nj_ledger *ledger = states->place.ledger;
    for (size_t i = 0; i < nj_slot_store_n_items(states->store); i++) {
        uint64_t item_index = nj_slot_store_item(states->store, i);
        bool is_open =
            item_index < ledger->n_items && ledger->items[item_index].state == NJ_ITEM_OPEN;
        if (is_open && !states->is_taken_up[i]) {
            return false;
        }
    }
    return true;
}

/* What is left behind costs room and nothing else. */
static void drop_store(struct nj_disk_states *states)
{
    struct nj_error why;
    if (nj_slot_store_remove(states->store, &why) != NJ_OK) {
        nj_log_write(states->place.log, NJ_LOG_WARNING,
                     "states of an earlier run could not be removed: %s", why.text);
    }
}

/* The commit under way is over: the journal gets it, and is synced with what follows. */
static enum nj_status settle(struct nj_disk_states *states, struct nj_error *err)
{
    uint64_t number = 0;
    enum nj_status status = nj_slot_home_settle(states->home, &number, err);
    if (status != NJ_OK || number == states->n_logged) {
        return status;
    }
    struct nj_journal_entry entry = {.type = NJ_JOURNAL_SLOTS,
                                     .commit_number = number,
                                     .sweep = states->n_sweeps,
                                     .n_items_under_way = states->commit_items};
    states->n_logged = number;
    status = nj_journal_append(states->place.journal, &entry, err);
    if (status == NJ_OK && states->store_ends_with > 0 && number >= states->store_ends_with) {
        states->store_ends_with = 0;
        drop_store(states);
    }
    return status;
}

static enum nj_status commit(struct nj_disk_states *states, const struct nj_slot *slots,
                             struct nj_error *err)
{
    uint32_t n_entries = 0;
    for (uint32_t i = 0; i < states->place.n_slots; i++) {
        if (slots[i].sequence != NULL && !nj_slot_is_finished(&slots[i])) {
            states->entries[n_entries++] = (struct nj_slot_commit_entry){
                .sequence = slots[i].sequence, .identity = &states->identities[i]};
        }
    }
    enum nj_status status =
        nj_slot_home_commit(states->home, states->entries, n_entries, states->n_sweeps, err);
    if (status != NJ_OK) {
        return status;
    }
    states->n_commits += 1;
    states->commit_items = n_entries;
    if (states->store_ends_with == 0 && is_store_taken_up(states)) {
        states->store_ends_with = states->n_commits;
    }
    return NJ_OK;
}

enum nj_status nj_disk_states_after_sweep(struct nj_disk_states *states,
                                          const struct nj_slot *slots, struct nj_error *err)
{
    if (states->home == NULL) {
        return NJ_OK;
    }
    enum nj_status status = settle(states, err);
    states->n_sweeps += 1;
    if (status == NJ_OK) {
        status = commit(states, slots, err);
    }
    states->sweep_ns = now_ns(states) - states->sweep_began_ns;
    return status;
}

/* What it cost, as measured. */
static void tell_cost(const struct nj_disk_states *states)
{
    struct nj_slot_stats stats = nj_slot_home_stats(states->home);
    uint64_t elapsed_ns = now_ns(states) - states->began_ns;
    uint64_t n_sweeps = states->n_sweeps == 0 ? 1 : states->n_sweeps;
    double hours = (double)(elapsed_ns == 0 ? 1 : elapsed_ns) / (double)NJ_SNAPSHOT_HOUR_NS;
    double rate = (double)stats.written_bytes / hours;
    nj_log_write(states->place.log, NJ_LOG_INFO,
                 "states on disk: %.3f GB written and %.3f GB read in %llu sweeps, %.6f GB "
                 "written a sweep, %.1f GB an hour; the write budget is %.1f GB an hour%s",
                 (double)stats.written_bytes * 1e-9, (double)stats.read_bytes * 1e-9,
                 (unsigned long long)states->n_sweeps,
                 (double)stats.written_bytes / (double)n_sweeps * 1e-9, rate * 1e-9,
                 (double)bytes_per_hour(states) * 1e-9,
                 rate > (double)bytes_per_hour(states) ? " (exceeded)" : "");
}

enum nj_status nj_disk_states_stop(struct nj_disk_states *states, struct nj_error *err)
{
    if (states->home == NULL) {
        return NJ_OK;
    }
    enum nj_status status = settle(states, err);
    tell_cost(states);
    return status == NJ_OK ? nj_log_file_sync(states->place.journal, err) : status;
}

enum nj_status nj_disk_states_remove_all(const struct nj_file_system *fs, int run_directory_fd,
                                         struct nj_error *err)
{
    struct nj_number_list listing = {0};
    enum nj_status status = nj_slot_list(fs, run_directory_fd, &listing, err);
    for (size_t i = 0; i < listing.n_numbers && status == NJ_OK; i++) {
        status = nj_slot_remove(fs, run_directory_fd, listing.numbers[i], err);
    }
    nj_number_list_deinit(&listing);
    return status;
}
