/* For whom else a run works, besides its folder: a worker's daemon. It hears what there is, may
 * choose which item comes next and when to stop; the folder keeps its journal all the same, so
 * that a job folder is one whoever works in it.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_RUNNER_PATRON_H
#define NJ_RUNNER_PATRON_H

#include <stdint.h>

#include "base/status.h"
#include "runner/host.h"
#include "runner/ledger.h"

struct nj_run_patron {
    void *context;

    /* The run is set up: the ledger has what earlier runs have finished, and is valid until the
     * run ends. `n_places` items can be under way at once; 0 when nothing is left to do. */
    enum nj_status (*begin)(void *context, const struct nj_ledger *ledger, uint32_t n_places,
                            struct nj_error *err);

    /* The table that the run works for. `folder` is the folder's own, to pass calls on to; it
     * claims every open item in input order. When the table claims no more while items are
     * open, the run ends with NJ_E_STOPPED. */
    struct nj_run_host (*over)(void *context, const struct nj_run_host *folder);
};

#endif
