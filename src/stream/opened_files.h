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
#include "stream/file_mark.h"
#include "stream/stream.h"

struct nj_opened_file {
    int fd;
    bool is_direct;
    uint32_t drive;           /* files with the same number share a device */
    struct nj_file_mark mark; /* when it was opened, or last found unchanged */
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

/* NJ_E_WEIGHTS names the first file that was written to since it was opened, or whose name
 * another one has now. That a name is gone, or its file may no longer be read, is no matter:
 * the bytes are there as long as it is open. */
enum nj_status nj_opened_files_check(const struct nj_opened_files *files, struct nj_error *err);

/* What they look like now is what later checks compare with. NJ_E_WEIGHTS when the system does
 * not tell, or another file has the name of one. */
enum nj_status nj_opened_files_accept(struct nj_opened_files *files, struct nj_error *err);

#endif
