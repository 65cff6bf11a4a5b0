#include "support/faulty_vfs.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>

struct rule {
    unsigned long at; /* 0: none */
    int code;
    bool for_ever;
};

struct faulty_vfs {
    sqlite3_vfs vfs; /* first, so that its address is ours */
    sqlite3_vfs *below;
    unsigned long n_calls[FAULTY_VFS_N_CALLS];
    struct rule rules[FAULTY_VFS_N_CALLS];
    unsigned long n_steps;
    unsigned long kill_at;
    bool fired;
    bool skips_syncs;
};

struct faulty_file {
    sqlite3_file base;
    struct faulty_vfs *owner;
    sqlite3_file below; /* as long as the VFS below says */
};

static sqlite3_file *below(sqlite3_file *file)
{
    return &((struct faulty_file *)file)->below;
}

static struct faulty_vfs *owner(sqlite3_file *file)
{
    return ((struct faulty_file *)file)->owner;
}

/* SQLITE_OK, or what the call shall return instead of being done. */
static int begin_call(struct faulty_vfs *faulty, enum faulty_vfs_call call)
{
    const struct rule *rule = &faulty->rules[call];
    unsigned long number = ++faulty->n_calls[call];
    if (rule->at == 0 || number < rule->at || (number > rule->at && !rule->for_ever)) {
        return SQLITE_OK;
    }
    faulty->fired = true;
    return rule->code;
}

static bool dies_now(struct faulty_vfs *faulty)
{
    return ++faulty->n_steps == faulty->kill_at;
}

static int file_close(sqlite3_file *file)
{
    return below(file)->pMethods->xClose(below(file));
}

static int file_read(sqlite3_file *file, void *data, int length, sqlite3_int64 offset)
{
    int code = begin_call(owner(file), FAULTY_VFS_READ);
    return code != SQLITE_OK ? code
                             : below(file)->pMethods->xRead(below(file), data, length, offset);
}

