#include "queue/store_jobs.h"

#include <string.h>

#include "queue/store_orders.h"
#include "queue/store_parts.h"

static const uint64_t ms_ns = 1000000;

/* --- submitting --- */

static int64_t hook_bits(const struct nj_job_orders *orders)
{
    int64_t bits = 0;
    for (int i = 0; i < NJ_N_HOOKS; i++) {
        bits |= orders->hooks[i].kind == NJ_HOOK_NONE ? 0 : INT64_C(1) << i;
    }
    return bits;
}

static void bind_hours(sqlite3_stmt *statement, const struct nj_store_submission *submission,
                       struct nj_text windows)
{
    const struct nj_job_hours *hours = &submission->orders->hours;
    nj_store_bind_text(statement, 8, windows);
    nj_store_bind(statement, 9, hours->days);
    nj_store_bind_text(statement, 10, hours->timezone);
    nj_store_bind(statement, 11, hours->on_window_end);
    nj_store_bind_text(statement, 12, hours->start_at.text);
    nj_store_bind(statement, 13, submission->start_at);
    nj_store_bind_text(statement, 14, hours->deadline.text);
    nj_store_bind(statement, 15, submission->deadline);
}

static enum nj_status add_job(struct nj_store *store,
                              const struct nj_store_submission *submission,
                              struct nj_text windows, uint64_t *job_id, struct nj_error *err)
{
    const struct nj_job_orders *orders = submission->orders;
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_ADD_JOB);
    nj_store_bind_text(statement, 1, submission->name);
    nj_store_bind_text(statement, 2, submission->model);
    (void)sqlite3_bind_blob(statement, 3, submission->digest.bytes, NJ_DIGEST_BYTES,
                            SQLITE_STATIC);
    nj_store_bind(statement, 4, submission->is_paused ? NJ_JOB_PAUSED : NJ_JOB_QUEUED);
    nj_store_bind(statement, 5, orders->priority);
    nj_store_bind(statement, 6, orders->preempts ? 1 : 0);
    nj_store_bind(statement, 7, orders->groups_by_prefix ? 1 : 0);
    bind_hours(statement, submission, windows);
    nj_store_bind(statement, 16, orders->retry.max_attempts);
    nj_store_bind(statement, 17, (int64_t)(orders->retry.backoff_ns / ms_ns));
    (void)sqlite3_bind_double(statement, 18, orders->retry.factor);
    nj_store_bind(statement, 19, (int64_t)(orders->retry.most_ns / ms_ns));
    nj_store_bind(statement, 20, hook_bits(orders));
    nj_store_bind(statement, 21, submission->unix_ms);
    nj_store_bind(statement, 22, (int64_t)submission->n_items);
    enum nj_status status = nj_store_run(store, statement, err);
    if (status == NJ_OK) {
        *job_id = (uint64_t)sqlite3_last_insert_rowid(store->database);
    }
    return status;
}

static enum nj_status add_items(struct nj_store *store, uint64_t job_id, uint64_t n_items,
                                struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (uint64_t i = 0; i < n_items && status == NJ_OK; i++) {
        sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_ADD_ITEM);
        nj_store_bind(statement, 1, (int64_t)job_id);
        nj_store_bind(statement, 2, (int64_t)i);
        status = nj_store_run(store, statement, err);
    }
    return status;
}

/* A parent is older, so there can be no circle. */
static enum nj_status add_parent(struct nj_store *store, uint64_t job_id,
                                 const struct nj_store_parent *parent, struct nj_error *err)
{
    int state = 0;
    int64_t hooks = 0;
    enum nj_status status = nj_store_read_state(store, parent->job_id, &state, &hooks, err);
    if (status != NJ_OK) {
        return status;
    }
    if (state == 0 || parent->job_id >= job_id) {
        return nj_fail(err, NJ_E_NOT_FOUND, "there is no job %llu to wait for",
                       (unsigned long long)parent->job_id);
    }
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_ADD_DEPENDENCY);
    nj_store_bind(statement, 1, (int64_t)job_id);
    nj_store_bind(statement, 2, (int64_t)parent->job_id);
    nj_store_bind(statement, 3, parent->when);
    return nj_store_run(store, statement, err);
}

