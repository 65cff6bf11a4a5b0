#include "cli/run_jobs.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/clean_text.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/words.h"
#include "runner/check.h"
#include "runner/obeyed.h"
#include "runner/run.h"

/* --- the end of a job --- */

/* What sharing spared, and what it held in memory and wrote for it. */
static void print_prefixes(const struct nj_run_report *report)
{
    char once[NJ_WORDS_BYTES];
    char items[NJ_WORDS_BYTES];
    char spared[NJ_WORDS_BYTES];
    char loaded[NJ_WORDS_BYTES];
    if (report->n_prefix_forks == 0 && report->n_prefix_tokens_loaded == 0 &&
        report->n_prefixes_stored == 0) {
        return;
    }
    (void)fprintf(stderr,
                  "nightjar: shared prefixes: %s read once and taken over by %s, %s not read "
                  "again; %s from the cache; %.1f MB of memory, %.1f MB stored\n",
                  nj_words_count(report->n_prefix_tokens, "token", once),
                  nj_words_count(report->n_prefix_forks, "item", items),
                  nj_words_number(report->n_prefix_tokens_spared, spared),
                  nj_words_number(report->n_prefix_tokens_loaded, loaded),
                  (double)report->prefix_memory_bytes * 1e-6,
                  (double)report->prefix_stored_bytes * 1e-6);
}

static void print_summary(const struct nj_run_report *report)
{
    uint64_t n_done = report->n_items_ok + report->n_items_failed;
    char done[NJ_WORDS_BYTES];
    char all[NJ_WORDS_BYTES];
    char failed[NJ_WORDS_BYTES];
    char tokens[NJ_WORDS_BYTES];
    char restored[NJ_WORDS_BYTES];
    (void)nj_words_count(report->n_items, "item", all);
    if (n_done == report->n_items && report->n_items_kept == n_done && report->n_sweeps == 0) {
        (void)fprintf(stderr, "nightjar: nothing to do: %s%s finished before, %s failed\n",
                      report->n_items == 1 ? "" : "all ", all,
                      nj_words_number(report->n_items_failed, failed));
        return;
    }
    (void)fprintf(stderr,
                  "nightjar: %s of %s done, %s failed; %s generated, %s restored; %.1f s; "
                  "%.1f MB of weights read\n",
                  nj_words_number(n_done, done), all,
                  nj_words_number(report->n_items_failed, failed),
                  nj_words_count(report->n_tokens_generated, "token", tokens),
                  nj_words_number(report->n_tokens_restored, restored),
                  (double)report->elapsed_ns * 1e-9, (double)report->weight_bytes_read * 1e-6);
    print_prefixes(report);
}

/* The path is for programs too, so nothing is escaped unless a terminal would obey it. */
static void print_results_path(const struct nj_run_report *report)
{
    if (isatty(STDOUT_FILENO) == 1) {
        nj_clean_print_line(stdout, nj_text_from(report->output_directory));
        (void)puts("/results.jsonl");
    } else {
        (void)printf("%s/results.jsonl\n", report->output_directory);
    }
}

static void tell_where_failed_items_are(const struct nj_run_report *report)
{
    char text[NJ_RUN_PATH_BYTES + 64];
    (void)snprintf(text, sizeof text, "failed items are in %s/errors.jsonl",
                   report->output_directory);
    nj_clean_complain(text);
}

/* After NJ_OK and NJ_E_STOPPED. */
static int report_end(enum nj_status status, struct nj_watcher *watcher,
                      const struct nj_job_spec *spec, const struct nj_run_report *report)
{
    if (!watcher->as_json) {
        print_summary(report);
    }
    if (status == NJ_E_STOPPED) {
        return NJ_EXIT_STOPPED;
    }
    bool has_failed = report->n_items_failed > 0;
    if (watcher->as_json) {
        nj_watcher_tell_done(watcher, spec, report);
    } else {
        print_results_path(report);
    }
    if (has_failed && !watcher->as_json) {
        tell_where_failed_items_are(report);
    }
    return has_failed ? NJ_EXIT_SOME_FAILED : NJ_EXIT_OK;
}

/* --- a job --- */

static enum nj_status run_spec(const struct nj_job_spec *spec, const struct nj_job_file *file,
                               const struct nj_run_options *options, struct nj_watcher *watcher,
                               struct nj_diagnostics *complaints, struct nj_run_report *report,
                               struct nj_error *err)
{
    const struct nj_run_observer observer = nj_watcher_observer(watcher);
    const struct nj_log log = nj_watcher_log(watcher);
    struct nj_run_environment environment = {.fs = nj_file_system_real(),
                                             .clock = nj_clock_system(),
                                             .log = &log,
                                             .observer = &observer,
                                             .overrides = &file->overrides,
                                             .n_jobs = file->jobs.n_items,
                                             .complaints = complaints};
    enum nj_status status = nj_run_entropy(&environment.entropy, err);
    return status == NJ_OK ? nj_run_job(&environment, spec, file->content, options, report, err)
                           : status;
}

