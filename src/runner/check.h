/* Every prompt of a job looked at with its model's tokenizer, context and vocabulary, as a run
 * does before its first sweep; nothing is run and nothing written. */
#ifndef NJ_RUNNER_CHECK_H
#define NJ_RUNNER_CHECK_H

#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "job/diagnostics.h"
#include "job/spec.h"
#include "nightjar/run.h"

struct nj_run_check {
    char model_path[NJ_RUN_PATH_BYTES]; /* the model looked at, or looked for */
    uint64_t n_prompt_tokens;           /* of all items together */
    uint64_t n_output_tokens_limit;     /* sum of max_tokens */
};

/* Items that cannot be run go to `complaints` with the place of their row or prompt
 * (NJ_E_INPUT). Other statuses as nj_run_subject_open. */
enum nj_status nj_run_check_job(const struct nj_file_system *fs, const struct nj_job_spec *spec,
                                const struct nj_run_options *options,
                                struct nj_diagnostics *complaints, struct nj_run_check *check,
                                struct nj_error *err);

#endif
