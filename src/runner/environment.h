/* The world, as arguments of a run: nothing of it is reached otherwise. */
#ifndef NJ_RUNNER_ENVIRONMENT_H
#define NJ_RUNNER_ENVIRONMENT_H

#include <stdint.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "job/diagnostics.h"
#include "job/overrides.h"
#include "runner/folder_host.h"
#include "runner/patron.h"

struct nj_run_environment {
    const struct nj_file_system *fs;
    struct nj_clock clock;
    uint64_t entropy;         /* for the salts of new logs, and a job_seed if none is given */
    const struct nj_log *log; /* NULL: nobody listens */
    const struct nj_run_observer *observer; /* NULL: nobody watches */
    uint64_t prefix_store_ns; /* runner/prefixes.h, least_store_ns; 0: its default */
    const struct nj_job_overrides *overrides; /* that the spec was read with; NULL: none */
    uint64_t n_jobs;                          /* of the job file; 0: as 1 */
    const struct nj_run_patron *patron;       /* NULL: the run works for its folder alone */
    /* Gets a complaint for each item that cannot be run; NULL: the first is in the error. */
    struct nj_diagnostics *complaints;
};

#endif
