#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/clean_text.h"
#include "cli/cli.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/job_file.h"
#include "cli/progress.h"
#include "cli/signals.h"
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
    "                       same, do all others anew\n"
    "  --fresh              move an old run aside to DIR.1, DIR.2, ... and begin again\n"
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
    bool help;
};

/* What a run in the foreground is watched by. */
struct watcher {
    struct nj_progress progress;
    struct nj_signals *signals;
};

static void watch_event(void *context, const struct nj_event *event)
{
    struct watcher *watcher = context;
    if (event->type == NJ_EVENT_RUN_STARTED) {
        nj_signals_begin_draining(watcher->signals);
    }
    nj_progress_event(&watcher->progress, event);
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

static void watch_log(void *context, enum nj_log_level level, const char *line)
{
    struct watcher *watcher = context;
    (void)level;
    nj_progress_end_line(&watcher->progress);
    nj_clean_complain(line);
}

static enum nj_status parse(int argc, char **argv, struct arguments *arguments,
                            struct nj_error *err)
{
    struct nj_run_options *options = &arguments->options;
    const struct nj_flag flags[] = {
        {"--help", NJ_FLAG_SWITCH, &arguments->help, 0},
        {"-h", NJ_FLAG_SWITCH, &arguments->help, 0},
        {"--model", NJ_FLAG_TEXT, &options->model_path, 0},
        {"--out", NJ_FLAG_TEXT, &options->output_directory, 0},
        {"--restart", NJ_FLAG_SWITCH, &arguments->restart, 0},
        {"--fresh", NJ_FLAG_SWITCH, &arguments->fresh, 0},
        {"--threads", NJ_FLAG_COUNT, &options->n_threads, 1024},
        {"--batch", NJ_FLAG_COUNT, &options->batch, 0},
        {"--prefill-chunk", NJ_FLAG_COUNT, &options->prefill_chunk, 0},
        {"--cpu-level", NJ_FLAG_TEXT, &options->cpu_level, 0},
        {"--latent-norm-eps", NJ_FLAG_NUMBER, &options->latent_norm_eps, 1},
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
    if (n_done == report->n_items_kept && report->n_sweeps == 0) {
        (void)fprintf(stderr, "nightjar: nothing to do: all %llu items were done before\n",
                      (unsigned long long)report->n_items);
    } else {
        (void)fprintf(stderr,
                      "nightjar: %llu of %llu items done, %llu failed; %llu tokens generated, "
                      "%llu restored; %.1f s; %.1f MB of weights read\n",
                      (unsigned long long)n_done, (unsigned long long)report->n_items,
                      (unsigned long long)report->n_items_failed,
                      (unsigned long long)report->n_tokens_generated,
                      (unsigned long long)report->n_tokens_restored,
                      (double)report->elapsed_ns * 1e-9,
                      (double)report->weight_bytes_read * 1e-6);
    }
}

/* The command as it was given, quoted where a shell would need it. */
static void print_command(int argc, char *const *argv)
{
    (void)fputs("nightjar: continue with: nightjar run", stderr);
    for (int i = 0; i < argc; i++) {
        bool is_plain = argv[i][0] != '\0' &&
                        strspn(argv[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-./=+:@%,") == strlen(argv[i]);
        (void)fputs(is_plain ? " " : " '", stderr);
        for (const char *c = argv[i]; *c != '\0'; c++) {
            if (*c == '\'') {
                (void)fputs("'\\'", stderr);
            }
            (void)fputc(*c, stderr);
        }
        (void)fputs(is_plain ? "" : "'", stderr);
    }
    (void)fputc('\n', stderr);
}

static enum nj_status run_job_file(const struct arguments *arguments, struct watcher *watcher,
                                   struct nj_run_report *report, struct nj_error *err)
{
    const struct nj_run_observer observer = {.context = watcher,
                                             .event = watch_event,
                                             .poll = watch_poll,
                                             .free_bytes = watch_free_bytes};
    const struct nj_log log = {.context = watcher, .level = NJ_LOG_INFO, .sink = watch_log};
    struct nj_run_environment environment = {.fs = nj_file_system_real(),
                                             .clock = nj_clock_system(),
                                             .log = &log,
                                             .observer = &observer};
    struct nj_job_file job;
    enum nj_status status = nj_job_file_open(&job, arguments->options.job_path, err);
    if (status == NJ_OK) {
        status = nj_run_entropy(&environment.entropy, err);
    }
    if (status == NJ_OK) {
        status =
            nj_run_job(&environment, job.spec, job.content, &arguments->options, report, err);
    }
    nj_job_file_close(&job);
    return status;
}

static int report_end(enum nj_status status, const struct nj_run_report *report,
                      const struct nj_error *err)
{
    if (status != NJ_OK && status != NJ_E_STOPPED) {
        if (err->text[0] != '\0') {
            nj_clean_complain(err->text);
        }
        return nj_exit_code_of(status);
    }
    print_summary(report);
    if (status == NJ_E_STOPPED) {
        return NJ_EXIT_STOPPED;
    }
    (void)printf("%s/results.jsonl\n", report->output_directory);
    return report->n_items_failed > 0 ? NJ_EXIT_SOME_FAILED : NJ_EXIT_OK;
}

int nj_cli_run(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct watcher watcher = {0};
    struct nj_run_report report = {0};
    struct nj_error err = {0};
    char *given[64];
    int n_given = argc < 64 ? argc : 64;
    memcpy(given, argv, (size_t)n_given * sizeof *given);
    enum nj_status status = parse(argc, argv, &arguments, &err);
    if (status != NJ_OK) {
        nj_clean_complain(err.text);
        return nj_exit_code_of(status);
    }
    if (arguments.help) {
        (void)fputs(usage, stdout);
        return NJ_EXIT_OK;
    }
    status = nj_signals_create(&watcher.signals, &err);
    if (status == NJ_OK) {
        nj_progress_init(&watcher.progress, stderr, isatty(STDERR_FILENO) == 1,
                         nj_clock_system());
        status = run_job_file(&arguments, &watcher, &report, &err);
        nj_progress_end_line(&watcher.progress);
    }
    int code = report_end(status, &report, &err);
    if (code == NJ_EXIT_STOPPED) {
        print_command(n_given, given);
    }
    nj_signals_destroy(watcher.signals);
    return code;
}
