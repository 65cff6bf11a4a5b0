#include "queue/store_items.h"
#include "queue/store_parts.h"

/* What concerns many items at once: after a start, after a pause, at a job's end; and lists. */

/* --- recovery --- */

static enum nj_status interrupt_all(struct nj_store *store, uint64_t job_id, int64_t unix_ms,
                                    uint64_t *n_items, struct nj_error *err)
{
    struct nj_work_counts counts = {{0}};
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_INTERRUPT_ITEMS);
    nj_store_bind(statement, 1, (int64_t)job_id);
    enum nj_status status = nj_store_run(store, statement, err);
    if (status != NJ_OK) {
        return status;
    }
    int64_t n_changed = sqlite3_changes64(store->database);
    counts.by_state[NJ_WORK_RUNNING] = -n_changed;
    counts.by_state[NJ_WORK_INTERRUPTED] = n_changed;
    *n_items += (uint64_t)n_changed;
    return nj_store_add_counts(store, job_id, &counts, unix_ms, err);
}

static enum nj_status next_job(struct nj_store *store, enum nj_sql sql, uint64_t *job_id,
                               bool *is_found, struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, sql);
    nj_store_bind(statement, 1, (int64_t)*job_id);
    return nj_store_find_one(store, statement, job_id, is_found, err);
}

enum nj_status nj_store_recover(struct nj_store *store, int64_t unix_ms, uint64_t *n_items,
                                struct nj_error *err)
{
    uint64_t job_id = 0;
    uint64_t n_interrupted = 0;
    bool is_found = true;
    enum nj_status status = nj_store_enter(store, err);
    if (status != NJ_OK) {
        return status;
    }
    while (status == NJ_OK && is_found) {
        status = next_job(store, NJ_SQL_LIST_JOBS_WITH_RUNNING, &job_id, &is_found, err);
        if (status == NJ_OK && is_found) {
            status = interrupt_all(store, job_id, unix_ms, &n_interrupted, err);
        }
    }
    status = nj_store_leave(store, status, err);
    if (status == NJ_OK) {
        *n_items = n_interrupted;
    }
    return status;
}

/* --- waiting items --- */

static enum nj_status release_one(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                  struct nj_error *err)
{
    bool has_row = false;
    sqlite3_stmt *get = nj_store_statement(store, NJ_SQL_GET_ITEM);
    nj_store_bind(get, 1, (int64_t)job_id);
    nj_store_bind(get, 2, (int64_t)item_index);
    enum nj_status status = nj_store_row(store, get, &has_row, err);
    int64_t n_attempts = has_row ? sqlite3_column_int64(get, 2) : 0;
    nj_store_done(get);
    if (status != NJ_OK) {
        return status;
    }
    static const struct nj_text no_reason = {NULL, 0};
    sqlite3_stmt *set = nj_store_statement(store, NJ_SQL_SET_ITEM);
    nj_store_bind(set, 1, (int64_t)job_id);
    nj_store_bind(set, 2, (int64_t)item_index);
    nj_store_bind(set, 3, NJ_WORK_QUEUED);
    nj_store_bind(set, 4, n_attempts);
    nj_store_bind(set, 5, 0);
    nj_store_bind_text(set, 6, no_reason);
    return nj_store_run(store, set, err);
}

static enum nj_status release_job(struct nj_store *store, uint64_t job_id, int64_t unix_ms,
                                  uint64_t *n_released, struct nj_error *err)
{
    struct nj_work_counts counts = {{0}};
    bool is_found = true;
    enum nj_status status = NJ_OK;
    while (status == NJ_OK && is_found) {
        uint64_t item_index = 0;
        sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_LIST_DUE);
        nj_store_bind(statement, 1, (int64_t)job_id);
        nj_store_bind(statement, 2, unix_ms);
        status = nj_store_find_one(store, statement, &item_index, &is_found, err);
        if (status == NJ_OK && is_found) {
            status = release_one(store, job_id, item_index, err);
            counts.by_state[NJ_WORK_WAITING]--;
            counts.by_state[NJ_WORK_QUEUED]++;
        }
    }
    *n_released += (uint64_t)counts.by_state[NJ_WORK_QUEUED];
    return status == NJ_OK ? nj_store_add_counts(store, job_id, &counts, unix_ms, err) : status;
}

enum nj_status nj_store_release_due(struct nj_store *store, int64_t unix_ms,
                                    uint64_t *n_released, struct nj_error *err)
{
    uint64_t job_id = 0;
    uint64_t n_items = 0;
    bool is_found = true;
    enum nj_status status = nj_store_enter(store, err);
    if (status != NJ_OK) {
        return status;
    }
    while (status == NJ_OK && is_found) {
        status = next_job(store, NJ_SQL_LIST_JOBS_WITH_WAITING, &job_id, &is_found, err);
        if (status == NJ_OK && is_found) {
            status = release_job(store, job_id, unix_ms, &n_items, err);
        }
    }
    status = nj_store_leave(store, status, err);
    if (status == NJ_OK) {
        *n_released = n_items;
    }
    return status;
}

