/* Where a job's model and run folder are.
 *
 * A model is the flag's, relative to the working directory; else the job's `model`, relative to
 * the job file if a folder of that name is there, and to the working directory if not. A run
 * folder is the flag's, else `output.dir`/NAME, else results/NAME below the working directory.
 */
#ifndef NJ_RUNNER_PATHS_H
#define NJ_RUNNER_PATHS_H

#include <stddef.h>

#include "base/file.h"
#include "base/status.h"
#include "job/spec.h"

/* NJ_E_INPUT when neither says a model; NJ_E_NOT_FOUND, naming both places, when the model is
 * in neither. Whether a path that leaves no choice is a model is not checked. */
enum nj_status nj_path_of_model(const struct nj_file_system *fs, const struct nj_job_spec *spec,
                                const char *model_path, char *path, size_t path_bytes,
                                struct nj_error *err);

/* NAME is the job's name with everything but letters, digits, dot, dash and underscore made a
 * dash, and not beginning with a dot. */
enum nj_status nj_path_of_output(const struct nj_job_spec *spec, const char *output_directory,
                                 char *path, size_t path_bytes, struct nj_error *err);

#endif
