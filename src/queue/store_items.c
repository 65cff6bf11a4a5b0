#include "queue/store_items.h"

#include <assert.h>

#include "job/orders.h"
#include "queue/store_parts.h"

/* A move of one item, and what changes with it. */
struct move {
    uint64_t job_id;
    uint64_t item_index;
    enum nj_work_state to;
    int attempts; /* added to what there is */
    bool forgets_attempts;
    int64_t retry_at_ms;
    struct nj_text reason;
    int64_t unix_ms;
};

static struct nj_store_item read_item(sqlite3_stmt *row)
{
    return (struct nj_store_item){.item_index = (uint64_t)sqlite3_column_int64(row, 0),
                                  .state = (enum nj_work_state)sqlite3_column_int(row, 1),
                                  .n_attempts = (uint32_t)sqlite3_column_int(row, 2),
                                  .retry_at_ms = sqlite3_column_int64(row, 3),
                                  .reason = nj_store_text(row, 4)};
}

static enum nj_status get_item(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                               struct nj_store_item *item, struct nj_error *err)
{
    bool has_row = false;
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_GET_ITEM);
    nj_store_bind(statement, 1, (int64_t)job_id);
    nj_store_bind(statement, 2, (int64_t)item_index);
    enum nj_status status = nj_store_row(store, statement, &has_row, err);
    if (has_row) {
        *item = read_item(statement);
        item->reason = (struct nj_text){NULL, 0};
    }
    nj_store_done(statement);
    return status != NJ_OK || has_row
               ? status
               : nj_fail(err, NJ_E_NOT_FOUND, "there is no item %llu.%llu",
                         (unsigned long long)job_id, (unsigned long long)item_index);
}

static enum nj_status set_item(struct nj_store *store, const struct move *move,
                               uint32_t n_attempts, struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_SET_ITEM);
    nj_store_bind(statement, 1, (int64_t)move->job_id);
    nj_store_bind(statement, 2, (int64_t)move->item_index);
    nj_store_bind(statement, 3, move->to);
    nj_store_bind(statement, 4, n_attempts);
    nj_store_bind(statement, 5, move->retry_at_ms);
    nj_store_bind_text(statement, 6, move->reason);
    return nj_store_run(store, statement, err);
}

/* Failures of items are what a person wants to hear of. */
static enum nj_status tell_item(struct nj_store *store, const struct move *move,
                                struct nj_error *err)
{
    int state = 0;
    int64_t hooks = 0;
    if (move->to != NJ_WORK_FAILED && move->to != NJ_WORK_PARKED) {
        return NJ_OK;
    }
    enum nj_status status = nj_store_read_state(store, move->job_id, &state, &hooks, err);
    struct nj_store_event event = {.unix_ms = move->unix_ms,
                                   .kind = NJ_STORE_ITEM_MOVED,
                                   .job_id = move->job_id,
                                   .item_index = (int64_t)move->item_index,
                                   .state = (int)move->to,
                                   .text = move->reason};
    bool is_due = (hooks >> NJ_HOOK_ON_ITEM_FAILED & 1) != 0;
    return status == NJ_OK ? nj_store_tell(store, &event, is_due, err) : status;
}

static uint32_t attempts_after(const struct move *move, uint32_t n_before)
{
    if (move->forgets_attempts) {
        return 0;
    }
    return move->attempts < 0 ? n_before - (n_before > 0 ? 1 : 0)
                              : n_before + (uint32_t)move->attempts;
}

