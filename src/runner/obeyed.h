/* What a run obeys of what a job may say.
 *
 * A setting that changes results and is not obeyed is refused before any work: read and ignored
 * it would be a wrong answer. What only says when, or at what cost, is ignored aloud.
 */
#ifndef NJ_RUNNER_OBEYED_H
#define NJ_RUNNER_OBEYED_H

#include "base/log.h"
#include "base/status.h"
#include "job/spec.h"

/* NJ_E_INPUT naming place and key of the first setting that a run does not obey. */
enum nj_status nj_check_job_is_obeyed(const struct nj_job_spec *spec, struct nj_error *err);

/* One warning for each setting that a run ignores (schedule, power, nice, ...). */
void nj_tell_what_is_ignored(const struct nj_job_spec *spec, const struct nj_log *log);

#endif
