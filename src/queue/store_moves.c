#include <assert.h>

#include "queue/store_jobs.h"
#include "queue/store_parts.h"

/* --- reading what decides --- */

enum nj_status nj_store_read_state(struct nj_store *store, uint64_t job_id, int *state,
                                   int64_t *hooks, struct nj_error *err)
{
    bool has_row = false;
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_GET_JOB);
    nj_store_bind(statement, 1, (int64_t)job_id);
    enum nj_status status = nj_store_row(store, statement, &has_row, err);
    *state = has_row ? sqlite3_column_int(statement, NJ_COLUMN_STATE) : 0;
    *hooks = has_row ? sqlite3_column_int64(statement, NJ_COLUMN_HOOKS) : 0;
    nj_store_done(statement);
    return status;
}

enum nj_status nj_store_find_one(struct nj_store *store, sqlite3_stmt *statement,
                                 uint64_t *number, bool *is_found, struct nj_error *err)
{
    bool has_row = false;
    enum nj_status status = nj_store_row(store, statement, &has_row, err);
    if (status == NJ_OK) {
        *is_found = has_row;
    }
    if (has_row) {
        *number = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    nj_store_done(statement);
    return status;
}

enum nj_status nj_store_tell_job(struct nj_store *store, uint64_t job_id,
                                 enum nj_store_event_kind kind, enum nj_job_state state,
                                 struct nj_text text, int64_t unix_ms, bool is_due,
                                 struct nj_error *err)
{
    struct nj_store_event event = {.unix_ms = unix_ms,
                                   .kind = kind,
                                   .job_id = job_id,
                                   .item_index = NJ_NO_ITEM,
                                   .state = (int)state,
                                   .text = text};
    return nj_store_tell(store, &event, is_due, err);
}

/* --- moving --- */

static enum nj_status set_state(struct nj_store *store, uint64_t job_id, enum nj_job_state to,
                                struct nj_text reason, int64_t unix_ms, struct nj_error *err)
{
    bool has_ended = nj_job_has_ended(to);
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_SET_JOB_STATE);
    nj_store_bind(statement, 1, (int64_t)job_id);
    nj_store_bind(statement, 2, to);
    nj_store_bind_text(statement, 3, reason);
    nj_store_bind(statement, 4, has_ended ? unix_ms : 0);
    return nj_store_run(store, statement, err);
}

static bool hears(int64_t hooks, enum nj_job_state state)
{
    switch (state) {
    case NJ_JOB_DONE:
        return (hooks >> NJ_HOOK_ON_DONE & 1) != 0;
    case NJ_JOB_FAILED:
    case NJ_JOB_EXPIRED:
        return (hooks >> NJ_HOOK_ON_FAILED & 1) != 0;
    case NJ_JOB_PAUSED:
    case NJ_JOB_PARKED:
        return (hooks >> NJ_HOOK_ON_PAUSED & 1) != 0;
    default:
        return false;
    }
}

static enum nj_status move_and_tell(struct nj_store *store, uint64_t job_id, int64_t hooks,
                                    enum nj_job_state to, struct nj_text reason,
                                    int64_t unix_ms, struct nj_error *err)
{
    enum nj_status status = set_state(store, job_id, to, reason, unix_ms, err);
    return status == NJ_OK ? nj_store_tell_job(store, job_id, NJ_STORE_JOB_MOVED, to, reason,
                                               unix_ms, hears(hooks, to), err)
                           : status;
}

/* Done is reached and left by items alone; running is queued with an item at work. */
static bool may_be_moved(enum nj_job_state from, enum nj_job_state to)
{
    bool is_by_items = to == NJ_JOB_DONE || from == NJ_JOB_DONE || from == NJ_JOB_FAILED ||
                       (from == NJ_JOB_RUNNING && to == NJ_JOB_QUEUED);
    return !is_by_items && nj_job_may_move(from, to);
}

