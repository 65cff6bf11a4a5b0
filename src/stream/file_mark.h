/* What shows that a file was written to, or that another one took its place.
 *
 * Weights are read for hours from files that others may write to. Bytes cannot be compared each
 * time, but the system's own record of a file can.
 *
 * Threads: pure, but for nj_file_mark_take.
 */
#ifndef NJ_STREAM_FILE_MARK_H
#define NJ_STREAM_FILE_MARK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/file.h"

struct nj_file_mark {
    dev_t device;
    ino_t inode;
    off_t length_bytes;
    struct timespec modified;
    struct timespec changed; /* also by what leaves the bytes alone */
    nlink_t n_links;
    mode_t mode;
    uid_t owner;
    gid_t group;
};

struct nj_file_mark nj_file_mark_of(const struct stat *status);

/* Of the file that has this name now, without reading it; false when none can be found. */
bool nj_file_mark_take(const struct nj_file_system *fs, const char *path,
                       struct nj_file_mark *mark);

bool nj_file_mark_is_same_file(const struct nj_file_mark *a, const struct nj_file_mark *b);

/* The file, the same one, was written to in between. A time of change that permissions, the
 * owner or the number of names explain says nothing; one that nothing explains does, because
 * the time of modification can be set back. */
bool nj_file_mark_was_written(const struct nj_file_mark *before,
                              const struct nj_file_mark *now);

#endif
