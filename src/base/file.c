#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* --- the C library as a table --- */

static int real_open_at(void *context, int directory_fd, const char *name, int flags,
                        mode_t mode)
{
    (void)context;
    return openat(directory_fd, name, flags, mode);
}

static int real_close(void *context, int fd)
{
    (void)context;
    return close(fd);
}

static ssize_t real_read_at(void *context, int fd, void *data, size_t length_bytes,
                            off_t offset)
{
    (void)context;
    return pread(fd, data, length_bytes, offset);
}

static ssize_t real_write(void *context, int fd, const void *data, size_t length_bytes)
{
    (void)context;
    return write(fd, data, length_bytes);
}

static ssize_t real_write_at(void *context, int fd, const void *data, size_t length_bytes,
                             off_t offset)
{
    (void)context;
    return pwrite(fd, data, length_bytes, offset);
}

static int real_data_sync(void *context, int fd)
{
    (void)context;
    return fdatasync(fd);
}

static int real_sync(void *context, int fd)
{
    (void)context;
    return fsync(fd);
}

static int real_truncate(void *context, int fd, off_t length_bytes)
{
    (void)context;
    return ftruncate(fd, length_bytes);
}

static int real_reserve(void *context, int fd, off_t length_bytes)
{
    (void)context;
    if (fallocate(fd, 0, 0, length_bytes) == 0) {
        return 0;
    }
    return errno == EOPNOTSUPP ? ftruncate(fd, length_bytes) : -1;
}

static int real_rename_at(void *context, int from_directory_fd, const char *from,
                          int to_directory_fd, const char *to)
{
    (void)context;
    return renameat(from_directory_fd, from, to_directory_fd, to);
}

static int real_unlink_at(void *context, int directory_fd, const char *name)
{
    (void)context;
    return unlinkat(directory_fd, name, 0);
}

static int real_make_directory_at(void *context, int directory_fd, const char *name,
                                  mode_t mode)
{
    (void)context;
    return mkdirat(directory_fd, name, mode);
}

static int real_remove_directory_at(void *context, int directory_fd, const char *name)
{
    (void)context;
    return unlinkat(directory_fd, name, AT_REMOVEDIR);
}

static int real_status(void *context, int fd, struct stat *status)
{
    (void)context;
    return fstat(fd, status);
}

const struct nj_file_system *nj_file_system_real(void)
{
    static const struct nj_file_system real = {
        .open_at = real_open_at,
        .close = real_close,
        .read_at = real_read_at,
        .write = real_write,
        .write_at = real_write_at,
        .data_sync = real_data_sync,
        .sync = real_sync,
        .truncate = real_truncate,
        .reserve = real_reserve,
        .rename_at = real_rename_at,
        .unlink_at = real_unlink_at,
        .make_directory_at = real_make_directory_at,
        .remove_directory_at = real_remove_directory_at,
        .status = real_status,
    };
    return &real;
}

/* --- names --- */

/* Bytes of `path` up to and with its last slash; 0 when it has none. */
static size_t directory_part_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* The directory that holds `path`, as a path of its own. */
static enum nj_status directory_of(const char *path, char directory[PATH_MAX],
                                   struct nj_error *err)
{
    size_t length = directory_part_bytes(path);
    if (length >= PATH_MAX) {
        return nj_fail(err, NJ_E_IO, "%s: path too long", path);
    }
    if (length == 0) {
        (void)snprintf(directory, PATH_MAX, ".");
    } else {
        memcpy(directory, path, length);
        directory[length] = '\0';
    }
    return NJ_OK;
}

/* "runs/out.json" -> "runs/.out.json.pending" */
static enum nj_status pending_name(const char *name, char pending[PATH_MAX],
                                   struct nj_error *err)
{
    size_t directory_bytes = directory_part_bytes(name);
    int length = snprintf(pending, PATH_MAX, "%.*s.%s.pending", (int)directory_bytes, name,
                          name + directory_bytes);
    if (length < 0 || length >= PATH_MAX) {
        return nj_fail(err, NJ_E_IO, "%s: path too long", name);
    }
    return NJ_OK;
}

/* --- names made durable --- */