/* `*item` is what it was, on entry, and is what it becomes. */
static enum nj_status move_item(struct nj_store *store, const struct move *move,
                                struct nj_store_item *item, struct nj_error *err)
{
    if (!nj_work_may_move(item->state, move->to)) {
        return nj_fail(err, NJ_E_STATE, "item %llu.%llu is %s: it cannot become %s",
                       (unsigned long long)move->job_id, (unsigned long long)move->item_index,
                       nj_work_state_name(item->state), nj_work_state_name(move->to));
    }
    struct nj_work_counts counts = {{0}};
    counts.by_state[item->state]--;
    counts.by_state[move->to]++;
    item->state = move->to;
    item->n_attempts = attempts_after(move, item->n_attempts);
    item->retry_at_ms = move->retry_at_ms;
    enum nj_status status = set_item(store, move, item->n_attempts, err);
    if (status == NJ_OK) {
        status = tell_item(store, move, err);
    }
    return status == NJ_OK
               ? nj_store_add_counts(store, move->job_id, &counts, move->unix_ms, err)
               : status;
}

static enum nj_status find_and_move(struct nj_store *store, const struct move *move,
                                    struct nj_store_item *item, struct nj_error *err)
{
    enum nj_status status = get_item(store, move->job_id, move->item_index, item, err);
    return status == NJ_OK ? move_item(store, move, item, err) : status;
}

/* --- claiming --- */

static enum nj_status begin_job(struct nj_store *store, uint64_t job_id, int64_t unix_ms,
                                struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_SET_BEGUN);
    nj_store_bind(statement, 1, (int64_t)job_id);
    nj_store_bind(statement, 2, unix_ms);
    return nj_store_run(store, statement, err);
}

static enum nj_status check_claimable(struct nj_store *store, uint64_t job_id,
                                      struct nj_error *err)
{
    int state = 0;
    int64_t hooks = 0;
    enum nj_status status = nj_store_read_state(store, job_id, &state, &hooks, err);
    if (status != NJ_OK) {
        return status;
    }
    if (state == 0) {
        return nj_fail(err, NJ_E_NOT_FOUND, "there is no job %llu", (unsigned long long)job_id);
    }
    if (state != NJ_JOB_QUEUED && state != NJ_JOB_RUNNING) {
        return nj_fail(err, NJ_E_STATE, "job %llu is %s: none of its items may begin",
                       (unsigned long long)job_id, nj_job_state_name((enum nj_job_state)state));
    }
    return NJ_OK;
}

static enum nj_status list_claimable(struct nj_store *store, uint64_t job_id,
                                     enum nj_work_state state, size_t most,
                                     struct nj_store_item *items, size_t *n_items,
                                     struct nj_error *err)
{
    bool has_row = true;
    enum nj_status status = NJ_OK;
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_LIST_ITEMS_IN);
    nj_store_bind(statement, 1, (int64_t)job_id);
    nj_store_bind(statement, 2, state);
    nj_store_bind(statement, 3, 0);
    nj_store_bind(statement, 4, (int64_t)(most - *n_items));
    while (status == NJ_OK && *n_items < most) {
        status = nj_store_row(store, statement, &has_row, err);
        if (status != NJ_OK || !has_row) {
            break;
        }
        items[*n_items] = read_item(statement);
        items[(*n_items)++].reason = (struct nj_text){NULL, 0};
    }
    nj_store_done(statement);
    return status;
}

static enum nj_status claim_one(struct nj_store *store, uint64_t job_id, int64_t unix_ms,
                                struct nj_store_item *item, struct nj_error *err)
{
    struct move move = {.job_id = job_id,
                        .item_index = item->item_index,
                        .to = NJ_WORK_RUNNING,
                        .attempts = 1,
                        .unix_ms = unix_ms};
    return move_item(store, &move, item, err);
}

static enum nj_status claim_within(struct nj_store *store, uint64_t job_id, size_t most,
                                   int64_t unix_ms, struct nj_store_item *items,
                                   size_t *n_items, struct nj_error *err)
{
    enum nj_status status = check_claimable(store, job_id, err);
    if (status == NJ_OK) {
        status = list_claimable(store, job_id, NJ_WORK_INTERRUPTED, most, items, n_items, err);
    }
    if (status == NJ_OK) {
        status = list_claimable(store, job_id, NJ_WORK_QUEUED, most, items, n_items, err);
    }
    for (size_t i = 0; i < *n_items && status == NJ_OK; i++) {
        status = claim_one(store, job_id, unix_ms, &items[i], err);
    }
    return status == NJ_OK && *n_items > 0 ? begin_job(store, job_id, unix_ms, err) : status;
}

