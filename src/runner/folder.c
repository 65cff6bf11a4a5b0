#include "runner/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { ASIDE_LIMIT = 10000, OPEN_ATTEMPTS = 5 };

bool nj_run_folder_exists(const struct nj_file_system *fs, const char *path)
{
    int fd = fs->open_at(fs->context, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd >= 0) {
        (void)fs->close(fs->context, fd); /* only looked at */
        return true;
    }
    return errno != ENOENT;
}

enum place { IN_PLACE, MOVED, UNKNOWN };

/* Whether the path still names the folder that is open. */
static enum place find_place(const struct nj_run_folder *folder)
{
    const struct nj_file_system *fs = folder->fs;
    struct stat opened;
    struct stat named;
    int fd =
        fs->open_at(fs->context, AT_FDCWD, folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR ? MOVED : UNKNOWN;
    }
    bool is_known = fs->status(fs->context, folder->directory_fd, &opened) == 0 &&
                    fs->status(fs->context, fd, &named) == 0;
    (void)fs->close(fs->context, fd); /* only looked at */
    if (!is_known) {
        return UNKNOWN;
    }
    return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino ? IN_PLACE : MOVED;
}

/* What a listing of the folder found. */
struct contents {
    bool has_log;
    char foreign[64]; /* the first name by bytes that no run puts there before its logs; cut */
};

static bool begins_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* A log, one of its segments, or damaged bytes of it. */
static bool is_of_a_log(const char *name)
{
    return begins_with(name, "journal.log") || begins_with(name, "tokens.log") ||
           begins_with(name, "results.log");
}

/* Written before the logs, so that a kill may leave it alone; or hidden, as .gitkeep is, and in
 * nobody's way. */
static bool is_harmless(const char *name)
{
    return name[0] == '.' || strcmp(name, "run.lock") == 0;
}

static enum nj_status note_contents(void *context, const char *name, struct nj_error *err)
{
    struct contents *contents = context;
    (void)err;
    contents->has_log = contents->has_log || is_of_a_log(name);
    bool is_first = contents->foreign[0] == '\0' || strcmp(name, contents->foreign) < 0;
    if (!is_harmless(name) && is_first) {
        (void)snprintf(contents->foreign, sizeof contents->foreign, "%s", name);
    }
    return NJ_OK;
}

/* A run removes and replaces files by name. In a folder of somebody else's, such as a model's,
 * these are not its own; it is left as it was, without even a lock. */
static enum nj_status refuse_foreign(const struct nj_run_folder *folder, struct nj_error *err)
{
    struct contents contents = {0};
    enum nj_status status =
        nj_file_list(folder->fs, folder->directory_fd, note_contents, &contents, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "look into the run folder %s", folder->path);
    }
    if (contents.has_log || contents.foreign[0] == '\0') {
        return NJ_OK;
    }
    return nj_fail(err, NJ_E_STATE,
                   "%s is no run folder: it holds other files (such as %s) and none of a run's "
                   "logs. Nothing was written; give an empty or a new folder with --out DIR",
                   folder->path, contents.foreign);
}

static enum nj_status open_and_lock(struct nj_run_folder *folder, struct nj_error *err)
{
    const struct nj_file_system *fs = folder->fs;
    enum nj_status status =
        nj_file_open_directory(fs, folder->path, true, &folder->directory_fd, err);
    if (status != NJ_OK) {
        /* Absent although it was to be made: its path leads through what is no folder. */
        enum nj_status reason = status == NJ_E_NOT_FOUND ? NJ_E_USAGE : status;
        return nj_prefix(err, reason, "the run folder %s is not a folder or cannot be made",
                         folder->path);
    }
    status = refuse_foreign(folder, err);
    if (status != NJ_OK) {
        (void)fs->close(fs->context, folder->directory_fd); /* only looked at */
        return status;
    }
    status = nj_file_lock(fs, folder->directory_fd, "run.lock", &folder->lock_fd, err);
    if (status != NJ_OK) {
        (void)fs->close(fs->context, folder->directory_fd); /* nothing was written */
        return status == NJ_E_STATE
                   ? nj_fail(err, status,
                             "%s: another nightjar is working in this folder. Wait until it is "
                             "done, or give another folder with --out DIR",
                             folder->path)
                   : nj_prefix(err, status, "lock %s", folder->path);
    }
    folder->is_open = true;
    return NJ_OK;
}

