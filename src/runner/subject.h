/* What a run is about: the model of a job as far as checks need it (config, headers,
 * fingerprint, tokenizer, no weights), and what follows from both for every prompt. */
#ifndef NJ_RUNNER_SUBJECT_H
#define NJ_RUNNER_SUBJECT_H

#include <stdbool.h>

#include "base/file.h"
#include "base/status.h"
#include "job/spec.h"
#include "model/model.h"
#include "nightjar/run.h"
#include "runner/prompt.h"
#include "tokenizer/tokenizer.h"

/* Zeroed is closed. Not to be copied while open: `setting` points into it. */
struct nj_run_subject {
    char model_path[NJ_RUN_PATH_BYTES];
    struct nj_model_info info;
    bool has_info;
    struct nj_tokenizer *tokenizer; /* NULL: the model has none, prompts are ids */
    struct nj_prompt_setting setting;
};

/* `options` may name another model and another epsilon than the job. NJ_E_NOT_FOUND no such
 * model; NJ_E_INPUT neither names one; NJ_E_WEIGHTS it is damaged. Close it also after a
 * failure. Reads no weight byte: there is no fingerprint yet. */
enum nj_status nj_run_subject_open(struct nj_run_subject *subject,
                                   const struct nj_file_system *fs,
                                   const struct nj_job_spec *spec,
                                   const struct nj_run_options *options, struct nj_error *err);

/* Makes the fingerprint, on which the digests of prompts depend. NJ_E_WEIGHTS. */
enum nj_status nj_run_subject_identify(struct nj_run_subject *subject,
                                       const struct nj_file_system *fs, struct nj_error *err);
void nj_run_subject_close(struct nj_run_subject *subject);

#endif