static enum nj_status move_within(struct nj_store *store, uint64_t job_id, enum nj_job_state to,
                                  struct nj_text reason, int64_t unix_ms, struct nj_error *err)
{
    int from = 0;
    int64_t hooks = 0;
    static const struct nj_work_counts nothing = {{0}};
    enum nj_status status = nj_store_read_state(store, job_id, &from, &hooks, err);
    if (status != NJ_OK) {
        return status;
    }
    if (from == 0) {
        return nj_fail(err, NJ_E_NOT_FOUND, "there is no job %llu", (unsigned long long)job_id);
    }
    if (!may_be_moved((enum nj_job_state)from, to)) {
        return nj_fail(err, NJ_E_STATE, "job %llu is %s: it cannot become %s",
                       (unsigned long long)job_id, nj_job_state_name((enum nj_job_state)from),
                       nj_job_state_name(to));
    }
    status = move_and_tell(store, job_id, hooks, to, reason, unix_ms, err);
    if (status == NJ_OK && nj_job_has_ended(to) && to != NJ_JOB_SKIPPED) {
        return nj_store_cancel_items(store, job_id, reason, unix_ms, err);
    }
    return status == NJ_OK ? nj_store_add_counts(store, job_id, &nothing, unix_ms, err)
                           : status;
}

enum nj_status nj_store_move_job(struct nj_store *store, uint64_t job_id, enum nj_job_state to,
                                 struct nj_text reason, int64_t unix_ms, struct nj_error *err)
{
    enum nj_status status = nj_store_enter(store, err);
    if (status != NJ_OK) {
        return status;
    }
    enum nj_job_state target = to == NJ_JOB_RUNNING ? NJ_JOB_QUEUED : to;
    status = move_within(store, job_id, target, reason, unix_ms, err);
    return nj_store_leave(store, status, err);
}

/* Where the counts say that a job is, from the state it is in; see state.h. */
static enum nj_job_state settled(enum nj_job_state state, const int64_t *n_in)
{
    int64_t n_open = n_in[NJ_WORK_QUEUED] + n_in[NJ_WORK_RUNNING] + n_in[NJ_WORK_INTERRUPTED] +
                     n_in[NJ_WORK_WAITING];
    if (nj_job_has_ended(state) || (state == NJ_JOB_PARKED && n_open > 0)) {
        return state;
    }
    if (n_open == 0) {
        return n_in[NJ_WORK_DONE] > 0 ? NJ_JOB_DONE : NJ_JOB_FAILED;
    }
    if (state == NJ_JOB_PAUSED) {
        return state;
    }
    return n_in[NJ_WORK_RUNNING] > 0 ? NJ_JOB_RUNNING : NJ_JOB_QUEUED;
}

static enum nj_status settle(struct nj_store *store, uint64_t job_id, int64_t unix_ms,
                             struct nj_error *err)
{
    bool has_row = false;
    int64_t n_in[NJ_WORK_STATES_END] = {0};
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_GET_JOB);
    nj_store_bind(statement, 1, (int64_t)job_id);
    enum nj_status status = nj_store_row(store, statement, &has_row, err);
    if (status != NJ_OK || !has_row) {
        return status;
    }
    enum nj_job_state from = (enum nj_job_state)sqlite3_column_int(statement, NJ_COLUMN_STATE);
    int64_t hooks = sqlite3_column_int64(statement, NJ_COLUMN_HOOKS);
    for (int state = NJ_WORK_QUEUED; state < NJ_WORK_STATES_END; state++) {
        n_in[state] = sqlite3_column_int64(statement, NJ_COLUMN_ITEMS + state);
        assert(n_in[state] >= 0);
    }
    nj_store_done(statement);
    enum nj_job_state to = settled(from, n_in);
    if (to == from) {
        return NJ_OK;
    }
    static const struct nj_text no_reason = {NULL, 0};
    if (nj_job_has_ended(to)) {
        struct nj_text reason = nj_text_from(to == NJ_JOB_FAILED ? "no item succeeded" : "");
        return move_and_tell(store, job_id, hooks, to, reason, unix_ms, err);
    }
    return set_state(store, job_id, to, no_reason, unix_ms, err);
}

enum nj_status nj_store_add_counts(struct nj_store *store, uint64_t job_id,
                                   const struct nj_work_counts *counts, int64_t unix_ms,
                                   struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_ADD_COUNTS);
    nj_store_bind(statement, 1, (int64_t)job_id);
    for (int state = NJ_WORK_QUEUED; state < NJ_WORK_STATES_END; state++) {
        nj_store_bind(statement, 1 + state, counts->by_state[state]);
    }
    enum nj_status status = nj_store_run(store, statement, err);
    return status == NJ_OK ? settle(store, job_id, unix_ms, err) : status;
}

/* --- the end of other jobs --- */

