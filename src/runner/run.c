#include "runner/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "runner/ballast.h"
#include "runner/chronicle.h"
#include "runner/derived.h"
#include "runner/disk_pause.h"
#include "runner/export.h"
#include "runner/loop.h"
#include "runner/obeyed.h"
#include "runner/prefixes.h"
#include "runner/setup.h"
#include "runner/state_folders.h"

/* Everything a run holds. Zeroed is empty; nj_run_job releases it in one place. */
struct run {
    const struct nj_file_system *impatient_fs; /* the environment's own, which never waits */
    struct nj_run_environment environment; /* writes through `pause` where somebody can wait */
    struct nj_disk_pause pause;
    struct nj_chronicle chronicle;
    struct nj_run_setup setup;

    struct nj_folder_host folder_host;
    struct nj_run_host folder_table;
    struct nj_run_host host; /* the folder's, or that of whom the run works for besides */
    struct nj_checkpoint checkpoint;
    struct nj_run_snapshots snapshots;
    struct nj_run_prefixes prefixes;
    struct nj_disk_states states;
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

static uint64_t now_ns(const struct run *run)
{
    const struct nj_clock *clock = &run->environment.clock;
    return clock->monotonic_ns(clock->context);
}

static bool can_wait(const struct run *run)
{
    const struct nj_run_observer *observer = run->environment.observer;
    return observer != NULL && observer->wait != NULL;
}

static void prepare_chronicle(struct run *run)
{
    struct nj_run_setup *setup = &run->setup;
    run->chronicle = (struct nj_chronicle){.clock = run->environment.clock,
                                           .observer = run->environment.observer,
                                           .job_name = setup->spec->name,
                                           .report = setup->report,
                                           .ledger = &setup->ledger,
                                           .counts = &run->loop.counts,
                                           .history = &setup->history,
                                           .journal = &setup->logs.files[NJ_LOG_JOURNAL]};
}

/* Somebody who can wait is there: from now on the run does. */
static void prepare_pause(struct run *run)
{
    if (!can_wait(run)) {
        return;
    }
    run->pause = (struct nj_disk_pause){.observer = run->environment.observer,
                                        .log = run->environment.log,
                                        .chronicle = &run->chronicle,
                                        .folder = &run->setup.folder};
    nj_disk_pause_init(&run->pause, run->environment.fs);
    run->environment.fs = &run->pause.files.table;
}

static void prepare_host(struct run *run)
{
    struct nj_run_setup *setup = &run->setup;
    run->folder_host = (struct nj_folder_host){.journal = &setup->logs.files[NJ_LOG_JOURNAL],
                                               .ledger = &setup->ledger,
                                               .place = &setup->folder,
                                               .pause = can_wait(run) ? &run->pause : NULL,
                                               .chronicle = &run->chronicle,
                                               .observer = run->environment.observer};
    run->folder_table = nj_folder_host_table(&run->folder_host);
    const struct nj_run_patron *patron = run->environment.patron;
    run->host =
        patron != NULL ? patron->over(patron->context, &run->folder_table) : run->folder_table;
}

static void prepare_checkpoint(struct run *run)
{
    struct nj_run_setup *setup = &run->setup;
    run->checkpoint = (struct nj_checkpoint){.fs = run->environment.fs,
                                             .tokens = &setup->logs.files[NJ_LOG_TOKENS],
                                             .results = &setup->logs.files[NJ_LOG_RESULTS],
                                             .host = &run->host,
                                             .ledger = &setup->ledger,
                                             .tokenizer = setup->subject.tokenizer};
}

static enum nj_status prepare_snapshots(struct run *run, struct nj_error *err)
{
    struct nj_run_setup *setup = &run->setup;
    /* The writer's thread must not be the one that waits for room and asks people. */
    struct nj_run_snapshots_place place = {.fs = run->impatient_fs,
                                           .run_directory_fd = setup->folder.directory_fd,
                                           .clock = run->environment.clock,
                                           .log = run->environment.log,
                                           .journal = &setup->logs.files[NJ_LOG_JOURNAL],
                                           .history = &setup->history,
                                           .observer = run->environment.observer,
                                           .folder_path = setup->folder.path,
                                           .model = setup->engine.model,
                                           .weights = &setup->subject.info.fingerprint,
                                           .entropy = run->environment.entropy,
                                           .n_slots = setup->engine.batch,
                                           .buffer_bytes = setup->engine.snapshot_buffer_bytes,
                                           .only_reads = setup->engine.has_states_on_disk};
    return nj_run_snapshots_open(&run->snapshots, &place, &setup->spec->snapshot,
                                 setup->engine.generator, err);
}

static enum nj_status prepare_states(struct run *run, struct nj_error *err)
{
    struct nj_run_setup *setup = &run->setup;
    const struct nj_run_engine *engine = &setup->engine;
    struct nj_disk_states_place place = {.fs = run->impatient_fs,
                                         .patient_fs = run->environment.fs,
                                         .run_directory_fd = setup->folder.directory_fd,
                                         .clock = run->environment.clock,
                                         .log = run->environment.log,
                                         .journal = &setup->logs.files[NJ_LOG_JOURNAL],
                                         .ledger = &setup->ledger,
                                         .model = engine->model,
                                         .weights = &setup->subject.info.fingerprint,
                                         .entropy = run->environment.entropy,
                                         .n_slots = engine->batch,
                                         .most_positions = setup->most_positions,
                                         .is_on_disk = engine->has_states_on_disk,
                                         .window_bytes = engine->window_bytes,
                                         .bytes_per_hour =
                                             setup->spec->snapshot.write_budget_bytes,
                                         .is_width_bound = engine->is_width_bound};
    return nj_disk_states_open(&run->states, &place, err);
}

static enum nj_status prepare_loop(struct run *run, struct nj_error *err)
{
    struct nj_run_setup *setup = &run->setup;
    struct nj_loop *loop = &run->loop;
    loop->n_slots = setup->engine.batch;
    loop->slots = calloc(loop->n_slots, sizeof *loop->slots);
    loop->events = calloc(loop->n_slots, sizeof *loop->events);
    if (loop->slots == NULL || loop->events == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "run %u items at once: out of memory", loop->n_slots);
    }
    loop->host = &run->host;
    loop->supply = (struct nj_slot_supply){.generator = setup->engine.generator,
                                           .source = &setup->source,
                                           .setting = &setup->subject.setting,
                                           .ledger = &setup->ledger};
    loop->checkpoint = &run->checkpoint;
    loop->snapshots = &run->snapshots;
    loop->states = &run->states;
    loop->clock = run->environment.clock;
    loop->limits = setup->limits;
    loop->n_items_kept = setup->report->n_items_kept;
    return NJ_OK;
}

