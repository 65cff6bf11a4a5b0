/* RFC 4180 rows with a header, from a window over the file. Also with tabs in the place of
 * commas. */
#ifndef NJ_JOB_CSV_H
#define NJ_JOB_CSV_H

#include "base/arena.h"
#include "job/row_input.h"
#include "job/row_reader.h"

struct nj_csv {
    struct nj_row_input *input;
    struct nj_arena *arena; /* for the header; lives as long as this */
    char delimiter;
    struct nj_variable *columns; /* the header's names, sorted */
    size_t *positions;           /* position in the row of each sorted column */
    size_t n_columns;
    size_t row_bytes; /* handed out by the last call and not yet taken */
};

/* Reads the header. `*is_usable` is false after a complaint. */
enum nj_status nj_csv_begin(struct nj_csv *csv, struct nj_row_input *input,
                            struct nj_arena *arena, char delimiter,
                            struct nj_diagnostics *diagnostics, bool *is_usable,
                            struct nj_error *err);

/* Where the row begins that the last call found. */
void nj_csv_tell(const struct nj_csv *csv, uint64_t *offset, uint32_t *line);

/* The next call reads the row of `length_bytes` that begins there. */
void nj_csv_seek(struct nj_csv *csv, uint64_t offset, uint32_t line, size_t length_bytes);

/* The next row's columns, in `row_arena` and the window. `wants_values` false passes the row
 * without looking into it. */
enum nj_status nj_csv_next(struct nj_csv *csv, bool wants_values, struct nj_arena *row_arena,
                           struct nj_diagnostics *diagnostics, struct nj_row *row,
                           enum nj_row_outcome *outcome, struct nj_error *err);

#endif
