#include "runner/engine.h"

#include <string.h>

enum { DEFAULT_BATCH = NJ_DEFAULT_SEQUENCES, DEFAULT_MAX_ROWS = 256 };

/* A flag wins over what the job says. */
static uint32_t either(uint32_t flag, uint32_t otherwise)
{
    return flag > 0 ? flag : otherwise;
}

static struct nj_model_options model_options(const struct nj_run_engine *engine,
                                             const struct nj_run_subject *subject,
                                             const struct nj_job_resources *resources,
                                             const struct nj_run_options *options)
{
    return (struct nj_model_options){
        .path = subject->model_path,
        .cpu_level = options->cpu_level,
        .n_threads = either(options->n_threads, resources->threads),
        .max_rows = engine->batch > DEFAULT_MAX_ROWS ? engine->batch : DEFAULT_MAX_ROWS,
        .latent_norm_eps = (double)subject->setting.latent_norm_eps,
        .memory_bytes =
            options->memory_bytes > 0 ? options->memory_bytes : resources->memory_bytes};
}

enum nj_status nj_run_engine_open(struct nj_run_engine *engine, const struct nj_file_system *fs,
                                  const struct nj_run_subject *subject,
                                  const struct nj_job_resources *resources,
                                  const struct nj_run_options *options, uint64_t n_open,
                                  struct nj_error *err)
{
    uint32_t wanted = either(options->batch, either(resources->batch, DEFAULT_BATCH));
    engine->batch = wanted < n_open ? wanted : (uint32_t)n_open;
    struct nj_model_options model = model_options(engine, subject, resources, options);
    enum nj_status status = nj_model_open_through(fs, &model, &engine->model, err);
    if (status != NJ_OK) {
        return status == NJ_E_IO ? NJ_E_WEIGHTS : status;
    }
    char hex[NJ_DIGEST_HEX_BYTES];
    nj_digest_to_hex(&subject->info.fingerprint, hex);
    if (strcmp(nj_model_fingerprint(engine->model), hex) != 0) {
        return nj_fail(err, NJ_E_STATE, "%s changed while it was being opened",
                       subject->model_path);
    }
    struct nj_generator_options generator = {.max_sequences = engine->batch,
                                             .prefill_chunk = options->prefill_chunk};
    return nj_generator_create(engine->model, subject->tokenizer, &generator,
                               &engine->generator, err);
}

void nj_run_engine_close(struct nj_run_engine *engine)
{
    nj_generator_destroy(engine->generator);
    nj_model_close(engine->model);
    engine->generator = NULL;
    engine->model = NULL;
}