static enum nj_status submit_within(struct nj_store *store,
                                    const struct nj_store_submission *submission,
                                    struct nj_text windows, uint64_t *job_id,
                                    struct nj_error *err)
{
    enum nj_status status = add_job(store, submission, windows, job_id, err);
    for (size_t i = 0; i < submission->n_parents && status == NJ_OK; i++) {
        status = add_parent(store, *job_id, &submission->parents[i], err);
    }
    if (status == NJ_OK) {
        status = add_items(store, *job_id, submission->n_items, err);
    }
    if (status == NJ_OK) {
        status = nj_store_tell_job(store, *job_id, NJ_STORE_SUBMITTED,
                                   submission->is_paused ? NJ_JOB_PAUSED : NJ_JOB_QUEUED,
                                   submission->name, submission->unix_ms, false, err);
    }
    return status;
}

enum nj_status nj_store_submit(struct nj_store *store,
                               const struct nj_store_submission *submission, uint64_t *job_id,
                               struct nj_error *err)
{
    struct nj_arena arena;
    uint64_t added = 0;
    if (submission->n_items == 0 || submission->n_items > INT64_MAX) {
        return nj_fail(err, NJ_E_INPUT, "the job has no items");
    }
    nj_arena_init(&arena, 0);
    struct nj_text windows = nj_store_windows_write(&submission->orders->hours, &arena);
    enum nj_status status = windows.data == NULL ? nj_arena_fail(&arena, "submit", err)
                                                 : nj_store_enter(store, err);
    if (status == NJ_OK) {
        status = submit_within(store, submission, windows, &added, err);
        status = nj_store_leave(store, status, err);
    }
    if (status == NJ_OK) {
        *job_id = added;
    }
    nj_arena_deinit(&arena);
    return status;
}

/* --- reading --- */

static bool keep_text(struct nj_arena *arena, struct nj_text *text)
{
    text->data = nj_arena_copy_text(arena, text->data, text->length_bytes);
    return text->data != NULL;
}

static bool read_orders(sqlite3_stmt *row, struct nj_arena *arena, struct nj_job_orders *orders)
{
    struct nj_job_hours *hours = &orders->hours;
    *orders = nj_job_orders_default();
    orders->priority = sqlite3_column_int(row, 6);
    orders->preempts = sqlite3_column_int(row, 7) != 0;
    orders->groups_by_prefix = sqlite3_column_int(row, 8) != 0;
    hours->days = (unsigned)sqlite3_column_int(row, 10);
    hours->timezone = nj_store_text(row, 11);
    hours->on_window_end = (enum nj_window_end)sqlite3_column_int(row, 12);
    hours->start_at.text = nj_store_text(row, 13);
    hours->deadline.text = nj_store_text(row, 15);
    orders->retry =
        (struct nj_job_retry){.max_attempts = (uint32_t)sqlite3_column_int(row, 17),
                              .backoff_ns = (uint64_t)sqlite3_column_int64(row, 18) * ms_ns,
                              .factor = sqlite3_column_double(row, 19),
                              .most_ns = (uint64_t)sqlite3_column_int64(row, 20) * ms_ns};
    /* Which moments they were matters no more: they are resolved. */
    return nj_store_windows_read(nj_store_text(row, 9), arena, hours) &&
           keep_text(arena, &hours->timezone) && keep_text(arena, &hours->start_at.text) &&
           keep_text(arena, &hours->deadline.text);
}

