#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/clean_text.h"
#include "cli/cli.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/job_file.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/words.h"
#include "runner/run.h"
#include "tools/cpu_level.h"

static const char usage[] =
    "nightjar run FILE.yaml [flags]\n"
    "\n"
    "Runs the job and writes DIR/results.jsonl. Stopped or killed at any moment, the same\n"
    "command continues, and the results have the same bytes.\n"
    "\n"
    "  --model DIR          the model, instead of the job's `model`\n"
    "  --out DIR            the run folder; else `output.dir`/NAME, else results/NAME\n"
    "  --restart            in a folder of a changed job: keep finished items that are the\n"
    "                       same at the same position (id, variables, prompt, options),\n"
    "                       do all others anew\n"
    "  --fresh              move an old run aside to DIR.1, DIR.2, ... and begin again\n"
    "  --json               events as JSON Lines on standard output, errors as JSON\n"
    "  --latent-norm-eps X  override the model's setting; above 0, at most 1\n"
    "\n"
    "These change the time it takes, and no byte of the results:\n"
    "  --threads N          compute threads, 1 to 1024; default one per CPU\n"
    "  --batch N            items under way at once; default 16\n"
    "  --prefill-chunk N    prompt tokens of one item in one sweep; default as many as fit\n"
    "  --cpu-level L        auto, scalar, avx2, avx512\n"
    "\n"
    "Exit codes:\n"
    "   0  every item is done\n"
    "   1  numbers were not finite, or the output could not be written\n"
    "   2  the command line makes no sense\n"
    "   3  the job file or its rows are wrong\n"
    "   6  changed job, model or numerics, or a folder in use\n"
    "   7  finished, but some items failed\n"
    "   9  permission denied\n"
    "  11  memory, threads or disk do not suffice\n"
    "  12  the model is damaged, missing or unreadable\n"
    "  13  storage failed; the same command continues\n"
    "  70  internal error\n"
    "  75  stopped by a signal; the same command continues\n";

struct arguments {
    struct nj_run_options options;
    bool restart;
    bool fresh;
    bool as_json;
    bool help;
};

/* What a run in the foreground is watched by. */
struct watcher {
    bool as_json;
    struct nj_progress progress;  /* for people */
    struct nj_json_writer writer; /* for programs */
    bool has_told_end;            /* run_done or run_paused */
    struct nj_signals *signals;
};

/* One line, at once: whoever reads it may be waiting for it. A reader that has gone does not
 * end a run; other failures of stdout are told at the end of the program. */
static void print_event(struct watcher *watcher, const struct nj_event *event)
{
    nj_json_writer_reset(&watcher->writer);
    nj_event_write(&watcher->writer, event);
    (void)nj_json_print(&watcher->writer, stdout); /* out of memory is told there */
    (void)fflush(stdout);
    watcher->has_told_end = watcher->has_told_end || event->type == NJ_EVENT_RUN_DONE ||
                            event->type == NJ_EVENT_RUN_PAUSED;
}

static void watch_event(void *context, const struct nj_event *event)
{
    struct watcher *watcher = context;
    if (event->type == NJ_EVENT_RUN_STARTED) {
        nj_signals_begin_draining(watcher->signals);
    }
    if (watcher->as_json) {
        print_event(watcher, event);
    } else {
        nj_progress_event(&watcher->progress, event);
    }
}

static enum nj_run_control watch_poll(void *context)
{
    const struct watcher *watcher = context;
    return nj_signals_received(watcher->signals) != 0 ? NJ_RUN_DRAIN : NJ_RUN_GO_ON;
}

static uint64_t watch_free_bytes(void *context, const char *path)
{
    (void)context;
    struct statvfs status;
    if (statvfs(path, &status) != 0) {
        return UINT64_MAX;
    }
    return (uint64_t)status.f_bavail * status.f_frsize;
}

static void watch_wait(void *context, uint64_t duration_ns)
{
    const struct timespec duration = {.tv_sec = (time_t)(duration_ns / 1000000000),
                                      .tv_nsec = (long)(duration_ns % 1000000000)};
    (void)context;
    (void)nanosleep(&duration, NULL); /* woken early, it only looks sooner */
}

static void watch_log(void *context, enum nj_log_level level, const char *line)
{
    struct watcher *watcher = context;
    (void)level;
    nj_progress_end_line(&watcher->progress);
    nj_complain_warning(watcher->as_json, line);
}

