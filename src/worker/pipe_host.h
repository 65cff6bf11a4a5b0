/* The daemon as the one a run works for: items come from the pipe, marks and events go to it.
 *
 * Each commit is a question: what has become durable in the folder is told, and the daemon
 * answers, its queue synced, which items to begin and whether to go on. An item that it gives
 * and that has its result already is answered at once and not begun: the mark was lost, not the
 * result.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_WORKER_PIPE_HOST_H
#define NJ_WORKER_PIPE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/json.h"
#include "runner/patron.h"
#include "worker/pipe.h"

struct nj_pipe_host {
    struct nj_pipe *pipe;
    struct nj_clock clock;
    uint64_t job_id;
    const struct nj_ledger *ledger;
    const struct nj_run_host *folder;
    struct nj_json_writer writer; /* of events */
    uint64_t *taken;              /* items given and not yet begun */
    size_t n_taken;
    size_t next_taken;
    size_t capacity;
    uint64_t answered_ns; /* when the sweep could begin */
    bool has_asked;
    bool is_draining;
    bool is_lost; /* an event could not be told: the next call that may fail says so */
};

/* Both borrowed. Deinit after the run. */
void nj_pipe_host_init(struct nj_pipe_host *host, struct nj_pipe *pipe, struct nj_clock clock,
                       uint64_t job_id);
void nj_pipe_host_deinit(struct nj_pipe_host *host);

/* Hello and welcome. NJ_E_UNSUPPORTED when the daemon speaks another version. */
enum nj_status nj_pipe_host_greet(struct nj_pipe_host *host, uint64_t process_id,
                                  struct nj_error *err);

/* For the run's environment; `host` must outlive it. */
struct nj_run_patron nj_pipe_host_patron(struct nj_pipe_host *host);

#endif
