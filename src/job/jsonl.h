/* Rows from a file of one JSON object per line. */
#ifndef NJ_JOB_JSONL_H
#define NJ_JOB_JSONL_H

#include "base/arena.h"
#include "job/row_input.h"
#include "job/row_reader.h"

struct nj_jsonl {
    struct nj_row_input *input;
    size_t row_bytes; /* handed out by the last call and not yet taken */
};

void nj_jsonl_begin(struct nj_jsonl *jsonl, struct nj_row_input *input);

/* Where the row begins that the last call found. */
void nj_jsonl_tell(const struct nj_jsonl *jsonl, uint64_t *offset, uint32_t *line);

/* The next call reads the row of `length_bytes` that begins there. */
void nj_jsonl_seek(struct nj_jsonl *jsonl, uint64_t offset, uint32_t line, size_t length_bytes);

/* The next row's columns, in `row_arena` and the window: texts decoded, numbers as written,
 * lists and objects compact. Blank lines are passed. `wants_values` false passes the row
 * without looking into it. */
enum nj_status nj_jsonl_next(struct nj_jsonl *jsonl, bool wants_values,
                             struct nj_arena *row_arena, struct nj_diagnostics *diagnostics,
                             struct nj_row *row, enum nj_row_outcome *outcome,
                             struct nj_error *err);

#endif
