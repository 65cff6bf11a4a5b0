/* What happened, in order: for logs, for clients that follow, and for hooks.
 *
 * An event that a hook waits for is recorded as due in the transaction that makes it true, and
 * as sent after the hook ran: after a crash it is due again, and its number lets the receiver
 * drop it.
 *
 * Calls and errors as in store.h.
 */
#ifndef NJ_QUEUE_STORE_EVENTS_H
#define NJ_QUEUE_STORE_EVENTS_H

#include <stddef.h>

#include "base/text.h"
#include "queue/store.h"

enum nj_store_event_kind {
    NJ_STORE_SUBMITTED = 1,
    NJ_STORE_JOB_MOVED = 2,  /* `state` of enum nj_job_state, `text` the reason */
    NJ_STORE_ITEM_MOVED = 3, /* to failed or parked: enum nj_work_state */
    NJ_STORE_NOTED = 4       /* `text`, told by the daemon */
};

enum { NJ_NO_ITEM = -1 };

struct nj_store_event {
    uint64_t event_id; /* rises; never used twice */
    int64_t unix_ms;
    enum nj_store_event_kind kind;
    uint64_t job_id;    /* 0: of the whole queue */
    int64_t item_index; /* or NJ_NO_ITEM */
    int state;
    struct nj_text text; /* borrowed during the visit */
};

typedef enum nj_status nj_store_event_visit(void *context, const struct nj_store_event *event,
                                            struct nj_error *err);

/* Visits up to `most` events with a higher number than `after`. A status from `visit` ends it.
 */
enum nj_status nj_store_list_events(struct nj_store *store, uint64_t after, size_t most,
                                    nj_store_event_visit *visit, void *context,
                                    struct nj_error *err);
enum nj_status nj_store_list_job_events(struct nj_store *store, uint64_t job_id, uint64_t after,
                                        size_t most, nj_store_event_visit *visit, void *context,
                                        struct nj_error *err);

/* As above, those that a hook waits for. */
enum nj_status nj_store_list_due_events(struct nj_store *store, uint64_t after, size_t most,
                                        nj_store_event_visit *visit, void *context,
                                        struct nj_error *err);
enum nj_status nj_store_event_sent(struct nj_store *store, uint64_t event_id,
                                   struct nj_error *err);

/* A line of the daemon's own, for `job_id` or 0. */
enum nj_status nj_store_note(struct nj_store *store, uint64_t job_id, struct nj_text text,
                             int64_t unix_ms, struct nj_error *err);

#endif