enum nj_status nj_store_claim(struct nj_store *store, uint64_t job_id, size_t most,
                              int64_t unix_ms, struct nj_store_item *items, size_t *n_items,
                              struct nj_error *err)
{
    size_t n_claimed = 0;
    enum nj_status status = nj_store_enter(store, err);
    if (status != NJ_OK) {
        return status;
    }
    status = claim_within(store, job_id, most, unix_ms, items, &n_claimed, err);
    status = nj_store_leave(store, status, err);
    if (status == NJ_OK) {
        *n_items = n_claimed;
    }
    return status;
}

enum nj_status nj_store_claim_item(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                   int64_t unix_ms, struct nj_store_item *item,
                                   struct nj_error *err)
{
    struct nj_store_item claimed = {0};
    enum nj_status status = nj_store_enter(store, err);
    if (status != NJ_OK) {
        return status;
    }
    status = check_claimable(store, job_id, err);
    if (status == NJ_OK) {
        status = get_item(store, job_id, item_index, &claimed, err);
    }
    if (status == NJ_OK) {
        status = claim_one(store, job_id, unix_ms, &claimed, err);
    }
    if (status == NJ_OK) {
        status = begin_job(store, job_id, unix_ms, err);
    }
    status = nj_store_leave(store, status, err);
    if (status == NJ_OK) {
        *item = claimed;
    }
    return status;
}

/* --- attempts --- */

static enum nj_status add_attempt(struct nj_store *store, const struct move *move,
                                  bool is_counted, struct nj_text text, struct nj_error *err)
{
    if (text.length_bytes == 0) {
        return NJ_OK;
    }
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_ADD_ATTEMPT);
    nj_store_bind(statement, 1, (int64_t)move->job_id);
    nj_store_bind(statement, 2, (int64_t)move->item_index);
    nj_store_bind(statement, 3, move->unix_ms);
    nj_store_bind(statement, 4, is_counted ? 1 : 0);
    nj_store_bind_text(statement, 5, text);
    return nj_store_run(store, statement, err);
}

static enum nj_status end_attempt(struct nj_store *store, const struct move *move,
                                  bool is_counted, struct nj_text text, struct nj_error *err)
{
    struct nj_store_item item = {0};
    enum nj_status status = nj_store_enter(store, err);
    if (status != NJ_OK) {
        return status;
    }
    status = find_and_move(store, move, &item, err);
    if (status == NJ_OK) {
        status = add_attempt(store, move, is_counted, text, err);
    }
    return nj_store_leave(store, status, err);
}

enum nj_status nj_store_interrupt(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                  enum nj_attempt attempt, struct nj_text text, int64_t unix_ms,
                                  struct nj_error *err)
{
    bool is_counted = attempt == NJ_ATTEMPT_COUNTS;
    struct move move = {.job_id = job_id,
                        .item_index = item_index,
                        .to = NJ_WORK_INTERRUPTED,
                        .attempts = is_counted ? 0 : -1,
                        .unix_ms = unix_ms};
    return end_attempt(store, &move, is_counted, text, err);
}

enum nj_status nj_store_wait(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                             int64_t retry_at_ms, struct nj_text text, int64_t unix_ms,
                             struct nj_error *err)
{
    struct move move = {.job_id = job_id,
                        .item_index = item_index,
                        .to = NJ_WORK_WAITING,
                        .retry_at_ms = retry_at_ms,
                        .reason = text,
                        .unix_ms = unix_ms};
    return end_attempt(store, &move, true, text, err);
}

enum nj_status nj_store_progress(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                 struct nj_error *err)
{
    enum nj_status status = nj_store_enter(store, err);
    if (status != NJ_OK) {
        return status;
    }
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_RESET_ATTEMPTS);
    nj_store_bind(statement, 1, (int64_t)job_id);
    nj_store_bind(statement, 2, (int64_t)item_index);
    return nj_store_leave(store, nj_store_run(store, statement, err), err);
}