static enum nj_status parse(int argc, char **argv, struct arguments *arguments,
                            struct nj_error *err)
{
    struct nj_run_options *options = &arguments->options;
    const struct nj_flag flags[] = {
        {"--help", &arguments->help, NJ_FLAG_SWITCH, 0},
        {"-h", &arguments->help, NJ_FLAG_SWITCH, 0},
        {"--model", &options->model_path, NJ_FLAG_TEXT, 0},
        {"--out", &options->output_directory, NJ_FLAG_TEXT, 0},
        {"--json", &arguments->as_json, NJ_FLAG_SWITCH, 0},
        {"--restart", &arguments->restart, NJ_FLAG_SWITCH, 0},
        {"--fresh", &arguments->fresh, NJ_FLAG_SWITCH, 0},
        {"--threads", &options->n_threads, NJ_FLAG_COUNT, 1024},
        {"--batch", &options->batch, NJ_FLAG_COUNT, 0},
        {"--prefill-chunk", &options->prefill_chunk, NJ_FLAG_COUNT, 0},
        {"--cpu-level", &options->cpu_level, NJ_FLAG_TEXT, 0},
        {"--latent-norm-eps", &options->latent_norm_eps, NJ_FLAG_NUMBER, 1},
    };
    int n_files = 0;
    enum nj_status status =
        nj_flags_parse(argc, argv, flags, sizeof flags / sizeof flags[0], &n_files, err);
    if (status != NJ_OK || arguments->help) {
        return status;
    }
    if (n_files != 1) {
        return nj_fail(err, NJ_E_USAGE, "run wants one job file, %d were given", n_files);
    }
    status = nj_cpu_level_check(options->cpu_level, err);
    if (status != NJ_OK) {
        return status;
    }
    if (arguments->restart && arguments->fresh) {
        return nj_fail(err, NJ_E_USAGE, "--restart and --fresh exclude each other");
    }
    options->job_path = argv[0];
    options->mode = arguments->fresh     ? NJ_RUN_FRESH
                    : arguments->restart ? NJ_RUN_RESTART
                                         : NJ_RUN_CONTINUE;
    return NJ_OK;
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
    if (n_done == report->n_items_kept && report->n_sweeps == 0) {
        (void)fprintf(stderr, "nightjar: nothing to do: %s%s finished before\n",
                      report->n_items == 1 ? "" : "all ", all);
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
}

/* `text` as one word of a shell; control characters as bash and zsh read them back. */
static void print_quoted(FILE *file, const char *text)
{
    bool is_plain =
        text[0] != '\0' && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-./=+:@%,") == strlen(text);
    if (is_plain) {
        (void)fputs(text, file);
        return;
    }
    (void)fputc('\'', file);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'') {
            (void)fputs("'\\''", file);
        } else if ((unsigned char)*c < 0x20 || *c == 0x7F) {
            (void)fprintf(file, "'$'\\x%02x''", (unsigned char)*c);
        } else {
            (void)fputc(*c, file);
        }
    }
    (void)fputc('\'', file);
}

static void print_command(int argc, char *const *argv)
{
    (void)fputs("nightjar: continue with: nightjar run", stderr);
    for (int i = 0; i < argc; i++) {
        (void)fputc(' ', stderr);
        print_quoted(stderr, argv[i]);
    }
    (void)fputc('\n', stderr);
}

static enum nj_status run_parsed(const struct arguments *arguments, struct watcher *watcher,
                                 const struct nj_job_file *job,
                                 struct nj_diagnostics *complaints,
                                 struct nj_run_report *report, struct nj_error *err)
{
    const struct nj_run_observer observer = {.context = watcher,
                                             .event = watch_event,
                                             .poll = watch_poll,
                                             .free_bytes = watch_free_bytes,
                                             .wait = watch_wait};
    const struct nj_log log = {.context = watcher, .level = NJ_LOG_INFO, .sink = watch_log};
    struct nj_run_environment environment = {.fs = nj_file_system_real(),
                                             .clock = nj_clock_system(),
                                             .log = &log,
                                             .observer = &observer,
                                             .complaints = complaints};
    enum nj_status status = nj_run_entropy(&environment.entropy, err);
    return status == NJ_OK ? nj_run_job(&environment, job->spec, job->content,
                                        &arguments->options, report, err)
                           : status;
}

