#include "runner/engine.h"

#include <string.h>

#include "base/machine_memory.h"
#include "model/state.h"
#include "snapshot/slot_home.h"
#include "snapshot/writer.h"

enum {
    MOST_DEFAULT_BATCH = 256,
    DEFAULT_MAX_ROWS = 256,
    /* What sampling holds for each token of the vocabulary. */
    TOKEN_BYTES = 32
};

/* A flag wins over what the job says. */
static uint32_t either(uint32_t flag, uint32_t otherwise)
{
    return flag > 0 ? flag : otherwise;
}

/* The ceiling that is given, or nearly the one that the model will find for itself. */
static uint64_t memory_bytes(const struct nj_job_resources *resources,
                             const struct nj_run_options *options)
{
    uint64_t given =
        options->memory_bytes > 0 ? options->memory_bytes : resources->memory_bytes;
    return given > 0 ? given : nj_machine_memory_left(nj_file_system_real(), "");
}

static enum nj_states_place wanted_states(const struct nj_job_resources *resources,
                                          const struct nj_run_options *options)
{
    static const enum nj_states_place of_job[] = {[NJ_JOB_STATES_UNSAID] = NJ_STATES_AUTO,
                                                  [NJ_JOB_STATES_AUTO] = NJ_STATES_AUTO,
                                                  [NJ_JOB_STATES_MEMORY] = NJ_STATES_MEMORY,
                                                  [NJ_JOB_STATES_DISK] = NJ_STATES_DISK};
    return options->states != NJ_STATES_UNSAID ? options->states : of_job[resources->states];
}

/* Windows hold the largest part of a state, and more where memory allows: a thirty-second of
 * it, at most 64 MiB, and no more than a layer of all sequences. */
static uint64_t window_bytes(const struct nj_run_engine *engine, const struct nj_dims *dims,
                             uint32_t most_positions, uint64_t memory)
{
    enum { SHARE = 32, MOST_BYTES = 64 << 20 };
    uint64_t least = nj_slot_home_least_window_bytes(dims, most_positions);
    uint64_t most = memory / SHARE < MOST_BYTES ? memory / SHARE : MOST_BYTES;
    most = most < least * engine->batch ? most : least * engine->batch;
    return most < least ? least : most;
}

/* What moves states while they are where they are. */
static uint64_t moving_bytes(const struct nj_run_engine *engine, const struct nj_dims *dims)
{
    return engine->has_states_on_disk
               ? nj_slot_home_memory_bytes(dims, engine->batch, engine->window_bytes, 0)
               : nj_snapshot_writer_total_bytes(engine->snapshot_buffer_bytes);
}

/* What the run holds already (tokenizer, job, ledger, the program itself), and what sampling,
 * the writer of snapshots and the texts of items will. */
static uint64_t other_bytes(const struct nj_run_engine *engine,
                            const struct nj_run_subject *subject,
                            const struct nj_run_work *work)
{
    uint64_t n_bytes = nj_machine_memory_held(nj_file_system_real(), "") +
                       (uint64_t)subject->info.dims.n_vocabulary * TOKEN_BYTES +
                       moving_bytes(engine, &subject->info.dims);
    uint64_t n_text_bytes = nj_item_memory_of_all(&work->memory, engine->batch);
    return n_text_bytes < UINT64_MAX - n_bytes ? n_bytes + n_text_bytes : UINT64_MAX;
}

/* The state of a shared prefix takes the place of a sequence, unless somebody wants so many of
 * these. */
static uint32_t n_spare_states(const struct nj_run_engine *engine,
                               const struct nj_job_resources *resources,
                               const struct nj_run_options *options,
                               const struct nj_run_work *work)
{
    return work->n_shared > 0 && !engine->has_states_on_disk &&
                   either(options->batch, resources->batch) == 0
               ? 1
               : 0;
}

static struct nj_model_options model_options(const struct nj_run_engine *engine,
                                             const struct nj_run_subject *subject,
                                             const struct nj_job_resources *resources,
                                             const struct nj_run_options *options,
                                             const struct nj_run_work *work)
{
    return (struct nj_model_options){
        .path = subject->model_path,
        .cpu_level = options->cpu_level,
        .reader = options->reader,
        .n_threads = either(options->n_threads, resources->threads),
        .max_rows = engine->batch > DEFAULT_MAX_ROWS ? engine->batch : DEFAULT_MAX_ROWS,
        .latent_norm_eps = (double)subject->setting.latent_norm_eps,
        .memory_bytes =
            options->memory_bytes > 0 ? options->memory_bytes : resources->memory_bytes,
        .other_bytes = other_bytes(engine, subject, work),
        .n_sequences = engine->batch + n_spare_states(engine, resources, options, work),
        .has_states_elsewhere = engine->has_states_on_disk,
        .takes_fewer_sequences = either(options->batch, resources->batch) == 0,
        .n_positions = work->most_positions};
}

