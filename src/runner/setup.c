#include "runner/setup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "runner/job_change.h"
#include "runner/origin.h"
#include "runner/paths.h"
#include "runner/prefixes.h"
#include "runner/survey.h"

/* What its logs say; nothing is changed. */
static enum nj_status read_logs(struct nj_run_setup *setup, struct nj_error *err)
{
    struct nj_run_logs_place place = {.fs = setup->environment->fs,
                                      .directory_fd = setup->folder.directory_fd,
                                      .model = setup->subject.info.fingerprint,
                                      .n_vocabulary = setup->subject.info.dims.n_vocabulary,
                                      .entropy = setup->environment->entropy,
                                      .log = setup->environment->log};
    return nj_run_folder_name_in(
        &setup->folder, nj_run_logs_read(&setup->logs, &place, &setup->history, err), err);
}

/* A folder that is there already. --fresh does not care what is in it. */
static enum nj_status open_earlier(struct nj_run_setup *setup, struct nj_error *err)
{
    const struct nj_file_system *fs = setup->environment->fs;
    char *path = setup->report->output_directory;
    enum nj_status status =
        nj_path_of_output(setup->spec, setup->options->output_directory, path,
                          sizeof setup->report->output_directory, err);
    if (status != NJ_OK || setup->options->mode == NJ_RUN_FRESH ||
        !nj_run_folder_exists(fs, path)) {
        return status;
    }
    status = nj_run_folder_open(&setup->folder, fs, path, err);
    return status == NJ_OK ? read_logs(setup, err) : status;
}

/* A new folder, made only when the whole job has been found good and its model is open. Only
 * --fresh moves away what is in its place. */
static enum nj_status open_new(struct nj_run_setup *setup, struct nj_error *err)
{
    bool is_empty = true;
    enum nj_status status = nj_run_folder_open(&setup->folder, setup->environment->fs,
                                               setup->report->output_directory, err);
    if (status == NJ_OK && setup->options->mode == NJ_RUN_FRESH) {
        status = nj_run_folder_is_empty(&setup->folder, &is_empty, err);
    }
    if (status == NJ_OK && !is_empty) {
        status = nj_run_folder_move_aside(&setup->folder, setup->environment->log, err);
    }
    return status == NJ_OK ? read_logs(setup, err) : status;
}

static enum nj_status digest_rows(struct nj_run_setup *setup, struct nj_error *err)
{
    const char *path = setup->spec->rows.path;
    return path == NULL ? NJ_OK
                        : nj_file_digest(setup->environment->fs, AT_FDCWD, path,
                                         &setup->identity.rows, err);
}

/* The job's own seed, else the one that an earlier run drew, else one drawn now. */
static uint64_t job_seed(const struct nj_run_setup *setup)
{
    if (setup->spec->has_job_seed) {
        return setup->spec->job_seed;
    }
    if (setup->history.has_seed) {
        return setup->history.seed;
    }
    return setup->environment->entropy >> 11; /* 53 bits: every reader of JSON keeps them */
}

/* A seed is drawn once. With results there and no log that says what they were drawn with, a
 * new one would replace finished texts by others without a word. */
static enum nj_status check_seed(const struct nj_run_setup *setup, struct nj_error *err)
{
    bool is_lost = setup->history.n_item_records > 0 && !setup->history.has_identity;
    if (!is_lost || !setup->identity.uses_job_seed || setup->spec->has_job_seed ||
        setup->options->mode == NJ_RUN_RESTART) {
        return NJ_OK;
    }
    const char *path = setup->report->output_directory;
    return nj_fail(
        err, NJ_E_STATE,
        "%s: journal.log is lost or damaged, and with it the job_seed that the %llu "
        "records in results.log and tokens.log were drawn with. Put journal.log back "
        "(damaged bytes are in journal.log.bad-*), or give that `job_seed` in the job "
        "file; --restart and --fresh do everything anew, with other texts",
        path, (unsigned long long)setup->history.n_item_records);
}

static void tell_left_out(const struct nj_run_setup *setup, uint64_t n_left_out)
{
    if (n_left_out > 0) {
        nj_log_write(setup->environment->log, NJ_LOG_WARNING,
                     "`budget.max_output_tokens` of %llu has room for the first %llu items; "
                     "%llu behind them are left out",
                     (unsigned long long)setup->spec->budget.max_output_tokens,
                     (unsigned long long)setup->ledger.n_items, (unsigned long long)n_left_out);
    }
}

