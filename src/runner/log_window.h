/* A part of a log in memory, moved along as it is read: a log may be larger than memory.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_LOG_WINDOW_H
#define NJ_RUNNER_LOG_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

enum { NJ_LOG_WINDOW_BYTES = 1 << 20 }; /* looked at in one piece, unless a record is longer */

struct nj_log_window {
    const struct nj_file_system *fs;
    const char *name; /* as long as the window is open */
    int fd;
    uint64_t length_bytes; /* of the file */
    uint8_t *bytes;
    size_t capacity_bytes;
    uint64_t first; /* offset of bytes[0] */
    size_t n_held;
};

/* `*exists` false, and nothing open, when there is no such file. NJ_E_STORAGE for what is no
 * file; NJ_E_PERMISSION, NJ_E_IO. */
enum nj_status nj_log_window_open(struct nj_log_window *window, const struct nj_file_system *fs,
                                  int directory_fd, const char *name, bool *exists,
                                  struct nj_error *err);
void nj_log_window_close(struct nj_log_window *window);

/* The view of a nj_record_source, whose context is the window. */
enum nj_status nj_log_window_view(void *context, uint64_t offset, size_t n_bytes,
                                  const uint8_t **data, struct nj_error *err);

#endif