/* As many items at once as are asked for, or as are left, or as memory will turn out to hold.
 */
static uint32_t most_at_once(const struct nj_job_resources *resources,
                             const struct nj_run_options *options, uint64_t n_open)
{
    uint32_t given = either(options->batch, resources->batch);
    uint32_t most = given > 0 ? given : MOST_DEFAULT_BATCH;
    return most < n_open ? most : (uint32_t)n_open;
}

/* What the kernel says this process holds is some pages more or fewer each time. The figure
 * that a refusal names must do when somebody gives it, so it is told with this much besides,
 * and what fits without is taken. */
static const uint64_t held_slack_bytes = UINT64_C(2) << 20;

static enum nj_status open_or_plan(struct nj_run_engine *engine,
                                   const struct nj_file_system *fs,
                                   const struct nj_model_options *model, bool only_plans,
                                   struct nj_error *err)
{
    const struct nj_model_seams seams = {.fs = fs, .machine_root = ""};
    struct nj_memory_plan plan;
    return only_plans ? nj_model_plan_with(&seams, model, &plan, err)
                      : nj_model_open_with(&seams, model, &engine->model, err);
}

/* All that decides how the model is opened; borrowed. */
struct wanted {
    const struct nj_file_system *fs;
    const struct nj_run_subject *subject;
    const struct nj_job_resources *resources;
    const struct nj_run_options *options;
    const struct nj_run_work *work;
};

static enum nj_status open_model(struct nj_run_engine *engine, const struct wanted *wanted,
                                 struct nj_error *err)
{
    engine->snapshot_buffer_bytes =
        nj_snapshot_writer_modest_bytes(&wanted->subject->info.dims, engine->batch,
                                        memory_bytes(wanted->resources, wanted->options));
    engine->window_bytes =
        window_bytes(engine, &wanted->subject->info.dims, wanted->work->most_positions,
                     memory_bytes(wanted->resources, wanted->options));
    struct nj_model_options model = model_options(engine, wanted->subject, wanted->resources,
                                                  wanted->options, wanted->work);
    struct nj_error refusal = {0};
    uint64_t held_bytes = model.other_bytes;
    model.other_bytes +=
        held_bytes < UINT64_MAX - held_slack_bytes ? held_slack_bytes : UINT64_MAX - held_bytes;
    enum nj_status status =
        open_or_plan(engine, wanted->fs, &model, wanted->work->only_plans, &refusal);
    if (status == NJ_E_BUDGET) {
        struct nj_error exact = {0};
        model.other_bytes = held_bytes;
        status = open_or_plan(engine, wanted->fs, &model, wanted->work->only_plans, &exact);
        refusal = status == NJ_E_BUDGET ? refusal : exact;
    }
    if (status != NJ_OK) {
        (void)nj_fail(err, status, "%s", refusal.text);
    }
    return status == NJ_E_IO ? NJ_E_WEIGHTS : status;
}

/* The model's plan takes fewer sequences by their states; texts were counted for all of them. A
 * narrower batch is tried only where that is what may help. */
static enum nj_status open_as_wide_as_fits(struct nj_run_engine *engine,
                                           const struct wanted *wanted, struct nj_error *err)
{
    enum { STEP = 4, NOTHING = 64 /* less than this part of the memory would be won */ };
    uint64_t memory = memory_bytes(wanted->resources, wanted->options);
    engine->batch = nj_item_memory_width(&wanted->work->memory, memory, engine->batch);
    enum nj_status status = open_model(engine, wanted, err);
    while (status == NJ_E_BUDGET && engine->batch > 1 &&
           nj_item_memory_of_all(&wanted->work->memory, engine->batch) > memory / NOTHING) {
        engine->batch = engine->batch > STEP ? engine->batch / STEP : 1;
        status = open_model(engine, wanted, err);
    }
    return status;
}

static enum nj_status open_any_width(struct nj_run_engine *engine, const struct wanted *wanted,
                                     struct nj_error *err)
{
    bool is_given = either(wanted->options->batch, wanted->resources->batch) > 0;
    return is_given ? open_model(engine, wanted, err)
                    : open_as_wide_as_fits(engine, wanted, err);
}

