/* Items in the store: claimed, put down, ended, tried again.
 *
 * An attempt is counted durably when its item is claimed, not when it fails, and forgotten when
 * the item makes durable progress or when its end says nothing about it (the daemon died too,
 * somebody else killed the worker): hundreds of kills park nobody, and an item that kills its
 * worker is not retried for ever.
 *
 * Calls and errors as in store.h. Every move that state.h does not allow is NJ_E_STATE, an item
 * that is not there NJ_E_NOT_FOUND; nothing is changed then.
 */
#ifndef NJ_QUEUE_STORE_ITEMS_H
#define NJ_QUEUE_STORE_ITEMS_H

#include <stddef.h>

#include "base/text.h"
#include "job/state.h"
#include "queue/store.h"

struct nj_store_item {
    uint64_t item_index;
    enum nj_work_state state;
    uint32_t n_attempts;   /* counted since its last durable progress, this one included */
    int64_t retry_at_ms;   /* while it waits; else 0 */
    struct nj_text reason; /* borrowed during the visit */
};

/* Claims up to `most` items of a job: interrupted ones first, then queued ones, in input order.
 * Fills `items` (most), whose reasons are empty. */
enum nj_status nj_store_claim(struct nj_store *store, uint64_t job_id, size_t most,
                              int64_t unix_ms, struct nj_store_item *items, size_t *n_items,
                              struct nj_error *err);

/* Claims this one: to try suspects. */
enum nj_status nj_store_claim_item(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                   int64_t unix_ms, struct nj_store_item *item,
                                   struct nj_error *err);

/* What the end of an attempt says about its item. */
enum nj_attempt { NJ_ATTEMPT_COUNTS, NJ_ATTEMPT_DOES_NOT_COUNT };

/* Puts a running item down, to go on later where it was. `text` says why, for the item's
 * history; empty leaves none. */
enum nj_status nj_store_interrupt(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                  enum nj_attempt attempt, struct nj_text text, int64_t unix_ms,
                                  struct nj_error *err);

/* A token, or a snapshot during prefill, is durable. */
enum nj_status nj_store_progress(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                 struct nj_error *err);

/* A running item failed for now and is tried again at `retry_at_ms`. Its attempt counts. */
enum nj_status nj_store_wait(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                             int64_t retry_at_ms, struct nj_text text, int64_t unix_ms,
                             struct nj_error *err);

/* Queues the items of all jobs that have waited long enough. */
enum nj_status nj_store_release_due(struct nj_store *store, int64_t unix_ms,
                                    uint64_t *n_released, struct nj_error *err);

/* When the next waiting item of a job may be tried; INT64_MAX when none waits. */
enum nj_status nj_store_next_retry(struct nj_store *store, uint64_t job_id,
                                   int64_t *retry_at_ms, struct nj_error *err);

/* A sample's result is durable in the results log. The first one wins: `*is_first` false when
 * there was a mark already, which is no error. */
enum nj_status nj_store_mark_result(struct nj_store *store, uint64_t job_id,
                                    uint64_t item_index, uint32_t sample, bool is_ok,
                                    int64_t unix_ms, bool *is_first, struct nj_error *err);

/* All of an item's results are marked: done, or failed when one of them is an error. Ending it
 * again in the same way changes nothing and is no error: recovery may repeat itself. */
enum nj_status nj_store_end_item(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                 bool is_ok, struct nj_text text, int64_t unix_ms,
                                 struct nj_error *err);

/* It is not tried again without a person. */
enum nj_status nj_store_park_item(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                  struct nj_text text, int64_t unix_ms, struct nj_error *err);

/* Marks without results: a done item is queued again and its marks are gone. */
enum nj_status nj_store_redo_item(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                  struct nj_text text, int64_t unix_ms, struct nj_error *err);

typedef enum nj_status nj_store_item_visit(void *context, const struct nj_store_item *item,
                                           struct nj_error *err);

/* Visits up to `most` items from index `from` on, in order. */
enum nj_status nj_store_list_items(struct nj_store *store, uint64_t job_id, uint64_t from,
                                   size_t most, nj_store_item_visit *visit, void *context,
                                   struct nj_error *err);
/* Those in one state. */
enum nj_status nj_store_list_items_in(struct nj_store *store, uint64_t job_id,
                                      enum nj_work_state state, uint64_t from, size_t most,
                                      nj_store_item_visit *visit, void *context,
                                      struct nj_error *err);

/* One attempt that ended without a result. */
struct nj_store_attempt {
    uint64_t attempt_id;
    int64_t unix_ms;
    bool is_counted;
    struct nj_text text; /* borrowed during the visit */
};

typedef enum nj_status nj_store_attempt_visit(void *context,
                                              const struct nj_store_attempt *attempt,
                                              struct nj_error *err);
enum nj_status nj_store_list_attempts(struct nj_store *store, uint64_t job_id,
                                      uint64_t item_index, nj_store_attempt_visit *visit,
                                      void *context, struct nj_error *err);

/* Which samples of an item are marked; fills up to `most`. */
struct nj_store_mark {
    uint32_t sample;
    bool is_ok;
};
enum nj_status nj_store_list_marks(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                   struct nj_store_mark *marks, size_t most, size_t *n_marks,
                                   struct nj_error *err);

/* After a start: items found running are interrupted, their attempts do not count, since the
 * supervisor died with them. Doing it twice changes nothing. */
enum nj_status nj_store_recover(struct nj_store *store, int64_t unix_ms, uint64_t *n_items,
                                struct nj_error *err);

#endif