static bool read_job(sqlite3_stmt *row, struct nj_arena *arena, struct nj_stored_job *job)
{
    *job = (struct nj_stored_job){
        .job_id = (uint64_t)sqlite3_column_int64(row, 0),
        .name = nj_store_text(row, 1),
        .model = nj_store_text(row, 2),
        .state = (enum nj_job_state)sqlite3_column_int(row, NJ_COLUMN_STATE),
        .reason = nj_store_text(row, 5),
        .start_at = sqlite3_column_int64(row, 14),
        .deadline = sqlite3_column_int64(row, 16),
        .has_begun = sqlite3_column_int(row, 22) != 0,
        .submitted_ms = sqlite3_column_int64(row, 23),
        .begun_ms = sqlite3_column_int64(row, 24),
        .ended_ms = sqlite3_column_int64(row, 25),
        .n_items = (uint64_t)sqlite3_column_int64(row, NJ_COLUMN_ITEMS)};
    for (int state = NJ_WORK_QUEUED; state < NJ_WORK_STATES_END; state++) {
        job->n_in[state] = (uint64_t)sqlite3_column_int64(row, NJ_COLUMN_ITEMS + state);
    }
    if (sqlite3_column_bytes(row, 3) == NJ_DIGEST_BYTES) {
        memcpy(job->digest.bytes, sqlite3_column_blob(row, 3), NJ_DIGEST_BYTES);
    }
    return keep_text(arena, &job->name) && keep_text(arena, &job->model) &&
           keep_text(arena, &job->reason) && read_orders(row, arena, &job->orders);
}

enum nj_status nj_store_get_job(struct nj_store *store, uint64_t job_id, struct nj_arena *arena,
                                struct nj_stored_job *job, bool *is_found, struct nj_error *err)
{
    bool has_row = false;
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_GET_JOB);
    nj_store_bind(statement, 1, (int64_t)job_id);
    enum nj_status status = nj_store_row(store, statement, &has_row, err);
    if (status == NJ_OK && has_row && !read_job(statement, arena, job)) {
        status = nj_arena_fail(arena, "read a job", err);
    }
    nj_store_done(statement);
    if (status == NJ_OK) {
        *is_found = has_row;
    }
    return status;
}

enum nj_status nj_store_find_name(struct nj_store *store, struct nj_text name, uint64_t *job_id,
                                  bool *is_found, struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_FIND_NAME);
    nj_store_bind_text(statement, 1, name);
    return nj_store_find_one(store, statement, job_id, is_found, err);
}

enum nj_status nj_store_find_digest(struct nj_store *store, const struct nj_digest *digest,
                                    uint64_t *job_id, bool *is_found, struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_FIND_DIGEST);
    (void)sqlite3_bind_blob(statement, 1, digest->bytes, NJ_DIGEST_BYTES, SQLITE_STATIC);
    return nj_store_find_one(store, statement, job_id, is_found, err);
}

enum nj_status nj_store_list_jobs(struct nj_store *store, unsigned states, uint64_t after,
                                  size_t most, struct nj_arena *arena,
                                  struct nj_stored_job **jobs, size_t *n_jobs,
                                  struct nj_error *err)
{
    struct nj_stored_job *list = nj_arena_take_array(arena, most, sizeof list[0]);
    size_t n_listed = 0;
    bool has_row = true;
    enum nj_status status = NJ_OK;
    if (list == NULL) {
        return nj_arena_fail(arena, "list jobs", err);
    }
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_LIST_JOBS);
    nj_store_bind(statement, 1, (int64_t)after);
    nj_store_bind(statement, 2, states);
    nj_store_bind(statement, 3, (int64_t)most);
    while (status == NJ_OK) {
        status = nj_store_row(store, statement, &has_row, err);
        if (status != NJ_OK || !has_row) {
            break;
        }
        if (!read_job(statement, arena, &list[n_listed++])) {
            status = nj_arena_fail(arena, "list jobs", err);
        }
    }
    nj_store_done(statement);
    if (status == NJ_OK) {
        *jobs = list;
        *n_jobs = n_listed;
    }
    return status;
}
