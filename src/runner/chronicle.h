/* What a run says of itself as a whole: turns (started, paused, stopped, finished) in the
 * journal and its history, and the events that go with them.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_RUNNER_CHRONICLE_H
#define NJ_RUNNER_CHRONICLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "job/event.h"
#include "nightjar/run.h"
#include "runner/folder_host.h"
#include "runner/history.h"
#include "runner/journal.h"
#include "runner/ledger.h"
#include "runner/loop.h"

/* Everything is borrowed. */
struct nj_chronicle {
    struct nj_clock clock;
    const struct nj_run_observer *observer; /* NULL: nobody watches */
    struct nj_text job_name;
    const struct nj_run_report *report; /* where the folder is, what was kept */
    const struct nj_ledger *ledger;
    const struct nj_loop_counts *counts;
    struct nj_history *history;
    struct nj_log_file *journal;
    bool has_begun; /* the run is working, since ... */
    uint64_t began_ns;
    uint64_t heard_ns; /* the last turn or sign of life */
};

/* A killed run is known to have come so far as it said at most so long before. */
#define NJ_CHRONICLE_INTERVAL_NS UINT64_C(10000000000)

/* From now on the run is working: its turns say since when, and it gives signs of life. */
void nj_chronicle_begin(struct nj_chronicle *chronicle);

/* Appends a sign of life to the journal, when it is time for one; the caller syncs. */
enum nj_status nj_chronicle_give_sign(struct nj_chronicle *chronicle, struct nj_error *err);

/* Tells the event to who watches. `reason` is a word for programs, or empty. */
void nj_chronicle_tell(const struct nj_chronicle *chronicle, enum nj_event_type type,
                       const char *reason);

/* The turn as it would be written now. */
struct nj_journal_entry nj_chronicle_turn(const struct nj_chronicle *chronicle,
                                          enum nj_journal_type type);

/* Makes a turn durable in the journal; the history is not told. */
enum nj_status nj_chronicle_log(const struct nj_chronicle *chronicle,
                                const struct nj_journal_entry *turn, struct nj_error *err);

/* Makes the turn of this moment durable and part of the history. */
enum nj_status nj_chronicle_write(const struct nj_chronicle *chronicle,
                                  enum nj_journal_type type, struct nj_error *err);

#endif