/* Items may be looked at twice: they count once. */
static enum nj_status begin_prefixes(struct nj_run_setup *setup, struct nj_error *err)
{
    nj_prefix_tree_destroy(setup->prefixes);
    setup->prefixes = NULL;
    return nj_prefix_tree_create(&setup->prefixes, err);
}

/* Looks at every item. */
static enum nj_status survey_items(struct nj_run_setup *setup, struct nj_survey *survey,
                                   struct nj_error *err)
{
    setup->source = (struct nj_item_source){
        .spec = setup->spec, .fs = setup->environment->fs, .job_seed = job_seed(setup)};
    const struct nj_survey_options options = {
        .setting = &setup->subject.setting,
        .fs = setup->environment->fs,
        .job_seed = setup->source.job_seed,
        .n_before = setup->history.has_identity ? setup->history.identity.n_items : 0,
        .complaints = setup->environment->complaints,
        .prefixes = setup->prefixes};
    enum nj_status status = nj_survey_run(&options, &setup->ledger, survey, err);
    if (status == NJ_OK) {
        setup->most_positions = survey->most_positions;
        setup->memory = survey->memory;
    }
    return status;
}

/* Looks at every item and says what this run is. */
static enum nj_status survey(struct nj_run_setup *setup, struct nj_digest *items_before,
                             struct nj_error *err)
{
    struct nj_survey survey;
    struct nj_run_identity *identity = &setup->identity;
    enum nj_status status = survey_items(setup, &survey, err);
    if (status == NJ_OK) {
        status = nj_digest_of(setup->job_file, &identity->spec, err);
    }
    if (status == NJ_OK) {
        status = digest_rows(setup, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    identity->model = setup->subject.info.fingerprint;
    identity->numerics_version = NJ_NUMERICS_VERSION;
    identity->latent_norm_eps = setup->subject.setting.latent_norm_eps;
    identity->uses_job_seed = survey.uses_job_seed;
    identity->job_seed = survey.uses_job_seed ? setup->source.job_seed : 0;
    identity->n_items = survey.n_items;
    identity->items = survey.items;
    *items_before = survey.items_before;
    tell_left_out(setup, survey.n_left_out);
    setup->report->n_items = survey.n_items;
    return NJ_OK;
}

/* The copy of the job file; written anew also when somebody changed it. */
static enum nj_status write_spec(struct nj_run_setup *setup, struct nj_error *err)
{
    const struct nj_file_system *fs = setup->environment->fs;
    struct nj_digest found;
    enum nj_status status =
        nj_file_digest(fs, setup->folder.directory_fd, "spec.yaml", &found, NULL);
    if (status == NJ_OK &&
        memcmp(found.bytes, setup->identity.spec.bytes, sizeof found.bytes) == 0) {
        return NJ_OK;
    }
    status = nj_file_replace(fs, setup->folder.directory_fd, "spec.yaml", setup->job_file, err);
    if (status == NJ_E_STORAGE) { /* asked once more, with a new file */
        status =
            nj_file_replace(fs, setup->folder.directory_fd, "spec.yaml", setup->job_file, err);
    }
    return status;
}

/* For who carries the run elsewhere. A job file that is nowhere (the public call may be given a
 * path that was removed since) is not noted. */
static enum nj_status write_origin(const struct nj_run_setup *setup, struct nj_error *err)
{
    const struct nj_run_environment *environment = setup->environment;
    struct nj_origin origin = {.n_jobs = environment->n_jobs > 0 ? environment->n_jobs : 1,
                               .latent_norm_eps = setup->options->latent_norm_eps};
    if (environment->overrides != NULL) {
        origin.overrides = *environment->overrides;
    }
    char *path = nj_absolute_path(setup->spec->source_path);
    if (path == NULL) {
        return NJ_OK;
    }
    origin.job_path = path;
    enum nj_status status =
        nj_origin_write(&origin, environment->fs, setup->folder.directory_fd, err);
    free(path);
    return status;
}

/* Writes down what this run is, where the folder does not say so already. */
static enum nj_status write_identity(struct nj_run_setup *setup, struct nj_error *err)
{
    struct nj_history *history = &setup->history;
    if (!history->has_identity ||
        !nj_run_identity_equal(&history->identity, &setup->identity)) {
        setup->identity.generation = history->identity.generation + 1;
        history->has_identity = true;
        history->identity = setup->identity;
        history->n_marked = 0; /* marks were about the items of the job before */
        history->is_finished = false;
    }
    enum nj_status status = write_spec(setup, err);
    if (status == NJ_OK) {
        status = write_origin(setup, err);
    }
    return status == NJ_OK ? nj_run_logs_identify(&setup->logs, history, err) : status;
}

bool nj_run_setup_is_all_done(const struct nj_run_setup *setup)
{
    return setup->ledger.n_ok + setup->ledger.n_failed == setup->ledger.n_items;
}

/* A limit that is reached before the first sweep. */
static enum nj_status check_limits(const struct nj_run_setup *setup, struct nj_error *err)
{
    uint64_t n_failed = setup->ledger.n_failed;
    enum nj_run_limit limit = nj_run_limits_reached(&setup->limits, n_failed, 0);
    return limit == NJ_RUN_LIMIT_NONE || nj_run_setup_is_all_done(setup)
               ? NJ_OK
               : nj_run_limits_fail(&setup->limits, limit, n_failed, 0, err);
}

/* Where the run folder is, or will be: the nearest folder above it that is there tells. */
static uint64_t free_disk_bytes(const struct nj_run_setup *setup)
{
    char path[NJ_RUN_PATH_BYTES];
    const struct nj_run_observer *observer = setup->environment->observer;
    if (observer == NULL || observer->free_bytes == NULL) {
        return UINT64_MAX;
    }
    memcpy(path, setup->report->output_directory, sizeof path);
    uint64_t n_free = observer->free_bytes(observer->context, path);
    while (n_free == UINT64_MAX && strrchr(path, '/') > path) {
        *strrchr(path, '/') = '\0';
        n_free = observer->free_bytes(observer->context, path);
    }
    return n_free == UINT64_MAX ? observer->free_bytes(observer->context, ".") : n_free;
}

/* Anything but the kernel's ring and direct reads is told, with the reason. */
static void tell_reader(const struct nj_run_setup *setup)
{
    struct nj_stream_report report;
    nj_model_stream_report(setup->engine.model, &report);
    if (report.note != NULL) {
        nj_log_write(setup->environment->log, NJ_LOG_INFO, "weights are read by %s",
                     report.note);
    }
}

static enum nj_status open_engine(struct nj_run_setup *setup, bool only_plans,
                                  struct nj_error *err)
{
    const struct nj_run_work work = {
        .only_plans = only_plans,
        .n_open = setup->ledger.n_items - setup->report->n_items_kept,
        .most_positions = setup->most_positions,
        .n_shared = nj_run_prefixes_longest(setup->prefixes, setup->options),
        .memory = setup->memory,
        .free_disk_bytes = free_disk_bytes(setup)};
    enum nj_status status =
        nj_run_engine_open(&setup->engine, setup->environment->fs, &setup->subject,
                           &setup->spec->resources, setup->options, &work, err);
    if (status == NJ_OK && !only_plans) {
        tell_reader(setup);
    }
    return status;
}

/* A folder with a run of something else is left alone. */
static enum nj_status check_same_job(struct nj_run_setup *setup,
                                     const struct nj_digest *items_before, struct nj_error *err)
{
    const struct nj_run_identity *earlier = &setup->history.identity;
    char first_item[NJ_JOB_CHANGE_BYTES] = "";
    if (!setup->history.has_identity) {
        return NJ_OK;
    }
    enum nj_run_change change =
        nj_run_identity_compare(earlier, &setup->identity, items_before);
    if (change == NJ_CHANGE_NONE) {
        return NJ_OK;
    }
    if (change == NJ_CHANGE_ITEMS) {
        const struct nj_job_change place = {.fs = setup->environment->fs,
                                            .directory_fd = setup->folder.directory_fd,
                                            .earlier = earlier,
                                            .setting = &setup->subject.setting,
                                            .source = &setup->source,
                                            .ledger = &setup->ledger,
                                            .findings = &setup->logs.findings};
        nj_job_change_describe(&place, first_item);
    }
    return nj_run_identity_refuse(change, earlier, &setup->identity, first_item,
                                  setup->report->output_directory, err);
}

/* Everything that can be refused is refused here, before anything is written: the job, the
 * folder that is there, the model with this run's options. */
static enum nj_status examine(struct nj_run_setup *setup, struct nj_error *err)
{
    struct nj_digest items_before;
    enum nj_status status = begin_prefixes(setup, err);
    if (status == NJ_OK) {
        status = survey(setup, &items_before, err);
    }
    if (status == NJ_OK) {
        status = check_seed(setup, err);
    }
    if (status == NJ_OK && setup->options->mode != NJ_RUN_RESTART) {
        status = check_same_job(setup, &items_before, err);
    }
    if (status == NJ_OK && setup->folder.is_open) {
        status = nj_run_logs_enter(&setup->logs, &setup->ledger,
                                   setup->spec->budget.item_timeout_ns, err);
    }
    setup->report->n_items_kept = setup->ledger.n_ok + setup->ledger.n_failed;
    setup->limits = nj_run_limits_of(setup->spec, setup->ledger.n_items,
                                     1000000 * nj_history_run_ms(&setup->history));
    if (status == NJ_OK) {
        status = check_limits(setup, err);
    }
    return status == NJ_OK && !nj_run_setup_is_all_done(setup) ? open_engine(setup, false, err)
                                                               : status;
}

/* Finds or makes the folder. One that was made by somebody else while this job was looked at is
 * an earlier run like any other, and everything is looked at again. */
static enum nj_status find_folder(struct nj_run_setup *setup, struct nj_error *err)
{
    enum nj_status status = open_earlier(setup, err);
    if (status == NJ_OK) {
        status = examine(setup, err);
    }
    if (status != NJ_OK || setup->folder.is_open) {
        return status;
    }
    status = open_new(setup, err);
    if (status == NJ_OK && (setup->history.has_identity || setup->history.n_item_records > 0)) {
        nj_run_engine_close(&setup->engine);
        nj_ledger_deinit(&setup->ledger);
        status = examine(setup, err);
    }
    return status;
}

/* Makes the folder ours, with what earlier runs left in it. */
static enum nj_status take_up(struct nj_run_setup *setup, struct nj_error *err)
{
    enum nj_status status = find_folder(setup, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_run_logs_open(&setup->logs, err);
    if (status == NJ_OK) {
        status = write_identity(setup, err);
    }
    if (status == NJ_OK) {
        status = nj_run_logs_adopt(&setup->logs, &setup->ledger, &setup->history, err);
    }
    return nj_run_folder_name_in(&setup->folder, status, err);
}

/* Whether memory will do is found out before a weight byte is read, even for the fingerprint.
 * Not in the folder of an earlier run: how much is left to do there its logs say, which only
 * who knows the fingerprint can read. */
static enum nj_status check_memory(struct nj_run_setup *setup, struct nj_error *err)
{
    const struct nj_file_system *fs = setup->environment->fs;
    char *path = setup->report->output_directory;
    struct nj_survey survey;
    enum nj_status status =
        nj_path_of_output(setup->spec, setup->options->output_directory, path,
                          sizeof setup->report->output_directory, err);
    if (status != NJ_OK ||
        (setup->options->mode != NJ_RUN_FRESH && nj_run_folder_exists(fs, path))) {
        return status;
    }
    status = begin_prefixes(setup, err);
    if (status == NJ_OK) {
        status = survey_items(setup, &survey, err);
    }
    if (status == NJ_OK) {
        status = open_engine(setup, true, err);
    }
    nj_ledger_deinit(&setup->ledger); /* its digests are without the model's */
    return status;
}

enum nj_status nj_run_setup_make(struct nj_run_setup *setup, struct nj_error *err)
{
    const struct nj_file_system *fs = setup->environment->fs;
    enum nj_status status =
        nj_run_subject_open(&setup->subject, fs, setup->spec, setup->options, err);
    if (status == NJ_OK) {
        status = check_memory(setup, err);
    }
    if (status == NJ_OK) {
        status = nj_run_subject_identify(&setup->subject, fs, err);
    }
    return status == NJ_OK ? take_up(setup, err) : status;
}

void nj_run_setup_deinit(struct nj_run_setup *setup)
{
    nj_item_source_deinit(&setup->source);
    nj_run_engine_close(&setup->engine);
    nj_run_subject_close(&setup->subject);
    nj_run_logs_close(&setup->logs);
    nj_ledger_deinit(&setup->ledger);
    nj_prefix_tree_destroy(setup->prefixes);
    nj_history_deinit(&setup->history);
    nj_run_folder_close(&setup->folder);
}
