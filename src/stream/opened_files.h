/* The files of a stream, open for reading: past the page cache where the file system allows it.
 *
 * Direct I/O because a walk over a model larger than memory finds nothing in the page cache
 * that it could use, and would push everything else out of it.
 *
 * Threads: opened and closed by one thread; constant in between.
 */
#ifndef NJ_STREAM_OPENED_FILES_H
#define NJ_STREAM_OPENED_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/file.h"
#include "base/status.h"
#include "stream/stream.h"

struct nj_opened_file {
    int fd;
    bool is_direct;
    uint32_t drive; /* files with the same number share a device */
    dev_t device;
    char *path;
    uint64_t length_bytes;
};

struct nj_opened_files {
    const struct nj_file_system *fs;
    struct nj_opened_file *list; /* (n_files) */
    uint32_t n_files;
    uint32_t n_drives;
    uint32_t first_buffered; /* a file that refuses direct I/O; n_files when none does */
};

/* NJ_E_WEIGHTS for a file that is absent, unreadable, not regular, or of another length than
 * indexed. The caller deinits `*files` after success only. */
enum nj_status nj_opened_files_init(struct nj_opened_files *files,
                                    const struct nj_file_system *fs,
                                    const struct nj_stream_file *list, uint32_t n_files,
                                    struct nj_error *err);
void nj_opened_files_deinit(struct nj_opened_files *files);

#endif