enum nj_status nj_run_folder_open(struct nj_run_folder *folder, const struct nj_file_system *fs,
                                  const char *path, struct nj_error *err)
{
    *folder = (struct nj_run_folder){.fs = fs, .directory_fd = -1, .lock_fd = -1};
    int length = snprintf(folder->path, sizeof folder->path, "%s", path);
    if (length < 0 || (size_t)length >= sizeof folder->path) {
        return nj_fail(err, NJ_E_USAGE, "the run folder's path is too long: %.60s...", path);
    }
    /* Between opening and locking, the lock's holder may have moved the folder aside and ended:
     * what is locked then is the old run, under a path that means another. */
    for (int attempt = 0; attempt < OPEN_ATTEMPTS; attempt++) {
        enum nj_status status = open_and_lock(folder, err);
        if (status != NJ_OK || find_place(folder) != MOVED) {
            return status;
        }
        nj_run_folder_close(folder);
    }
    return nj_fail(err, NJ_E_STATE, "%s: others keep moving this folder while it is opened",
                   path);
}

enum nj_status nj_run_folder_check(const struct nj_run_folder *folder, struct nj_error *err)
{
    const struct nj_file_system *fs = folder->fs;
    struct stat lock;
    if (fs->status(fs->context, folder->lock_fd, &lock) == 0 && lock.st_nlink == 0) {
        return nj_fail(err, NJ_E_STORAGE,
                       "%s was removed while the run worked in it: nothing of it is kept",
                       folder->path);
    }
    if (find_place(folder) == MOVED) {
        return nj_fail(err, NJ_E_STORAGE,
                       "%s was moved or replaced while the run worked in it: put it back and "
                       "the same command continues",
                       folder->path);
    }
    return NJ_OK;
}

static const char named[] = "work in the run folder ";

/* Whether the sentence begins with the folder already. */
static bool names_folder(const struct nj_run_folder *folder, const char *text)
{
    size_t length = strlen(folder->path);
    return begins_with(text, named) ||
           (strncmp(text, folder->path, length) == 0 && text[length] == ' ');
}

enum nj_status nj_run_folder_name_in(const struct nj_run_folder *folder, enum nj_status status,
                                     struct nj_error *err)
{
    bool is_of_files = status == NJ_E_PERMISSION || status == NJ_E_STORAGE || status == NJ_E_IO;
    if (!is_of_files || err == NULL || names_folder(folder, err->text)) {
        return status;
    }
    return nj_prefix(err, status, "%s%s", named, folder->path);
}

static enum nj_status note_name(void *context, const char *name, struct nj_error *err)
{
    bool *is_empty = context;
    (void)err;
    *is_empty = *is_empty && strcmp(name, "run.lock") == 0;
    return NJ_OK;
}

enum nj_status nj_run_folder_is_empty(const struct nj_run_folder *folder, bool *is_empty,
                                      struct nj_error *err)
{
    *is_empty = true;
    return nj_file_list(folder->fs, folder->directory_fd, note_name, is_empty, err);
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

/* "." and "a/.." say where a folder is, not what it is called. */
static bool has_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

enum nj_status nj_run_folder_move_aside(struct nj_run_folder *folder, const struct nj_log *log,
                                        struct nj_error *err)
{
    const struct nj_file_system *fs = folder->fs;
    char path[NJ_FOLDER_PATH_LIMIT_BYTES];
    char aside[NJ_FOLDER_PATH_LIMIT_BYTES + 16];
    size_t length = strlen(folder->path);
    while (length > 1 && folder->path[length - 1] == '/') {
        folder->path[--length] = '\0';
    }
    memcpy(path, folder->path, length + 1);
    if (!has_name(path)) {
        return nj_fail(
            err, NJ_E_USAGE,
            "%s: a run folder is moved aside by its name, and this path does not say "
            "it. Nothing was moved; give the folder by its name with --out DIR, from "
            "another directory",
            path);
    }
    unsigned number = 1;
    do {
        (void)snprintf(aside, sizeof aside, "%s.%u", path, number);
    } while (nj_run_folder_exists(fs, aside) && ++number < ASIDE_LIMIT);
    if (fs->rename_at(fs->context, AT_FDCWD, path, AT_FDCWD, aside) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "move %s aside to %s: %s", path, aside,
                       strerror(errno));
    }
    nj_log_write(log, NJ_LOG_INFO, "moved the old run to %s", aside);
    nj_run_folder_close(folder); /* its lock moved along with it */
    return nj_run_folder_open(folder, fs, path, err);
}
