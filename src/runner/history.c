#include "runner/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vector.h"

void nj_history_deinit(struct nj_history *history)
{
    free(history->turns);
    free(history->restored);
    free(history->marked);
    memset(history, 0, sizeof *history);
}

static enum nj_status add_turn(struct nj_history *history, const struct nj_turn *turn,
                               struct nj_error *err)
{
    enum nj_status status =
        nj_vector_reserve(&history->turns, &history->turns_capacity, sizeof *history->turns,
                          history->n_turns + 1, err);
    if (status == NJ_OK) {
        history->turns[history->n_turns++] = *turn;
    }
    return status;
}

/* Belongs to the last start. */
static enum nj_status add_restored(struct nj_history *history,
                                   const struct nj_journal_entry *entry, struct nj_error *err)
{
    size_t last = history->n_turns;
    while (last > 0 && history->turns[last - 1].entry.type != NJ_JOURNAL_STARTED) {
        last--;
    }
    if (last == 0) {
        return NJ_OK; /* the start was lost with the journal's damaged beginning */
    }
    enum nj_status status =
        nj_vector_reserve(&history->restored, &history->restored_capacity,
                          sizeof *history->restored, history->n_restored + 1, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_turn *turn = &history->turns[last - 1];
    if (turn->n_restored == 0) {
        turn->first_restored = history->n_restored;
    }
    turn->n_restored++;
    history->restored[history->n_restored++] = *entry;
    return NJ_OK;
}

/* A run that ended, as of `entry`. */
static void end_run(struct nj_history *history, const struct nj_journal_entry *entry)
{
    history->is_running = false;
    history->ended_run_ms += entry->run_ms;
}

enum nj_status nj_history_add(struct nj_history *history, const struct nj_journal_entry *entry,
                              struct nj_error *err)
{
    if (entry->type == NJ_JOURNAL_ALIVE) {
        history->alive = *entry;
        return NJ_OK;
    }
    if (entry->type == NJ_JOURNAL_RESTORED) {
        return add_restored(history, entry, err);
    }
    enum nj_status status = NJ_OK;
    bool is_start = entry->type == NJ_JOURNAL_STARTED;
    if (is_start && history->is_running) {
        struct nj_turn interruption = {.is_interruption = true, .entry = history->alive};
        end_run(history, &history->alive);
        status = add_turn(history, &interruption, err);
    }
    struct nj_turn turn = {.entry = *entry};
    if (status == NJ_OK) {
        status = add_turn(history, &turn, err);
    }
    history->is_finished = entry->type == NJ_JOURNAL_FINISHED;
    if (is_start || entry->type == NJ_JOURNAL_PAUSED) {
        history->is_running = true;
        history->alive = *entry;
    } else if (history->is_running) {
        end_run(history, entry);
    }
    return status;
}

uint64_t nj_history_run_ms(const struct nj_history *history)
{
    return history->ended_run_ms + (history->is_running ? history->alive.run_ms : 0);
}

static enum nj_status mark(struct nj_history *history, uint64_t item_index,
                           struct nj_error *err)
{
    enum nj_status status =
        nj_vector_reserve(&history->marked, &history->marked_capacity, sizeof *history->marked,
                          history->n_marked + 1, err);
    if (status == NJ_OK) {
        history->marked[history->n_marked++] = item_index;
    }
    return status;
}

void nj_history_identify(struct nj_history *history, enum nj_run_log log,
                         const struct nj_run_identity *identity)
{
    struct nj_run_identity counted = *identity;
    if (counted.generation == 0) {
        counted.generation = history->generations[log] + 1;
    }
    history->generations[log] = counted.generation;
    if (counted.uses_job_seed && counted.generation >= history->seed_generation) {
        history->has_seed = true;
        history->seed = counted.job_seed;
        history->seed_generation = counted.generation;
    }
    if (!history->has_identity || counted.generation > history->identity.generation) {
        history->has_identity = true;
        history->identity = counted;
        history->n_marked = 0; /* marks were about the items of the job before */
        history->is_finished = false;
    }
}

enum nj_status nj_history_visit(void *context, const struct nj_record *record,
                                struct nj_error *err)
{
    struct nj_history *history = context;
    struct nj_journal_entry entry;
    bool is_known = false;
    enum nj_status status = nj_journal_decode(record, &entry, &is_known, err);
    if (status != NJ_OK || !is_known) {
        return status;
    }
    switch (entry.type) {
    case NJ_JOURNAL_IDENTITY:
        nj_history_identify(history, NJ_LOG_JOURNAL, &entry.identity);
        return NJ_OK;
    case NJ_JOURNAL_DONE:
        return mark(history, entry.item_index, err);
    case NJ_JOURNAL_STARTED:
    case NJ_JOURNAL_STOPPED:
    case NJ_JOURNAL_FINISHED:
    case NJ_JOURNAL_PAUSED:
    case NJ_JOURNAL_ALIVE:
    case NJ_JOURNAL_RESTORED:
        return nj_history_add(history, &entry, err);
    case NJ_JOURNAL_CLAIMED:
    case NJ_JOURNAL_SLOTS:    /* ditto */
    case NJ_JOURNAL_SNAPSHOT: /* the loader looks at the segments themselves */
        break;
    }
    return NJ_OK;
}

/* The journal's count is not believed: the caller knows how many items there are. */
enum nj_status nj_history_marks(const struct nj_history *history, uint64_t n_items,
                                uint8_t **is_marked, struct nj_error *err)
{
    uint8_t *marks = calloc(n_items + 1, sizeof *marks);
    if (marks == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "read the done marks of %llu items: out of memory",
                       (unsigned long long)n_items);
    }
    for (size_t i = 0; i < history->n_marked; i++) {
        if (history->marked[i] <
            n_items) { /* others are of a longer job that was here before */
            marks[history->marked[i]] = 1;
        }
    }
    *is_marked = marks;
    return NJ_OK;
}

