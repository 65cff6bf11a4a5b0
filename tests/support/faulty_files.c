#include "support/faulty_files.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void kill_ourselves(void)
{
    (void)raise(SIGKILL);
}

static const char *name_of(const struct faulty_files *faulty, int fd)
{
    return fd >= 0 && fd < FAULTY_N_DESCRIPTORS ? faulty->names[fd] : "";
}

static void remember_name(struct faulty_files *faulty, int fd, const char *name)
{
    if (fd >= 0 && fd < FAULTY_N_DESCRIPTORS) {
        (void)pthread_mutex_lock(&faulty->lock);
        (void)snprintf(faulty->names[fd], FAULTY_NAME_BYTES, "%s", name);
        (void)pthread_mutex_unlock(&faulty->lock);
    }
}

/* Before a call that makes something durable. */
static void begin_step(struct faulty_files *faulty, const char *name)
{
    (void)pthread_mutex_lock(&faulty->lock);
    faulty->n_durable_steps++;
    bool is_last = faulty->n_durable_steps == faulty->kill_at_step;
    (void)pthread_mutex_unlock(&faulty->lock);
    if (is_last) {
        kill_ourselves();
    }
    if (faulty->hear_step != NULL) {
        faulty->hear_step(faulty->hear_context, name);
    }
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name);
    size_t suffix_length = strlen(suffix);
    return length >= suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static bool is_counted(const struct faulty_files *faulty, const char *name)
{
    return (faulty->only_suffix == NULL || ends_with(name, faulty->only_suffix)) &&
           (faulty->spared_suffix == NULL || !ends_with(name, faulty->spared_suffix));
}

/* Counts the call on this name and says what shall happen to it. */
static enum faulty_effect begin_call(struct faulty_files *faulty, enum faulty_call call,
                                     const char *name)
{
    if (!is_counted(faulty, name)) {
        return FAULTY_NONE;
    }
    (void)pthread_mutex_lock(&faulty->lock);
    unsigned long number = ++faulty->n_calls[call];
    const struct faulty_rule *rule = &faulty->rules[call];
    bool applies = rule->effect != FAULTY_NONE &&
                   (number == rule->at || (rule->for_ever && number > rule->at));
    faulty->fired = faulty->fired || applies;
    (void)pthread_mutex_unlock(&faulty->lock);
    if (!applies) {
        return FAULTY_NONE;
    }
    errno = rule->error_number;
    return rule->effect;
}

/* For calls that move no bytes: true when the call fails. */
static bool call_fails(struct faulty_files *faulty, enum faulty_call call, const char *name)
{
    enum faulty_effect effect = begin_call(faulty, call, name);
    if (effect == FAULTY_KILL) {
        kill_ourselves();
    }
    return effect == FAULTY_FAIL;
}

static size_t half(size_t length_bytes)
{
    return length_bytes < 2 ? length_bytes : length_bytes / 2;
}

static int faulty_open_at(void *context, int directory_fd, const char *name, int flags,
                          mode_t mode)
{
    struct faulty_files *faulty = context;
    if (call_fails(faulty, FAULTY_OPEN, name)) {
        return -1;
    }
    int fd = faulty->below->open_at(faulty->below->context, directory_fd, name, flags, mode);
    remember_name(faulty, fd, name);
    return fd;
}

/* A failing close has released the descriptor all the same, as on Linux. */
static int faulty_close(void *context, int fd)
{
    struct faulty_files *faulty = context;
    bool fails = call_fails(faulty, FAULTY_CLOSE, name_of(faulty, fd));
    int error_number = errno;
    int result = faulty->below->close(faulty->below->context, fd);
    if (fails) {
        errno = error_number;
        return -1;
    }
    return result;
}

static ssize_t faulty_read_at(void *context, int fd, void *data, size_t length_bytes,
                              off_t offset)
{
    struct faulty_files *faulty = context;
    switch (begin_call(faulty, FAULTY_READ, name_of(faulty, fd))) {
    case FAULTY_FAIL:
        return -1;
    case FAULTY_KILL:
        kill_ourselves();
        break;
    case FAULTY_CUT:
        length_bytes = half(length_bytes);
        break;
    case FAULTY_NONE:
        break;
    }
    return faulty->below->read_at(faulty->below->context, fd, data, length_bytes, offset);
}

static ssize_t faulty_write(void *context, int fd, const void *data, size_t length_bytes)
{
    struct faulty_files *faulty = context;
    const struct nj_file_system *below = faulty->below;
    switch (begin_call(faulty, FAULTY_WRITE, name_of(faulty, fd))) {
    case FAULTY_FAIL:
        return -1;
    case FAULTY_KILL:
        (void)below->write(below->context, fd, data, half(length_bytes)); /* we die anyway */
        kill_ourselves();
        break;
    case FAULTY_CUT:
        length_bytes = half(length_bytes);
        break;
    case FAULTY_NONE:
        break;
    }
    return below->write(below->context, fd, data, length_bytes);
}

static ssize_t faulty_write_at(void *context, int fd, const void *data, size_t length_bytes,
                               off_t offset)
{
    struct faulty_files *faulty = context;
    const struct nj_file_system *below = faulty->below;
    switch (begin_call(faulty, FAULTY_WRITE, name_of(faulty, fd))) {
    case FAULTY_FAIL:
        return -1;
    case FAULTY_KILL:
        (void)below->write_at(below->context, fd, data, half(length_bytes),
                              offset); /* we die anyway */
        kill_ourselves();
        break;
    case FAULTY_CUT:
        length_bytes = half(length_bytes);
        break;
    case FAULTY_NONE:
        break;
    }
    return below->write_at(below->context, fd, data, length_bytes, offset);
}

