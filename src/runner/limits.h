/* The limits that a job sets itself (`budget`, `stop_on_failures`), as far as they end
 * something that is under way.
 *
 * Running out of time or patience ends the run between two sweeps: items under way stay as they
 * are, and whoever raises the limit goes on from there. An item that is over its own time
 * fails. Neither ever shortens an answer. (`budget.max_output_tokens` says how many items a run
 * has: runner/survey.)
 *
 * Threads: plain values.
 */
#ifndef NJ_RUNNER_LIMITS_H
#define NJ_RUNNER_LIMITS_H

#include <stdint.h>

#include "base/digest.h"
#include "base/status.h"
#include "job/spec.h"

/* 0: no limit, everywhere. */
struct nj_run_limits {
    uint64_t max_runtime_ns; /* of all runs of the folder together */
    uint64_t used_ns;        /* by earlier ones */
    uint64_t item_timeout_ns;
    uint64_t n_failures; /* so many failed items end the run */
};

enum nj_run_limit { NJ_RUN_LIMIT_NONE, NJ_RUN_LIMIT_RUNTIME, NJ_RUN_LIMIT_FAILURES };

/* `stop_on_failures` in percent counts all items of the run. */
struct nj_run_limits nj_run_limits_of(const struct nj_job_spec *spec, uint64_t n_items,
                                      uint64_t used_ns);

/* After `run_ns` of this run, with so many items failed. */
enum nj_run_limit nj_run_limits_reached(const struct nj_run_limits *limits, uint64_t n_failed,
                                        uint64_t run_ns);

/* "max_runtime", "stop_on_failures": the reason in events. */
const char *nj_run_limit_name(enum nj_run_limit limit);

/* NJ_E_LIMIT: says which limit ended the run, and what continues it. */
enum nj_status nj_run_limits_fail(const struct nj_run_limits *limits, enum nj_run_limit limit,
                                  uint64_t n_failed, uint64_t run_ns, struct nj_error *err);

/* What the result of an item that was over its time is logged under, instead of the item's
 * digest: so it is its result only as long as the job has the same timeout. */
enum nj_status nj_timeout_digest(const struct nj_digest *item, uint64_t item_timeout_ns,
                                 struct nj_digest *digest, struct nj_error *err);

#endif
