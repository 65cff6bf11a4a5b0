#include "runner/check.h"

#include <string.h>

#include "runner/ledger.h"
#include "runner/subject.h"
#include "runner/survey.h"

static enum nj_status survey(const struct nj_run_subject *subject,
                             const struct nj_file_system *fs, struct nj_diagnostics *complaints,
                             struct nj_survey *survey, struct nj_error *err)
{
    struct nj_ledger ledger = {0};
    const struct nj_survey_options options = {
        .setting = &subject->setting, .fs = fs, .complaints = complaints};
    enum nj_status status = nj_survey_run(&options, &ledger, survey, err);
    nj_ledger_deinit(&ledger);
    return status;
}

enum nj_status nj_run_check_job(const struct nj_file_system *fs, const struct nj_job_spec *spec,
                                const struct nj_run_options *options,
                                struct nj_diagnostics *complaints, struct nj_run_check *check,
                                struct nj_error *err)
{
    struct nj_run_subject subject;
    struct nj_survey found = {0};
    enum nj_status status = nj_run_subject_open(&subject, fs, spec, options, err);
    if (status == NJ_OK) {
        status = survey(&subject, fs, complaints, &found, err);
    }
    memcpy(check->model_path, subject.model_path, sizeof check->model_path);
    check->n_prompt_tokens = found.n_prompt_tokens;
    check->n_output_tokens_limit = found.n_output_tokens_limit;
    nj_run_subject_close(&subject);
    return status;
}