static enum nj_dependency judge(enum nj_after_when when, enum nj_job_state parent, bool is_ok)
{
    if (parent == NJ_JOB_SKIPPED) {
        return NJ_DEPENDENCY_UNMEETABLE; /* it has not ended in any way that could be meant */
    }
    if (!nj_job_has_ended(parent)) {
        return NJ_DEPENDENCY_OPEN;
    }
    bool is_met = when == NJ_AFTER_ANY || (when == NJ_AFTER_OK) == is_ok;
    return is_met ? NJ_DEPENDENCY_MET : NJ_DEPENDENCY_UNMEETABLE;
}

enum nj_status nj_store_dependency(struct nj_store *store, uint64_t job_id,
                                   enum nj_dependency *dependency, uint64_t *awaited_job_id,
                                   struct nj_error *err)
{
    enum nj_dependency worst = NJ_DEPENDENCY_MET;
    uint64_t awaited = 0;
    bool has_row = true;
    enum nj_status status = NJ_OK;
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_LIST_PARENTS);
    nj_store_bind(statement, 1, (int64_t)job_id);
    while (status == NJ_OK) {
        status = nj_store_row(store, statement, &has_row, err);
        if (status != NJ_OK || !has_row) {
            break;
        }
        enum nj_job_state parent = (enum nj_job_state)sqlite3_column_int(statement, 2);
        bool is_ok =
            parent == NJ_JOB_DONE && sqlite3_column_int64(statement, 3) ==
                                         sqlite3_column_int64(statement, NJ_COLUMN_STATE);
        enum nj_dependency one =
            judge((enum nj_after_when)sqlite3_column_int(statement, 1), parent, is_ok);
        if (one > worst) {
            worst = one;
            awaited = (uint64_t)sqlite3_column_int64(statement, 0);
        }
    }
    nj_store_done(statement);
    if (status == NJ_OK) {
        *dependency = worst;
        *awaited_job_id = awaited;
    }
    return status;
}

/* Jobs that were skipped for this one, directly or not, are open again. */
static enum nj_status reopen_skipped(struct nj_store *store, uint64_t job_id, int64_t unix_ms,
                                     struct nj_error *err)
{
    uint64_t after = 0;
    bool is_found = true;
    enum nj_status status = NJ_OK;
    while (status == NJ_OK && is_found) {
        sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_LIST_SKIPPED_BELOW);
        nj_store_bind(statement, 1, (int64_t)job_id);
        nj_store_bind(statement, 2, (int64_t)after);
        status = nj_store_find_one(store, statement, &after, &is_found, err);
        if (status == NJ_OK && is_found) {
            status = move_within(store, after, NJ_JOB_QUEUED,
                                 nj_text_from("the job it waits for is retried"), unix_ms, err);
        }
    }
    return status;
}

/* --- retrying --- */

static enum nj_status requeue_items(struct nj_store *store, uint64_t job_id,
                                    enum nj_work_state from, struct nj_work_counts *counts,
                                    struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_RETRY_ITEMS);
    nj_store_bind(statement, 1, (int64_t)job_id);
    nj_store_bind(statement, 2, from);
    enum nj_status status = nj_store_run(store, statement, err);
    int64_t n_changed = status == NJ_OK ? sqlite3_changes64(store->database) : 0;
    counts->by_state[from] -= n_changed;
    counts->by_state[NJ_WORK_QUEUED] += n_changed;
    return status;
}

static enum nj_status retry_items(struct nj_store *store, uint64_t job_id,
                                  struct nj_work_counts *counts, struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_DELETE_FAILED_RESULTS);
    nj_store_bind(statement, 1, (int64_t)job_id);
    enum nj_status status = nj_store_run(store, statement, err);
    if (status == NJ_OK) {
        status = requeue_items(store, job_id, NJ_WORK_FAILED, counts, err);
    }
    return status == NJ_OK ? requeue_items(store, job_id, NJ_WORK_PARKED, counts, err) : status;
}

enum nj_status nj_store_reopen_job(struct nj_store *store, uint64_t job_id,
                                   struct nj_text reason, int64_t unix_ms, struct nj_error *err)
{
    int state = 0;
    int64_t hooks = 0;
    enum nj_status status = nj_store_read_state(store, job_id, &state, &hooks, err);
    if (status != NJ_OK || (state != NJ_JOB_DONE && state != NJ_JOB_FAILED)) {
        return status;
    }
    return move_and_tell(store, job_id, hooks, NJ_JOB_QUEUED, reason, unix_ms, err);
}

