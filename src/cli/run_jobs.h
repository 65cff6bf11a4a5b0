/* Runs the jobs of a file one after another, each in its own folder, and says how each ended.
 */
#ifndef NJ_CLI_RUN_JOBS_H
#define NJ_CLI_RUN_JOBS_H

#include "cli/job_file.h"
#include "cli/watcher.h"
#include "nightjar/run.h"

/* Several jobs are all looked at with their model before the first is run, and must agree on
 * it. With `options->output_directory` each of several gets a folder below it.
 *
 * Returns an exit code: of one job, its own. Of several the first that is neither NJ_EXIT_OK
 * nor NJ_EXIT_SOME_FAILED, else the larger of these. A job whose own folder or numbers are at
 * fault does not keep the next from being run, whatever else goes wrong does. */
int nj_run_jobs(const struct nj_job_file *file, const struct nj_run_options *options,
                struct nj_watcher *watcher);

#endif
