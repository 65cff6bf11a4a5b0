/* A run from its parts: opens model and folder, takes up what earlier runs left, loops,
 * exports. (The simple call is public: nightjar/run.h.)
 *
 * Everything that can be checked is checked before anything is written, and everything a job
 * needs before the first sweep.
 *
 * Threads: the caller becomes the engine thread.
 */
#ifndef NJ_RUNNER_RUN_H
#define NJ_RUNNER_RUN_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "job/spec.h"
#include "nightjar/run.h"
#include "runner/environment.h"

/* `job_file` is the content that `spec` was read from. Statuses as nj_run_file. */
enum nj_status nj_run_job(const struct nj_run_environment *environment,
                          const struct nj_job_spec *spec, struct nj_bytes job_file,
                          const struct nj_run_options *options, struct nj_run_report *report,
                          struct nj_error *err);

/* The system's entropy, for an environment. */
enum nj_status nj_run_entropy(uint64_t *entropy, struct nj_error *err);

#endif
