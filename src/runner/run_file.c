#include "nightjar/run.h"

#include <fcntl.h>
#include <time.h>

#include "job/spec_yaml.h"
#include "runner/run.h"

static enum nj_run_control ask(void *context)
{
    const struct nj_run_options *options = context;
    return options->should_stop != NULL && options->should_stop(options->context)
               ? NJ_RUN_DRAIN
               : NJ_RUN_GO_ON;
}

static void wait(void *context, uint64_t duration_ns)
{
    const struct timespec duration = {.tv_sec = (time_t)(duration_ns / 1000000000),
                                      .tv_nsec = (long)(duration_ns % 1000000000)};
    (void)context;
    (void)nanosleep(&duration, NULL); /* woken early, it only looks sooner */
}

static enum nj_status run_spec(const struct nj_run_environment *environment,
                               const struct nj_run_options *options, struct nj_arena *arena,
                               struct nj_diagnostics *diagnostics, struct nj_run_report *report,
                               struct nj_error *err)
{
    struct nj_bytes content;
    const struct nj_job_spec *spec = NULL;
    enum nj_status status = nj_file_read_whole(environment->fs, AT_FDCWD, options->job_path,
                                               NJ_JOB_FILE_LIMIT_BYTES, arena, &content, err);
    if (status == NJ_OK) {
        status = nj_job_spec_read(options->job_path, content, arena, diagnostics, &spec, err);
    }
    return status == NJ_OK ? nj_run_job(environment, spec, content, options, report, err)
                           : status;
}

enum nj_status nj_run_file(const struct nj_run_options *options, struct nj_run_report *report,
                           struct nj_error *err)
{
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    struct nj_run_options copy = *options;
    struct nj_run_observer observer = {.context = &copy, .poll = ask, .wait = wait};
    struct nj_run_environment environment = {
        .fs = nj_file_system_real(), .clock = nj_clock_system(), .observer = &observer};
    *report = (struct nj_run_report){0};
    enum nj_status status = nj_run_entropy(&environment.entropy, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_diagnostics_init(&diagnostics, &arena);
    status = run_spec(&environment, &copy, &arena, &diagnostics, report, err);
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
    return status;
}
