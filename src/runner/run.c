#include "runner/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "generate/generator.h"
#include "model/model.h"
#include "runner/ballast.h"
#include "runner/export.h"
#include "runner/folder.h"
#include "runner/history.h"
#include "runner/identity.h"
#include "runner/loop.h"
#include "runner/manifest.h"
#include "runner/obeyed.h"
#include "runner/paths.h"
#include "runner/resume.h"
#include "runner/subject.h"
#include "runner/survey.h"

enum { DEFAULT_BATCH = NJ_DEFAULT_SEQUENCES, DEFAULT_MAX_ROWS = 256 };

/* Everything a run holds. Zeroed is empty; nj_run_job releases it in one place. */
struct run {
    const struct nj_run_environment *environment; /* `patient`, where the run waits for room */
    struct nj_run_environment patient;
    struct nj_patient_files patience;
    bool is_paused;           /* for want of room */
    bool is_recording;        /* ... and writing it down, for which the ballast made room */
    bool was_stopped_waiting; /* ... and asked to stop meanwhile */
    const struct nj_job_spec *spec;
    struct nj_bytes job_file;
    const struct nj_run_options *options;
    struct nj_run_report *report;

    struct nj_run_subject subject;

    struct nj_run_folder folder;
    struct nj_history history;
    struct nj_ledger ledger;
    struct nj_run_identity identity;
    struct nj_run_logs logs;

    struct nj_model *model;
    struct nj_generator *generator;
    struct nj_item_source source;
    struct nj_folder_host folder_host;
    struct nj_run_host host;
    struct nj_checkpoint checkpoint;
    int live_fd;
    struct nj_loop loop;
};

enum nj_status nj_run_entropy(uint64_t *entropy, struct nj_error *err)
{
    uint64_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) {
        return nj_fail(err, NJ_E_IO, "draw a random number: %s", strerror(errno));
    }
    *entropy = drawn;
    return NJ_OK;
}

static int64_t now_ms(const struct run *run)
{
    const struct nj_clock *clock = &run->environment->clock;
    return clock->unix_ms(clock->context);
}

static uint64_t now_ns(const struct run *run)
{
    const struct nj_clock *clock = &run->environment->clock;
    return clock->monotonic_ns(clock->context);
}

/* What its logs say; nothing is changed. */
static enum nj_status look_at_logs(struct run *run, struct nj_error *err)
{
    struct nj_run_logs_place place = {.fs = run->environment->fs,
                                      .directory_fd = run->folder.directory_fd,
                                      .model = run->subject.info.fingerprint,
                                      .n_vocabulary = run->subject.info.dims.n_vocabulary,
                                      .entropy = run->environment->entropy,
                                      .log = run->environment->log};
    return nj_run_logs_look(&run->logs, &place, &run->history, err);
}

/* A folder that is there already. --fresh does not care what is in it. */
static enum nj_status open_earlier(struct run *run, struct nj_error *err)
{
    const struct nj_file_system *fs = run->environment->fs;
    char *path = run->report->output_directory;
    enum nj_status status = nj_path_of_output(run->spec, run->options->output_directory, path,
                                              sizeof run->report->output_directory, err);
    if (status != NJ_OK || run->options->mode == NJ_RUN_FRESH ||
        !nj_run_folder_exists(fs, path)) {
        return status;
    }
    status = nj_run_folder_open(&run->folder, fs, path, err);
    return status == NJ_OK ? look_at_logs(run, err) : status;
}

/* A new folder, made only when the whole job has been found good and its model is open. Only
 * --fresh moves away what is in its place. */
static enum nj_status open_new(struct run *run, struct nj_error *err)
{
    bool is_empty = true;
    enum nj_status status = nj_run_folder_open(&run->folder, run->environment->fs,
                                               run->report->output_directory, err);
    if (status == NJ_OK && run->options->mode == NJ_RUN_FRESH) {
        status = nj_run_folder_is_empty(&run->folder, &is_empty, err);
    }
    if (status == NJ_OK && !is_empty) {
        status = nj_run_folder_move_aside(&run->folder, run->environment->log, err);
    }
    return status == NJ_OK ? look_at_logs(run, err) : status;
}

