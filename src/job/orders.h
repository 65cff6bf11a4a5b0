/* What a job asks of the daemon: when to run, before whom, after whom, how often to try, whom
 * to tell. It changes when results exist, never what they are.
 *
 * Plain values, all texts borrowed from the spec's arena. A run in the foreground obeys none of
 * this (runner/obeyed says so).
 */
#ifndef NJ_JOB_ORDERS_H
#define NJ_JOB_ORDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "job/moment.h"
#include "job/window.h"

enum {
    NJ_PRIORITY_LOW = -50,
    NJ_PRIORITY_NORMAL = 0,
    NJ_PRIORITY_HIGH = 50,
    NJ_PRIORITY_LIMIT = 100, /* -100 to 100; higher runs sooner */
    NJ_ATTEMPTS_LIMIT = 100
};

/* What becomes of a job's running items when its window closes. */
enum nj_window_end {
    NJ_WINDOW_END_PAUSE,       /* saved; they go on at the same token in the next window */
    NJ_WINDOW_END_FINISH_ITEM, /* they finish, no more are begun */
    NJ_WINDOW_END_FINISH_JOB   /* a job that has begun is not stopped by a window */
};

/* As it was written, and what that says. */
struct nj_job_moment {
    struct nj_text text; /* empty: none */
    struct nj_moment moment;
};

/* The `schedule` key. */
struct nj_job_hours {
    const struct nj_window *windows; /* none: always */
    size_t n_windows;
    unsigned days;           /* as in nj_schedule */
    struct nj_text timezone; /* empty: the machine's */
    struct nj_job_moment start_at;
    struct nj_job_moment deadline;
    enum nj_window_end on_window_end;
};

/* After the k-th failed attempt an item waits backoff x factor^(k-1), at most `most_ns`. */
struct nj_job_retry {
    uint32_t max_attempts;
    uint64_t backoff_ns;
    double factor;
    uint64_t most_ns;
};

/* On which end of the other job this one may begin. */
enum nj_after_when { NJ_AFTER_OK, NJ_AFTER_ANY, NJ_AFTER_FAIL };

struct nj_job_after {
    struct nj_text job; /* its name */
    enum nj_after_when when;
};

enum nj_hook_occasion {
    NJ_HOOK_ON_DONE,
    NJ_HOOK_ON_FAILED,
    NJ_HOOK_ON_ITEM_FAILED,
    NJ_HOOK_ON_PAUSED,
    NJ_N_HOOKS
};

enum nj_hook_kind { NJ_HOOK_NONE, NJ_HOOK_RUN, NJ_HOOK_SHELL, NJ_HOOK_NOTIFY_DESKTOP };

struct nj_job_hook {
    enum nj_hook_kind kind;
    const struct nj_text *arguments; /* the program first; of NJ_HOOK_SHELL its one text */
    size_t n_arguments;
};

struct nj_job_orders {
    struct nj_job_hours hours;
    int priority;
    bool preempts;         /* puts running items of lower priority down */
    bool groups_by_prefix; /* order of execution, never of results */
    struct nj_job_retry retry;
    const struct nj_job_after *after;
    size_t n_after;
    struct nj_job_hook hooks[NJ_N_HOOKS];
};

/* What holds when the file says nothing: at any time, normal priority, three attempts with 30
 * s, 1 min, 2 min ... and at most 15 min between them. */
struct nj_job_orders nj_job_orders_default(void);

/* The windows of a job in its zone, which is borrowed like the hours. */
struct nj_schedule nj_job_hours_in(const struct nj_job_hours *hours,
                                   const struct nj_zone *zone);

/* How long an item waits after its `n_attempts`-th attempt (from 1) failed. `draw` in [0, 1)
 * spreads it over -20 % to +20 %, so that items that failed together do not return together. */
uint64_t nj_job_retry_pause_ns(const struct nj_job_retry *retry, uint32_t n_attempts,
                               double draw);

#endif
