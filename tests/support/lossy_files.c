#include "support/lossy_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A test that outgrows the tables must not pass by accident. */
static uint32_t take_place(uint32_t *n, uint32_t limit)
{
    if (*n == limit) {
        (void)fprintf(stderr, "lossy files: too many to remember\n");
        abort();
    }
    return (*n)++;
}

/* False, with errno set, once the power is gone. */
static bool begin_change(struct lossy_files *lossy)
{
    lossy->n_changing_calls++;
    if (lossy->n_changing_calls == lossy->cut_at) {
        lossy->is_dark = true;
    }
    errno = EIO;
    return !lossy->is_dark;
}

static void remember_change(struct lossy_files *lossy, enum lossy_change_kind kind,
                            int directory_fd, const char *from, const char *to)
{
    struct lossy_change *change =
        &lossy->changes[take_place(&lossy->n_changes, LOSSY_CHANGES_LIMIT)];
    *change = (struct lossy_change){.kind = kind, .directory_fd = directory_fd};
    (void)snprintf(change->from, sizeof change->from, "%s", from);
    (void)snprintf(change->to, sizeof change->to, "%s", to);
}

static struct lossy_file *file_of(struct lossy_files *lossy, int fd)
{
    for (uint32_t i = lossy->n_files; i > 0; i--) {
        if (lossy->files[i - 1].fd == fd) {
            return &lossy->files[i - 1];
        }
    }
    return NULL;
}

static int lossy_open_at(void *context, int directory_fd, const char *name, int flags,
                         mode_t mode)
{
    struct lossy_files *lossy = context;
    const struct nj_file_system *below = lossy->below;
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    if (!writes) {
        errno = EIO;
        return lossy->is_dark ? -1
                              : below->open_at(below->context, directory_fd, name, flags, mode);
    }
    if (!begin_change(lossy)) {
        return -1;
    }
    bool is_new = faccessat(directory_fd, name, F_OK, 0) != 0;
    int fd = below->open_at(below->context, directory_fd, name, flags, mode);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        return fd;
    }
    struct lossy_file *file = &lossy->files[take_place(&lossy->n_files, LOSSY_FILES_LIMIT)];
    *file = (struct lossy_file){
        .fd = fd, .directory_fd = directory_fd, .length_bytes = (uint64_t)status.st_size};
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    if (is_new) {
        remember_change(lossy, LOSSY_CREATED, directory_fd, name, "");
    }
    return fd;
}

static int lossy_close(void *context, int fd)
{
    struct lossy_files *lossy = context;
    struct lossy_file *file = file_of(lossy, fd);
    if (file != NULL) {
        file->fd = -1;
    }
    return lossy->below->close(lossy->below->context, fd);
}

static ssize_t lossy_read_at(void *context, int fd, void *data, size_t length_bytes,
                             off_t offset)
{
    struct lossy_files *lossy = context;
    errno = EIO;
    return lossy->is_dark
               ? -1
               : lossy->below->read_at(lossy->below->context, fd, data, length_bytes, offset);
}

static ssize_t lossy_write(void *context, int fd, const void *data, size_t length_bytes)
{
    struct lossy_files *lossy = context;
    if (!begin_change(lossy)) {
        return -1;
    }
    ssize_t n = lossy->below->write(lossy->below->context, fd, data, length_bytes);
    struct lossy_file *file = file_of(lossy, fd);
    if (n > 0 && file != NULL) {
        lossy->writes[take_place(&lossy->n_writes, LOSSY_WRITES_LIMIT)] =
            (struct lossy_write){.file = (uint32_t)(file - lossy->files),
                                 .offset = file->length_bytes,
                                 .length_bytes = (uint64_t)n};
        file->length_bytes += (uint64_t)n;
    }
    return n;
}