static enum nj_status digest_rows(struct run *run, struct nj_error *err)
{
    const char *path = run->spec->rows.path;
    return path == NULL
               ? NJ_OK
               : nj_file_digest(run->environment->fs, AT_FDCWD, path, &run->identity.rows, err);
}

/* The job's own seed, else the one that an earlier run drew, else one drawn now. */
static uint64_t job_seed(const struct run *run)
{
    if (run->spec->has_job_seed) {
        return run->spec->job_seed;
    }
    if (run->history.has_seed) {
        return run->history.seed;
    }
    return run->environment->entropy >> 11; /* 53 bits: every reader of JSON keeps them */
}

/* A seed is drawn once. With results there and no log that says what they were drawn with, a
 * new one would replace finished texts by others without a word. */
static enum nj_status check_seed(const struct run *run, struct nj_error *err)
{
    bool is_lost = run->history.n_item_records > 0 && !run->history.has_identity;
    if (!is_lost || !run->identity.uses_job_seed || run->spec->has_job_seed ||
        run->options->mode == NJ_RUN_RESTART) {
        return NJ_OK;
    }
    const char *path = run->report->output_directory;
    return nj_fail(
        err, NJ_E_STATE,
        "%s: journal.log is lost or damaged, and with it the job_seed that the %llu "
        "records in results.log and tokens.log were drawn with. Put journal.log back "
        "(damaged bytes are in journal.log.bad-*), or give that `job_seed` in the job "
        "file; --restart and --fresh do everything anew, with other texts",
        path, (unsigned long long)run->history.n_item_records);
}