static int run_job(const struct nj_job_spec *spec, const struct nj_job_file *file,
                   const struct nj_run_options *options, struct nj_watcher *watcher)
{
    struct nj_run_report report = {0};
    struct nj_error err = {0};
    struct nj_arena arena = {0};
    struct nj_diagnostics complaints;
    nj_diagnostics_init(&complaints, &arena);
    nj_watcher_begin_job(watcher, spec);
    enum nj_status status = run_spec(spec, file, options, watcher, &complaints, &report, &err);
    nj_watcher_end_line(watcher);
    int code = status == NJ_OK || status == NJ_E_STOPPED
                   ? report_end(status, watcher, spec, &report)
                   : nj_complain_failure(watcher->as_json, status, &err, &complaints);
    nj_diagnostics_deinit(&complaints);
    nj_arena_deinit(&arena);
    return code;
}

/* --- several jobs --- */

/* One run of the program has one model. A flag says which. */
static void check_models(const struct nj_job_specs *jobs, struct nj_diagnostics *complaints)
{
    const struct nj_job_model *first = NULL;
    for (size_t i = 0; i < jobs->n_items; i++) {
        for (size_t k = 0; k < jobs->items[i]->n_models; k++) {
            const struct nj_job_model *model = &jobs->items[i]->models[k];
            first = first == NULL ? model : first;
            if (!nj_text_equal(model->path, first->path)) {
                nj_diagnose(complaints, NJ_SEVERITY_ERROR, model->place,
                            "split the file by model, or give one with --model",
                            "a second model: 'run' uses one for all jobs of a file, and line "
                            "%u names another",
                            first->place.line);
                return;
            }
        }
    }
}

static enum nj_status check_job(const struct nj_job_spec *spec,
                                const struct nj_run_options *options,
                                struct nj_diagnostics *complaints, struct nj_error *err)
{
    struct nj_run_check check;
    enum nj_status status = nj_check_job_is_obeyed(spec, err);
    return status == NJ_OK
               ? nj_run_check_job(nj_file_system_real(), spec, options, complaints, &check, err)
               : status;
}

/* What a run of the last job would refuse must not come up when the first has run all night. */
static int check_jobs(const struct nj_job_specs *jobs, const struct nj_run_options *options,
                      bool as_json)
{
    struct nj_error err = {0};
    struct nj_arena arena = {0};
    struct nj_diagnostics complaints;
    nj_diagnostics_init(&complaints, &arena);
    if (options->model_path == NULL) {
        check_models(jobs, &complaints);
    }
    enum nj_status status = nj_diagnostics_status(&complaints, &err);
    for (size_t i = 0; i < jobs->n_items && status == NJ_OK; i++) {
        status = check_job(jobs->items[i], options, &complaints, &err);
    }
    int code =
        status == NJ_OK ? NJ_EXIT_OK : nj_complain_failure(as_json, status, &err, &complaints);
    nj_diagnostics_deinit(&complaints);
    nj_arena_deinit(&arena);
    return code;
}

static void tell_which(const struct nj_job_specs *jobs, size_t index)
{
    struct nj_text name = jobs->items[index]->name;
    char text[256];
    (void)snprintf(text, sizeof text, "job %.*s, %zu of %zu", (int)name.length_bytes, name.data,
                   index + 1, jobs->n_items);
    nj_clean_complain(text);
}

static int worse(int code, int next)
{
    if (code == NJ_EXIT_OK || (code == NJ_EXIT_SOME_FAILED && next != NJ_EXIT_OK)) {
        return next;
    }
    return code;
}

static bool goes_on_after(int code)
{
    return code == NJ_EXIT_OK || code == NJ_EXIT_SOME_FAILED || code == NJ_EXIT_FAILED ||
           code == NJ_EXIT_STATE;
}

static int run_one_by_one(const struct nj_job_file *file, const struct nj_run_options *options,
                          struct nj_watcher *watcher)
{
    struct nj_run_options own = *options;
    int code = NJ_EXIT_OK;
    int last = NJ_EXIT_OK;
    own.output_directory = NULL;
    for (size_t i = 0; i < file->jobs.n_items && goes_on_after(last); i++) {
        struct nj_job_spec spec = *file->jobs.items[i];
        if (options->output_directory != NULL) {
            spec.output_directory = options->output_directory; /* the job's name goes below */
        }
        if (nj_watcher_is_asked_to_stop(watcher)) {
            return NJ_EXIT_STOPPED;
        }
        if (!watcher->as_json) {
            tell_which(&file->jobs, i);
        }
        last = run_job(&spec, file, &own, watcher);
        code = last == NJ_EXIT_STOPPED ? last : worse(code, last);
    }
    return code;
}

int nj_run_jobs(const struct nj_job_file *file, const struct nj_run_options *options,
                struct nj_watcher *watcher)
{
    if (file->jobs.n_items == 1) {
        return run_job(file->jobs.items[0], file, options, watcher);
    }
    int code = check_jobs(&file->jobs, options, watcher->as_json);
    return code == NJ_EXIT_OK ? run_one_by_one(file, options, watcher) : code;
}