/* fsync on the directory that holds `name`: until then the name itself may be lost. */
static enum nj_status sync_directory_of(const struct nj_file_system *fs, int directory_fd,
                                        const char *name, struct nj_error *err)
{
    char directory[PATH_MAX];
    enum nj_status status = directory_of(name, directory, err);
    if (status != NJ_OK) {
        return status;
    }
    int fd = fs->open_at(fs->context, directory_fd, directory,
                         O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return nj_fail(err, NJ_E_STORAGE, "open the directory of %s to sync it: %s", name,
                       strerror(errno));
    }
    if (fs->sync(fs->context, fd) != 0) {
        status =
            nj_fail(err, NJ_E_STORAGE, "sync the directory of %s: %s", name, strerror(errno));
    }
    (void)fs->close(fs->context, fd); /* nothing was written through it */
    return status;
}

static enum nj_status make_directory(const struct nj_file_system *fs, const char *path,
                                     struct nj_error *err)
{
    if (fs->make_directory_at(fs->context, AT_FDCWD, path, 0700) == 0) {
        return sync_directory_of(fs, AT_FDCWD, path, err);
    }
    if (errno == EEXIST) {
        return NJ_OK;
    }
    return nj_fail(err, nj_status_from_errno(errno, NJ_E_STORAGE), "create directory %s: %s",
                   path, strerror(errno));
}

/* Creates each directory along the path that does not exist. */
static enum nj_status make_directories(const struct nj_file_system *fs, const char *path,
                                       struct nj_error *err)
{
    char prefix[PATH_MAX];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    if (length >= sizeof prefix) {
        return nj_fail(err, NJ_E_IO, "create directory %s: path too long", path);
    }
    for (size_t i = 1; i <= length; i++) {
        bool ends_a_name = (i == length || path[i] == '/') && path[i - 1] != '/';
        if (!ends_a_name) {
            continue;
        }
        memcpy(prefix, path, i);
        prefix[i] = '\0';
        enum nj_status status = make_directory(fs, prefix, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    return NJ_OK;
}

/* --- opening --- */

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)                    ? "a directory"
           : S_ISFIFO(mode)                 ? "a pipe"
           : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                            : "something else";
}

/* `otherwise` for what is not a regular file: a pipe would block its reader for ever, and
 * nothing else keeps bytes at places. */
