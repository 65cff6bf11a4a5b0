/* Whom a run works for, as a table of functions: where items come from, who hears of progress,
 * who may stop it.
 *
 * A daemon's worker fills it with the pipe to the daemon, a run in the foreground with a plain
 * folder and its journal (runner/folder_host). The runner itself owns only the token log and
 * the results log.
 *
 * Threads: everything is called on the engine thread, between sweeps.
 */
#ifndef NJ_RUNNER_HOST_H
#define NJ_RUNNER_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "job/event.h"

enum nj_run_control {
    NJ_RUN_GO_ON,
    NJ_RUN_DRAIN, /* end after this sweep, everything synced */
    NJ_RUN_BREAK  /* end at once as a bug of nightjar would, for tests: NJ_E_INTERNAL */
};

struct nj_run_host {
    void *context;

    /* The next item to work on. The claim is durable after the next `commit`. */
    enum nj_status (*claim)(void *context, uint64_t *item_index, bool *has_item,
                            struct nj_error *err);
    /* Its result is durable in the results log. Durable after the next `commit`. */
    enum nj_status (*item_done)(void *context, uint64_t item_index, uint32_t sample, bool is_ok,
                                struct nj_error *err);
    enum nj_status (*commit)(void *context, struct nj_error *err);

    /* May work begin that writes up to `bytes` to the run's folder? May wait for room;
     * NJ_E_STORAGE with both figures when there is none. */
    enum nj_status (*reserve)(void *context, uint64_t bytes, struct nj_error *err);

    /* Asked once before each sweep. */
    enum nj_run_control (*poll)(void *context);

    /* Never fails and never blocks the run for long. */
    void (*event)(void *context, const struct nj_event *event);
};

#endif
