/* SQLite's files with faults: every call goes to the system's VFS, except the n-th.
 *
 *     struct faulty_vfs *faulty = faulty_vfs_create();
 *     options.vfs_name = faulty_vfs_name(faulty);
 *     faulty_vfs_fail(faulty, FAULTY_VFS_SYNC, 3, SQLITE_IOERR_FSYNC);
 *     ... open a store, use it, close it ...
 *     CHECK(faulty_vfs_fired(faulty));
 *
 * Threads: one at a time.
 */
#ifndef NJ_TESTS_SUPPORT_FAULTY_VFS_H
#define NJ_TESTS_SUPPORT_FAULTY_VFS_H

#include <stdbool.h>

enum faulty_vfs_call {
    FAULTY_VFS_READ,
    FAULTY_VFS_WRITE,
    FAULTY_VFS_SYNC,
    FAULTY_VFS_TRUNCATE,
    FAULTY_VFS_N_CALLS
};

struct faulty_vfs;

/* NULL without memory. Registered with SQLite until it is destroyed, after all of its files are
 * closed.
 */
struct faulty_vfs *faulty_vfs_create(void);
void faulty_vfs_destroy(struct faulty_vfs *faulty);
const char *faulty_vfs_name(const struct faulty_vfs *faulty);

/* The `at`-th call of this kind from now (1 is the next) returns `code` (of sqlite3.h) and does
 * nothing; a write that fails has written half. `for_ever`: and every later one. */
void faulty_vfs_fail(struct faulty_vfs *faulty, enum faulty_vfs_call call, unsigned long at,
                     int code, bool for_ever);

/* SIGKILL to this process before the `at`-th write, sync or truncation from now; of a write
 * half is done first. */
void faulty_vfs_kill(struct faulty_vfs *faulty, unsigned long at);

/* From now on a sync is counted, and may fail, but is not done: for tests that no power cut
 * meets. */
void faulty_vfs_skip_syncs(struct faulty_vfs *faulty);

/* No rules, counts from 0. */
void faulty_vfs_reset(struct faulty_vfs *faulty);

bool faulty_vfs_fired(const struct faulty_vfs *faulty);
unsigned long faulty_vfs_count(const struct faulty_vfs *faulty, enum faulty_vfs_call call);

#endif