static enum nj_status check_is_regular(const struct nj_file_system *fs, int fd,
                                       const char *name, enum nj_status otherwise,
                                       struct nj_error *err)
{
    struct stat status;
    if (fs->status(fs->context, fd, &status) != 0) {
        return nj_fail(err, NJ_E_IO, "ask what %s is: %s", name, strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return nj_fail(err, otherwise, "open %s: not a regular file but %s", name,
                       kind_of(status.st_mode));
    }
    return NJ_OK;
}

enum nj_status nj_file_open_read(const struct nj_file_system *fs, int directory_fd,
                                 const char *name, int *fd, struct nj_error *err)
{
    /* O_NONBLOCK means nothing for a regular file, and opening a pipe does not wait with it. */
    int opened =
        fs->open_at(fs->context, directory_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (opened < 0) {
        return nj_fail(err, nj_status_from_errno(errno, NJ_E_IO), "open %s: %s", name,
                       strerror(errno));
    }
    enum nj_status status = check_is_regular(fs, opened, name, NJ_E_INPUT, err);
    if (status != NJ_OK) {
        (void)fs->close(fs->context, opened); /* nothing was read */
        return status;
    }
    *fd = opened;
    return NJ_OK;
}

/* Opens for appending; `*created` says whether the name is new. Two tries, because the name may
 * appear between looking and creating. */
static int open_or_create(const struct nj_file_system *fs, int directory_fd, const char *name,
                          bool *created)
{
    const int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK;
    for (int attempt = 0; attempt < 2; attempt++) {
        *created = false;
        int fd = fs->open_at(fs->context, directory_fd, name, flags, 0);
        if (fd >= 0 || errno != ENOENT) {
            return fd;
        }
        *created = true;
        fd = fs->open_at(fs->context, directory_fd, name, flags | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
    }
    return -1;
}

/* Of a name that is to be created: when it is absent all the same, its folder is. */
static enum nj_status creation_status(int error_number)
{
    enum nj_status status = nj_status_from_errno(error_number, NJ_E_STORAGE);
    return status == NJ_E_NOT_FOUND ? NJ_E_STORAGE : status;
}

/* What a failed open of a name that is to be written means. */
static enum nj_status fail_open(int error_number, const char *name, struct nj_error *err)
{
    if (error_number == EEXIST) { /* there, and yet not there: nothing else looks like this */
        return nj_fail(err, NJ_E_STORAGE,
                       "open %s for appending: it is a symbolic link to something that does "
                       "not exist",
                       name);
    }
    return nj_fail(err, creation_status(error_number), "open %s for appending: %s", name,
                   strerror(error_number));
}

static enum nj_status sync_created(const struct nj_file_system *fs, int directory_fd, int fd,
                                   const char *name, struct nj_error *err)
{
    if (fs->sync(fs->context, fd) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "sync %s: %s", name, strerror(errno));
    }
    return sync_directory_of(fs, directory_fd, name, err);
}

enum nj_status nj_file_open_append(const struct nj_file_system *fs, int directory_fd,
                                   const char *name, int *fd, uint64_t *length_bytes,
                                   struct nj_error *err)
{
    bool created = false;
    int opened = open_or_create(fs, directory_fd, name, &created);
    if (opened < 0) {
        return fail_open(errno, name, err);
    }
    uint64_t length = 0;
    enum nj_status status = check_is_regular(fs, opened, name, NJ_E_STORAGE, err);
    if (status == NJ_OK) {
        status = nj_file_length(fs, opened, &length, err);
    }
    if (status == NJ_OK && created) {
        status = sync_created(fs, directory_fd, opened, name, err);
    }
    if (status != NJ_OK) {
        (void)fs->close(fs->context, opened); /* the failure above says more */
        return status;
    }
    *fd = opened;
    *length_bytes = length;
    return NJ_OK;
}

enum nj_status nj_file_open_directory(const struct nj_file_system *fs, const char *path,
                                      bool create, int *directory_fd, struct nj_error *err)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    int opened = fs->open_at(fs->context, AT_FDCWD, path, flags, 0);
    if (opened < 0 && errno == ENOENT && create) {
        enum nj_status status = make_directories(fs, path, err);
        if (status != NJ_OK) {
            return status;
        }
        opened = fs->open_at(fs->context, AT_FDCWD, path, flags, 0);
        if (opened < 0 && errno == ENOENT) {
            return nj_fail(
                err, NJ_E_STORAGE,
                "open directory %s: it is a symbolic link to something that does not "
                "exist, or was removed at once",
                path);
        }
    }
    if (opened < 0) {
        return nj_fail(err, nj_status_from_errno(errno, NJ_E_IO), "open directory %s: %s", path,
                       strerror(errno));
    }
    *directory_fd = opened;
    return NJ_OK;
}

static enum nj_status visit_names(DIR *directory, nj_file_name_visit *visit, void *context,
                                  struct nj_error *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (entry == NULL && errno != 0) {
            return nj_fail(err, NJ_E_IO, "list a directory: %s", strerror(errno));
        }
        if (entry == NULL) {
            return NJ_OK;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        enum nj_status status = visit(context, entry->d_name, err);
        if (status != NJ_OK) {
            return status;
        }
    }
}

enum nj_status nj_file_list(const struct nj_file_system *fs, int directory_fd,
                            nj_file_name_visit *visit, void *context, struct nj_error *err)
{
    /* A descriptor of its own, because reading names moves the position of the one it uses. */
    int fd = fs->open_at(fs->context, directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return nj_fail(err, nj_status_from_errno(errno, NJ_E_IO), "list a directory: %s",
                       strerror(errno));
    }
    DIR *directory = fdopendir(fd);
    if (directory == NULL) {
        enum nj_status status = nj_fail(err, nj_status_from_errno(errno, NJ_E_IO),
                                        "list a directory: %s", strerror(errno));
        (void)fs->close(fs->context, fd); /* nothing was written through it */
        return status;
    }
    enum nj_status status = visit_names(directory, visit, context, err);
    (void)closedir(directory); /* nothing was written through it */
    return status;
}

/* --- reading --- */

enum nj_status nj_file_length(const struct nj_file_system *fs, int fd, uint64_t *length_bytes,
                              struct nj_error *err)
{
    struct stat status;
    if (fs->status(fs->context, fd, &status) != 0) {
        return nj_fail(err, NJ_E_IO, "ask for the length: %s", strerror(errno));
    }
    *length_bytes = (uint64_t)status.st_size;
    return NJ_OK;
}

/* Reads until `length_bytes` are there, the file ends or a read fails. */
static ssize_t read_fully(const struct nj_file_system *fs, int fd, uint8_t *data,
                          size_t length_bytes, off_t offset)
{
    size_t done = 0;
    while (done < length_bytes) {
        ssize_t n = fs->read_at(fs->context, fd, data + done, length_bytes - done,
                                offset + (off_t)done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -1;
        }
        if (n == 0) {
            break;
        }
        done += (size_t)n;
    }
    return (ssize_t)done;
}

enum nj_status nj_file_read_exactly(const struct nj_file_system *fs, int fd, void *data,
                                    size_t length_bytes, uint64_t offset, const char *name,
                                    struct nj_error *err)
{
    if (length_bytes > SSIZE_MAX || offset > (uint64_t)INT64_MAX - length_bytes) {
        return nj_fail(err, NJ_E_IO,
                       "read %s at offset %" PRIu64 ": %zu bytes reach past what files hold",
                       name, offset, length_bytes);
    }
    ssize_t found = read_fully(fs, fd, data, length_bytes, (off_t)offset);
    if (found < 0) {
        return nj_fail(err, NJ_E_IO, "read %s at offset %" PRIu64 ": %s", name, offset,
                       strerror(errno));
    }
    if ((size_t)found != length_bytes) {
        return nj_fail(err, NJ_E_IO,
                       "read %s at offset %" PRIu64 ": wanted %zu bytes, found %zd", name,
                       offset, length_bytes, found);
    }
    return NJ_OK;
}

/* The length of a regular file that is no longer than allowed. */
static enum nj_status length_to_read(const struct nj_file_system *fs, int fd, const char *name,
                                     uint64_t limit_bytes, uint64_t *length_bytes,
                                     struct nj_error *err)
{
    struct stat status;
    if (fs->status(fs->context, fd, &status) != 0) {
        return nj_fail(err, NJ_E_IO, "ask for the length of %s: %s", name, strerror(errno));
    }
    if ((uint64_t)status.st_size > limit_bytes) {
        return nj_fail(err, NJ_E_INPUT,
                       "read %s: it has %" PRIu64 " bytes, at most %" PRIu64 " are read", name,
                       (uint64_t)status.st_size, limit_bytes);
    }
    *length_bytes = (uint64_t)status.st_size;
    return NJ_OK;
}

static enum nj_status read_into_arena(const struct nj_file_system *fs, int fd, const char *name,
                                      uint64_t limit_bytes, struct nj_arena *arena,
                                      struct nj_bytes *content, struct nj_error *err)
{
    uint64_t length_bytes = 0;
    enum nj_status status = length_to_read(fs, fd, name, limit_bytes, &length_bytes, err);
    if (status != NJ_OK) {
        return status;
    }
    uint8_t *data = length_bytes < SIZE_MAX
                        ? nj_arena_take_array(arena, (size_t)length_bytes + 1, 1)
                        : NULL;
    if (data == NULL) {
        return nj_arena_fail(arena, name, err);
    }
    status = nj_file_read_exactly(fs, fd, data, (size_t)length_bytes, 0, name, err);
    if (status != NJ_OK) {
        return status;
    }
    content->data = data;
    content->length_bytes = (size_t)length_bytes;
    return NJ_OK;
}

enum nj_status nj_file_read_whole(const struct nj_file_system *fs, int directory_fd,
                                  const char *name, uint64_t limit_bytes,
                                  struct nj_arena *arena, struct nj_bytes *content,
                                  struct nj_error *err)
{
    int fd = -1;
    enum nj_status status = nj_file_open_read(fs, directory_fd, name, &fd, err);
    if (status != NJ_OK) {
        return status;
    }
    status = read_into_arena(fs, fd, name, limit_bytes, arena, content, err);
    (void)fs->close(fs->context, fd); /* nothing was written through it */
    return status;
}

/* --- writing --- */

enum nj_status nj_file_append(const struct nj_file_system *fs, int fd, struct nj_bytes content,
                              const char *name, struct nj_error *err)
{
    size_t done = 0;
    while (done < content.length_bytes) {
        ssize_t n =
            fs->write(fs->context, fd, content.data + done, content.length_bytes - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            const char *reason = n == 0 ? "nothing was accepted" : strerror(errno);
            return nj_fail(err, NJ_E_STORAGE, "append to %s: %s, %zu of %zu bytes written",
                           name, reason, done, content.length_bytes);
        }
        done += (size_t)n;
    }
    return NJ_OK;
}

enum nj_status nj_file_write_exactly(const struct nj_file_system *fs, int fd,
                                     struct nj_bytes content, uint64_t offset, const char *name,
                                     struct nj_error *err)
{
    size_t done = 0;
    while (done < content.length_bytes) {
        ssize_t n = fs->write_at(fs->context, fd, content.data + done,
                                 content.length_bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            const char *reason = n == 0 ? "nothing was accepted" : strerror(errno);
            return nj_fail(err, NJ_E_STORAGE, "write %s at %" PRIu64 ": %s, %zu of %zu bytes",
                           name, offset, reason, done, content.length_bytes);
        }
        done += (size_t)n;
    }
    return NJ_OK;
}

enum nj_status nj_file_data_sync(const struct nj_file_system *fs, int fd, const char *name,
                                 struct nj_error *err)
{
    /* Not even EINTR is tried again: after a failure the kernel may have dropped the data, and
     * the next call would say that all is well. */
    if (fs->data_sync(fs->context, fd) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "sync %s: %s", name, strerror(errno));
    }
    return NJ_OK;
}

