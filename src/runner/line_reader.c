#include "runner/line_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "runner/log_reader.h"

void nj_line_reader_deinit(struct nj_line_reader *reader)
{
    for (size_t i = 0; i < reader->n_fds; i++) {
        if (reader->fds[i] >= 0) {
            (void)reader->fs->close(reader->fs->context, reader->fds[i]); /* only read from */
        }
    }
    free(reader->fds);
    free(reader->line);
    *reader = (struct nj_line_reader){.fs = reader->fs, .directory_fd = reader->directory_fd};
}

static enum nj_status open_segment(struct nj_line_reader *reader, uint32_t segment,
                                   const char *name, struct nj_error *err)
{
    enum nj_status status = nj_vector_reserve(&reader->fds, &reader->fds_capacity,
                                              sizeof *reader->fds, (size_t)segment + 1, err);
    if (status != NJ_OK) {
        return status;
    }
    while (reader->n_fds <= segment) {
        reader->fds[reader->n_fds++] = -1;
    }
    if (reader->fds[segment] >= 0) {
        return NJ_OK;
    }
    return nj_file_open_read(reader->fs, reader->directory_fd, name, &reader->fds[segment],
                             err);
}

enum nj_status nj_line_reader_read(struct nj_line_reader *reader, struct nj_log_spot spot,
                                   const char **line, struct nj_error *err)
{
    char name[NJ_LOG_NAME_BYTES];
    (void)nj_log_segment_name("results.log", spot.segment, name);
    enum nj_status status = open_segment(reader, spot.segment, name, err);
    if (status == NJ_OK) {
        status = nj_vector_reserve(&reader->line, &reader->capacity_bytes, 1,
                                   (size_t)spot.n_bytes + 1, err);
    }
    if (status == NJ_OK) {
        status = nj_file_read_exactly(reader->fs, reader->fds[spot.segment], reader->line,
                                      spot.n_bytes, spot.offset_bytes, name, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    reader->line[spot.n_bytes] = '\n';
    *line = reader->line;
    return NJ_OK;
}