static int file_write(sqlite3_file *file, const void *data, int length, sqlite3_int64 offset)
{
    bool dies = dies_now(owner(file));
    int code = begin_call(owner(file), FAULTY_VFS_WRITE);
    if (code != SQLITE_OK || dies) {
        (void)below(file)->pMethods->xWrite(below(file), data, length / 2, offset);
    }
    if (dies) {
        (void)raise(SIGKILL);
    }
    return code != SQLITE_OK ? code
                             : below(file)->pMethods->xWrite(below(file), data, length, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 length)
{
    if (dies_now(owner(file))) {
        (void)raise(SIGKILL);
    }
    int code = begin_call(owner(file), FAULTY_VFS_TRUNCATE);
    return code != SQLITE_OK ? code : below(file)->pMethods->xTruncate(below(file), length);
}

static int file_sync(sqlite3_file *file, int flags)
{
    if (dies_now(owner(file))) {
        (void)raise(SIGKILL);
    }
    int code = begin_call(owner(file), FAULTY_VFS_SYNC);
    return code != SQLITE_OK || owner(file)->skips_syncs
               ? code
               : below(file)->pMethods->xSync(below(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *length)
{
    return below(file)->pMethods->xFileSize(below(file), length);
}

static int file_lock(sqlite3_file *file, int level)
{
    return below(file)->pMethods->xLock(below(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return below(file)->pMethods->xUnlock(below(file), level);
}

static int file_is_reserved(sqlite3_file *file, int *is_reserved)
{
    return below(file)->pMethods->xCheckReservedLock(below(file), is_reserved);
}

static int file_control(sqlite3_file *file, int operation, void *argument)
{
    return below(file)->pMethods->xFileControl(below(file), operation, argument);
}

static int file_sector(sqlite3_file *file)
{
    return below(file)->pMethods->xSectorSize(below(file));
}

static int file_traits(sqlite3_file *file)
{
    return below(file)->pMethods->xDeviceCharacteristics(below(file));
}

/* Version 1: no shared memory, which a store that is exclusive needs none of. */
static const sqlite3_io_methods methods = {.iVersion = 1,
                                           .xClose = file_close,
                                           .xRead = file_read,
                                           .xWrite = file_write,
                                           .xTruncate = file_truncate,
                                           .xSync = file_sync,
                                           .xFileSize = file_size,
                                           .xLock = file_lock,
                                           .xUnlock = file_unlock,
                                           .xCheckReservedLock = file_is_reserved,
                                           .xFileControl = file_control,
                                           .xSectorSize = file_sector,
                                           .xDeviceCharacteristics = file_traits};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                    int *flags_out)
{
    struct faulty_vfs *faulty = (struct faulty_vfs *)vfs;
    struct faulty_file *opened = (struct faulty_file *)file;
    opened->base.pMethods = NULL;
    opened->owner = faulty;
    int code = faulty->below->xOpen(faulty->below, name, &opened->below, flags, flags_out);
    if (code == SQLITE_OK) {
        opened->base.pMethods = &methods;
    }
    return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int syncs_directory)
{
    struct faulty_vfs *faulty = (struct faulty_vfs *)vfs;
    if (dies_now(faulty)) {
        (void)raise(SIGKILL);
    }
    return faulty->below->xDelete(faulty->below, name,
                                  faulty->skips_syncs ? 0 : syncs_directory);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *answer)
{
    sqlite3_vfs *system = ((struct faulty_vfs *)vfs)->below;
    return system->xAccess(system, name, flags, answer);
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int length, char *path)
{
    sqlite3_vfs *system = ((struct faulty_vfs *)vfs)->below;
    return system->xFullPathname(system, name, length, path);
}

static int vfs_randomness(sqlite3_vfs *vfs, int length, char *bytes)
{
    sqlite3_vfs *system = ((struct faulty_vfs *)vfs)->below;
    return system->xRandomness(system, length, bytes);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
    sqlite3_vfs *system = ((struct faulty_vfs *)vfs)->below;
    return system->xSleep(system, microseconds);
}

static int vfs_time(sqlite3_vfs *vfs, double *days)
{
    sqlite3_vfs *system = ((struct faulty_vfs *)vfs)->below;
    return system->xCurrentTime(system, days);
}

static int vfs_last_error(sqlite3_vfs *vfs, int length, char *text)
{
    sqlite3_vfs *system = ((struct faulty_vfs *)vfs)->below;
    return system->xGetLastError(system, length, text);
}

struct faulty_vfs *faulty_vfs_create(void)
{
    struct faulty_vfs *faulty = calloc(1, sizeof *faulty);
    if (faulty == NULL) {
        return NULL;
    }
    faulty->below = sqlite3_vfs_find(NULL);
    faulty->vfs =
        (sqlite3_vfs){.iVersion = 1,
                      .szOsFile = (int)sizeof(struct faulty_file) + faulty->below->szOsFile,
                      .mxPathname = faulty->below->mxPathname,
                      .zName = "faulty",
                      .xOpen = vfs_open,
                      .xDelete = vfs_delete,
                      .xAccess = vfs_access,
                      .xFullPathname = vfs_full_path,
                      .xRandomness = vfs_randomness,
                      .xSleep = vfs_sleep,
                      .xCurrentTime = vfs_time,
                      .xGetLastError = vfs_last_error};
    (void)sqlite3_vfs_register(&faulty->vfs, 0);
    return faulty;
}

void faulty_vfs_destroy(struct faulty_vfs *faulty)
{
    if (faulty != NULL) {
        (void)sqlite3_vfs_unregister(&faulty->vfs);
        free(faulty);
    }
}

const char *faulty_vfs_name(const struct faulty_vfs *faulty)
{
    return faulty->vfs.zName;
}

void faulty_vfs_fail(struct faulty_vfs *faulty, enum faulty_vfs_call call, unsigned long at,
                     int code, bool for_ever)
{
    faulty->n_calls[call] = 0;
    faulty->rules[call] = (struct rule){.at = at, .code = code, .for_ever = for_ever};
}

void faulty_vfs_kill(struct faulty_vfs *faulty, unsigned long at)
{
    faulty->n_steps = 0;
    faulty->kill_at = at;
}

void faulty_vfs_skip_syncs(struct faulty_vfs *faulty)
{
    faulty->skips_syncs = true;
}

void faulty_vfs_reset(struct faulty_vfs *faulty)
{
    for (int call = 0; call < FAULTY_VFS_N_CALLS; call++) {
        faulty->n_calls[call] = 0;
        faulty->rules[call] = (struct rule){.at = 0};
    }
    faulty->n_steps = 0;
    faulty->kill_at = 0;
    faulty->fired = false;
}

bool faulty_vfs_fired(const struct faulty_vfs *faulty)
{
    return faulty->fired;
}

unsigned long faulty_vfs_count(const struct faulty_vfs *faulty, enum faulty_vfs_call call)
{
    return faulty->n_calls[call];
}