static void prepare_prefixes(struct run *run)
{
    struct nj_run_setup *setup = &run->setup;
    const struct nj_run_prefixes_place place = {.fs = run->impatient_fs,
                                                .tree = setup->prefixes,
                                                .options = setup->options,
                                                .resources = &setup->spec->resources,
                                                .model = setup->engine.model,
                                                .generator = setup->engine.generator,
                                                .weights = &setup->subject.info.fingerprint,
                                                .batch = setup->engine.batch,
                                                .most_positions = setup->most_positions,
                                                .log = run->environment.log,
                                                .clock = run->environment.clock,
                                                .entropy = run->environment.entropy,
                                                .least_store_ns =
                                                    run->environment.prefix_store_ns};
    nj_run_prefixes_open(&run->prefixes, &place);
}

static enum nj_status prepare_work(struct run *run, struct nj_error *err)
{
    prepare_host(run);
    prepare_checkpoint(run);
    enum nj_status status = prepare_loop(run, err);
    if (status == NJ_OK) {
        status = prepare_snapshots(run, err);
    }
    if (status == NJ_OK) {
        status = prepare_states(run, err);
    }
    if (status == NJ_OK) {
        prepare_prefixes(run); /* where states live decides whether */
    }
    return status == NJ_OK ? nj_checkpoint_open_live(&run->checkpoint, err) : status;
}