/* The last event of a run that had none, because everything was done before. */
static void tell_end(struct watcher *watcher, const struct nj_job_file *job,
                     const struct nj_run_report *report)
{
    struct nj_clock clock = nj_clock_system();
    const struct nj_event event = {.type = NJ_EVENT_RUN_DONE,
                                   .unix_ms = clock.unix_ms(clock.context),
                                   .job_name = job->spec->name,
                                   .folder = nj_text_from(report->output_directory),
                                   .n_items = report->n_items,
                                   .n_items_done = report->n_items_ok + report->n_items_failed,
                                   .n_items_failed = report->n_items_failed,
                                   .n_items_kept = report->n_items_kept};
    if (!watcher->has_told_end) {
        print_event(watcher, &event);
    }
}

/* The path is for programs too, so nothing is escaped unless a terminal would obey it. */
static void print_results_path(const struct nj_run_report *report)
{
    if (isatty(STDOUT_FILENO) == 1) {
        nj_clean_print(stdout, nj_text_from(report->output_directory));
        (void)puts("/results.jsonl");
    } else {
        (void)printf("%s/results.jsonl\n", report->output_directory);
    }
}

/* After NJ_OK and NJ_E_STOPPED. */
static int report_end(enum nj_status status, struct watcher *watcher,
                      const struct nj_job_file *job, const struct nj_run_report *report)
{
    if (!watcher->as_json) {
        print_summary(report);
    }
    if (status == NJ_E_STOPPED) {
        return NJ_EXIT_STOPPED;
    }
    if (watcher->as_json) {
        tell_end(watcher, job, report);
    } else {
        print_results_path(report);
    }
    return report->n_items_failed > 0 ? NJ_EXIT_SOME_FAILED : NJ_EXIT_OK;
}

static int run_job(const struct arguments *arguments, struct watcher *watcher,
                   const struct nj_job_file *job)
{
    struct nj_run_report report = {0};
    struct nj_error err = {0};
    struct nj_arena arena = {0};
    struct nj_diagnostics complaints;
    nj_diagnostics_init(&complaints, &arena);
    enum nj_status status = run_parsed(arguments, watcher, job, &complaints, &report, &err);
    nj_progress_end_line(&watcher->progress);
    int code = status == NJ_OK || status == NJ_E_STOPPED
                   ? report_end(status, watcher, job, &report)
                   : nj_complain_failure(watcher->as_json, status, &err, &complaints);
    nj_diagnostics_deinit(&complaints);
    nj_arena_deinit(&arena);
    return code;
}

static int run_job_file(const struct arguments *arguments, struct watcher *watcher)
{
    struct nj_job_file job;
    struct nj_error err = {0};
    int code = NJ_EXIT_OK;
    enum nj_status status = nj_job_file_open(&job, arguments->options.job_path, &err);
    if (status == NJ_OK) {
        nj_complain_warnings(watcher->as_json, &job.diagnostics);
        code = run_job(arguments, watcher, &job);
    } else {
        code = nj_complain_failure(watcher->as_json, status, &err, &job.diagnostics);
    }
    nj_job_file_close(&job);
    return code;
}

/* A terminal that can go back in its line. */
static bool has_live_line(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

int nj_cli_run(int argc, char **argv)
{
    enum { ARGUMENTS_LIMIT = 64 };
    struct arguments arguments = {.as_json = nj_flags_mention(argc, argv, "--json")};
    struct watcher watcher = {.as_json = arguments.as_json};
    struct nj_error err = {0};
    char *given[ARGUMENTS_LIMIT];
    int n_given = argc < ARGUMENTS_LIMIT ? argc : ARGUMENTS_LIMIT;
    memcpy(given, argv, (size_t)n_given * sizeof *given);
    enum nj_status status = parse(argc, argv, &arguments, &err);
    if (status == NJ_OK && arguments.help) {
        (void)fputs(usage, stdout);
        return NJ_EXIT_OK;
    }
    if (status == NJ_OK) {
        status = nj_signals_create(&watcher.signals, &err);
    }
    if (status != NJ_OK) {
        return nj_complain_failure(arguments.as_json, status, &err, NULL);
    }
    nj_json_writer_init(&watcher.writer);
    nj_progress_init(&watcher.progress, stderr, has_live_line(), nj_clock_system());
    int code = run_job_file(&arguments, &watcher);
    if (code == NJ_EXIT_STOPPED && !watcher.as_json) {
        print_command(n_given, given);
    }
    nj_json_writer_deinit(&watcher.writer);
    nj_signals_destroy(watcher.signals);
    return code;
}
