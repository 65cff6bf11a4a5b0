#include "runner/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { ASIDE_LIMIT = 10000 };

bool nj_run_folder_exists(const struct nj_file_system *fs, const char *path)
{
    int fd = fs->open_at(fs->context, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        (void)fs->close(fs->context, fd); /* only looked at */
        return true;
    }
    return errno != ENOENT;
}

enum nj_status nj_run_folder_open(struct nj_run_folder *folder, const struct nj_file_system *fs,
                                  const char *path, struct nj_error *err)
{
    *folder = (struct nj_run_folder){.fs = fs, .directory_fd = -1, .lock_fd = -1};
    int length = snprintf(folder->path, sizeof folder->path, "%s", path);
    if (length < 0 || (size_t)length >= sizeof folder->path) {
        return nj_fail(err, NJ_E_USAGE, "the run folder's path is too long: %.60s...", path);
    }
    enum nj_status status = nj_file_open_directory(fs, path, true, &folder->directory_fd, err);
    if (status != NJ_OK) {
        enum nj_status reason = status == NJ_E_NOT_FOUND ? NJ_E_STORAGE : status;
        return nj_prefix(err, reason, "run folder");
    }
    status = nj_file_lock(fs, folder->directory_fd, "run.lock", &folder->lock_fd, err);
    if (status != NJ_OK) {
        (void)fs->close(fs->context, folder->directory_fd); /* nothing was written */
        return status == NJ_E_STATE
                   ? nj_fail(err, status, "%s: another nightjar is working in this folder",
                             path)
                   : nj_prefix(err, status, "lock %s", path);
    }
    folder->is_open = true;
    return NJ_OK;
}

void nj_run_folder_close(struct nj_run_folder *folder)
{
    if (!folder->is_open) {
        return;
    }
    const struct nj_file_system *fs = folder->fs;
    (void)fs->close(fs->context, folder->directory_fd); /* synced whenever it mattered */
    (void)fs->close(fs->context, folder->lock_fd);      /* which releases the lock */
    folder->is_open = false;
}

enum nj_status nj_run_folder_move_aside(struct nj_run_folder *folder, struct nj_error *err)
{
    const struct nj_file_system *fs = folder->fs;
    char path[NJ_FOLDER_PATH_LIMIT_BYTES];
    char aside[NJ_FOLDER_PATH_LIMIT_BYTES + 16];
    size_t length = strlen(folder->path);
    while (length > 1 && folder->path[length - 1] == '/') {
        folder->path[--length] = '\0';
    }
    memcpy(path, folder->path, length + 1);
    unsigned number = 1;
    do {
        (void)snprintf(aside, sizeof aside, "%s.%u", path, number);
    } while (nj_run_folder_exists(fs, aside) && ++number < ASIDE_LIMIT);
    if (fs->rename_at(fs->context, AT_FDCWD, path, AT_FDCWD, aside) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "move %s aside to %s: %s", path, aside,
                       strerror(errno));
    }
    nj_run_folder_close(folder); /* its lock moved along with it */
    return nj_run_folder_open(folder, fs, path, err);
}
