/* The rows of a job, one after another: from the job file, CSV, TSV or JSONL. */
#ifndef NJ_JOB_ROW_READER_H
#define NJ_JOB_ROW_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/file.h"
#include "job/diagnostics.h"
#include "job/spec.h"
#include "job/variables.h"

/* Valid until the next call of the reader. */
struct nj_row {
    uint64_t index; /* in the source, from 0, before offset and limit */
    struct nj_place place;
    struct nj_variable_list columns; /* sorted by name */
};

enum nj_row_outcome {
    NJ_ROW_FOUND,
    NJ_ROW_BAD, /* complained about; the next call goes on behind it */
    NJ_ROW_NONE /* the end, or a complaint after which nothing can be read */
};

struct nj_row_reader;

/* Opens the file and reads its header; complaints about it go to `diagnostics` and leave a
 * reader without rows. Caller owns `*reader`; spec, `arena` and `diagnostics` must outlive it.
 */
enum nj_status nj_row_reader_open(const struct nj_row_source *source,
                                  const struct nj_file_system *fs, struct nj_arena *arena,
                                  struct nj_diagnostics *diagnostics,
                                  struct nj_row_reader **reader, struct nj_error *err);
void nj_row_reader_close(struct nj_row_reader *reader);

/* The columns that every row has, without values: those of a header. False when rows may
 * differ. */
bool nj_row_reader_columns(const struct nj_row_reader *reader,
                           struct nj_variable_list *columns);

/* Complaints go to `diagnostics`. The status is for failures to read, not for bad rows. */
enum nj_status nj_row_reader_next(struct nj_row_reader *reader,
                                  struct nj_diagnostics *diagnostics, struct nj_row *row,
                                  enum nj_row_outcome *outcome, struct nj_error *err);

#endif
