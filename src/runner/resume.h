/* The three logs of a run folder, and what earlier runs left in them.
 *
 * First all are read, once, and nothing is changed: whether this nightjar knows them, what run
 * they belong to, what it did. Only when the job has been found good, and its model can be
 * opened, are they recovered (runner/log_file) and appended to.
 *
 * Results are read before tokens, so that ids are kept in memory for unfinished items only. A
 * result without a done mark in the journal is adopted and marked; a mark without a result
 * means nothing, the item is done again.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_RESUME_H
#define NJ_RUNNER_RESUME_H

#include <stdint.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "runner/findings.h"
#include "runner/history.h"
#include "runner/ledger.h"
#include "runner/log_file.h"

struct nj_run_logs_place {
    const struct nj_file_system *fs;
    int directory_fd;
    struct nj_digest model; /* written into the headers of new logs */
    uint32_t n_vocabulary;  /* an id outside it was never chosen */
    uint64_t entropy;       /* for the salts of new logs */
    const struct nj_log *log;
};

/* Zeroed is closed. */
struct nj_run_logs {
    struct nj_run_logs_place place;
    struct nj_log_found found[NJ_N_RUN_LOGS];
    struct nj_findings findings;
    struct nj_log_file files[NJ_N_RUN_LOGS];
};

/* Reads all three logs: versions, identities, turns, results and ids. Changes nothing. */
enum nj_status nj_run_logs_read(struct nj_run_logs *logs, const struct nj_run_logs_place *place,
                                struct nj_history *history, struct nj_error *err);

/* Enters results and ids into the ledger, whose items are known (nj_findings_enter). Once only.
 */
enum nj_status nj_run_logs_enter(struct nj_run_logs *logs, struct nj_ledger *ledger,
                                 uint64_t item_timeout_ns, struct nj_error *err);

/* Recovers, or creates, all three for appending. */
enum nj_status nj_run_logs_open(struct nj_run_logs *logs, struct nj_error *err);

/* Makes the history's identity durable in each log that does not have it yet, the journal
 * first. */
enum nj_status nj_run_logs_identify(struct nj_run_logs *logs, struct nj_history *history,
                                    struct nj_error *err);

/* Marks results in the journal that it does not know. */
enum nj_status nj_run_logs_adopt(struct nj_run_logs *logs, const struct nj_ledger *ledger,
                                 const struct nj_history *history, struct nj_error *err);

void nj_run_logs_close(struct nj_run_logs *logs);

#endif
