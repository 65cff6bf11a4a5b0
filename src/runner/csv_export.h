/* results.csv: one row for each result line, for spreadsheets.
 *
 * File: docs/formats/results.md. Threads: one owner.
 */
#ifndef NJ_RUNNER_CSV_EXPORT_H
#define NJ_RUNNER_CSV_EXPORT_H

#include "base/status.h"
#include "runner/derived_file.h"

/* The content of a derived file; the context is a nj_export. */
enum nj_status nj_csv_export(void *context, const struct nj_sink *sink, struct nj_error *err);

#endif
