/* The three logs of a run folder, and what earlier runs left in them.
 *
 * Opening recovers each log (runner/log_file). Results come before tokens, so that ids are kept
 * in memory for unfinished items only. A result without a done mark in the journal is adopted
 * and marked; a mark without a result means nothing, the item is done again.
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
#include "runner/history.h"
#include "runner/ledger.h"
#include "runner/log_file.h"

struct nj_run_logs_place {
    const struct nj_file_system *fs;
    int directory_fd;
    struct nj_digest model; /* written into the headers of new logs */
    uint64_t entropy;       /* for their salts */
    const struct nj_log *log;
};

/* Zeroed is closed. */
struct nj_run_logs {
    struct nj_run_logs_place place;
    struct nj_log_file journal;
    struct nj_log_file results;
    struct nj_log_file tokens;
};

/* Opens journal.log and reads the history. */
enum nj_status nj_run_logs_open_journal(struct nj_run_logs *logs,
                                        const struct nj_run_logs_place *place,
                                        struct nj_history *history, struct nj_error *err);

/* Opens results.log and tokens.log and enters what they hold into the ledger, whose items are
 * known; marks adopted results in the journal. */
enum nj_status nj_run_logs_open_rest(struct nj_run_logs *logs, struct nj_ledger *ledger,
                                     const struct nj_history *history, struct nj_error *err);

void nj_run_logs_close(struct nj_run_logs *logs);

#endif
