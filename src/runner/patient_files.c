#include "runner/patient_files.h"

#include <errno.h>
#include <fcntl.h>

/* One call, over all its attempts. */
struct attempt {
    struct nj_patient_files *files;
    uint64_t n_bytes;
    bool has_waited;
};

static void end(const struct attempt *attempt)
{
    int error_number = errno;
    if (attempt->has_waited) {
        attempt->files->go_on(attempt->files->context);
    }
    errno = error_number;
}

/* After an attempt: true when it is to be tried again. */
static bool tries_again(struct attempt *attempt, bool failed)
{
    const struct nj_patient_files *files = attempt->files;
    const struct nj_room_need need = {.n_bytes = attempt->n_bytes, .error_number = errno};
    if (!failed || (need.error_number != ENOSPC && need.error_number != EDQUOT)) {
        end(attempt);
        return false;
    }
    bool may_be_room = files->wait(files->context, &need);
    attempt->has_waited = true;
    errno = need.error_number;
    return may_be_room;
}

static int patient_open_at(void *context, int directory_fd, const char *name, int flags,
                           mode_t mode)
{
    struct nj_patient_files *files = context;
    struct attempt attempt = {.files = files};
    int fd = -1;
    do {
        fd = files->below->open_at(files->below->context, directory_fd, name, flags, mode);
    } while ((flags & O_CREAT) != 0 && tries_again(&attempt, fd < 0));
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
    struct attempt attempt = {.files = files, .n_bytes = length_bytes};
    ssize_t n = 0;
    do {
        n = files->below->write(files->below->context, fd, data, length_bytes);
    } while (tries_again(&attempt, n < 0));
    return n;
}

static ssize_t patient_write_at(void *context, int fd, const void *data, size_t length_bytes,
                                off_t offset)
{
    struct nj_patient_files *files = context;
    struct attempt attempt = {.files = files, .n_bytes = length_bytes};
    ssize_t n = 0;
    do {
        n = files->below->write_at(files->below->context, fd, data, length_bytes, offset);
    } while (tries_again(&attempt, n < 0));
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

static int patient_reserve(void *context, int fd, off_t length_bytes)
{
    struct nj_patient_files *files = context;
    struct attempt attempt = {.files = files, .n_bytes = (uint64_t)length_bytes};
    int result = 0;
    do {
        result = files->below->reserve(files->below->context, fd, length_bytes);
    } while (tries_again(&attempt, result != 0));
    return result;
}

static int patient_rename_at(void *context, int from_directory_fd, const char *from,
                             int to_directory_fd, const char *to)
{
    struct nj_patient_files *files = context;
    struct attempt attempt = {.files = files};
    int result = 0;
    do {
        result = files->below->rename_at(files->below->context, from_directory_fd, from,
                                         to_directory_fd, to);
    } while (tries_again(&attempt, result != 0));
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
    struct attempt attempt = {.files = files};
    int result = 0;
    do {
        result =
            files->below->make_directory_at(files->below->context, directory_fd, name, mode);
    } while (tries_again(&attempt, result != 0));
    return result;
}

static int patient_remove_directory_at(void *context, int directory_fd, const char *name)
{
    const struct nj_patient_files *files = context;
    return files->below->remove_directory_at(files->below->context, directory_fd, name);
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
                                           .write_at = patient_write_at,
                                           .data_sync = patient_data_sync,
                                           .sync = patient_sync,
                                           .truncate = patient_truncate,
                                           .reserve = patient_reserve,
                                           .rename_at = patient_rename_at,
                                           .unlink_at = patient_unlink_at,
                                           .make_directory_at = patient_make_directory_at,
                                           .remove_directory_at = patient_remove_directory_at,
                                           .status = patient_status};
}
