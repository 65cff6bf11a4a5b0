/* A row file as a window that moves forward: what is not yet read is not in memory.
 *
 * A row is handed out as one span, so the window grows to the longest row, up to a limit.
 */
#ifndef NJ_JOB_ROW_INPUT_H
#define NJ_JOB_ROW_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/text.h"
#include "job/diagnostics.h"

enum { NJ_ROW_LIMIT_BYTES = 16 * 1024 * 1024 };

/* data[begin, end) is read and not yet taken; `line` is the line of data[begin]. */
struct nj_row_input {
    const struct nj_file_system *fs;
    const char *path;
    int fd; /* -1: not open */
    char *data;
    size_t begin, end, capacity_bytes;
    uint64_t file_offset; /* of data[end] */
    bool is_at_end;       /* nothing follows data[end] */
    size_t piece_bytes;   /* the next read takes at most so many; 0: what there is room for */
    uint32_t line;
};

/* `path` must outlive the input. Passes a byte order mark. Deinit also after a failure. */
enum nj_status nj_row_input_init(struct nj_row_input *input, const struct nj_file_system *fs,
                                 const char *path, struct nj_error *err);
void nj_row_input_deinit(struct nj_row_input *input);

/* What is in the window. */
struct nj_text nj_row_input_window(const struct nj_row_input *input);

/* Reads further, or finds the end. `*is_full` when the window is as large as a row may be;
 * nothing was read then. */
enum nj_status nj_row_input_more(struct nj_row_input *input, bool *is_full,
                                 struct nj_error *err);

/* Moves the window's begin forward. Its bytes stay where they are until more are read. */
void nj_row_input_take(struct nj_row_input *input, size_t length_bytes);

/* Where in the file the window begins. */
uint64_t nj_row_input_offset(const struct nj_row_input *input);

/* Empties the window and goes on reading at `offset`, which begins a row of `length_bytes` in
 * `line`. */
void nj_row_input_seek(struct nj_row_input *input, uint64_t offset, uint32_t line,
                       size_t length_bytes);

/* The place of a byte in the window: lines end in LF, columns count characters. */
struct nj_place nj_row_input_place(const struct nj_row_input *input, size_t offset);

#endif
