/* Who takes the next places, which model runs, who gives way, and why everyone else waits.
 *
 * A pure function of plain numbers: no clock, no store, no worker. The daemon asks at the end
 * of each sweep (places change hands only there) and whenever something happened, and makes the
 * sentences that people read from the reasons given here.
 *
 * The rules, in the order in which they win:
 *  1. A job that may not run has no places: see enum nj_wait. Its running items are put down
 *     (saved, to go on at the same token), or finish, as its `on_window_end` or the pause says.
 *  2. Within one model the higher priority takes every free place; among equals a deadline
 * within a day goes first, the sooner the earlier, then the older job. `preempts` makes places
 * by putting items of lower priority down, the last begun first.
 *  3. One model runs at a time. It gives way to a higher priority elsewhere, to an equal one
 * when its turn is over, and to any when it has nothing to do. Giving way is draining: no more
 * items are begun, running ones have `drain_seconds` to finish and are then put down. A job
 * that preempts does not wait for that.
 *  4. Nobody starves: a job that could have run for `patience_seconds` and had no place gets
 * the next free one whatever the priorities, and if its model is not the one that runs, a turn
 * of `short_turn_seconds` that nobody can cut short.
 */
#ifndef NJ_QUEUE_POLICY_H
#define NJ_QUEUE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/orders.h"
#include "job/window.h"

/* Why a job waits. The first group is the caller's to know, and passed through. */
enum nj_wait {
    NJ_WAIT_NONE,         /* it does not: it has a place or gets one now */
    NJ_WAIT_PAUSED,       /* by a person */
    NJ_WAIT_QUEUE_PAUSED, /* all of it, by a person */
    NJ_WAIT_PARKED,       /* needs a person: its model changed, its items crash */
    NJ_WAIT_DRAIN,        /* the daemon ends */
    NJ_WAIT_DISK,
    NJ_WAIT_BATTERY,
    NJ_WAIT_GUARD, /* load, temperature, somebody at the keyboard */
    NJ_WAIT_MODEL_FILE,
    NJ_WAIT_WORKER,   /* died, and is started again `until` */
    NJ_WAIT_SUSPECTS, /* items are tried alone, to find which one crashes the worker */

    NJ_WAIT_AFTER,       /* `job_id` has not ended */
    NJ_WAIT_UNMEETABLE,  /* `job_id` did not end as it had to: the job is to be skipped */
    NJ_WAIT_EXPIRED,     /* its deadline passed: the job is to be ended */
    NJ_WAIT_START,       /* `until` its start_at */
    NJ_WAIT_WINDOW,      /* shut `until` it opens; INT64_MAX never */
    NJ_WAIT_WINDOW_ENDS, /* a sweep would not end before it closes; opens again `until` */
    NJ_WAIT_RETRY,       /* items failed, the first is tried again `until` */
    NJ_WAIT_PRIORITY,    /* `job_id`, of higher priority, has the places */
    NJ_WAIT_PLACE,       /* `job_id`, older or with a nearer deadline, has them */
    NJ_WAIT_MODEL,       /* another model has its turn, for `job_id`, at most `until` */
    NJ_WAIT_OPENING      /* its own model is being opened */
};

enum nj_dependency { NJ_DEPENDENCY_MET, NJ_DEPENDENCY_OPEN, NJ_DEPENDENCY_UNMEETABLE };

enum { NJ_NO_MODEL = -1 };

/* One job that has not ended. All times are seconds since 1970. */
struct nj_policy_job {
    uint64_t job_id; /* rises with submission: this is its age */
    int32_t model;   /* jobs with equal numbers share sweeps */
    int priority;
    bool preempts;
    int64_t start_at;               /* INT64_MIN: none */
    int64_t deadline;               /* INT64_MAX: none */
    struct nj_schedule_state hours; /* of its windows, now */
    enum nj_window_end on_window_end;
    uint64_t sweep_ns; /* what a sweep of its model takes; 0: not known yet */
    bool has_begun;    /* an item of it has had a place */
    enum nj_dependency dependency;
    uint64_t awaited_job_id;
    enum nj_wait held; /* of the first group, or NJ_WAIT_NONE */
    int64_t held_until;
    bool held_items_finish; /* running ones; else they are put down */
    uint64_t n_ready;       /* items that could take a place now */
    int64_t retry_at;       /* when the next item that failed may be tried; INT64_MAX: none */
    int64_t
        waited_seconds; /* how long it could have run and had no place; see nj_wait_counts */
};

/* An item that has a place. */
struct nj_policy_place {
    size_t job; /* index */
    uint64_t claim_sequence;
    bool is_granted; /* as the verdict said that gave it the place: it is not taken away */
};

/* Which model has its turn. Zeroed at the start with `model` NJ_NO_MODEL, then handed from each
 * decision that was carried out to the next. */
struct nj_policy_turn {
    int32_t model;
    int64_t began_at; /* steady seconds */
    bool is_granted;  /* to a job that waited too long: not cut short */
    bool is_draining;
    int64_t drains_since; /* steady seconds */
};

struct nj_policy_limits {
    int64_t turn_seconds;
    int64_t short_turn_seconds;
    int64_t drain_seconds;
    int64_t patience_seconds;
    int64_t near_deadline_seconds;
};

/* Two hours, half an hour, half an hour, eight hours, a day. */
struct nj_policy_limits nj_policy_limits_default(void);

struct nj_policy_input {
    const struct nj_policy_job *jobs;
    size_t n_jobs;
    const struct nj_policy_place *places; /* those taken, in any order */
    size_t n_taken;
    uint32_t n_places; /* of the worker for `turn.model`; 0 while it opens the model */
    int64_t now;       /* calendar */
    int64_t steady;    /* a clock that nobody sets, in seconds */
    struct nj_policy_turn turn;
    struct nj_policy_limits limits;
};

struct nj_policy_verdict {
    enum nj_wait wait;
    int64_t until;
    uint64_t job_id;
    bool may_take; /* begin items */
    bool may_keep; /* those that run */
    uint64_t n_kept;
    uint64_t n_put_down;
    uint64_t n_takes; /* items to claim now */
    bool is_granted;  /* it has waited too long: is_granted of the first of these places */
};

/* The arrays are the caller's: verdicts and order (n_jobs), puts_down (n_taken). */
struct nj_policy_decision {
    struct nj_policy_verdict *verdicts;
    size_t *order;   /* jobs by rank, first of all first */
    bool *puts_down; /* of each place */
    uint64_t n_takes;
    bool switches; /* end the worker once all is put down, and start one for turn.model */
    struct nj_policy_turn turn;
    uint64_t next_job_id;  /* for whom the model gives way; 0: it does not */
    int64_t look_again_at; /* if nothing happens before; INT64_MAX: never */
};

void nj_policy_decide(const struct nj_policy_input *input, struct nj_policy_decision *decision);

/* Whether time spent waiting for this reason counts into waited_seconds. */
bool nj_wait_counts(enum nj_wait wait);

/* A short stable word: "window", "priority". */
const char *nj_wait_name(enum nj_wait wait);

#endif
