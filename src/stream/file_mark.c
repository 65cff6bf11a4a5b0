#include "stream/file_mark.h"

#include <fcntl.h>

struct nj_file_mark nj_file_mark_of(const struct stat *status)
{
    return (struct nj_file_mark){.device = status->st_dev,
                                 .inode = status->st_ino,
                                 .length_bytes = status->st_size,
                                 .modified = status->st_mtim,
                                 .changed = status->st_ctim,
                                 .n_links = status->st_nlink,
                                 .mode = status->st_mode,
                                 .owner = status->st_uid,
                                 .group = status->st_gid};
}

/* O_PATH: a file that may no longer be read still tells what it is. */
bool nj_file_mark_take(const struct nj_file_system *fs, const char *path,
                       struct nj_file_mark *mark)
{
    struct stat status;
    int fd = fs->open_at(fs->context, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    bool is_known = fs->status(fs->context, fd, &status) == 0;
    (void)fs->close(fs->context, fd); /* nothing was written through it */
    if (is_known) {
        *mark = nj_file_mark_of(&status);
    }
    return is_known;
}

bool nj_file_mark_is_same_file(const struct nj_file_mark *a, const struct nj_file_mark *b)
{
    return a->device == b->device && a->inode == b->inode;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_explained(const struct nj_file_mark *before, const struct nj_file_mark *now)
{
    return before->mode != now->mode || before->n_links != now->n_links ||
           before->owner != now->owner || before->group != now->group;
}

bool nj_file_mark_was_written(const struct nj_file_mark *before, const struct nj_file_mark *now)
{
    if (before->length_bytes != now->length_bytes ||
        !is_same_time(&before->modified, &now->modified)) {
        return true;
    }
    return !is_same_time(&before->changed, &now->changed) && !is_explained(before, now);
}