enum nj_status nj_store_next_retry(struct nj_store *store, uint64_t job_id,
                                   int64_t *retry_at_ms, struct nj_error *err)
{
    bool has_row = false;
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_NEXT_RETRY);
    nj_store_bind(statement, 1, (int64_t)job_id);
    enum nj_status status = nj_store_row(store, statement, &has_row, err);
    if (status == NJ_OK) {
        bool is_waiting = has_row && sqlite3_column_type(statement, 0) != SQLITE_NULL;
        *retry_at_ms = is_waiting ? sqlite3_column_int64(statement, 0) : INT64_MAX;
    }
    nj_store_done(statement);
    return status;
}

/* --- the end of a job --- */

enum nj_status nj_store_cancel_items(struct nj_store *store, uint64_t job_id,
                                     struct nj_text reason, int64_t unix_ms,
                                     struct nj_error *err)
{
    struct nj_work_counts counts = {{0}};
    enum nj_status status = NJ_OK;
    for (int state = NJ_WORK_QUEUED; state <= NJ_WORK_WAITING && status == NJ_OK; state++) {
        sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_CANCEL_ITEMS);
        nj_store_bind(statement, 1, (int64_t)job_id);
        nj_store_bind(statement, 2, state);
        nj_store_bind_text(statement, 3, reason);
        status = nj_store_run(store, statement, err);
        int64_t n_changed = status == NJ_OK ? sqlite3_changes64(store->database) : 0;
        counts.by_state[state] -= n_changed;
        counts.by_state[NJ_WORK_CANCELLED] += n_changed;
    }
    return status == NJ_OK ? nj_store_add_counts(store, job_id, &counts, unix_ms, err) : status;
}

/* --- lists --- */

static enum nj_status visit_items(struct nj_store *store, sqlite3_stmt *statement,
                                  nj_store_item_visit *visit, void *context,
                                  struct nj_error *err)
{
    bool has_row = true;
    enum nj_status status = NJ_OK;
    while (status == NJ_OK) {
        status = nj_store_row(store, statement, &has_row, err);
        if (status != NJ_OK || !has_row) {
            break;
        }
        struct nj_store_item item = {.item_index = (uint64_t)sqlite3_column_int64(statement, 0),
                                     .state =
                                         (enum nj_work_state)sqlite3_column_int(statement, 1),
                                     .n_attempts = (uint32_t)sqlite3_column_int(statement, 2),
                                     .retry_at_ms = sqlite3_column_int64(statement, 3),
                                     .reason = nj_store_text(statement, 4)};
        status = visit(context, &item, err);
    }
    nj_store_done(statement);
    return status;
}

enum nj_status nj_store_list_items(struct nj_store *store, uint64_t job_id, uint64_t from,
                                   size_t most, nj_store_item_visit *visit, void *context,
                                   struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_LIST_ITEMS);
    nj_store_bind(statement, 1, (int64_t)job_id);
    nj_store_bind(statement, 2, (int64_t)from);
    nj_store_bind(statement, 3, (int64_t)most);
    return visit_items(store, statement, visit, context, err);
}

enum nj_status nj_store_list_items_in(struct nj_store *store, uint64_t job_id,
                                      enum nj_work_state state, uint64_t from, size_t most,
                                      nj_store_item_visit *visit, void *context,
                                      struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_LIST_ITEMS_IN);
    nj_store_bind(statement, 1, (int64_t)job_id);
    nj_store_bind(statement, 2, state);
    nj_store_bind(statement, 3, (int64_t)from);
    nj_store_bind(statement, 4, (int64_t)most);
    return visit_items(store, statement, visit, context, err);
}

enum nj_status nj_store_list_attempts(struct nj_store *store, uint64_t job_id,
                                      uint64_t item_index, nj_store_attempt_visit *visit,
                                      void *context, struct nj_error *err)
{
    bool has_row = true;
    enum nj_status status = NJ_OK;
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_LIST_ATTEMPTS);
    nj_store_bind(statement, 1, (int64_t)job_id);
    nj_store_bind(statement, 2, (int64_t)item_index);
    while (status == NJ_OK) {
        status = nj_store_row(store, statement, &has_row, err);
        if (status != NJ_OK || !has_row) {
            break;
        }
        struct nj_store_attempt attempt = {.attempt_id =
                                               (uint64_t)sqlite3_column_int64(statement, 0),
                                           .unix_ms = sqlite3_column_int64(statement, 1),
                                           .is_counted = sqlite3_column_int(statement, 2) != 0,
                                           .text = nj_store_text(statement, 3)};
        status = visit(context, &attempt, err);
    }
    nj_store_done(statement);
    return status;
}

enum nj_status nj_store_list_marks(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                   struct nj_store_mark *marks, size_t most, size_t *n_marks,
                                   struct nj_error *err)
{
    bool has_row = true;
    size_t n_listed = 0;
    enum nj_status status = NJ_OK;
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_LIST_RESULTS);
    nj_store_bind(statement, 1, (int64_t)job_id);
    nj_store_bind(statement, 2, (int64_t)item_index);
    while (status == NJ_OK && n_listed < most) {
        status = nj_store_row(store, statement, &has_row, err);
        if (status != NJ_OK || !has_row) {
            break;
        }
        marks[n_listed++] =
            (struct nj_store_mark){.sample = (uint32_t)sqlite3_column_int64(statement, 0),
                                   .is_ok = sqlite3_column_int(statement, 1) != 0};
    }
    nj_store_done(statement);
    if (status == NJ_OK) {
        *n_marks = n_listed;
    }
    return status;
}
