/* What the journal says about earlier runs of a folder.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_HISTORY_H
#define NJ_RUNNER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "format/record_log.h"
#include "runner/identity.h"
#include "runner/journal.h"
#include "runner/ledger.h"

/* The logs of a run folder. */
enum nj_run_log { NJ_LOG_JOURNAL, NJ_LOG_RESULTS, NJ_LOG_TOKENS, NJ_N_RUN_LOGS };

/* One line of the history that people get. */
struct nj_turn {
    bool is_interruption; /* the run ended without a word; `entry` is the last thing heard of it
                           */
    struct nj_journal_entry entry;
    size_t first_restored; /* of a start: items that it took up again, in `restored` ... */
    size_t n_restored;     /* ... and how many */
};

/* Zeroed is the history of a new folder. */
struct nj_history {
    bool has_identity;
    struct nj_run_identity identity; /* in force: that of the highest generation in any log */
    uint32_t generations[NJ_N_RUN_LOGS]; /* the highest in each log; 0 where it has none */
    bool has_seed;                       /* an identity, this one or an earlier one, drew ... */
    uint64_t seed;                       /* ... with this job seed */
    uint32_t seed_generation;
    uint64_t n_item_records; /* in results.log and tokens.log */
    struct nj_turn *turns;   /* started, paused, stopped, finished and interrupted, in order */
    size_t n_turns;
    size_t turns_capacity;
    struct nj_journal_entry *restored; /* of all starts, in order */
    size_t n_restored;
    size_t restored_capacity;
    bool is_running;               /* started, and not ended since */
    struct nj_journal_entry alive; /* how far it was when last heard of; while it is running */
    uint64_t ended_run_ms;         /* all runs that ended, together */
    bool is_finished; /* the last turn says so, and the identity is still the same */
    uint64_t *marked; /* items that the journal says are done, in its order: as many as it has
                         records, whatever index they or the identity claim */
    size_t n_marked;
    size_t marked_capacity;
};

void nj_history_deinit(struct nj_history *history);

/* A nj_record_visit over journal.log; the context is the history. */
enum nj_status nj_history_visit(void *context, const struct nj_record *record,
                                struct nj_error *err);

/* Notes an identity that a log holds, in the order of its records. The journal is read first:
 * a later identity in another log takes its marks and its end away. */
void nj_history_identify(struct nj_history *history, enum nj_run_log log,
                         const struct nj_run_identity *identity);

/* By item index, for the first `n_items`: 1 where the journal says done. Returns; caller owns.
 */
enum nj_status nj_history_marks(const struct nj_history *history, uint64_t n_items,
                                uint8_t **is_marked, struct nj_error *err);

/* How long all runs of the folder took so far, one that was killed included, in ms. */
uint64_t nj_history_run_ms(const struct nj_history *history);

/* Notes a turn, a sign of life or an item that was taken up again, which was just written to
 * the journal. A start without an end before it was a
 * kill or a crash, and becomes an interruption in the history. */
enum nj_status nj_history_add(struct nj_history *history, const struct nj_journal_entry *entry,
                              struct nj_error *err);

/* Writes an array of turns for the manifest. */
void nj_history_write(const struct nj_history *history, struct nj_json_writer *writer);

#endif
