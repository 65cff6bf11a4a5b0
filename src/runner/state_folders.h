/* The folders of items' states, kept no longer than they are of use.
 *
 * An item that is done needs no state. Its segments go after its result is durable and marked
 * (runner/snapshots), so a kill in between leaves them behind, and nobody takes that item up
 * again. Hence they are looked for at the beginning of a run's work and at its end.
 *
 * Threads: one owner; nobody else works in the folders.
 */
#ifndef NJ_RUNNER_STATE_FOLDERS_H
#define NJ_RUNNER_STATE_FOLDERS_H

#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "runner/ledger.h"

/* Removes the segments of all items that are done, with what was put aside of them, and what
 * folders are empty then. Not so folders of items that this job does not have: a longer job
 * that was here before may come back. Nothing depends on it, so a failure is a warning. */
void nj_state_folders_tidy(const struct nj_file_system *fs, int run_directory_fd,
                           const struct nj_ledger *ledger, const struct nj_log *log);

#endif
