#include "stream/opened_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "stream/groups.h"

/* --- one file --- */

/* False when the device says that our blocks are not enough for it, or that it takes no direct
 * I/O at all; kernels before 6.1 say nothing, and then 4096 is what fits. */
static bool takes_our_blocks(int fd)
{
    struct statx answer;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &answer) != 0 ||
        (answer.stx_mask & STATX_DIOALIGN) == 0) {
        return true;
    }
    return answer.stx_dio_mem_align != 0 && answer.stx_dio_offset_align != 0 &&
           NJ_READ_BLOCK_BYTES % answer.stx_dio_mem_align == 0 &&
           NJ_READ_BLOCK_BYTES % answer.stx_dio_offset_align == 0;
}

/* Opens for direct I/O, or without it where the file system refuses the flag (EINVAL). Never
 * waits for a pipe. */
static int open_for_reading(const struct nj_file_system *fs, const char *path, bool *is_direct)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    *is_direct = true;
    int fd = fs->open_at(fs->context, AT_FDCWD, path, flags | O_DIRECT, 0);
    if (fd >= 0 || errno != EINVAL) {
        return fd;
    }
    *is_direct = false;
    return fs->open_at(fs->context, AT_FDCWD, path, flags, 0);
}

/* Reads must wait for their bytes: with O_NONBLOCK left on, a ring may answer EAGAIN. */
static bool set_waiting(int fd, bool is_direct)
{
    return fcntl(fd, F_SETFL, is_direct ? O_DIRECT : 0) == 0;
}

static enum nj_status check_opened(const struct nj_file_system *fs, struct nj_opened_file *file,
                                   struct nj_error *err)
{
    struct stat status;
    if (fs->status(fs->context, file->fd, &status) != 0) {
        return nj_fail(err, NJ_E_WEIGHTS, "ask what %s is: %s", file->path, strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return nj_fail(err, NJ_E_WEIGHTS, "open %s: not a regular file", file->path);
    }
    if ((uint64_t)status.st_size != file->length_bytes) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "%s: has %" PRIu64 " bytes, wanted the %" PRIu64
                       " it had when its header was read",
                       file->path, (uint64_t)status.st_size, file->length_bytes);
    }
    file->mark = nj_file_mark_of(&status);
    if (file->is_direct && !takes_our_blocks(file->fd)) {
        file->is_direct = false;
    }
    if (!set_waiting(file->fd, file->is_direct)) {
        return nj_fail(err, NJ_E_WEIGHTS, "set how %s is read: %s", file->path,
                       strerror(errno));
    }
    return NJ_OK;
}

static enum nj_status open_one(const struct nj_file_system *fs,
                               const struct nj_stream_file *given, struct nj_opened_file *file,
                               struct nj_error *err)
{
    file->length_bytes = given->length_bytes;
    file->path = strdup(given->path);
    if (file->path == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "open %s: no memory", given->path);
    }
    file->fd = open_for_reading(fs, given->path, &file->is_direct);
    if (file->fd < 0) {
        return nj_fail(err, NJ_E_WEIGHTS, "open %s: %s", given->path, strerror(errno));
    }
    return check_opened(fs, file, err);
}

/* --- all of them --- */

static void number_drives(struct nj_opened_files *files)
{
    for (uint32_t i = 0; i < files->n_files; i++) {
        uint32_t known = 0;
        while (files->list[known].mark.device != files->list[i].mark.device) {
            known++;
        }
        files->list[i].drive = known < i ? files->list[known].drive : files->n_drives++;
    }
}

static uint32_t find_buffered(const struct nj_opened_files *files)
{
    uint32_t i = 0;
    while (i < files->n_files && files->list[i].is_direct) {
        i++;
    }
    return i;
}

enum nj_status nj_opened_files_init(struct nj_opened_files *files,
                                    const struct nj_file_system *fs,
                                    const struct nj_stream_file *list, uint32_t n_files,
                                    struct nj_error *err)
{
    struct nj_opened_files made = {.fs = fs};
    enum nj_status status = NJ_OK;
    made.list = calloc((size_t)n_files + 1, sizeof *made.list);
    if (made.list == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "open %" PRIu32 " files: no memory", n_files);
    }
    while (made.n_files < n_files && status == NJ_OK) {
        made.list[made.n_files].fd = -1;
        status = open_one(fs, &list[made.n_files], &made.list[made.n_files], err);
        made.n_files++;
    }
    if (status != NJ_OK) {
        nj_opened_files_deinit(&made);
        return status;
    }
    number_drives(&made);
    made.first_buffered = find_buffered(&made);
    *files = made;
    return NJ_OK;
}

void nj_opened_files_deinit(struct nj_opened_files *files)
{
    for (uint32_t i = 0; i < files->n_files; i++) {
        if (files->list[i].fd >= 0) {
            (void)files->fs->close(files->fs->context, files->list[i].fd); /* only read */
        }
        free(files->list[i].path);
    }
    free(files->list);
    *files = (struct nj_opened_files){.list = NULL};
}

/* --- changed meanwhile --- */

static enum nj_status mark_now(const struct nj_opened_files *files,
                               const struct nj_opened_file *file, struct nj_file_mark *mark,
                               struct nj_error *err)
{
    struct stat status;
    if (files->fs->status(files->fs->context, file->fd, &status) != 0) {
        return nj_fail(err, NJ_E_WEIGHTS, "ask what %s is: %s", file->path, strerror(errno));
    }
    *mark = nj_file_mark_of(&status);
    return NJ_OK;
}

static enum nj_status check_name(const struct nj_opened_file *file, bool has_name,
                                 const struct nj_file_mark *named, struct nj_error *err)
{
    if (has_name && !nj_file_mark_is_same_file(&file->mark, named)) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "%s was replaced by another file while weights were read from it",
                       file->path);
    }
    return NJ_OK;
}

static enum nj_status check_file(const struct nj_opened_files *files,
                                 const struct nj_opened_file *file, struct nj_error *err)
{
    struct nj_file_mark now = {0};
    struct nj_file_mark named = {0};
    bool has_name = nj_file_mark_take(files->fs, file->path, &named);
    enum nj_status status = mark_now(files, file, &now, err);
    if (status == NJ_OK) {
        status = check_name(file, has_name, &named, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    /* Giving a file another name is a change that nothing but the missing name explains. */
    now.changed = has_name ? now.changed : file->mark.changed;
    if (now.length_bytes != file->mark.length_bytes) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "%s was written to while weights were read from it: wanted %lld bytes, "
                       "found %lld",
                       file->path, (long long)file->mark.length_bytes,
                       (long long)now.length_bytes);
    }
    if (nj_file_mark_was_written(&file->mark, &now)) {
        return nj_fail(err, NJ_E_WEIGHTS, "%s was written to while weights were read from it",
                       file->path);
    }
    return NJ_OK;
}

enum nj_status nj_opened_files_check(const struct nj_opened_files *files, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (uint32_t i = 0; i < files->n_files && status == NJ_OK; i++) {
        status = check_file(files, &files->list[i], err);
    }
    return status;
}

enum nj_status nj_opened_files_accept(struct nj_opened_files *files, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (uint32_t i = 0; i < files->n_files && status == NJ_OK; i++) {
        struct nj_opened_file *file = &files->list[i];
        struct nj_file_mark named;
        bool has_name = nj_file_mark_take(files->fs, file->path, &named);
        status = check_name(file, has_name, &named, err);
        if (status == NJ_OK) {
            status = mark_now(files, file, &file->mark, err);
        }
    }
    return status;
}
