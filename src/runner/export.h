/* Derives the files that people read from results.log: results.jsonl and errors.jsonl in input
 * order, by one rename each, and live.jsonl in completion order.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_EXPORT_H
#define NJ_RUNNER_EXPORT_H

#include <stdbool.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"
#include "runner/ledger.h"

/* Writes results.jsonl (every item that is done) and errors.jsonl, which does not exist when no
 * item failed. */
enum nj_status nj_export_results(const struct nj_file_system *fs, int directory_fd,
                                 const struct nj_ledger *ledger, struct nj_digest *sha256,
                                 struct nj_error *err);

/* Whether both are what results.log says; changes nothing. `*sha256` is what results.jsonl has,
 * or should have. */
enum nj_status nj_export_check(const struct nj_file_system *fs, int directory_fd,
                               const struct nj_ledger *ledger, struct nj_digest *sha256,
                               bool *is_sound, struct nj_error *err);

/* Removes a derived file durably; an absent one is fine. */
enum nj_status nj_export_remove(const struct nj_file_system *fs, int directory_fd,
                                const char *name, struct nj_error *err);

/* Writes live.jsonl anew: an earlier run may have died inside a line, or before it. */
enum nj_status nj_export_live(const struct nj_file_system *fs, int directory_fd,
                              const struct nj_ledger *ledger, struct nj_error *err);

#endif