static void fill_report(struct run *run)
{
    const struct nj_run_setup *setup = &run->setup;
    const struct nj_loop_counts *counts = &run->loop.counts;
    struct nj_run_report *report = setup->report;
    report->n_items_ok = setup->ledger.n_ok;
    report->n_items_failed = setup->ledger.n_failed;
    report->n_items_resumed = counts->n_resumed;
    report->n_tokens_generated = counts->n_generated;
    report->n_tokens_restored = counts->n_restored;
    report->n_prompt_tokens = counts->n_prompt;
    report->n_sweeps = counts->n_sweeps;
    report->n_positions_restored = run->snapshots.counts.n_positions + run->states.n_positions;
    if (run->states.home != NULL) {
        struct nj_slot_stats stats = nj_slot_home_stats(run->states.home);
        report->has_states_on_disk = true;
        report->state_bytes_read = stats.read_bytes;
        report->state_bytes_written = stats.written_bytes;
    }
    report->n_snapshots = run->snapshots.counts.n_durable;
    if (setup->engine.generator != NULL) {
        struct nj_prefix_counts prefixes = nj_generator_prefix_counts(setup->engine.generator);
        report->n_prefix_tokens = prefixes.n_read_once;
        report->n_prefix_forks = prefixes.n_forks;
        report->n_prefix_tokens_spared = prefixes.n_spared;
        report->n_prefix_tokens_loaded = prefixes.n_from_storage;
        report->prefix_memory_bytes =
            nj_generator_prefix_shelf(setup->engine.generator)->peak_bytes;
        report->n_prefixes_stored = run->prefixes.n_stored;
        report->prefix_stored_bytes = run->prefixes.stored_bytes;
        report->n_rows = nj_generator_n_rows(setup->engine.generator);
        report->weight_bytes_read = nj_model_read_bytes(setup->engine.model);
    }
}

static struct nj_derived derived_of(struct run *run)
{
    struct nj_run_setup *setup = &run->setup;
    const struct nj_model *model = setup->engine.model;
    const struct nj_generator *generator = setup->engine.generator;
    return (struct nj_derived){
        .fs = run->environment.fs,
        .directory_fd = setup->folder.directory_fd,
        .log = run->environment.log,
        .source = &setup->source,
        .manifest = {.spec = setup->spec,
                     .identity = &setup->identity,
                     .ledger = &setup->ledger,
                     .history = &setup->history,
                     .options = setup->options,
                     .model_path = setup->subject.model_path,
                     .cpu_level = model != NULL ? nj_model_cpu_level(model) : NULL,
                     .prefixes = generator != NULL ? nj_generator_prefix_counts(generator)
                                                   : (struct nj_prefix_counts){0}}};
}

static void tidy(const struct run *run)
{
    nj_state_folders_tidy(run->impatient_fs, run->setup.folder.directory_fd, &run->setup.ledger,
                          run->environment.log);
}

/* Everything is done: results in input order, manifest, and then the last word in the journal.
 * Whoever dies before it does all of it again. */
static enum nj_status finish(struct run *run, struct nj_error *err)
{
    struct nj_journal_entry turn = nj_chronicle_turn(&run->chronicle, NJ_JOURNAL_FINISHED);
    nj_run_snapshots_rest(&run->snapshots);
    tidy(run);
    enum nj_status status = nj_history_add(&run->setup.history, &turn, err);
    if (status == NJ_OK) {
        struct nj_derived derived = derived_of(run);
        status = nj_derived_write(&derived, err);
    }
    if (status == NJ_OK) {
        status =
            nj_disk_states_remove_all(run->environment.fs, run->setup.folder.directory_fd, err);
    }
    return status == NJ_OK ? nj_chronicle_log(&run->chronicle, &turn, err) : status;
}

/* The run ends with items left: by a signal, or by a limit. */
static enum nj_status stop(struct run *run, struct nj_error *err)
{
    const struct nj_loop *loop = &run->loop;
    bool is_limit = loop->limit != NJ_RUN_LIMIT_NONE;
    const struct nj_ledger *ledger = &run->setup.ledger;
    uint64_t n_done = ledger->n_ok + ledger->n_failed;
    enum nj_status status = nj_chronicle_write(&run->chronicle, NJ_JOURNAL_STOPPED, err);
    if (n_done > 0) {
        nj_log_write(run->environment.log, NJ_LOG_INFO,
                     "finished items so far are in %s/live.jsonl",
                     run->setup.report->output_directory);
    }
    nj_chronicle_tell(&run->chronicle, NJ_EVENT_RUN_PAUSED,
                      is_limit ? nj_run_limit_name(loop->limit) : "signal");
    if (status != NJ_OK) {
        return status;
    }
    if (is_limit) {
        return nj_run_limits_fail(&loop->limits, loop->limit, ledger->n_failed,
                                  now_ns(run) - loop->began_ns, err);
    }
    return nj_fail(err, NJ_E_STOPPED, "stopped: %llu of %llu items done",
                   (unsigned long long)n_done, (unsigned long long)ledger->n_items);
}

