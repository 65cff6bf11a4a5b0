/* What to do when a worker dies: wait how long, try whom, park whom. A state machine of plain
 * values; it starts nothing and kills nothing.
 *
 * A death says something about the items only when a living supervisor saw the worker die by
 * itself: a crash, a bug found (exit 70), its memory limit, a hang. Somebody else's SIGKILL or
 * SIGTERM says nothing, however often.
 *
 * Suspects. When a worker dies with several items in its batch, one of them may be the cause,
 * and the others must not pay for it. They are tried in halves, one group at a time and nothing
 * beside it, until a group of one dies: that death counts for its item, and after
 * `max_attempts` of them in a row it is parked. A group is cleared when each of its items has
 * made durable progress in as many sweeps as `clear_sweeps`, or has ended. When all groups were
 * cleared and the whole batch still dies, no single item is the cause: the batch is made half
 * as wide.
 *
 * A model that kills its worker before any item has begun is tried `open_attempts` times, and
 * then its jobs are parked.
 *
 * Pauses before a restart double from `first_pause_ms` to `most_pause_ms`, and begin anew after
 * progress.
 *
 * Threads: one owner.
 */
#ifndef NJ_QUEUE_SUPERVISION_H
#define NJ_QUEUE_SUPERVISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "queue/death.h"

struct nj_suspect {
    uint64_t job_id;
    uint64_t item_index;
    uint32_t max_attempts; /* of its job */
};

struct nj_supervision_limits {
    int64_t first_pause_ms;
    int64_t most_pause_ms;
    uint32_t open_attempts;
    uint32_t clear_sweeps;
};

/* One second, five minutes, five, two. */
struct nj_supervision_limits nj_supervision_limits_default(void);

/* What a death asks for. */
enum nj_verdict {
    NJ_VERDICT_RESTART,     /* at `restart_at_ms` */
    NJ_VERDICT_STAY,        /* it was asked to end, or ended well: nothing to do */
    NJ_VERDICT_PARK_ITEM,   /* the one item that was tried; restart as well */
    NJ_VERDICT_PARK_MODEL,  /* every job of it; there is nothing to restart for */
    NJ_VERDICT_PARK_REFUSED /* the worker itself said why it cannot run (its exit code) */
};

struct nj_supervision_answer {
    enum nj_verdict verdict;
    bool counts;              /* the attempt of each item of its batch */
    int64_t restart_at_ms;    /* on the clock that was handed in */
    struct nj_suspect parked; /* NJ_VERDICT_PARK_ITEM */
    uint32_t n_deaths;        /* in a row, this one included */
};

struct nj_supervision; /* owns the list of suspects */

enum nj_status nj_supervision_create(const struct nj_supervision_limits *limits,
                                     struct nj_supervision **supervision, struct nj_error *err);
void nj_supervision_destroy(struct nj_supervision *supervision);

/* A worker for another model: what was known of the last one means nothing. */
void nj_supervision_forget(struct nj_supervision *supervision);

/* While items are tried, these and no others are to be claimed; NULL when anything may run.
 * Valid until the next call that changes something. Those that are no longer open are to be
 * left out. */
const struct nj_suspect *nj_supervision_trial(const struct nj_supervision *supervision,
                                              size_t *n_items);

/* No more items than this in a batch; UINT32_MAX: as many as fit. */
uint32_t nj_supervision_most_places(const struct nj_supervision *supervision);

/* A sweep ended and what it chose is durable: `items` made progress. */
void nj_supervision_swept(struct nj_supervision *supervision, const struct nj_suspect *items,
                          size_t n_items);

/* The item has ended in whatever way, or its job has: it is tried no more. */
void nj_supervision_ended(struct nj_supervision *supervision, uint64_t job_id,
                          uint64_t item_index);

/* The worker died with these items in its batch, each as it was claimed: `n_attempts` is what
 * the store counts for the item, this attempt included, and asked for only when there is one
 * item. NJ_E_MEMORY leaves everything as it was. */
enum nj_status nj_supervision_died(struct nj_supervision *supervision,
                                   const struct nj_death *death, const struct nj_suspect *batch,
                                   size_t n_batch, uint32_t n_attempts, int64_t now_ms,
                                   struct nj_supervision_answer *answer, struct nj_error *err);

#endif