static enum nj_status retry_within(struct nj_store *store, uint64_t job_id, int64_t unix_ms,
                                   uint64_t *n_items, struct nj_error *err)
{
    int state = 0;
    int64_t hooks = 0;
    struct nj_work_counts counts = {{0}};
    enum nj_status status = nj_store_read_state(store, job_id, &state, &hooks, err);
    if (status != NJ_OK) {
        return status;
    }
    if (state == 0) {
        return nj_fail(err, NJ_E_NOT_FOUND, "there is no job %llu", (unsigned long long)job_id);
    }
    if (state == NJ_JOB_SKIPPED || state == NJ_JOB_CANCELLED || state == NJ_JOB_EXPIRED) {
        return nj_fail(err, NJ_E_STATE, "job %llu is %s: submit it again",
                       (unsigned long long)job_id, nj_job_state_name((enum nj_job_state)state));
    }
    status = retry_items(store, job_id, &counts, err);
    if (status == NJ_OK && counts.by_state[NJ_WORK_QUEUED] == 0) {
        status = nj_fail(err, NJ_E_STATE, "job %llu has no failed or parked items",
                         (unsigned long long)job_id);
    }
    if (status == NJ_OK &&
        (state == NJ_JOB_PARKED || nj_job_has_ended((enum nj_job_state)state))) {
        status = move_and_tell(store, job_id, hooks, NJ_JOB_QUEUED, nj_text_from("retried"),
                               unix_ms, err);
    }
    if (status == NJ_OK) {
        status = nj_store_add_counts(store, job_id, &counts, unix_ms, err);
    }
    *n_items = (uint64_t)counts.by_state[NJ_WORK_QUEUED];
    return status == NJ_OK ? reopen_skipped(store, job_id, unix_ms, err) : status;
}

enum nj_status nj_store_retry_job(struct nj_store *store, uint64_t job_id, int64_t unix_ms,
                                  uint64_t *n_items, struct nj_error *err)
{
    uint64_t n_retried = 0;
    enum nj_status status = nj_store_enter(store, err);
    if (status != NJ_OK) {
        return status;
    }
    status = retry_within(store, job_id, unix_ms, &n_retried, err);
    status = nj_store_leave(store, status, err);
    if (status == NJ_OK) {
        *n_items = n_retried;
    }
    return status;
}

/* --- removing --- */

static enum nj_status check_removable(struct nj_store *store, uint64_t job_id,
                                      struct nj_error *err)
{
    int state = 0;
    int64_t hooks = 0;
    bool has_row = false;
    enum nj_status status = nj_store_read_state(store, job_id, &state, &hooks, err);
    if (status != NJ_OK) {
        return status;
    }
    if (state == 0) {
        return nj_fail(err, NJ_E_NOT_FOUND, "there is no job %llu", (unsigned long long)job_id);
    }
    if (!nj_job_has_ended((enum nj_job_state)state)) {
        return nj_fail(err, NJ_E_STATE, "job %llu is %s: cancel it first",
                       (unsigned long long)job_id, nj_job_state_name((enum nj_job_state)state));
    }
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_COUNT_OPEN_CHILDREN);
    nj_store_bind(statement, 1, (int64_t)job_id);
    status = nj_store_row(store, statement, &has_row, err);
    int64_t n_children = has_row ? sqlite3_column_int64(statement, 0) : 0;
    nj_store_done(statement);
    return status == NJ_OK && n_children > 0
               ? nj_fail(err, NJ_E_STATE, "job %llu: other jobs wait for it",
                         (unsigned long long)job_id)
               : status;
}

enum nj_status nj_store_remove_job(struct nj_store *store, uint64_t job_id,
                                   struct nj_error *err)
{
    static const enum nj_sql deletions[] = {NJ_SQL_DELETE_RESULTS,      NJ_SQL_DELETE_ATTEMPTS,
                                            NJ_SQL_DELETE_ITEMS,        NJ_SQL_DELETE_EVENTS,
                                            NJ_SQL_DELETE_DEPENDENCIES, NJ_SQL_DELETE_JOB};
    enum nj_status status = nj_store_enter(store, err);
    if (status != NJ_OK) {
        return status;
    }
    status = check_removable(store, job_id, err);
    for (size_t i = 0; i < sizeof deletions / sizeof deletions[0] && status == NJ_OK; i++) {
        sqlite3_stmt *statement = nj_store_statement(store, deletions[i]);
        nj_store_bind(statement, 1, (int64_t)job_id);
        status = nj_store_run(store, statement, err);
    }
    return nj_store_leave(store, status, err);
}
