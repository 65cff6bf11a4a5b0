/* The tables of the queue's database, and which versions of them this nightjar knows. */
#ifndef NJ_QUEUE_STORE_SCHEMA_H
#define NJ_QUEUE_STORE_SCHEMA_H

#include <sqlite3.h>

#include "base/file.h"
#include "base/status.h"

enum {
    NJ_STORE_VERSION = 1,
    NJ_STORE_APPLICATION_ID = 0x4e4a5155 /* "NJQU" */
};

/* Looks at the header of the file at `path` without SQLite, which would already recover and
 * write. NJ_OK when there is no file, an empty one, or one of a version this nightjar can read;
 * creates none. NJ_E_UNSUPPORTED for a newer version, NJ_E_STORAGE for something else. */
enum nj_status nj_store_schema_look(const struct nj_file_system *fs, const char *path,
                                    struct nj_error *err);

/* Creates the tables in an empty database, in one transaction of the rollback journal, so that
 * the header on disk names the version before the WAL exists; then switches to the WAL and sets
 * what a connection needs. `path` is for messages. Returns SQLite's code; NJ_STORE_NEWER and
 * NJ_STORE_FOREIGN where the database says so itself. */
enum { NJ_STORE_NEWER = -1, NJ_STORE_FOREIGN = -2 };
int nj_store_schema_prepare(sqlite3 *database);

#endif
