#include "queue/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "queue/store_parts.h"
#include "queue/store_schema.h"

/* --- statements --- */

sqlite3_stmt *nj_store_statement(struct nj_store *store, enum nj_sql sql)
{
    sqlite3_stmt *statement = store->statements[sql];
    assert(pthread_equal(store->owner, pthread_self()));
    (void)sqlite3_reset(statement); /* repeats what the last step has said already */
    (void)sqlite3_clear_bindings(statement);
    return statement;
}

/* Binding numbers and static texts takes no memory: it fails only for a wrong parameter. */
void nj_store_bind(sqlite3_stmt *statement, int parameter, int64_t value)
{
    int code = sqlite3_bind_int64(statement, parameter, value);
    assert(code == SQLITE_OK);
    (void)code;
}

void nj_store_bind_text(sqlite3_stmt *statement, int parameter, struct nj_text value)
{
    int code = sqlite3_bind_text64(statement, parameter, value.data == NULL ? "" : value.data,
                                   value.length_bytes, SQLITE_STATIC, SQLITE_UTF8);
    assert(code == SQLITE_OK);
    (void)code;
}

struct nj_text nj_store_text(sqlite3_stmt *statement, int column)
{
    const unsigned char *data = sqlite3_column_text(statement, column);
    int length = sqlite3_column_bytes(statement, column);
    return (struct nj_text){(const char *)data, data == NULL ? 0 : (size_t)length};
}

static enum nj_status status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_FULL:
        return NJ_E_BUDGET;
    case SQLITE_NOMEM:
        return NJ_E_MEMORY;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return NJ_E_STATE;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
        return NJ_E_PERMISSION;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
    case SQLITE_ERROR:
        return NJ_E_INTERNAL;
    default:
        return NJ_E_STORAGE;
    }
}

/* What was written before a failed sync may be lost though a later sync succeeds. */
static enum nj_status fail(struct nj_store *store, int code, struct nj_error *err)
{
    enum nj_status status = status_of(code);
    const char *words = sqlite3_errmsg(store->database);
    if (status == NJ_E_BUDGET) {
        return nj_fail(err, status, "%s: the disk is full; make room, nothing was lost",
                       store->path);
    }
    if (status == NJ_E_STATE) {
        return nj_fail(err, status, "%s is open in another process", store->path);
    }
    store->is_broken = store->is_broken || status == NJ_E_STORAGE;
    return nj_fail(err, status, "%s: %s (%s)", store->path, words, sqlite3_errstr(code));
}

static enum nj_status check_whole(const struct nj_store *store, struct nj_error *err)
{
    if (store->is_broken) {
        return nj_fail(err, NJ_E_STORAGE,
                       "%s: a write failed before; the queue must be opened again",
                       store->path);
    }
    return NJ_OK;
}

enum nj_status nj_store_row(struct nj_store *store, sqlite3_stmt *statement, bool *has_row,
                            struct nj_error *err)
{
    int code = sqlite3_step(statement);
    *has_row = code == SQLITE_ROW;
    if (code == SQLITE_ROW) {
        return NJ_OK;
    }
    enum nj_status status = code == SQLITE_DONE
                                ? NJ_OK
                                : fail(store, sqlite3_extended_errcode(store->database), err);
    (void)sqlite3_reset(statement);
    return status;
}

enum nj_status nj_store_run(struct nj_store *store, sqlite3_stmt *statement,
                            struct nj_error *err)
{
    bool has_row = false;
    enum nj_status status = nj_store_row(store, statement, &has_row, err);
    assert(status != NJ_OK || !has_row);
    return status;
}

void nj_store_done(sqlite3_stmt *statement)
{
    (void)sqlite3_reset(statement);
}

static enum nj_status run_plain(struct nj_store *store, enum nj_sql sql, struct nj_error *err)
{
    return nj_store_run(store, nj_store_statement(store, sql), err);
}

/* --- transactions --- */

static bool is_in_transaction(const struct nj_store *store)
{
    return sqlite3_get_autocommit(store->database) == 0;
}

/* SQLite rolls back by itself after some failures; what fails here has been said before. */
static void roll_back(struct nj_store *store)
{
    if (is_in_transaction(store)) {
        (void)sqlite3_step(nj_store_statement(store, NJ_SQL_ROLL_BACK));
        (void)sqlite3_reset(store->statements[NJ_SQL_ROLL_BACK]);
    }
}

enum nj_status nj_store_enter(struct nj_store *store, struct nj_error *err)
{
    enum nj_status status = check_whole(store, err);
    if (status == NJ_OK && store->is_begun && !is_in_transaction(store)) {
        return nj_fail(err, NJ_E_STATE, "%s: this transaction has failed", store->path);
    }
    return status == NJ_OK ? run_plain(store, NJ_SQL_SAVEPOINT, err) : status;
}

enum nj_status nj_store_leave(struct nj_store *store, enum nj_status status,
                              struct nj_error *err)
{
    if (status == NJ_OK) {
        status = run_plain(store, NJ_SQL_RELEASE, err); /* outermost: this commits */
    }
    if (status == NJ_OK) {
        return NJ_OK;
    }
    if (!store->is_begun) {
        roll_back(store);
    } else if (is_in_transaction(store)) {
        struct nj_error ignored; /* the first failure is the one to tell */
        if (run_plain(store, NJ_SQL_ROLL_BACK_TO, &ignored) != NJ_OK ||
            run_plain(store, NJ_SQL_RELEASE, &ignored) != NJ_OK) {
            roll_back(store);
        }
    }
    return status;
}