/* --- ends --- */

enum nj_status nj_store_mark_result(struct nj_store *store, uint64_t job_id,
                                    uint64_t item_index, uint32_t sample, bool is_ok,
                                    int64_t unix_ms, bool *is_first, struct nj_error *err)
{
    struct nj_store_item item = {0};
    enum nj_status status = nj_store_enter(store, err);
    if (status != NJ_OK) {
        return status;
    }
    status = get_item(store, job_id, item_index, &item, err);
    if (status == NJ_OK) {
        sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_ADD_RESULT);
        nj_store_bind(statement, 1, (int64_t)job_id);
        nj_store_bind(statement, 2, (int64_t)item_index);
        nj_store_bind(statement, 3, sample);
        nj_store_bind(statement, 4, is_ok ? 1 : 0);
        nj_store_bind(statement, 5, unix_ms);
        status = nj_store_run(store, statement, err);
    }
    bool has_changed = status == NJ_OK && sqlite3_changes(store->database) > 0;
    status = nj_store_leave(store, status, err);
    if (status == NJ_OK) {
        *is_first = has_changed;
    }
    return status;
}

enum nj_status nj_store_end_item(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                 bool is_ok, struct nj_text text, int64_t unix_ms,
                                 struct nj_error *err)
{
    struct nj_store_item item = {0};
    struct move move = {.job_id = job_id,
                        .item_index = item_index,
                        .to = is_ok ? NJ_WORK_DONE : NJ_WORK_FAILED,
                        .forgets_attempts = true,
                        .reason = text,
                        .unix_ms = unix_ms};
    enum nj_status status = nj_store_enter(store, err);
    if (status != NJ_OK) {
        return status;
    }
    status = get_item(store, job_id, item_index, &item, err);
    if (status == NJ_OK && item.state != move.to) {
        status = move_item(store, &move, &item, err);
    }
    return nj_store_leave(store, status, err);
}

enum nj_status nj_store_park_item(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                  struct nj_text text, int64_t unix_ms, struct nj_error *err)
{
    struct move move = {.job_id = job_id,
                        .item_index = item_index,
                        .to = NJ_WORK_PARKED,
                        .reason = text,
                        .unix_ms = unix_ms};
    return end_attempt(store, &move, true, text, err);
}

static enum nj_status redo_within(struct nj_store *store, const struct move *move,
                                  struct nj_error *err)
{
    struct nj_store_item item = {0};
    enum nj_status status = get_item(store, move->job_id, move->item_index, &item, err);
    if (status == NJ_OK && item.state != NJ_WORK_DONE) {
        return nj_fail(err, NJ_E_STATE, "item %llu.%llu is %s: it has no marks to lose",
                       (unsigned long long)move->job_id, (unsigned long long)move->item_index,
                       nj_work_state_name(item.state));
    }
    if (status == NJ_OK) {
        sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_DELETE_ITEM_RESULTS);
        nj_store_bind(statement, 1, (int64_t)move->job_id);
        nj_store_bind(statement, 2, (int64_t)move->item_index);
        status = nj_store_run(store, statement, err);
    }
    if (status == NJ_OK) {
        status = nj_store_reopen_job(store, move->job_id, move->reason, move->unix_ms, err);
    }
    return status == NJ_OK ? move_item(store, move, &item, err) : status;
}

enum nj_status nj_store_redo_item(struct nj_store *store, uint64_t job_id, uint64_t item_index,
                                  struct nj_text text, int64_t unix_ms, struct nj_error *err)
{
    struct move move = {.job_id = job_id,
                        .item_index = item_index,
                        .to = NJ_WORK_QUEUED,
                        .reason = text,
                        .unix_ms = unix_ms};
    enum nj_status status = nj_store_enter(store, err);
    return status == NJ_OK ? nj_store_leave(store, redo_within(store, &move, err), err)
                           : status;
}
