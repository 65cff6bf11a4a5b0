/* The files of result lines, derived from results.log: results.jsonl and errors.jsonl in input
 * order, live.jsonl in completion order.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_EXPORT_H
#define NJ_RUNNER_EXPORT_H

#include "base/file.h"
#include "base/status.h"
#include "runner/derived_file.h"
#include "runner/ledger.h"
#include "runner/line_reader.h"

/* What is exported; borrowed, but the reader's buffers change. */
struct nj_export {
    struct nj_line_reader *reader;
    const struct nj_ledger *ledger;
};

/* Contents of derived files; the context is a nj_export. Lines of every item that is done, and
 * of failed items only. */
enum nj_status nj_export_results(void *context, const struct nj_sink *sink,
                                 struct nj_error *err);
enum nj_status nj_export_errors(void *context, const struct nj_sink *sink,
                                struct nj_error *err);

/* Writes live.jsonl anew: an earlier run may have died inside a line, or before it. */
enum nj_status nj_export_live(const struct nj_file_system *fs, int directory_fd,
                              const struct nj_ledger *ledger, struct nj_error *err);

#endif
