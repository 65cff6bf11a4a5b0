/* What a run obeys of what a job may say. Whatever it does not obey is refused before any work:
 * a setting that is read and ignored would be a wrong answer.
 */
#ifndef NJ_RUNNER_OBEYED_H
#define NJ_RUNNER_OBEYED_H

#include "base/status.h"
#include "job/spec.h"

/* NJ_E_INPUT naming the first key of the job that a run does not obey. */
enum nj_status nj_check_job_is_obeyed(const struct nj_job_spec *spec, struct nj_error *err);

#endif
