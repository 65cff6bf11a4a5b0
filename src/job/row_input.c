#include "job/row_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "job/source_text.h"

enum { FIRST_CAPACITY_BYTES = 64 * 1024 };

enum nj_status nj_row_input_init(struct nj_row_input *input, const struct nj_file_system *fs,
                                 const char *path, struct nj_error *err)
{
    *input = (struct nj_row_input){.fs = fs, .path = path, .fd = -1, .line = 1};
    enum nj_status status = nj_file_open_read(fs, AT_FDCWD, path, &input->fd, err);
    bool is_full = false;
    while (status == NJ_OK && !input->is_at_end && input->end < sizeof "\xEF\xBB\xBF" - 1) {
        status = nj_row_input_more(input, &is_full, err);
    }
    if (status == NJ_OK) {
        input->begin = nj_source_mark_at(nj_row_input_window(input), 0);
    }
    return status;
}

void nj_row_input_deinit(struct nj_row_input *input)
{
    if (input->fs != NULL && input->fd >= 0) {
        (void)input->fs->close(input->fs->context, input->fd); /* only read from */
    }
    free(input->data);
    *input = (struct nj_row_input){.fd = -1};
}

struct nj_text nj_row_input_window(const struct nj_row_input *input)
{
    return (struct nj_text){input->data == NULL ? "" : input->data + input->begin,
                            input->end - input->begin};
}

/* Makes room behind `end`: by moving the rest to the front, else by growing. */
static enum nj_status make_room(struct nj_row_input *input, struct nj_error *err)
{
    if (input->begin > 0) {
        memmove(input->data, input->data + input->begin, input->end - input->begin);
        input->end -= input->begin;
        input->begin = 0;
    }
    if (input->end < input->capacity_bytes) {
        return NJ_OK;
    }
    size_t capacity =
        input->capacity_bytes == 0 ? FIRST_CAPACITY_BYTES : 2 * input->capacity_bytes;
    char *grown = realloc(input->data, capacity);
    if (grown == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "read %s: no memory for a row of %zu bytes",
                       input->path, capacity);
    }
    input->data = grown;
    input->capacity_bytes = capacity;
    return NJ_OK;
}

enum nj_status nj_row_input_more(struct nj_row_input *input, bool *is_full,
                                 struct nj_error *err)
{
    *is_full = input->end - input->begin >= NJ_ROW_LIMIT_BYTES;
    if (*is_full || input->is_at_end) {
        return NJ_OK;
    }
    enum nj_status status = make_room(input, err);
    if (status != NJ_OK) {
        return status;
    }
    size_t n_wanted = input->capacity_bytes - input->end;
    if (input->piece_bytes > 0 && input->piece_bytes < n_wanted) {
        n_wanted = input->piece_bytes;
    }
    input->piece_bytes = 0;
    ssize_t n_read = 0;
    do {
        n_read = input->fs->read_at(input->fs->context, input->fd, input->data + input->end,
                                    n_wanted, (off_t)input->file_offset);
    } while (n_read < 0 && errno == EINTR);
    if (n_read < 0) {
        return nj_fail(err, NJ_E_IO, "read %s: %s", input->path, strerror(errno));
    }
    input->is_at_end = n_read == 0;
    input->end += (size_t)n_read;
    input->file_offset += (uint64_t)n_read;
    return NJ_OK;
}

void nj_row_input_take(struct nj_row_input *input, size_t length_bytes)
{
    for (size_t i = 0; i < length_bytes; i++) {
        input->line += input->data[input->begin + i] == '\n' ? 1u : 0u;
    }
    input->begin += length_bytes;
}

uint64_t nj_row_input_offset(const struct nj_row_input *input)
{
    return input->file_offset - (input->end - input->begin);
}

void nj_row_input_seek(struct nj_row_input *input, uint64_t offset, uint32_t line,
                       size_t length_bytes)
{
    input->begin = 0;
    input->end = 0;
    input->file_offset = offset;
    input->is_at_end = false;
    input->line = line;
    input->piece_bytes = length_bytes;
}

struct nj_place nj_row_input_place(const struct nj_row_input *input, size_t offset)
{
    struct nj_place place = {input->path, input->line, 1};
    struct nj_text window = nj_row_input_window(input);
    for (size_t at = 0; at < offset && at < window.length_bytes;) {
        if (nj_text_next(window, &at) == '\n') {
            place.line++;
            place.column = 1;
        } else {
            place.column++;
        }
    }
    return place;
}
