/* Who watches a run in the foreground: a person by a progress line on stderr, or with --json a
 * program by events on stdout. Signals ask it to stop.
 *
 * Threads: everything on the engine thread, the caller's.
 */
#ifndef NJ_CLI_WATCHER_H
#define NJ_CLI_WATCHER_H

#include <stdbool.h>

#include "base/json.h"
#include "base/log.h"
#include "base/status.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "job/spec.h"
#include "nightjar/run.h"
#include "runner/folder_host.h"

/* Visible so that it can live in its caller; its fields are its own, `as_json` excepted. */
struct nj_watcher {
    bool as_json;
    struct nj_progress progress;  /* for people */
    struct nj_json_writer writer; /* for programs */
    bool has_told_end;            /* run_done or run_paused, of the present job */
    struct nj_signals *signals;
};

/* Call before other threads are made, see signals.h. Deinit only after success. */
enum nj_status nj_watcher_init(struct nj_watcher *watcher, bool as_json, struct nj_error *err);
void nj_watcher_deinit(struct nj_watcher *watcher);

/* Before each job, and before its first event: nothing of it has happened yet. */
void nj_watcher_begin_job(struct nj_watcher *watcher, const struct nj_job_spec *spec);

/* After each job: another line can be printed. */
void nj_watcher_end_line(struct nj_watcher *watcher);

/* The last event of a run that had none, because everything was done before. */
void nj_watcher_tell_done(struct nj_watcher *watcher, const struct nj_job_spec *spec,
                          const struct nj_run_report *report);

/* A signal has asked to stop. */
bool nj_watcher_is_asked_to_stop(const struct nj_watcher *watcher);

/* The tables that a run needs; `watcher` must outlive them. */
struct nj_run_observer nj_watcher_observer(struct nj_watcher *watcher);
struct nj_log nj_watcher_log(struct nj_watcher *watcher);

#endif
