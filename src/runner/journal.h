/* journal.log: what a run without a daemon knows about itself.
 *
 * It says what was asked for (`identity`), which items were claimed and which are done, and
 * when the run was started, stopped and finished. Everything else that is durable exists only
 * as far as the journal or the results log says so.
 *
 * File: docs/formats/run-folder.md.
 */
#ifndef NJ_RUNNER_JOURNAL_H
#define NJ_RUNNER_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "format/record_log.h"
#include "runner/identity.h"
#include "runner/log_file.h"

enum { NJ_JOURNAL_VERSION = 1, NJ_JOURNAL_KIND = 'J' | 'O' << 8 | 'U' << 16 | 'R' << 24 };

enum nj_journal_type {
    NJ_JOURNAL_IDENTITY = 1, /* what was asked; a later one replaces it */
    NJ_JOURNAL_STARTED = 2,  /* a process took the run up */
    NJ_JOURNAL_CLAIMED = 3,  /* an item joined the batch */
    NJ_JOURNAL_DONE = 4,     /* its result is in results.log */
    NJ_JOURNAL_STOPPED = 5,  /* asked to stop, everything synced */
    NJ_JOURNAL_FINISHED = 6, /* every item done, derived files written */
    NJ_JOURNAL_PAUSED = 7,   /* the disk is full: the run waits for room */
    NJ_JOURNAL_ALIVE = 8, /* how far it was at some moment: all that is known of a killed run */
    NJ_JOURNAL_SNAPSHOT = 9,  /* a segment is an item's current one, and durable */
    NJ_JOURNAL_RESTORED = 10, /* how an item was taken up again, by the last one that started */
    NJ_JOURNAL_SLOTS = 11     /* the states on disk of a commit are current, and durable */
};

/* Fields that a type does not use are zero. */
struct nj_journal_entry {
    enum nj_journal_type type;
    struct nj_run_identity identity;
    uint64_t item_index;
    uint32_t sample;
    bool is_ok;
    uint64_t segment_number; /* snapshot */
    uint64_t commit_number;  /* slots, with n_items_under_way: how many they are of */
    uint64_t sweep;          /* ditto: of the process */
    int64_t unix_ms;         /* started, stopped, finished, paused, alive; as all below */
    uint64_t n_items_done;
    uint64_t n_items_under_way;
    uint64_t n_tokens_restored;  /* of items under way when it started; of the item: restored */
    uint64_t run_ms;             /* since it started; 0 in journals of an older nightjar, ... */
    uint64_t n_tokens_generated; /* ... as these two */
    uint64_t n_tokens_fed_again; /* that an earlier run had fed; of the item: restored */
    uint64_t n_from_snapshot;    /* restored: ids that a stored state had read */
    uint64_t n_snapshot_bytes;   /* restored: of the segments that it was read from */
    uint64_t restore_us;         /* restored */
    uint32_t n_put_aside;        /* restored: segments that were of no use */
};

enum { NJ_JOURNAL_ENTRY_LIMIT_BYTES = 64 };

enum nj_status nj_journal_append(struct nj_log_file *journal,
                                 const struct nj_journal_entry *entry, struct nj_error *err);

/* `*is_known` false for a record type that this version does not know. */
enum nj_status nj_journal_decode(const struct nj_record *record, struct nj_journal_entry *entry,
                                 bool *is_known, struct nj_error *err);

#endif