enum nj_status nj_store_begin(struct nj_store *store, struct nj_error *err)
{
    assert(!store->is_begun);
    enum nj_status status = check_whole(store, err);
    if (status == NJ_OK) {
        status = run_plain(store, NJ_SQL_BEGIN, err);
    }
    store->is_begun = status == NJ_OK;
    return status;
}

enum nj_status nj_store_commit(struct nj_store *store, struct nj_error *err)
{
    assert(store->is_begun);
    enum nj_status status = check_whole(store, err);
    if (status == NJ_OK && !is_in_transaction(store)) {
        status = nj_fail(err, NJ_E_STATE, "%s: this transaction has failed", store->path);
    }
    if (status == NJ_OK) {
        status = run_plain(store, NJ_SQL_COMMIT, err);
    }
    store->is_begun = false;
    if (status != NJ_OK) {
        roll_back(store);
    }
    return status;
}

void nj_store_abandon(struct nj_store *store)
{
    if (store->is_begun) {
        store->is_begun = false;
        roll_back(store);
    }
}

/* --- opening --- */

/* SQLite would create it readable by others; the WAL takes the mode of the database. */
static enum nj_status create_private(const struct nj_store_options *options,
                                     struct nj_error *err)
{
    const struct nj_file_system *fs = options->fs;
    int fd =
        fs->open_at(fs->context, AT_FDCWD, options->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return nj_fail(err, nj_status_from_errno(errno, NJ_E_STORAGE), "create %s: %s",
                       options->path, strerror(errno));
    }
    (void)fs->close(fs->context, fd); /* nothing was written */
    return NJ_OK;
}

static enum nj_status prepare_schema(struct nj_store *store, struct nj_error *err)
{
    int code = nj_store_schema_prepare(store->database);
    if (code == NJ_STORE_NEWER) {
        return nj_fail(err, NJ_E_UNSUPPORTED,
                       "%s was written by a newer nightjar; use that nightjar", store->path);
    }
    if (code == NJ_STORE_FOREIGN) {
        return nj_fail(err, NJ_E_STORAGE, "%s is not a queue of nightjar", store->path);
    }
    return code == SQLITE_OK ? NJ_OK : fail(store, code, err);
}

static enum nj_status prepare_statements(struct nj_store *store, struct nj_error *err)
{
    for (int i = 0; i < NJ_N_SQL; i++) {
        int code = sqlite3_prepare_v3(store->database, nj_sql_text((enum nj_sql)i), -1,
                                      SQLITE_PREPARE_PERSISTENT, &store->statements[i], NULL);
        if (code != SQLITE_OK) {
            return fail(store, code, err);
        }
    }
    return NJ_OK;
}

static enum nj_status open_database(struct nj_store *store,
                                    const struct nj_store_options *options,
                                    struct nj_error *err)
{
    enum nj_status status = nj_store_schema_look(options->fs, options->path, err);
    if (status == NJ_OK) {
        status = create_private(options, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    int code = sqlite3_open_v2(
        options->path, &store->database,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, options->vfs_name);
    if (code != SQLITE_OK) {
        return store->database == NULL
                   ? nj_fail(err, NJ_E_MEMORY, "open %s: out of memory", store->path)
                   : fail(store, code, err);
    }
    (void)sqlite3_extended_result_codes(store->database, 1);
    status = prepare_schema(store, err);
    return status == NJ_OK ? prepare_statements(store, err) : status;
}

enum nj_status nj_store_open(const struct nj_store_options *options, struct nj_store **store,
                             struct nj_error *err)
{
    struct nj_store *opened = calloc(1, sizeof *opened);
    enum nj_status status = NJ_OK;
    if (opened == NULL || (opened->path = strdup(options->path)) == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "open %s: out of memory", options->path);
        goto out;
    }
    opened->owner = pthread_self();
    status = open_database(opened, options, err);
    if (status == NJ_OK) {
        *store = opened;
        opened = NULL;
    }
out:
    nj_store_close(opened);
    return status;
}

void nj_store_close(struct nj_store *store)
{
    if (store == NULL) {
        return;
    }
    if (store->statements[NJ_SQL_ROLL_BACK] != NULL) {
        nj_store_abandon(store);
    }
    for (int i = 0; i < NJ_N_SQL; i++) {
        (void)sqlite3_finalize(store->statements[i]); /* repeats an old failure */
    }
    /* Tidies the WAL into the database; if that fails, the WAL stays and is read next time. */
    (void)sqlite3_close(store->database);
    free(store->path);
    free(store);
}

/* --- checking --- */

enum nj_status nj_store_check(struct nj_store *store, struct nj_error *err)
{
    sqlite3_stmt *statement = NULL;
    enum nj_status status = check_whole(store, err);
    bool has_row = false;
    if (status != NJ_OK) {
        return status;
    }
    int code =
        sqlite3_prepare_v2(store->database, "PRAGMA integrity_check(1)", -1, &statement, NULL);
    if (code != SQLITE_OK) {
        return fail(store, code, err);
    }
    status = nj_store_row(store, statement, &has_row, err);
    if (status == NJ_OK && !nj_text_equals(nj_store_text(statement, 0), "ok")) {
        struct nj_text words = nj_store_text(statement, 0);
        status = nj_fail(err, NJ_E_STORAGE, "%s is damaged: %.*s", store->path,
                         (int)words.length_bytes, words.data);
    }
    (void)sqlite3_finalize(statement);
    return status;
}