static ssize_t lossy_write_at(void *context, int fd, const void *data, size_t length_bytes,
                              off_t offset)
{
    struct lossy_files *lossy = context;
    if (!begin_change(lossy)) {
        return -1;
    }
    ssize_t n = lossy->below->write_at(lossy->below->context, fd, data, length_bytes, offset);
    struct lossy_file *file = file_of(lossy, fd);
    if (n > 0 && file != NULL) {
        uint64_t end = (uint64_t)offset + (uint64_t)n;
        lossy->writes[take_place(&lossy->n_writes, LOSSY_WRITES_LIMIT)] =
            (struct lossy_write){.file = (uint32_t)(file - lossy->files),
                                 .offset = (uint64_t)offset,
                                 .length_bytes = (uint64_t)n};
        file->length_bytes = file->length_bytes < end ? end : file->length_bytes;
    }
    return n;
}

static void forget_writes(struct lossy_files *lossy, const struct lossy_file *file)
{
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < lossy->n_writes; i++) {
        if (&lossy->files[lossy->writes[i].file] != file) {
            lossy->writes[n_kept++] = lossy->writes[i];
        }
    }
    lossy->n_writes = n_kept;
}

/* A file's descriptor makes its bytes durable, a folder's its names. */
static int make_durable(struct lossy_files *lossy, int fd, int result)
{
    struct lossy_file *file = file_of(lossy, fd);
    if (result != 0) {
        return result;
    }
    if (file != NULL) {
        forget_writes(lossy, file);
        return 0;
    }
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < lossy->n_changes; i++) {
        struct lossy_change *change = &lossy->changes[i];
        if (change->directory_fd != fd) {
            lossy->changes[n_kept++] = *change;
        } else if (change->kind == LOSSY_REMOVED) {
            (void)unlinkat(fd, change->to, 0); /* now it is gone for good */
        }
    }
    lossy->n_changes = n_kept;
    return 0;
}

static int lossy_data_sync(void *context, int fd)
{
    struct lossy_files *lossy = context;
    return begin_change(lossy) ? make_durable(lossy, fd, 0) : -1;
}

static int lossy_truncate(void *context, int fd, off_t length_bytes)
{
    struct lossy_files *lossy = context;
    if (!begin_change(lossy)) {
        return -1;
    }
    struct lossy_file *file = file_of(lossy, fd);
    if (file != NULL) {
        file->length_bytes = (uint64_t)length_bytes;
    }
    return lossy->below->truncate(lossy->below->context, fd, length_bytes);
}

static int lossy_reserve(void *context, int fd, off_t length_bytes)
{
    struct lossy_files *lossy = context;
    if (!begin_change(lossy)) {
        return -1;
    }
    struct lossy_file *file = file_of(lossy, fd);
    if (file != NULL) {
        file->length_bytes = (uint64_t)length_bytes;
        file->is_reserved = true;
    }
    return lossy->below->reserve(lossy->below->context, fd, length_bytes);
}

static int lossy_rename_at(void *context, int from_directory_fd, const char *from,
                           int to_directory_fd, const char *to)
{
    struct lossy_files *lossy = context;
    const struct nj_file_system *below = lossy->below;
    if (!begin_change(lossy)) {
        return -1;
    }
    int result = below->rename_at(below->context, from_directory_fd, from, to_directory_fd, to);
    if (result == 0) {
        remember_change(lossy, LOSSY_RENAMED, to_directory_fd, from, to);
    }
    return result;
}

/* Kept under another name until the folder is synced: the power may go before. */
static int lossy_unlink_at(void *context, int directory_fd, const char *name)
{
    struct lossy_files *lossy = context;
    char hidden[LOSSY_NAME_BYTES];
    if (!begin_change(lossy)) {
        return -1;
    }
    (void)snprintf(hidden, sizeof hidden, ".removed-%u", lossy->n_removed++);
    int result = renameat(directory_fd, name, directory_fd, hidden);
    if (result == 0) {
        remember_change(lossy, LOSSY_REMOVED, directory_fd, name, hidden);
    }
    return result;
}

static int lossy_make_directory_at(void *context, int directory_fd, const char *name,
                                   mode_t mode)
{
    struct lossy_files *lossy = context;
    return begin_change(lossy) ? lossy->below->make_directory_at(lossy->below->context,
                                                                 directory_fd, name, mode)
                               : -1;
}

/* At once: an empty folder that comes back is in nobody's way, and one that stays away is what
 * was asked for. */
