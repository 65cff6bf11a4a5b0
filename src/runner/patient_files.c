#include "runner/patient_files.h"

#include <errno.h>
#include <fcntl.h>

/* After a call that returned `result`: true when it is to be tried again. */
static bool tries_again(struct nj_patient_files *files, bool failed)
{
    if (!failed) {
        nj_patient_files_go_on(files);
        return false;
    }
    int error_number = errno;
    if (error_number != ENOSPC && error_number != EDQUOT) {
        return false;
    }
    files->is_waiting = files->wait(files->context);
    errno = error_number;
    return files->is_waiting;
}

bool nj_patient_files_wait(struct nj_patient_files *files)
{
    files->is_waiting = files->wait(files->context);
    return files->is_waiting;
}

void nj_patient_files_go_on(struct nj_patient_files *files)
{
    if (files->is_waiting) {
        files->is_waiting = false;
        files->go_on(files->context);
    }
}

static int patient_open_at(void *context, int directory_fd, const char *name, int flags,
                           mode_t mode)
{
    struct nj_patient_files *files = context;
    int fd = -1;
    do {
        fd = files->below->open_at(files->below->context, directory_fd, name, flags, mode);
    } while (fd < 0 && (flags & O_CREAT) != 0 && tries_again(files, true));
    return fd;
}

static int patient_close(void *context, int fd)
{
    const struct nj_patient_files *files = context;
    return files->below->close(files->below->context, fd);
}

static ssize_t patient_read_at(void *context, int fd, void *data, size_t length_bytes,
                               off_t offset)
{
    const struct nj_patient_files *files = context;
    return files->below->read_at(files->below->context, fd, data, length_bytes, offset);
}

static ssize_t patient_write(void *context, int fd, const void *data, size_t length_bytes)
{
    struct nj_patient_files *files = context;
    ssize_t n = 0;
    do {
        n = files->below->write(files->below->context, fd, data, length_bytes);
    } while (tries_again(files, n < 0));
    return n;
}

static int patient_data_sync(void *context, int fd)
{
    const struct nj_patient_files *files = context;
    return files->below->data_sync(files->below->context, fd);
}

static int patient_sync(void *context, int fd)
{
    const struct nj_patient_files *files = context;
    return files->below->sync(files->below->context, fd);
}

static int patient_truncate(void *context, int fd, off_t length_bytes)
{
    const struct nj_patient_files *files = context;
    return files->below->truncate(files->below->context, fd, length_bytes);
}

static int patient_rename_at(void *context, int from_directory_fd, const char *from,
                             int to_directory_fd, const char *to)
{
    struct nj_patient_files *files = context;
    int result = 0;
    do {
        result = files->below->rename_at(files->below->context, from_directory_fd, from,
                                         to_directory_fd, to);
    } while (result != 0 && tries_again(files, true));
    return result;
}

static int patient_unlink_at(void *context, int directory_fd, const char *name)
{
    const struct nj_patient_files *files = context;
    return files->below->unlink_at(files->below->context, directory_fd, name);
}

static int patient_make_directory_at(void *context, int directory_fd, const char *name,
                                     mode_t mode)
{
    struct nj_patient_files *files = context;
    int result = 0;
    do {
        result =
            files->below->make_directory_at(files->below->context, directory_fd, name, mode);
    } while (result != 0 && tries_again(files, true));
    return result;
}

static int patient_status(void *context, int fd, struct stat *status)
{
    const struct nj_patient_files *files = context;
    return files->below->status(files->below->context, fd, status);
}

void nj_patient_files_init(struct nj_patient_files *files, const struct nj_file_system *below)
{
    *files = (struct nj_patient_files){.below = below};
    files->table = (struct nj_file_system){.context = files,
                                           .open_at = patient_open_at,
                                           .close = patient_close,
                                           .read_at = patient_read_at,
                                           .write = patient_write,
                                           .data_sync = patient_data_sync,
                                           .sync = patient_sync,
                                           .truncate = patient_truncate,
                                           .rename_at = patient_rename_at,
                                           .unlink_at = patient_unlink_at,
                                           .make_directory_at = patient_make_directory_at,
                                           .status = patient_status};
}