/* Looks at every item and says what this run is. */
static enum nj_status survey(struct run *run, struct nj_digest *items_before,
                             struct nj_error *err)
{
    struct nj_survey survey;
    struct nj_run_identity *identity = &run->identity;
    run->source = (struct nj_item_source){
        .spec = run->spec, .fs = run->environment->fs, .job_seed = job_seed(run)};
    const struct nj_survey_options options = {
        .setting = &run->subject.setting,
        .fs = run->environment->fs,
        .job_seed = run->source.job_seed,
        .n_before = run->history.has_identity ? run->history.identity.n_items : 0,
        .complaints = run->environment->complaints};
    enum nj_status status = nj_survey_run(&options, &run->ledger, &survey, err);
    if (status == NJ_OK) {
        status = nj_digest_of(run->job_file, &identity->spec, err);
    }
    if (status == NJ_OK) {
        status = digest_rows(run, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    identity->model = run->subject.info.fingerprint;
    identity->numerics_version = NJ_NUMERICS_VERSION;
    identity->latent_norm_eps = run->subject.setting.latent_norm_eps;
    identity->uses_job_seed = survey.uses_job_seed;
    identity->job_seed = survey.uses_job_seed ? run->source.job_seed : 0;
    identity->n_items = survey.n_items;
    identity->items = survey.items;
    *items_before = survey.items_before;
    run->report->n_items = survey.n_items;
    return NJ_OK;
}

/* The copy of the job file; written anew also when somebody changed it. */
static enum nj_status write_spec(struct run *run, struct nj_error *err)
{
    const struct nj_file_system *fs = run->environment->fs;
    struct nj_digest found;
    enum nj_status status =
        nj_file_digest(fs, run->folder.directory_fd, "spec.yaml", &found, NULL);
    if (status == NJ_OK &&
        memcmp(found.bytes, run->identity.spec.bytes, sizeof found.bytes) == 0) {
        return NJ_OK;
    }
    return nj_file_replace(fs, run->folder.directory_fd, "spec.yaml", run->job_file, err);
}

/* Writes down what this run is, where the folder does not say so already. */
static enum nj_status write_identity(struct run *run, struct nj_error *err)
{
    struct nj_history *history = &run->history;
    if (!history->has_identity || !nj_run_identity_equal(&history->identity, &run->identity)) {
        run->identity.generation = history->identity.generation + 1;
        history->has_identity = true;
        history->identity = run->identity;
        history->n_marked = 0; /* marks were about the items of the job before */
        history->is_finished = false;
    }
    enum nj_status status = write_spec(run, err);
    return status == NJ_OK ? nj_run_logs_identify(&run->logs, history, err) : status;
}

static void tell(const struct run *run, enum nj_event_type type, const char *reason)
{
    struct nj_event event = {.type = type,
                             .unix_ms = now_ms(run),
                             .job_name = run->spec->name,
                             .folder = nj_text_from(run->report->output_directory),
                             .text = nj_text_from(reason),
                             .n_items = run->ledger.n_items,
                             .n_items_done = run->ledger.n_ok + run->ledger.n_failed,
                             .n_items_failed = run->ledger.n_failed,
                             .n_items_kept = run->report->n_items_kept,
                             .n_running = run->ledger.n_restored,
                             .n_tokens_restored = nj_ledger_n_tokens_restored(&run->ledger),
                             .n_output_tokens = run->loop.counts.n_generated};
    const struct nj_run_observer *observer = run->environment->observer;
    if (observer != NULL && observer->event != NULL) {
        observer->event(observer->context, &event);
    }
}

static struct nj_journal_entry turn_now(const struct run *run, enum nj_journal_type type)
{
    struct nj_journal_entry entry = {.type = type,
                                     .unix_ms = now_ms(run),
                                     .n_items_done = run->ledger.n_ok + run->ledger.n_failed};
    if (type == NJ_JOURNAL_STARTED) {
        entry.n_items_under_way = run->ledger.n_restored;
        entry.n_tokens_restored = nj_ledger_n_tokens_restored(&run->ledger);
    }
    return entry;
}

static enum nj_status journal_turn(struct run *run, const struct nj_journal_entry *entry,
                                   struct nj_error *err)
{
    struct nj_log_file *journal = &run->logs.files[NJ_LOG_JOURNAL];
    enum nj_status status = nj_journal_append(journal, entry, err);
    return status == NJ_OK ? nj_log_file_sync(journal, err) : status;
}

static enum nj_status write_turn(struct run *run, enum nj_journal_type type,
                                 struct nj_error *err)
{
    struct nj_journal_entry entry = turn_now(run, type);
    enum nj_status status = journal_turn(run, &entry, err);
    return status == NJ_OK ? nj_history_add(&run->history, &entry, err) : status;
}

/* Drops the ballast, so that the journal can say it, and says it to everyone. When it is the
 * journal that found no room, its record is half written, and nothing else can be. */
static void begin_pause(struct run *run, int fd)
{
    const struct nj_log_file *journal = &run->logs.files[NJ_LOG_JOURNAL];
    run->is_paused = true;
    nj_log_write(run->environment->log, NJ_LOG_WARNING,
                 "paused: the disk of %s is full. Make room, and the run goes on by itself; "
                 "stop it, and the same command continues",
                 run->report->output_directory);
    tell(run, NJ_EVENT_RUN_PAUSED, "disk");
    if (run->folder.is_open) {
        nj_ballast_drop(run->patience.below, run->folder.directory_fd);
    }
    if (journal->is_open && journal->fd != fd) {
        run->is_recording = true;
        (void)write_turn(run, NJ_JOURNAL_PAUSED, NULL); /* a failure shows at its next use */
        run->is_recording = false;
    }
}

/* The wait of nj_patient_files. Writing the pause down may come here again, and waits too. */
static bool wait_for_room(void *context, int fd)
{
    enum { RETRY_NS = 1000000000 };
    struct run *run = context;
    const struct nj_run_observer *observer = run->environment->observer;
    if (!run->is_paused) {
        begin_pause(run, fd);
    }
    if (!run->was_stopped_waiting && observer->poll != NULL) {
        run->was_stopped_waiting = observer->poll(observer->context) == NJ_RUN_DRAIN;
    }
    if (run->was_stopped_waiting) {
        return false;
    }
    if (run->folder.is_open && nj_run_folder_check(&run->folder, NULL) != NJ_OK) {
        return false;
    }
    observer->wait(observer->context, RETRY_NS);
    return true;
}

static void go_on(void *context)
{
    struct run *run = context;
    if (run->is_recording) {
        return;
    }
    run->is_paused = false;
    nj_log_write(run->environment->log, NJ_LOG_INFO, "there is room again: the run goes on");
    if (run->folder.is_open) {
        nj_ballast_take_on(run->patience.below, run->folder.directory_fd);
    }
}

/* Somebody who can wait is there: from now on the run does. */
static void set_patience(struct run *run)
{
    const struct nj_run_observer *observer = run->environment->observer;
    if (observer == NULL || observer->wait == NULL) {
        return;
    }
    nj_patient_files_init(&run->patience, run->environment->fs);
    run->patience.context = run;
    run->patience.wait = wait_for_room;
    run->patience.go_on = go_on;
    run->patient = *run->environment;
    run->patient.fs = &run->patience.table;
    run->environment = &run->patient;
}

static bool is_all_done(const struct run *run)
{
    return run->ledger.n_ok + run->ledger.n_failed == run->ledger.n_items;
}

/* A flag wins over what the job says. */
static uint32_t either(uint32_t flag, uint32_t otherwise)
{
    return flag > 0 ? flag : otherwise;
}

static uint32_t batch_of(const struct run *run)
{
    uint64_t wanted =
        either(run->options->batch, either(run->spec->resources.batch, DEFAULT_BATCH));
    uint64_t n_open = run->ledger.n_items - run->report->n_items_kept;
    return (uint32_t)(wanted < n_open ? wanted : n_open);
}

static enum nj_status open_model(struct run *run, struct nj_error *err)
{
    uint32_t batch = batch_of(run);
    struct nj_model_options options = {
        .path = run->subject.model_path,
        .cpu_level = run->options->cpu_level,
        .n_threads = either(run->options->n_threads, run->spec->resources.threads),
        .max_rows = batch > DEFAULT_MAX_ROWS ? batch : DEFAULT_MAX_ROWS,
        .latent_norm_eps = (double)run->subject.setting.latent_norm_eps,
        .memory_bytes = run->options->memory_bytes > 0 ? run->options->memory_bytes
                                                       : run->spec->resources.memory_bytes};
    enum nj_status status =
        nj_model_open_through(run->environment->fs, &options, &run->model, err);
    if (status != NJ_OK) {
        return status == NJ_E_IO ? NJ_E_WEIGHTS : status;
    }
    char hex[NJ_DIGEST_HEX_BYTES];
    nj_digest_to_hex(&run->subject.info.fingerprint, hex);
    if (strcmp(nj_model_fingerprint(run->model), hex) != 0) {
        return nj_fail(err, NJ_E_STATE, "%s changed while it was being opened",
                       run->subject.model_path);
    }
    struct nj_generator_options generator = {.max_sequences = batch,
                                             .prefill_chunk = run->options->prefill_chunk};
    return nj_generator_create(run->model, run->subject.tokenizer, &generator, &run->generator,
                               err);
}

/* Everything that can be refused is refused here, before anything is written: the job, the
 * folder that is there, the model with this run's options. */
static enum nj_status examine(struct run *run, struct nj_error *err)
{
    struct nj_digest items_before;
    const char *path = run->report->output_directory;
    enum nj_status status = survey(run, &items_before, err);
    if (status == NJ_OK) {
        status = check_seed(run, err);
    }
    if (status == NJ_OK && run->options->mode != NJ_RUN_RESTART && run->history.has_identity) {
        status = nj_run_identity_check(&run->history.identity, &run->identity, &items_before,
                                       path, err);
    }
    if (status == NJ_OK && run->folder.is_open) {
        status = nj_run_logs_read(&run->logs, &run->ledger, err);
    }
    run->report->n_items_kept = run->ledger.n_ok + run->ledger.n_failed;
    return status == NJ_OK && !is_all_done(run) ? open_model(run, err) : status;
}

static void close_model(struct run *run)
{
    nj_generator_destroy(run->generator);
    nj_model_close(run->model);
    run->generator = NULL;
    run->model = NULL;
}

/* Finds or makes the folder. One that was made by somebody else while this job was looked at is
 * an earlier run like any other, and everything is looked at again. */
static enum nj_status find_folder(struct run *run, struct nj_error *err)
{
    enum nj_status status = open_earlier(run, err);
    if (status == NJ_OK) {
        status = examine(run, err);
    }
    if (status != NJ_OK || run->folder.is_open) {
        return status;
    }
    status = open_new(run, err);
    if (status == NJ_OK && (run->history.has_identity || run->history.n_item_records > 0)) {
        close_model(run);
        nj_ledger_deinit(&run->ledger);
        status = examine(run, err);
    }
    return status;
}

/* Makes the folder ours, with what earlier runs left in it. */
static enum nj_status take_up(struct run *run, struct nj_error *err)
{
    enum nj_status status = find_folder(run, err);
    if (status == NJ_OK) {
        status = nj_run_logs_open(&run->logs, err);
    }
    if (status == NJ_OK) {
        status = write_identity(run, err);
    }
    return status == NJ_OK ? nj_run_logs_adopt(&run->logs, &run->ledger, &run->history, err)
                           : status;
}

static enum nj_status prepare_loop(struct run *run, struct nj_error *err)
{
    const struct nj_file_system *fs = run->environment->fs;
    struct nj_loop *loop = &run->loop;
    loop->n_slots = batch_of(run);
    loop->slots = calloc(loop->n_slots, sizeof *loop->slots);
    loop->events = calloc(loop->n_slots, sizeof *loop->events);
    if (loop->slots == NULL || loop->events == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "run %u items at once: out of memory", loop->n_slots);
    }
    run->folder_host.journal = &run->logs.files[NJ_LOG_JOURNAL];
    run->folder_host.ledger = &run->ledger;
    run->folder_host.place = &run->folder;
    run->folder_host.patience = run->environment == &run->patient ? &run->patience : NULL;
    run->folder_host.observer = run->environment->observer;
    run->host = nj_folder_host_table(&run->folder_host);
    run->checkpoint.fs = fs;
    run->checkpoint.tokens = &run->logs.files[NJ_LOG_TOKENS];
    run->checkpoint.results = &run->logs.files[NJ_LOG_RESULTS];
    run->checkpoint.host = &run->host;
    run->checkpoint.ledger = &run->ledger;
    run->checkpoint.tokenizer = run->subject.tokenizer;
    loop->host = &run->host;
    loop->supply = (struct nj_slot_supply){.generator = run->generator,
                                           .source = &run->source,
                                           .setting = &run->subject.setting,
                                           .ledger = &run->ledger};
    loop->checkpoint = &run->checkpoint;
    loop->clock = run->environment->clock;
    loop->n_items_kept = run->report->n_items_kept;
    enum nj_status status =
        nj_export_live(fs, run->folder.directory_fd, &run->ledger, &run->live_fd, err);
    run->checkpoint.live_fd = run->live_fd;
    return status;
}

static void fill_report(struct run *run)
{
    struct nj_run_report *report = run->report;
    const struct nj_loop_counts *counts = &run->loop.counts;
    report->n_items_ok = run->ledger.n_ok;
    report->n_items_failed = run->ledger.n_failed;
    report->n_items_resumed = counts->n_resumed;
    report->n_tokens_generated = counts->n_generated;
    report->n_tokens_restored = counts->n_restored;
    report->n_prompt_tokens = counts->n_prompt;
    report->n_sweeps = counts->n_sweeps;
    if (run->generator != NULL) {
        report->n_rows = nj_generator_n_rows(run->generator);
        report->weight_bytes_read = nj_model_read_bytes(run->model);
    }
}

static struct nj_manifest manifest_of(const struct run *run)
{
    return (struct nj_manifest){.spec = run->spec,
                                .identity = &run->identity,
                                .ledger = &run->ledger,
                                .history = &run->history,
                                .options = run->options,
                                .model_path = run->subject.model_path,
                                .cpu_level =
                                    run->model != NULL ? nj_model_cpu_level(run->model) : NULL};
}

static enum nj_status write_derived(struct run *run, struct nj_error *err)
{
    const struct nj_file_system *fs = run->environment->fs;
    int directory_fd = run->folder.directory_fd;
    struct nj_manifest manifest = manifest_of(run);
    enum nj_status status =
        nj_export_results(fs, directory_fd, &run->ledger, &manifest.results, err);
    return status == NJ_OK ? nj_manifest_write(&manifest, fs, directory_fd, err) : status;
}

/* Everything is done: results in input order, manifest, and then the last word in the journal.
 * Whoever dies before it does all of it again. */
static enum nj_status finish(struct run *run, struct nj_error *err)
{
    struct nj_journal_entry entry = turn_now(run, NJ_JOURNAL_FINISHED);
    enum nj_status status = nj_history_add(&run->history, &entry, err);
    if (status == NJ_OK) {
        status = write_derived(run, err);
    }
    return status == NJ_OK ? journal_turn(run, &entry, err) : status;
}

/* A finished run whose derived files somebody removed or changed gets them back. */
static enum nj_status mend(struct run *run, struct nj_error *err)
{
    const struct nj_file_system *fs = run->environment->fs;
    int directory_fd = run->folder.directory_fd;
    bool is_sound = false;
    enum nj_manifest_state state = NJ_MANIFEST_OTHER;
    struct nj_manifest manifest = manifest_of(run);
    enum nj_status status =
        nj_export_check(fs, directory_fd, &run->ledger, &manifest.results, &is_sound, err);
    if (status == NJ_OK) {
        status = nj_manifest_check(&manifest, fs, directory_fd, &state, err);
    }
    if (status != NJ_OK || (is_sound && state == NJ_MANIFEST_SOUND)) {
        return status;
    }
    nj_log_write(
        run->environment->log, NJ_LOG_WARNING,
        "results.jsonl, errors.jsonl or manifest.json was missing or changed: they are "
        "written again from results.log");
    return write_derived(run, err);
}

/* While a job is not finished, nothing in its folder may look like the results of another one
 * that was there before. The manifest goes last: it is what tells them apart. */
static enum nj_status remove_stale(struct run *run, struct nj_error *err)
{
    static const char *const names[] = {"results.jsonl", "errors.jsonl", "manifest.json"};
    const struct nj_file_system *fs = run->environment->fs;
    enum nj_manifest_state state = NJ_MANIFEST_OTHER;
    struct nj_manifest manifest = manifest_of(run);
    enum nj_status status =
        nj_manifest_check(&manifest, fs, run->folder.directory_fd, &state, err);
    for (size_t i = 0; i < sizeof names / sizeof names[0] && status == NJ_OK; i++) {
        if (state == NJ_MANIFEST_OTHER) {
            status = nj_export_remove(fs, run->folder.directory_fd, names[i], err);
        }
    }
    return status;
}

static enum nj_status stop(struct run *run, struct nj_error *err)
{
    uint64_t n_done = run->ledger.n_ok + run->ledger.n_failed;
    enum nj_status status = write_turn(run, NJ_JOURNAL_STOPPED, err);
    if (n_done > 0) {
        nj_log_write(run->environment->log, NJ_LOG_INFO,
                     "finished items so far are in %s/live.jsonl",
                     run->report->output_directory);
    }
    tell(run, NJ_EVENT_RUN_PAUSED, "signal");
    if (status != NJ_OK) {
        return status;
    }
    return nj_fail(err, NJ_E_STOPPED, "stopped: %llu of %llu items done",
                   (unsigned long long)n_done, (unsigned long long)run->ledger.n_items);
}

static enum nj_status work(struct run *run, struct nj_error *err)
{
    enum nj_status status = remove_stale(run, err);
    if (status == NJ_OK) {
        status = prepare_loop(run, err);
    }
    if (status == NJ_OK) {
        status = write_turn(run, NJ_JOURNAL_STARTED, err);
    }
    if (status == NJ_OK) {
        nj_ballast_take_on(run->environment->fs, run->folder.directory_fd);
        tell(run, NJ_EVENT_RUN_STARTED, "");
        status = nj_loop_run(&run->loop, err);
    }
    return status == NJ_OK && run->loop.was_stopped ? stop(run, err) : status;
}

static enum nj_status run_all(struct run *run, struct nj_error *err)
{
    enum nj_status status = nj_check_job_is_obeyed(run->spec, err);
    if (status == NJ_OK) {
        nj_tell_what_is_ignored(run->spec, run->environment->log);
        status = nj_run_subject_open(&run->subject, run->environment->fs, run->spec,
                                     run->options, err);
    }
    if (status == NJ_OK) {
        status = take_up(run, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    bool had_work = !is_all_done(run);
    if (!had_work && run->history.is_finished) {
        return mend(run, err);
    }
    if (had_work) {
        status = work(run, err);
    }
    if (status == NJ_OK) {
        status = finish(run, err);
    }
    if (status == NJ_OK && had_work) {
        tell(run, NJ_EVENT_RUN_DONE, "");
    }
    return status;
}

static void release(struct run *run)
{
    const struct nj_file_system *fs = run->environment->fs;
    nj_checkpoint_deinit(&run->checkpoint);
    nj_item_source_deinit(&run->source);
    free(run->loop.slots);
    free(run->loop.events);
    if (run->folder.is_open) {
        nj_ballast_drop(fs, run->folder.directory_fd);
    }
    close_model(run);
    nj_run_subject_close(&run->subject);
    if (run->live_fd >= 0) {
        (void)fs->close(fs->context, run->live_fd); /* derived, rewritten at the next start */
    }
    nj_run_logs_close(&run->logs);
    nj_ledger_deinit(&run->ledger);
    nj_history_deinit(&run->history);
    nj_run_folder_close(&run->folder);
}

enum nj_status nj_run_job(const struct nj_run_environment *environment,
                          const struct nj_job_spec *spec, struct nj_bytes job_file,
                          const struct nj_run_options *options, struct nj_run_report *report,
                          struct nj_error *err)
{
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "begin a run: out of memory");
    }
    run->environment = environment;
    run->spec = spec;
    run->job_file = job_file;
    run->options = options;
    run->report = report;
    run->live_fd = -1;
    memset(report, 0, sizeof *report);
    set_patience(run);
    uint64_t began_ns = now_ns(run);
    enum nj_status status = run_all(run, err);
    if (status != NJ_OK && run->was_stopped_waiting) {
        status = nj_fail(err, NJ_E_STOPPED, "stopped while it waited for room on the disk");
    }
    fill_report(run);
    report->elapsed_ns = now_ns(run) - began_ns;
    release(run);
    free(run);
    return status;
}