static enum nj_status work(struct run *run, struct nj_error *err)
{
    struct nj_derived derived = derived_of(run);
    enum nj_status status = nj_derived_remove_stale(&derived, err);
    if (status == NJ_OK) {
        tidy(run);
        status = prepare_work(run, err);
    }
    if (status == NJ_OK) {
        nj_chronicle_begin(&run->chronicle);
        status = nj_chronicle_write(&run->chronicle, NJ_JOURNAL_STARTED, err);
    }
    if (status != NJ_OK) {
        return nj_run_folder_name_in(&run->setup.folder, status, err);
    }
    nj_ballast_take_on(run->impatient_fs, run->setup.folder.directory_fd);
    nj_chronicle_tell(&run->chronicle, NJ_EVENT_RUN_STARTED, "");
    status = nj_loop_run(&run->loop, err);
    if (status == NJ_OK) {
        nj_run_prefixes_store(&run->prefixes, &run->snapshots.budget);
    }
    /* A host may also have no more items for us, with some left. */
    bool has_stopped = run->loop.was_stopped || run->loop.limit != NJ_RUN_LIMIT_NONE ||
                       !nj_run_setup_is_all_done(&run->setup);
    return status == NJ_OK && has_stopped ? stop(run, err) : status;
}

/* The setup is made: computes what is left, and ends with all files written. */
static enum nj_status complete(struct run *run, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    bool had_work = !nj_run_setup_is_all_done(&run->setup);
    if (!had_work && run->setup.history.is_finished) {
        struct nj_derived derived = derived_of(run);
        return nj_run_folder_name_in(&run->setup.folder, nj_derived_mend(&derived, err), err);
    }
    if (had_work) {
        status = work(run, err);
    } else { /* who died before the end may have left it behind */
        status = nj_export_live(run->environment.fs, run->setup.folder.directory_fd,
                                &run->setup.ledger, err);
        status = nj_run_folder_name_in(&run->setup.folder, status, err);
    }
    if (status == NJ_OK) {
        status = nj_run_folder_name_in(&run->setup.folder, finish(run, err), err);
    }
    if (status == NJ_OK && had_work) {
        nj_chronicle_tell(&run->chronicle, NJ_EVENT_RUN_DONE, "");
    }
    return status;
}

static enum nj_status tell_patron(struct run *run, struct nj_error *err)
{
    const struct nj_run_patron *patron = run->environment.patron;
    return patron == NULL ? NJ_OK
                          : patron->begin(patron->context, &run->setup.ledger,
                                          run->setup.engine.batch, err);
}

static enum nj_status run_all(struct run *run, struct nj_error *err)
{
    enum nj_status status = nj_check_job_is_obeyed(run->setup.spec, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_tell_what_is_ignored(run->setup.spec, run->environment.log);
    status = nj_run_setup_make(&run->setup, err);
    if (status != NJ_OK) {
        return status;
    }
    status = tell_patron(run, err);
    if (status == NJ_OK) {
        status = complete(run, err);
    }
    /* Reading fails of the model's files too, and these have names of their own. */
    return status == NJ_E_IO ? status : nj_run_folder_name_in(&run->setup.folder, status, err);
}

static void release(struct run *run)
{
    const struct nj_file_system *fs = run->environment.fs;
    nj_checkpoint_deinit(&run->checkpoint);
    nj_run_prefixes_close(&run->prefixes);
    nj_disk_states_close(&run->states);
    nj_run_snapshots_close(&run->snapshots); /* after the loop: it looks at its sequences */
    free(run->loop.slots);
    free(run->loop.events);
    if (run->setup.folder.is_open) {
        nj_ballast_drop(fs, run->setup.folder.directory_fd);
    }
    nj_run_setup_deinit(&run->setup);
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
    memset(report, 0, sizeof *report);
    run->environment = *environment;
    run->impatient_fs = environment->fs;
    run->setup = (struct nj_run_setup){.environment = &run->environment,
                                       .spec = spec,
                                       .job_file = job_file,
                                       .options = options,
                                       .report = report};
    prepare_chronicle(run);
    prepare_pause(run);
    uint64_t began_ns = now_ns(run);
    enum nj_status status = run_all(run, err);
    if (status != NJ_OK && run->pause.was_stopped) {
        status = nj_fail(err, NJ_E_STOPPED, "stopped while it waited for room on the disk");
    }
    fill_report(run);
    report->elapsed_ns = now_ns(run) - began_ns;
    release(run);
    free(run);
    return status;
}
