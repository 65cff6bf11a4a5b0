#include "runner/subject.h"

#include <float.h>
#include <string.h>

#include "runner/paths.h"

static float latent_norm_eps(const struct nj_run_subject *subject,
                             const struct nj_job_spec *spec,
                             const struct nj_run_options *options)
{
    double eps = options->latent_norm_eps;
    if (eps == 0.0 && spec->has_latent_norm_eps) {
        eps = spec->latent_norm_eps;
    }
    return eps > 0.0 ? (float)eps : subject->info.dims.latent_norm_eps;
}

enum nj_status nj_run_subject_open(struct nj_run_subject *subject,
                                   const struct nj_file_system *fs,
                                   const struct nj_job_spec *spec,
                                   const struct nj_run_options *options, struct nj_error *err)
{
    memset(subject, 0, sizeof *subject);
    double eps = options->latent_norm_eps;
    if (eps != 0.0 && !(eps >= (double)FLT_MIN && eps <= 1.0)) {
        return nj_fail(err, NJ_E_USAGE, "latent_norm_eps %g is not between %g and 1", eps,
                       (double)FLT_MIN);
    }
    char *path = subject->model_path;
    enum nj_status status =
        nj_path_of_model(fs, spec, options->model_path, path, sizeof subject->model_path, err);
    if (status == NJ_OK) {
        status = nj_model_info_read(fs, path, &subject->info, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    subject->has_info = true;
    /* The list of all tensors of a large model is as large as many experts, and has been looked
     * at. */
    nj_weight_index_close(subject->info.index);
    subject->info.index = NULL;
    struct nj_error absent;
    status = nj_tokenizer_open(fs, path, subject->info.dims.n_vocabulary, &subject->tokenizer,
                               &absent);
    if (status != NJ_OK && status != NJ_E_NOT_FOUND) {
        return nj_fail(err, status, "%s", absent.text);
    }
    subject->setting =
        (struct nj_prompt_setting){.spec = spec,
                                   .dims = &subject->info.dims,
                                   .tokenizer = subject->tokenizer,
                                   .latent_norm_eps = latent_norm_eps(subject, spec, options)};
    return NJ_OK;
}

enum nj_status nj_run_subject_identify(struct nj_run_subject *subject,
                                       const struct nj_file_system *fs, struct nj_error *err)
{
    enum nj_status status =
        nj_model_info_identify(fs, subject->model_path, &subject->info, err);
    subject->setting.model = subject->info.fingerprint;
    return status;
}

void nj_run_subject_close(struct nj_run_subject *subject)
{
    nj_tokenizer_close(subject->tokenizer);
    if (subject->has_info) {
        nj_model_info_close(&subject->info);
    }
    subject->tokenizer = NULL;
    subject->has_info = false;
}