/* Creates `pending` with the content, on disk when this returns NJ_OK. */
static enum nj_status write_pending(const struct nj_file_system *fs, int directory_fd,
                                    const char *pending, struct nj_bytes content,
                                    struct nj_error *err)
{
    int fd = fs->open_at(fs->context, directory_fd, pending,
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        return nj_fail(err, creation_status(errno), "create %s: %s", pending, strerror(errno));
    }
    enum nj_status status = nj_file_append(fs, fd, content, pending, err);
    if (status == NJ_OK && fs->sync(fs->context, fd) != 0) {
        status = nj_fail(err, NJ_E_STORAGE, "sync %s: %s", pending, strerror(errno));
    }
    /* The descriptor is gone either way; some file systems report a full disk only here. */
    if (fs->close(fs->context, fd) != 0 && status == NJ_OK) {
        status = nj_fail(err, NJ_E_STORAGE, "close %s: %s", pending, strerror(errno));
    }
    return status;
}

enum nj_status nj_file_replace(const struct nj_file_system *fs, int directory_fd,
                               const char *name, struct nj_bytes content, struct nj_error *err)
{
    char pending[PATH_MAX];
    enum nj_status status = pending_name(name, pending, err);
    if (status != NJ_OK) {
        return status;
    }
    status = write_pending(fs, directory_fd, pending, content, err);
    if (status != NJ_OK) {
        goto out;
    }
    /* Bytes on disk before the name points at them; the name on disk before we say so. */
    if (fs->rename_at(fs->context, directory_fd, pending, directory_fd, name) != 0) {
        status =
            nj_fail(err, NJ_E_STORAGE, "rename %s to %s: %s", pending, name, strerror(errno));
        goto out;
    }
    return sync_directory_of(fs, directory_fd, name, err);
out:
    (void)fs->unlink_at(fs->context, directory_fd, pending); /* a leftover is overwritten */
    return status;
}

/* --- locking --- */

enum nj_status nj_file_lock(const struct nj_file_system *fs, int directory_fd, const char *name,
                            int *lock_fd, struct nj_error *err)
{
    int fd = fs->open_at(fs->context, directory_fd, name,
                         O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0) {
        return nj_fail(err, creation_status(errno), "open lock file %s: %s", name,
                       strerror(errno));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        enum nj_status status =
            errno == EWOULDBLOCK
                ? nj_fail(err, NJ_E_STATE, "lock %s: another process holds it", name)
                : nj_fail(err, NJ_E_IO, "lock %s: %s", name, strerror(errno));
        (void)fs->close(fs->context, fd); /* nothing was written through it */
        return status;
    }
    *lock_fd = fd;
    return NJ_OK;
}
