/* Result lines, read at known places in the segments of results.log.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_LINE_READER_H
#define NJ_RUNNER_LINE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "runner/held_records.h"

/* With its first two members filled in and the rest zeroed it is ready. */
struct nj_line_reader {
    const struct nj_file_system *fs;
    int directory_fd;
    int *fds; /* by segment number, from 0; -1: not open yet */
    size_t n_fds;
    size_t fds_capacity;
    char *line;
    size_t capacity_bytes;
};

void nj_line_reader_deinit(struct nj_line_reader *reader);

/* Reads the line, which has a newline behind it and belongs to the reader until the next call.
 */
enum nj_status nj_line_reader_read(struct nj_line_reader *reader, struct nj_log_spot spot,
                                   const char **line, struct nj_error *err);

#endif