static const char *turn_name(const struct nj_turn *turn)
{
    if (turn->is_interruption) {
        return "interrupted";
    }
    switch (turn->entry.type) {
    case NJ_JOURNAL_STARTED:
        return "started";
    case NJ_JOURNAL_STOPPED:
        return "stopped";
    case NJ_JOURNAL_PAUSED:
        return "paused";
    default:
        return "finished";
    }
}

static void write_count(struct nj_json_writer *writer, const char *key, uint64_t value)
{
    nj_json_key(writer, key);
    nj_json_write_unsigned(writer, value);
}

static void write_reason(struct nj_json_writer *writer, const char *reason)
{
    nj_json_key(writer, "reason");
    nj_json_write_string(writer, reason);
}

static void write_time(struct nj_json_writer *writer, int64_t unix_ms)
{
    char text[NJ_CLOCK_TEXT_BYTES];
    nj_json_key(writer, "time");
    nj_json_write_string(writer, nj_clock_format(unix_ms, text));
    nj_json_key(writer, "time_unix_ms");
    nj_json_write_integer(writer, unix_ms);
}

/* What the run had done by then. Of one that was interrupted: when last heard of. */
static void write_work(struct nj_json_writer *writer, const struct nj_journal_entry *entry)
{
    nj_json_key(writer, "seconds");
    nj_json_write_number(writer, (double)entry->run_ms / 1000.0);
    write_count(writer, "tokens_generated", entry->n_tokens_generated);
    write_count(writer, "tokens_fed_again", entry->n_tokens_fed_again);
}

static void write_restored(struct nj_json_writer *writer, const struct nj_journal_entry *entry)
{
    nj_json_begin_object(writer);
    write_count(writer, "item_index", entry->item_index);
    write_count(writer, "sample", entry->sample);
    write_count(writer, "tokens_restored", entry->n_tokens_restored);
    write_count(writer, "tokens_from_snapshot", entry->n_from_snapshot);
    write_count(writer, "tokens_fed_again", entry->n_tokens_fed_again);
    write_count(writer, "snapshot_bytes", entry->n_snapshot_bytes);
    nj_json_key(writer, "restore_seconds");
    nj_json_write_number(writer, (double)entry->restore_us / 1e6);
    write_count(writer, "segments_put_aside", entry->n_put_aside);
    nj_json_end_object(writer);
}

/* What a start found: the other half of the interruption before it. */
static void write_items_resumed(const struct nj_history *history, const struct nj_turn *turn,
                                struct nj_json_writer *writer)
{
    nj_json_key(writer, "items_resumed");
    nj_json_begin_array(writer);
    for (size_t i = 0; i < turn->n_restored; i++) {
        write_restored(writer, &history->restored[turn->first_restored + i]);
    }
    nj_json_end_array(writer);
}

static void write_turn(const struct nj_history *history, const struct nj_turn *turn,
                       struct nj_json_writer *writer)
{
    const struct nj_journal_entry *entry = &turn->entry;
    nj_json_begin_object(writer);
    nj_json_key(writer, "event");
    nj_json_write_string(writer, turn_name(turn));
    if (turn->is_interruption) {
        write_reason(writer, "ended without a word: killed, crashed or lost power");
    } else if (entry->type == NJ_JOURNAL_PAUSED) {
        write_reason(writer, "disk");
    }
    write_time(writer, entry->unix_ms);
    write_count(writer, "items_done", entry->n_items_done);
    write_count(writer, "items_under_way", entry->n_items_under_way);
    if (entry->type == NJ_JOURNAL_STARTED && !turn->is_interruption) {
        write_count(writer, "tokens_restored", entry->n_tokens_restored);
        write_items_resumed(history, turn, writer);
    } else {
        write_work(writer, entry);
    }
    nj_json_end_object(writer);
}

void nj_history_write(const struct nj_history *history, struct nj_json_writer *writer)
{
    nj_json_begin_array(writer);
    for (size_t i = 0; i < history->n_turns; i++) {
        write_turn(history, &history->turns[i], writer);
    }
    nj_json_end_array(writer);
}
