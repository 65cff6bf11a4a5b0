#include "queue/ballast.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024 };

static enum nj_status fail(const char *what, const char *name, struct nj_error *err)
{
    bool is_full = errno == ENOSPC || errno == EDQUOT;
    return nj_fail(err, is_full ? NJ_E_BUDGET : NJ_E_STORAGE, "%s %s: %s", what, name,
                   strerror(errno));
}

static enum nj_status write_up_to(const struct nj_file_system *fs, int fd, const char *name,
                                  uint64_t length_bytes, uint64_t bytes, struct nj_error *err)
{
    /* Not zeros, which a file system may keep as a hole. */
    static const uint8_t chunk[CHUNK_BYTES] = {'b', 'a', 'l', 'l', 'a', 's', 't', '\n'};
    while (length_bytes < bytes) {
        uint64_t left = bytes - length_bytes;
        size_t wanted = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
        ssize_t written = fs->write(fs->context, fd, chunk, wanted);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return fail("write", name, err);
        }
        length_bytes += (uint64_t)written;
    }
    return fs->data_sync(fs->context, fd) == 0 ? NJ_OK : fail("sync", name, err);
}

enum nj_status nj_queue_ballast_take_on(const struct nj_file_system *fs, int directory_fd,
                                        const char *name, uint64_t bytes, struct nj_error *err)
{
    int fd = -1;
    uint64_t length_bytes = 0;
    enum nj_status status =
        nj_file_open_append(fs, directory_fd, name, &fd, &length_bytes, err);
    if (status != NJ_OK) {
        return status;
    }
    if (length_bytes < bytes) {
        status = write_up_to(fs, fd, name, length_bytes, bytes, err);
    }
    (void)fs->close(fs->context, fd); /* the sync has said what there was to say */
    if (status != NJ_OK) {
        /* Part of it would only make the disk fuller; the first failure is the one to tell. */
        (void)fs->unlink_at(fs->context, directory_fd, name);
    }
    return status;
}

enum nj_status nj_queue_ballast_drop(const struct nj_file_system *fs, int directory_fd,
                                     const char *name, bool *was_there, struct nj_error *err)
{
    if (fs->unlink_at(fs->context, directory_fd, name) == 0) {
        *was_there = true;
        return NJ_OK;
    }
    if (errno != ENOENT) {
        return fail("remove", name, err);
    }
    *was_there = false;
    return NJ_OK;
}
