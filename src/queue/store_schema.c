#include "queue/store_schema.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>

/* Fields of SQLite's database header (sqlite.org/fileformat2.html, 1.3), big-endian. */
enum { HEADER_BYTES = 100, VERSION_OFFSET = 60, APPLICATION_OFFSET = 68 };

static const char magic[] = "SQLite format 3"; /* with its NUL */

/* Version 1. Numbers of states are those of job/state.h. */
static const char tables[] =
    "CREATE TABLE jobs ("
    " job_id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " name TEXT NOT NULL, model TEXT NOT NULL, digest BLOB NOT NULL,"
    " state INTEGER NOT NULL, reason TEXT NOT NULL,"
    " priority INTEGER NOT NULL, preempts INTEGER NOT NULL, groups_by_prefix INTEGER NOT NULL,"
    " windows TEXT NOT NULL, days INTEGER NOT NULL, timezone TEXT NOT NULL,"
    " on_window_end INTEGER NOT NULL,"
    " start_text TEXT NOT NULL, start_at INTEGER NOT NULL,"
    " deadline_text TEXT NOT NULL, deadline INTEGER NOT NULL,"
    " max_attempts INTEGER NOT NULL, backoff_ms INTEGER NOT NULL, backoff_factor REAL NOT NULL,"
    " backoff_most_ms INTEGER NOT NULL,"
    " hooks INTEGER NOT NULL,"
    " has_begun INTEGER NOT NULL DEFAULT 0,"
    " submitted_ms INTEGER NOT NULL, begun_ms INTEGER NOT NULL DEFAULT 0,"
    " ended_ms INTEGER NOT NULL DEFAULT 0,"
    " n_items INTEGER NOT NULL,"
    " n_queued INTEGER NOT NULL, n_running INTEGER NOT NULL DEFAULT 0,"
    " n_interrupted INTEGER NOT NULL DEFAULT 0, n_waiting INTEGER NOT NULL DEFAULT 0,"
    " n_done INTEGER NOT NULL DEFAULT 0, n_failed INTEGER NOT NULL DEFAULT 0,"
    " n_parked INTEGER NOT NULL DEFAULT 0, n_cancelled INTEGER NOT NULL DEFAULT 0"
    ") STRICT;"
    "CREATE INDEX jobs_by_name ON jobs (name);"
    "CREATE INDEX jobs_by_digest ON jobs (digest);"
    "CREATE INDEX jobs_with_running ON jobs (job_id) WHERE n_running > 0;"
    "CREATE INDEX jobs_with_waiting ON jobs (job_id) WHERE n_waiting > 0;"

    "CREATE TABLE items ("
    " job_id INTEGER NOT NULL, item_index INTEGER NOT NULL,"
    " state INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,"
    " retry_at_ms INTEGER NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '',"
    " PRIMARY KEY (job_id, item_index)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX items_by_state ON items (job_id, state);"
    "CREATE INDEX items_waiting ON items (job_id, retry_at_ms) WHERE state = 4;"

    "CREATE TABLE results ("
    " job_id INTEGER NOT NULL, item_index INTEGER NOT NULL, sample INTEGER NOT NULL,"
    " is_ok INTEGER NOT NULL, unix_ms INTEGER NOT NULL,"
    " PRIMARY KEY (job_id, item_index, sample)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE attempts ("
    " attempt_id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " job_id INTEGER NOT NULL, item_index INTEGER NOT NULL,"
    " unix_ms INTEGER NOT NULL, counted INTEGER NOT NULL, text TEXT NOT NULL"
    ") STRICT;"
    "CREATE INDEX attempts_of_item ON attempts (job_id, item_index);"

    "CREATE TABLE dependencies ("
    " job_id INTEGER NOT NULL, parent_id INTEGER NOT NULL, required INTEGER NOT NULL,"
    " PRIMARY KEY (job_id, parent_id)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX dependencies_by_parent ON dependencies (parent_id);"

    "CREATE TABLE events ("
    " event_id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " unix_ms INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " job_id INTEGER NOT NULL, item_index INTEGER NOT NULL, state INTEGER NOT NULL,"
    " text TEXT NOT NULL, delivery INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX events_of_job ON events (job_id);"
    "CREATE INDEX events_due ON events (event_id) WHERE delivery = 1;";

