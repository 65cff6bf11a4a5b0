/* Jobs in the store: submitted, listed, moved, removed.
 *
 * A job's items are counted by state with it, so that a list of jobs reads no items. Calls and
 * errors as in store.h; times are milliseconds since 1970 unless they say seconds.
 */
#ifndef NJ_QUEUE_STORE_JOBS_H
#define NJ_QUEUE_STORE_JOBS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/digest.h"
#include "job/orders.h"
#include "job/state.h"
#include "queue/policy.h"
#include "queue/store.h"

struct nj_store_parent {
    uint64_t job_id;
    enum nj_after_when when;
};

/* What is borrowed is borrowed for the call. */
struct nj_store_submission {
    struct nj_text name;
    struct nj_text model;
    struct nj_digest
        digest; /* of the job file and its inputs: the same content twice has the same */
    const struct nj_job_orders *orders;
    int64_t start_at; /* as resolved, seconds; INT64_MIN: none */
    int64_t deadline; /* ditto; INT64_MAX: none */
    bool is_paused;   /* --hold */
    uint64_t n_items; /* at least 1 */
    const struct nj_store_parent *parents;
    size_t n_parents;
    int64_t unix_ms;
};

/* A job as it is stored. Texts and windows live in the arena that was given. */
struct nj_stored_job {
    uint64_t job_id;
    struct nj_text name;
    struct nj_text model;
    struct nj_digest digest;
    enum nj_job_state state;
    struct nj_text reason;
    struct nj_job_orders orders; /* without `after` (see parents) and the hooks' arguments */
    int64_t start_at;
    int64_t deadline;
    bool has_begun;
    int64_t submitted_ms;
    int64_t begun_ms; /* 0: not yet, and below */
    int64_t ended_ms;
    uint64_t n_items;
    uint64_t n_in[NJ_WORK_STATES_END]; /* items by state; index 0 unused */
};

/* One transaction, with a number of syncs that does not depend on n_items. NJ_E_INPUT without
 * items, NJ_E_NOT_FOUND when a parent is not there. */
enum nj_status nj_store_submit(struct nj_store *store,
                               const struct nj_store_submission *submission, uint64_t *job_id,
                               struct nj_error *err);

enum nj_status nj_store_get_job(struct nj_store *store, uint64_t job_id, struct nj_arena *arena,
                                struct nj_stored_job *job, bool *is_found,
                                struct nj_error *err);

/* The newest job with this name, or with this content. */
enum nj_status nj_store_find_name(struct nj_store *store, struct nj_text name, uint64_t *job_id,
                                  bool *is_found, struct nj_error *err);
enum nj_status nj_store_find_digest(struct nj_store *store, const struct nj_digest *digest,
                                    uint64_t *job_id, bool *is_found, struct nj_error *err);

/* Sets of states for lists: bit (1 << state). */
enum { NJ_JOBS_ALL = 0x3fe, NJ_JOBS_OPEN = 0x1e };

/* Up to `most` jobs in these states with a higher number than `after`, by number, into an array
 * in the arena. */
enum nj_status nj_store_list_jobs(struct nj_store *store, unsigned states, uint64_t after,
                                  size_t most, struct nj_arena *arena,
                                  struct nj_stored_job **jobs, size_t *n_jobs,
                                  struct nj_error *err);

/* Moves a job as state.h allows, with its event; NJ_E_STATE otherwise, NJ_E_NOT_FOUND when
 * there is none. Ending it (failed, cancelled, expired) cancels its open items, running ones
 * too. Queued and running are one here: the store knows which. Done is reached by items alone
 * and refused. */
enum nj_status nj_store_move_job(struct nj_store *store, uint64_t job_id, enum nj_job_state to,
                                 struct nj_text reason, int64_t unix_ms, struct nj_error *err);

/* Failed and parked items are queued again, their attempts forgotten; jobs that were skipped
 * since this one failed are queued too. NJ_E_STATE when there is nothing to retry. */
enum nj_status nj_store_retry_job(struct nj_store *store, uint64_t job_id, int64_t unix_ms,
                                  uint64_t *n_items, struct nj_error *err);

/* Removes an ended job and all that is known of it. NJ_E_STATE when it has not ended, or a job
 * that has not waits for it. */
enum nj_status nj_store_remove_job(struct nj_store *store, uint64_t job_id,
                                   struct nj_error *err);

/* How the jobs it waits for stand: the first that is unmeetable, else the first that is open. A
 * job is `ok` when it is done and every item of it is. */
enum nj_status nj_store_dependency(struct nj_store *store, uint64_t job_id,
                                   enum nj_dependency *dependency, uint64_t *awaited_job_id,
                                   struct nj_error *err);

#endif