static int faulty_data_sync(void *context, int fd)
{
    struct faulty_files *faulty = context;
    begin_step(faulty, name_of(faulty, fd));
    if (call_fails(faulty, FAULTY_DATA_SYNC, name_of(faulty, fd))) {
        return -1;
    }
    return faulty->below->data_sync(faulty->below->context, fd);
}

static int faulty_sync(void *context, int fd)
{
    struct faulty_files *faulty = context;
    begin_step(faulty, name_of(faulty, fd));
    if (call_fails(faulty, FAULTY_SYNC, name_of(faulty, fd))) {
        return -1;
    }
    return faulty->below->sync(faulty->below->context, fd);
}

static int faulty_truncate(void *context, int fd, off_t length_bytes)
{
    struct faulty_files *faulty = context;
    if (call_fails(faulty, FAULTY_TRUNCATE, name_of(faulty, fd))) {
        return -1;
    }
    return faulty->below->truncate(faulty->below->context, fd, length_bytes);
}

static int faulty_reserve(void *context, int fd, off_t length_bytes)
{
    struct faulty_files *faulty = context;
    if (call_fails(faulty, FAULTY_RESERVE, name_of(faulty, fd))) {
        return -1;
    }
    return faulty->below->reserve(faulty->below->context, fd, length_bytes);
}

static int faulty_rename_at(void *context, int from_directory_fd, const char *from,
                            int to_directory_fd, const char *to)
{
    struct faulty_files *faulty = context;
    begin_step(faulty, to);
    if (call_fails(faulty, FAULTY_RENAME, to)) {
        return -1;
    }
    return faulty->below->rename_at(faulty->below->context, from_directory_fd, from,
                                    to_directory_fd, to);
}

static int faulty_unlink_at(void *context, int directory_fd, const char *name)
{
    struct faulty_files *faulty = context;
    if (call_fails(faulty, FAULTY_UNLINK, name)) {
        return -1;
    }
    return faulty->below->unlink_at(faulty->below->context, directory_fd, name);
}

static int faulty_make_directory_at(void *context, int directory_fd, const char *name,
                                    mode_t mode)
{
    struct faulty_files *faulty = context;
    if (call_fails(faulty, FAULTY_MAKE_DIRECTORY, name)) {
        return -1;
    }
    return faulty->below->make_directory_at(faulty->below->context, directory_fd, name, mode);
}

/* Also an unlink, of a folder. */
static int faulty_remove_directory_at(void *context, int directory_fd, const char *name)
{
    struct faulty_files *faulty = context;
    if (call_fails(faulty, FAULTY_UNLINK, name)) {
        return -1;
    }
    return faulty->below->remove_directory_at(faulty->below->context, directory_fd, name);
}

static int faulty_status(void *context, int fd, struct stat *status)
{
    struct faulty_files *faulty = context;
    if (call_fails(faulty, FAULTY_STATUS, name_of(faulty, fd))) {
        return -1;
    }
    return faulty->below->status(faulty->below->context, fd, status);
}

void faulty_files_init(struct faulty_files *faulty, const struct nj_file_system *below)
{
    *faulty = (struct faulty_files){.below = below, .lock = PTHREAD_MUTEX_INITIALIZER};
    faulty->table = (struct nj_file_system){
        .context = faulty,
        .open_at = faulty_open_at,
        .close = faulty_close,
        .read_at = faulty_read_at,
        .write = faulty_write,
        .write_at = faulty_write_at,
        .data_sync = faulty_data_sync,
        .sync = faulty_sync,
        .truncate = faulty_truncate,
        .reserve = faulty_reserve,
        .rename_at = faulty_rename_at,
        .unlink_at = faulty_unlink_at,
        .make_directory_at = faulty_make_directory_at,
        .remove_directory_at = faulty_remove_directory_at,
        .status = faulty_status,
    };
}

void faulty_files_reset(struct faulty_files *faulty)
{
    faulty_files_init(faulty, faulty->below);
}

static void set_rule(struct faulty_files *faulty, enum faulty_call call,
                     struct faulty_rule rule)
{
    faulty->n_calls[call] = 0;
    faulty->rules[call] = rule;
}

void faulty_files_fail(struct faulty_files *faulty, enum faulty_call call, unsigned long at,
                       int error_number)
{
    set_rule(
        faulty, call,
        (struct faulty_rule){.effect = FAULTY_FAIL, .at = at, .error_number = error_number});
}

void faulty_files_fail_for_ever(struct faulty_files *faulty, enum faulty_call call,
                                unsigned long at, int error_number)
{
    set_rule(
        faulty, call,
        (struct faulty_rule){
            .effect = FAULTY_FAIL, .at = at, .for_ever = true, .error_number = error_number});
}

void faulty_files_cut(struct faulty_files *faulty, enum faulty_call call, unsigned long at)
{
    set_rule(faulty, call, (struct faulty_rule){.effect = FAULTY_CUT, .at = at});
}

void faulty_files_kill_at_call(struct faulty_files *faulty, enum faulty_call call,
                               unsigned long at)
{
    set_rule(faulty, call, (struct faulty_rule){.effect = FAULTY_KILL, .at = at});
}

void faulty_files_kill_at_step(struct faulty_files *faulty, unsigned long at)
{
    faulty->n_durable_steps = 0;
    faulty->kill_at_step = at;
}

bool faulty_files_fired(const struct faulty_files *faulty)
{
    return faulty->fired;
}