static int lossy_remove_directory_at(void *context, int directory_fd, const char *name)
{
    struct lossy_files *lossy = context;
    return begin_change(lossy)
               ? lossy->below->remove_directory_at(lossy->below->context, directory_fd, name)
               : -1;
}

static int lossy_status(void *context, int fd, struct stat *status)
{
    struct lossy_files *lossy = context;
    return lossy->below->status(lossy->below->context, fd, status);
}

void lossy_files_init(struct lossy_files *lossy, const struct nj_file_system *below)
{
    memset(lossy, 0, sizeof *lossy);
    lossy->below = below;
    lossy->table = (struct nj_file_system){
        .context = lossy,
        .open_at = lossy_open_at,
        .close = lossy_close,
        .read_at = lossy_read_at,
        .write = lossy_write,
        .write_at = lossy_write_at,
        .data_sync = lossy_data_sync,
        .sync = lossy_data_sync,
        .truncate = lossy_truncate,
        .reserve = lossy_reserve,
        .rename_at = lossy_rename_at,
        .unlink_at = lossy_unlink_at,
        .make_directory_at = lossy_make_directory_at,
        .remove_directory_at = lossy_remove_directory_at,
        .status = lossy_status,
    };
}

void lossy_files_cut_power_at(struct lossy_files *lossy, unsigned long n)
{
    lossy->n_changing_calls = 0;
    lossy->cut_at = n;
}

/* --- what is found afterwards --- */

static uint32_t draw(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*seed >> 33) % n;
}

static void write_zeros(int fd, uint64_t offset, uint64_t n_bytes)
{
    static const uint8_t zeros[4096];
    while (n_bytes > 0) {
        size_t n = n_bytes < sizeof zeros ? (size_t)n_bytes : sizeof zeros;
        if (pwrite(fd, zeros, n, (off_t)offset) != (ssize_t)n) {
            abort();
        }
        offset += n;
        n_bytes -= n;
    }
}

/* Some of the file's unsynced writes, in any choice. Behind the last byte that reached the disk
 * the file ends, or zeros follow. */
static void lose_writes(struct lossy_files *lossy, uint32_t index, uint64_t *seed)
{
    const struct lossy_file *file = &lossy->files[index];
    int fd = openat(file->directory_fd, file->name, O_WRONLY | O_CLOEXEC);
    uint64_t end = 0;
    bool any = false;
    for (uint32_t i = 0; i < lossy->n_writes && fd >= 0; i++) {
        const struct lossy_write *write = &lossy->writes[i];
        if (write->file != index) {
            continue;
        }
        end = any ? end : write->offset;
        any = true;
        uint64_t n_kept = draw(seed, 3) * write->length_bytes / 2;
        write_zeros(fd, write->offset + n_kept, write->length_bytes - n_kept);
        end = n_kept > 0 ? write->offset + n_kept : end;
    }
    if (any && !file->is_reserved && draw(seed, 2) == 0 && ftruncate(fd, (off_t)end) != 0) {
        abort();
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static void undo(const struct lossy_change *change)
{
    int fd = change->directory_fd;
    if (change->kind == LOSSY_CREATED) {
        (void)unlinkat(fd, change->from, 0); /* may have been renamed since */
    } else {
        (void)renameat(fd, change->to, fd, change->from);
    }
}

/* Folders keep the order of their changes: the last ones are lost. */
static void lose_names(struct lossy_files *lossy, uint64_t *seed)
{
    uint32_t n_kept = draw(seed, lossy->n_changes + 1);
    for (uint32_t i = lossy->n_changes; i > 0; i--) {
        struct lossy_change *change = &lossy->changes[i - 1];
        if (i > n_kept) {
            undo(change);
        } else if (change->kind == LOSSY_REMOVED) {
            (void)unlinkat(change->directory_fd, change->to, 0);
        }
    }
    lossy->n_changes = 0;
}

void lossy_files_lose(struct lossy_files *lossy, uint64_t seed)
{
    seed = seed * 2862933555777941757U + 3037000493U;
    for (uint32_t i = 0; i < lossy->n_files; i++) {
        lose_writes(lossy, i, &seed);
    }
    lose_names(lossy, &seed);
    lossy->n_writes = 0;
    lossy->is_dark = false;
    lossy->cut_at = 0;
}
