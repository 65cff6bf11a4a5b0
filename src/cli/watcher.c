#include "cli/watcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/complaint.h"

/* A terminal that can go back in its line. */
static bool has_live_line(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

enum nj_status nj_watcher_init(struct nj_watcher *watcher, bool as_json, struct nj_error *err)
{
    *watcher = (struct nj_watcher){.as_json = as_json};
    enum nj_status status = nj_signals_create(&watcher->signals, err);
    if (status == NJ_OK) {
        nj_json_writer_init(&watcher->writer);
    }
    return status;
}

void nj_watcher_deinit(struct nj_watcher *watcher)
{
    nj_json_writer_deinit(&watcher->writer);
    nj_signals_destroy(watcher->signals);
}

static double mean_max_tokens(const struct nj_job_spec *spec)
{
    double sum = 0.0;
    for (size_t i = 0; i < spec->n_prompts; i++) {
        sum += spec->prompts[i].sampling.max_tokens;
    }
    return spec->n_prompts > 0 ? sum / (double)spec->n_prompts : 0.0;
}

void nj_watcher_begin_job(struct nj_watcher *watcher, const struct nj_job_spec *spec)
{
    watcher->has_told_end = false;
    nj_progress_init(&watcher->progress, stderr, has_live_line(), nj_clock_system(),
                     mean_max_tokens(spec));
}

void nj_watcher_end_line(struct nj_watcher *watcher)
{
    nj_progress_end_line(&watcher->progress);
}

bool nj_watcher_is_asked_to_stop(const struct nj_watcher *watcher)
{
    return nj_signals_received(watcher->signals) != 0;
}

/* One line, at once: whoever reads it may be waiting for it. A reader that has gone does not
 * end a run; other failures of stdout are told at the end of the program. */
static void print_event(struct nj_watcher *watcher, const struct nj_event *event)
{
    nj_json_writer_reset(&watcher->writer);
    nj_event_write(&watcher->writer, event);
    (void)nj_json_print(&watcher->writer, stdout); /* out of memory is told there */
    (void)fflush(stdout);
    watcher->has_told_end = watcher->has_told_end || event->type == NJ_EVENT_RUN_DONE ||
                            event->type == NJ_EVENT_RUN_PAUSED;
}

void nj_watcher_tell_done(struct nj_watcher *watcher, const struct nj_job_spec *spec,
                          const struct nj_run_report *report)
{
    struct nj_clock clock = nj_clock_system();
    const struct nj_event event = {.type = NJ_EVENT_RUN_DONE,
                                   .unix_ms = clock.unix_ms(clock.context),
                                   .job_name = spec->name,
                                   .folder = nj_text_from(report->output_directory),
                                   .n_items = report->n_items,
                                   .n_items_done = report->n_items_ok + report->n_items_failed,
                                   .n_items_failed = report->n_items_failed,
                                   .n_items_kept = report->n_items_kept};
    if (watcher->as_json && !watcher->has_told_end) {
        print_event(watcher, &event);
    }
}

/* --- what a run calls --- */

static void watch_event(void *context, const struct nj_event *event)
{
    struct nj_watcher *watcher = context;
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
    return nj_watcher_is_asked_to_stop(context) ? NJ_RUN_DRAIN : NJ_RUN_GO_ON;
}

/* What file systems keep back for root is room to root. */
static uint64_t watch_free_bytes(void *context, const char *path)
{
    (void)context;
    struct statvfs status;
    if (statvfs(path, &status) != 0) {
        return UINT64_MAX;
    }
    fsblkcnt_t n_blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail;
    return (uint64_t)n_blocks * status.f_frsize;
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
    struct nj_watcher *watcher = context;
    (void)level;
    nj_watcher_end_line(watcher);
    nj_complain_warning(watcher->as_json, line);
}

struct nj_run_observer nj_watcher_observer(struct nj_watcher *watcher)
{
    return (struct nj_run_observer){.context = watcher,
                                    .event = watch_event,
                                    .poll = watch_poll,
                                    .free_bytes = watch_free_bytes,
                                    .wait = watch_wait};
}

struct nj_log nj_watcher_log(struct nj_watcher *watcher)
{
    return (struct nj_log){.context = watcher, .level = NJ_LOG_INFO, .sink = watch_log};
}
