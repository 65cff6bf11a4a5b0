/* The queue's durable memory: jobs, their items, results and events in one SQLite database
 * (docs/formats/queue.md).
 *
 * What a call that changes something has returned NJ_OK for survives a power cut: the database
 * is in WAL mode and every commit is synced. Calls between nj_store_begin and nj_store_commit
 * become durable together, with one sync: the claims, results and marks of a sweep. A call
 * outside is its own transaction. A call that fails has changed nothing.
 *
 * Threads: one owner, the thread that opened it. Never carried over a fork. The caller holds
 * the state directory's lock; a second process is refused by the database too.
 *
 * Errors of all calls, besides those that each names: NJ_E_BUDGET when the disk is full (make
 * room, call again: nothing was lost), NJ_E_STORAGE when a read, write or sync failed or the
 * database is damaged. After a failed write or sync the store is broken: every later call says
 * so, and the daemon has to open it again, since what reached the disk can only be known by
 * reading it.
 */
#ifndef NJ_QUEUE_STORE_H
#define NJ_QUEUE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

struct nj_store;

struct nj_store_options {
    const struct nj_file_system *fs; /* looks at the file before SQLite does */
    const char *path;
    const char *vfs_name; /* the VFS that SQLite uses; NULL: the system's. For tests. */
};

/* Opens the database, created 0600 if there is none. Caller owns `*store`. NJ_E_STATE when
 * another process has it open; NJ_E_UNSUPPORTED when a newer nightjar wrote it, which is then
 * untouched; NJ_E_STORAGE for a file that is no queue. Items found running are still so:
 * nj_store_recover. */
enum nj_status nj_store_open(const struct nj_store_options *options, struct nj_store **store,
                             struct nj_error *err);

/* Abandons an open transaction. Takes NULL. */
void nj_store_close(struct nj_store *store);

/* Not nested: between begin and commit (or abandon) there is no other begin. When a call in
 * between fails, the transaction may be lost as a whole; commit then fails too. Abandoning
 * after a commit does nothing. */
enum nj_status nj_store_begin(struct nj_store *store, struct nj_error *err);
enum nj_status nj_store_commit(struct nj_store *store, struct nj_error *err);
void nj_store_abandon(struct nj_store *store);

/* Reads all of the database. NJ_E_STORAGE with SQLite's first complaint. */
enum nj_status nj_store_check(struct nj_store *store, struct nj_error *err);

#endif
