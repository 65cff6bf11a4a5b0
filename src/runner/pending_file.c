#include "runner/pending_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void release(struct nj_pending_file *file)
{
    if (file->fd >= 0) {
        (void)file->fs->close(file->fs->context, file->fd); /* synced, or to be thrown away */
    }
    nj_digest_stream_destroy(file->digest);
    free(file->buffer);
    file->fd = -1;
    file->digest = NULL;
    file->buffer = NULL;
}

/* Storage is what is at fault, unless this user may not write there. */
static enum nj_status writing_status(int error_number)
{
    enum nj_status status = nj_status_from_errno(error_number, NJ_E_STORAGE);
    return status == NJ_E_PERMISSION ? status : NJ_E_STORAGE;
}

enum nj_status nj_pending_file_begin(struct nj_pending_file *file,
                                     const struct nj_file_system *fs, int directory_fd,
                                     const char *name, struct nj_error *err)
{
    *file = (struct nj_pending_file){
        .fs = fs, .directory_fd = directory_fd, .name = name, .fd = -1};
    (void)snprintf(file->pending_name, sizeof file->pending_name, "%s.tmp", name);
    enum nj_status status = nj_digest_stream_create(&file->digest, err);
    if (status != NJ_OK) {
        return status;
    }
    file->buffer = malloc(NJ_PENDING_BUFFER_BYTES);
    if (file->buffer == NULL) {
        release(file);
        return nj_fail(err, NJ_E_MEMORY, "write %s: out of memory", name);
    }
    file->fd = fs->open_at(fs->context, directory_fd, file->pending_name,
                           O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file->fd < 0) {
        status = nj_fail(err, writing_status(errno), "create %s: %s", file->pending_name,
                         strerror(errno));
        release(file);
    }
    return status;
}

static enum nj_status flush(struct nj_pending_file *file, struct nj_error *err)
{
    struct nj_bytes bytes = {.data = file->buffer, .length_bytes = file->n_buffered};
    file->n_buffered = 0;
    if (bytes.length_bytes == 0) {
        return NJ_OK;
    }
    return nj_file_append(file->fs, file->fd, bytes, file->pending_name, err);
}

enum nj_status nj_pending_file_append(struct nj_pending_file *file, struct nj_bytes bytes,
                                      struct nj_error *err)
{
    nj_digest_stream_add(file->digest, bytes.data, bytes.length_bytes);
    while (bytes.length_bytes > 0) {
        size_t room = NJ_PENDING_BUFFER_BYTES - file->n_buffered;
        size_t n_bytes = bytes.length_bytes < room ? bytes.length_bytes : room;
        memcpy(file->buffer + file->n_buffered, bytes.data, n_bytes);
        file->n_buffered += n_bytes;
        bytes.data += n_bytes;
        bytes.length_bytes -= n_bytes;
        if (file->n_buffered == NJ_PENDING_BUFFER_BYTES) {
            enum nj_status status = flush(file, err);
            if (status != NJ_OK) {
                return status;
            }
        }
    }
    return NJ_OK;
}

enum nj_status nj_pending_file_publish(struct nj_pending_file *file, struct nj_digest *sha256,
                                       struct nj_error *err)
{
    const struct nj_file_system *fs = file->fs;
    struct nj_digest digest;
    enum nj_status status = flush(file, err);
    if (status == NJ_OK) {
        status = nj_digest_stream_finish(file->digest, &digest, err);
    }
    /* Bytes on disk before the name points at them. */
    if (status == NJ_OK && (fs->sync(fs->context, file->fd) != 0 ||
                            fs->rename_at(fs->context, file->directory_fd, file->pending_name,
                                          file->directory_fd, file->name) != 0)) {
        status = nj_fail(err, NJ_E_STORAGE, "commit %s: %s", file->name, strerror(errno));
    }
    if (status != NJ_OK) {
        nj_pending_file_abandon(file);
        return status;
    }
    release(file);
    if (sha256 != NULL) {
        *sha256 = digest;
    }
    return NJ_OK;
}

/* The name on disk before we say so. */
enum nj_status nj_pending_file_commit(struct nj_pending_file *file, struct nj_digest *sha256,
                                      struct nj_error *err)
{
    const struct nj_file_system *fs = file->fs;
    int directory_fd = file->directory_fd;
    enum nj_status status = nj_pending_file_publish(file, sha256, err);
    if (status == NJ_OK && fs->sync(fs->context, directory_fd) != 0) {
        status = nj_fail(err, NJ_E_STORAGE, "commit %s: %s", file->name, strerror(errno));
    }
    return status;
}

void nj_pending_file_abandon(struct nj_pending_file *file)
{
    if (file->fd < 0) {
        return;
    }
    const struct nj_file_system *fs = file->fs;
    (void)fs->unlink_at(fs->context, file->directory_fd,
                        file->pending_name); /* a leftover is replaced by the next export */
    release(file);
}
