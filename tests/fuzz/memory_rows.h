/* Rows from memory for the fuzz targets: a file system with one file, read in pieces of a given
 * size, and all rows of it as one text to compare. */
#ifndef NJ_TESTS_FUZZ_MEMORY_ROWS_H
#define NJ_TESTS_FUZZ_MEMORY_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "job/row_reader.h"

static inline void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

struct memory_file {
    const uint8_t *data;
    size_t length_bytes;
    size_t piece_bytes; /* a read gives at most so many */
};

static inline int memory_open_at(void *context, int directory_fd, const char *name, int flags,
                                 mode_t mode)
{
    (void)context;
    (void)directory_fd;
    (void)name;
    (void)flags;
    (void)mode;
    return 3;
}

static inline int memory_close(void *context, int fd)
{
    (void)context;
    (void)fd;
    return 0;
}

static inline ssize_t memory_read_at(void *context, int fd, void *data, size_t length_bytes,
                                     off_t offset)
{
    (void)fd;
    const struct memory_file *file = context;
    size_t begin = (size_t)offset < file->length_bytes ? (size_t)offset : file->length_bytes;
    size_t length = file->length_bytes - begin;
    length = length < length_bytes ? length : length_bytes;
    length = length < file->piece_bytes ? length : file->piece_bytes;
    if (length > 0) {
        memcpy(data, file->data + begin, length);
    }
    return (ssize_t)length;
}

static inline int memory_status(void *context, int fd, struct stat *status)
{
    (void)fd;
    const struct memory_file *file = context;
    *status = (struct stat){.st_mode = S_IFREG, .st_size = (off_t)file->length_bytes};
    return 0;
}

static inline struct nj_file_system memory_file_system(struct memory_file *file)
{
    return (struct nj_file_system){.context = file,
                                   .open_at = memory_open_at,
                                   .close = memory_close,
                                   .read_at = memory_read_at,
                                   .status = memory_status};
}

static inline void check_text(struct nj_text text)
{
    require(text.data != NULL && nj_text_valid_prefix(text) == text.length_bytes);
}

static inline void write_row(struct nj_json_writer *writer, const struct nj_row *row)
{
    nj_json_begin_object(writer);
    nj_json_key(writer, "");
    nj_json_write_unsigned(writer, row->index);
    for (size_t i = 0; i < row->columns.n_items; i++) {
        const struct nj_variable *column = &row->columns.items[i];
        check_text(column->name);
        check_text(column->value);
        require(!column->is_json || column->value.data[0] == '{' ||
                column->value.data[0] == '[');
        nj_json_write_key(writer, column->name);
        nj_json_write_text(writer, column->value);
    }
    nj_json_end_object(writer);
    nj_json_write_newline(writer);
}

/* Every row that can be read, one JSON line each, into the writer. Returns the number of
 * complaints. */
static inline size_t write_rows(const struct nj_row_source *source, struct memory_file *file,
                                struct nj_json_writer *writer)
{
    struct nj_file_system fs = memory_file_system(file);
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    struct nj_row_reader *reader = NULL;
    nj_diagnostics_init(&diagnostics, &arena);
    require(nj_row_reader_open(source, &fs, &arena, &diagnostics, &reader, NULL) == NJ_OK);
    enum nj_row_outcome outcome = NJ_ROW_FOUND;
    while (outcome != NJ_ROW_NONE) {
        struct nj_row row;
        size_t n_errors = diagnostics.n_errors;
        require(nj_row_reader_next(reader, &diagnostics, &row, &outcome, NULL) == NJ_OK);
        require((outcome == NJ_ROW_BAD) <= (diagnostics.n_errors > n_errors));
        if (outcome == NJ_ROW_FOUND) {
            require(diagnostics.n_errors == n_errors);
            write_row(writer, &row);
        }
    }
    size_t n_errors = diagnostics.n_errors;
    nj_row_reader_close(reader);
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
    return n_errors;
}

/* Reads the rest of the input whole and in pieces as small as its first byte says; both must
 * give the same rows and complaints. The rows are left in `writer`. */
static inline size_t read_in_two_ways(const struct nj_row_source *source, const uint8_t *data,
                                      size_t length_bytes, struct nj_json_writer *writer)
{
    struct memory_file whole = {data + 1, length_bytes - 1, SIZE_MAX};
    struct memory_file pieces = {data + 1, length_bytes - 1, (size_t)data[0] % 16 + 1};
    struct nj_json_writer other;
    struct nj_text first;
    struct nj_text second;
    nj_json_writer_init(writer);
    nj_json_writer_init(&other);
    size_t n_errors = write_rows(source, &whole, writer);
    require(write_rows(source, &pieces, &other) == n_errors);
    require(nj_json_finish(writer, &first, NULL) == NJ_OK);
    require(nj_json_finish(&other, &second, NULL) == NJ_OK);
    require(nj_text_equal(first, second));
    nj_json_writer_deinit(&other);
    return n_errors;
}

#endif