/* Of a new database, and what a database says of itself that is not in its tables. */
static const char identity[] = "PRAGMA application_id = 1313493333; PRAGMA user_version = 1;";

/* Exclusive before the first access, so that the WAL's index lives in memory and no other
 * process gets in. `synchronous` FULL syncs the WAL at every commit. */
static const char connection[] = "PRAGMA locking_mode = EXCLUSIVE;"
                                 "PRAGMA synchronous = FULL;"
                                 "PRAGMA temp_store = MEMORY;"
                                 "PRAGMA trusted_schema = OFF;";

/* After a large submit the WAL is cut back to this at the next checkpoint. */
static const char logging[] = "PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 4194304;";

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
           bytes[3];
}

static enum nj_status judge_header(const uint8_t *header, const char *path,
                                   struct nj_error *err)
{
    uint32_t version = big_endian(header + VERSION_OFFSET);
    if (memcmp(header, magic, sizeof magic) != 0 ||
        big_endian(header + APPLICATION_OFFSET) != NJ_STORE_APPLICATION_ID) {
        return nj_fail(err, NJ_E_STORAGE, "%s is not a queue of nightjar", path);
    }
    if (version > NJ_STORE_VERSION) {
        return nj_fail(err, NJ_E_UNSUPPORTED,
                       "%s was written by a newer nightjar (version %u, this one knows %d); "
                       "nothing was changed: use that nightjar",
                       path, version, NJ_STORE_VERSION);
    }
    return NJ_OK;
}

enum nj_status nj_store_schema_look(const struct nj_file_system *fs, const char *path,
                                    struct nj_error *err)
{
    int fd = -1;
    uint64_t length_bytes = 0;
    uint8_t header[HEADER_BYTES] = {0};
    enum nj_status status = nj_file_open_read(fs, AT_FDCWD, path, &fd, err);
    if (status == NJ_E_NOT_FOUND) {
        return NJ_OK;
    }
    if (status != NJ_OK) {
        return status;
    }
    status = nj_file_length(fs, fd, &length_bytes, err);
    if (status != NJ_OK || length_bytes == 0) {
        goto out;
    }
    status = length_bytes < HEADER_BYTES
                 ? nj_fail(err, NJ_E_STORAGE, "%s is not a queue of nightjar", path)
                 : nj_file_read_exactly(fs, fd, header, sizeof header, 0, path, err);
    if (status == NJ_OK) {
        status = judge_header(header, path, err);
    }
out:
    (void)fs->close(fs->context, fd); /* only read from */
    return status;
}

static int read_number(sqlite3 *database, const char *sql, int64_t *number)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        *number = sqlite3_column_int64(statement, 0);
    }
    int end = sqlite3_finalize(statement);
    return code == SQLITE_OK ? end : code;
}

static int run(sqlite3 *database, const char *sql)
{
    return sqlite3_exec(database, sql, NULL, NULL, NULL);
}

static int create(sqlite3 *database)
{
    int code = run(database, "BEGIN IMMEDIATE");
    if (code == SQLITE_OK) {
        code = run(database, tables);
    }
    if (code == SQLITE_OK) {
        code = run(database, identity);
    }
    return code == SQLITE_OK ? run(database, "COMMIT") : code;
}

int nj_store_schema_prepare(sqlite3 *database)
{
    int64_t version = 0;
    int64_t n_tables = 0;
    int code = run(database, connection);
    if (code == SQLITE_OK) {
        code = read_number(database, "PRAGMA user_version", &version);
    }
    if (code == SQLITE_OK) {
        code = read_number(database, "SELECT count(*) FROM sqlite_schema", &n_tables);
    }
    if (code == SQLITE_OK && version > NJ_STORE_VERSION) {
        return NJ_STORE_NEWER; /* said by a WAL that had not reached the header */
    }
    if (code == SQLITE_OK && version == 0 && n_tables > 0) {
        return NJ_STORE_FOREIGN;
    }
    if (code == SQLITE_OK && version == 0) {
        code = create(database);
    }
    return code == SQLITE_OK ? run(database, logging) : code;
}
