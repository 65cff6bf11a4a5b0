#include "runner/log_window.h"

#include <stdlib.h>

#include "base/vector.h"

static enum nj_status fill(struct nj_log_window *window, uint64_t offset, size_t n_bytes,
                           struct nj_error *err)
{
    uint64_t n_left = window->length_bytes - offset;
    size_t n_wanted = n_left < NJ_LOG_WINDOW_BYTES ? (size_t)n_left : NJ_LOG_WINDOW_BYTES;
    n_wanted = n_bytes > n_wanted ? n_bytes : n_wanted;
    window->n_held = 0;
    enum nj_status status =
        nj_vector_reserve(&window->bytes, &window->capacity_bytes, 1, n_wanted, err);
    if (status == NJ_OK) {
        status = nj_file_read_exactly(window->fs, window->fd, window->bytes, n_wanted, offset,
                                      window->name, err);
    }
    if (status == NJ_OK) {
        window->first = offset;
        window->n_held = n_wanted;
    }
    return status;
}

enum nj_status nj_log_window_view(void *context, uint64_t offset, size_t n_bytes,
                                  const uint8_t **data, struct nj_error *err)
{
    struct nj_log_window *window = context;
    bool is_held = offset >= window->first && window->n_held >= n_bytes &&
                   offset - window->first <= window->n_held - n_bytes;
    if (!is_held) {
        enum nj_status status = fill(window, offset, n_bytes, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    *data = window->bytes + (offset - window->first);
    return NJ_OK;
}

void nj_log_window_close(struct nj_log_window *window)
{
    (void)window->fs->close(window->fs->context, window->fd); /* only read from */
    free(window->bytes);
}

enum nj_status nj_log_window_open(struct nj_log_window *window, const struct nj_file_system *fs,
                                  int directory_fd, const char *name, bool *exists,
                                  struct nj_error *err)
{
    struct nj_error failure;
    *window = (struct nj_log_window){.fs = fs, .name = name, .fd = -1};
    enum nj_status status = nj_file_open_read(fs, directory_fd, name, &window->fd, &failure);
    *exists = status == NJ_OK;
    if (status == NJ_E_NOT_FOUND) {
        return NJ_OK;
    }
    if (status != NJ_OK) {
        return nj_fail(err, status == NJ_E_INPUT ? NJ_E_STORAGE : status, "%s", failure.text);
    }
    status = nj_file_length(fs, window->fd, &window->length_bytes, err);
    if (status != NJ_OK) {
        nj_log_window_close(window);
    }
    return status;
}