/* How many sequences the disk holds. A tenth of it is left to logs, results and others. */
static enum nj_status fit_disk(struct nj_run_engine *engine, const struct nj_dims *dims,
                               const struct nj_run_work *work, bool is_given,
                               struct nj_error *err)
{
    enum { LEFT_SHARE = 10 };
    uint64_t seat_bytes = nj_slot_home_seat_bytes(dims, work->most_positions);
    uint64_t all_bytes = engine->batch * seat_bytes;
    uint64_t usable_bytes = work->free_disk_bytes - work->free_disk_bytes / LEFT_SHARE;
    uint64_t n_fitting = seat_bytes == 0 ? engine->batch : usable_bytes / seat_bytes;
    if (n_fitting >= engine->batch) {
        return NJ_OK;
    }
    if (is_given || n_fitting == 0) {
        return nj_fail(err, NJ_E_BUDGET,
                       "states of %u item%s on disk need %llu bytes, %llu of those that are "
                       "left there may be used",
                       engine->batch, engine->batch == 1 ? "" : "s",
                       (unsigned long long)all_bytes, (unsigned long long)usable_bytes);
    }
    engine->batch = (uint32_t)n_fitting;
    return NJ_OK;
}

static enum nj_status open_on_disk(struct nj_run_engine *engine, const struct wanted *wanted,
                                   struct nj_error *err)
{
    bool is_given = either(wanted->options->batch, wanted->resources->batch) > 0;
    bool is_asked_for = wanted_states(wanted->resources, wanted->options) == NJ_STATES_DISK;
    engine->batch = most_at_once(wanted->resources, wanted->options, wanted->work->n_open);
    engine->has_states_on_disk = true;
    engine->is_width_bound = !(is_given && is_asked_for);
    enum nj_status status =
        fit_disk(engine, &wanted->subject->info.dims, wanted->work, is_given, err);
    return status == NJ_OK ? open_any_width(engine, wanted, err) : status;
}

/* Memory first. A width that nobody asked for is what fits there. */
static enum nj_status open_wherever_fits(struct nj_run_engine *engine,
                                         const struct wanted *wanted, struct nj_error *err)
{
    enum nj_states_place place = wanted_states(wanted->resources, wanted->options);
    bool is_given = either(wanted->options->batch, wanted->resources->batch) > 0;
    enum nj_status status = NJ_E_BUDGET;
    engine->has_states_on_disk = false;
    if (place != NJ_STATES_DISK) {
        status = open_any_width(engine, wanted, err);
    }
    bool may_be_on_disk = place == NJ_STATES_DISK || (place == NJ_STATES_AUTO && is_given);
    return status == NJ_E_BUDGET && may_be_on_disk ? open_on_disk(engine, wanted, err) : status;
}

/* People look for the fault at the model. */
static enum nj_status name_texts(const struct nj_run_engine *engine,
                                 const struct nj_run_work *work, enum nj_status status,
                                 struct nj_error *err)
{
    enum { WORTH_A_WORD_BYTES = 1000000 };
    uint64_t n_bytes = nj_item_memory_of_all(&work->memory, engine->batch);
    if (status != NJ_E_BUDGET || n_bytes < WORTH_A_WORD_BYTES) {
        return status;
    }
    return nj_prefix(err, status,
                     "rows, prompts and results of %u item%s of this job may take %llu bytes",
                     engine->batch, engine->batch == 1 ? "" : "s", (unsigned long long)n_bytes);
}

enum nj_status nj_run_engine_open(struct nj_run_engine *engine, const struct nj_file_system *fs,
                                  const struct nj_run_subject *subject,
                                  const struct nj_job_resources *resources,
                                  const struct nj_run_options *options,
                                  const struct nj_run_work *work, struct nj_error *err)
{
    engine->batch = most_at_once(resources, options, work->n_open);
    const struct wanted wanted = {
        .fs = fs, .subject = subject, .resources = resources, .options = options, .work = work};
    enum nj_status status = open_wherever_fits(engine, &wanted, err);
    if (status != NJ_OK) {
        return name_texts(engine, work, status, err);
    }
    if (work->only_plans) {
        return NJ_OK;
    }
    char hex[NJ_DIGEST_HEX_BYTES];
    nj_digest_to_hex(&subject->info.fingerprint, hex);
    if (strcmp(nj_model_fingerprint(engine->model), hex) != 0) {
        return nj_fail(err, NJ_E_STATE, "%s changed while it was being opened",
                       subject->model_path);
    }
    uint32_t n_sequences = nj_model_n_sequences(engine->model);
    uint32_t n_spare = n_spare_states(engine, resources, options, work);
    engine->batch = n_sequences > n_spare ? n_sequences - n_spare : n_sequences;
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
