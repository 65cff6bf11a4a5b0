/* Everything that is settled before a run's first sweep: what the job and its model are, the
 * folder with what earlier runs left in it, the engine.
 *
 * Whatever can be refused is refused while nothing has been written: the job, the folder that
 * is there, the model with this run's options. Then the folder is made or recovered.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_SETUP_H
#define NJ_RUNNER_SETUP_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/status.h"
#include "generate/prefix_tree.h"
#include "job/spec.h"
#include "nightjar/run.h"
#include "runner/engine.h"
#include "runner/environment.h"
#include "runner/folder.h"
#include "runner/history.h"
#include "runner/identity.h"
#include "runner/item_source.h"
#include "runner/ledger.h"
#include "runner/limits.h"
#include "runner/resume.h"
#include "runner/subject.h"

/* Zeroed, then with its first members filled in, is empty. Not to be copied: subject. */
struct nj_run_setup {
    const struct nj_run_environment *environment; /* these five are borrowed */
    const struct nj_job_spec *spec;
    struct nj_bytes job_file;
    const struct nj_run_options *options;
    struct nj_run_report *report; /* gets the folder's path and what was kept */

    struct nj_run_subject subject;
    struct nj_run_folder folder;
    struct nj_history history;
    struct nj_ledger ledger;
    struct nj_run_identity identity;
    struct nj_run_logs logs;
    struct nj_run_limits limits;
    struct nj_item_source source;
    uint32_t most_positions;         /* of the longest item */
    struct nj_item_memory memory;    /* ditto */
    struct nj_prefix_tree *prefixes; /* which items begin alike */
    struct nj_run_engine engine;     /* closed when nothing is left to compute */
};

/* Statuses as nj_run_file. Deinit it also after a failure. */
enum nj_status nj_run_setup_make(struct nj_run_setup *setup, struct nj_error *err);
void nj_run_setup_deinit(struct nj_run_setup *setup);

bool nj_run_setup_is_all_done(const struct nj_run_setup *setup);

#endif
