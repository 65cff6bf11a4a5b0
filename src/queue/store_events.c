#include "queue/store_events.h"

#include "queue/store_parts.h"

enum { NOT_FOR_HOOKS = 0, DUE = 1 }; /* sent is 2 */

enum nj_status nj_store_tell(struct nj_store *store, const struct nj_store_event *event,
                             bool is_due, struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_ADD_EVENT);
    nj_store_bind(statement, 1, event->unix_ms);
    nj_store_bind(statement, 2, event->kind);
    nj_store_bind(statement, 3, (int64_t)event->job_id);
    nj_store_bind(statement, 4, event->item_index);
    nj_store_bind(statement, 5, event->state);
    nj_store_bind_text(statement, 6, event->text);
    nj_store_bind(statement, 7, is_due ? DUE : NOT_FOR_HOOKS);
    return nj_store_run(store, statement, err);
}

static struct nj_store_event read_event(sqlite3_stmt *statement)
{
    return (struct nj_store_event){
        .event_id = (uint64_t)sqlite3_column_int64(statement, 0),
        .unix_ms = sqlite3_column_int64(statement, 1),
        .kind = (enum nj_store_event_kind)sqlite3_column_int(statement, 2),
        .job_id = (uint64_t)sqlite3_column_int64(statement, 3),
        .item_index = sqlite3_column_int64(statement, 4),
        .state = sqlite3_column_int(statement, 5),
        .text = nj_store_text(statement, 6)};
}

static enum nj_status visit_all(struct nj_store *store, sqlite3_stmt *statement,
                                nj_store_event_visit *visit, void *context,
                                struct nj_error *err)
{
    bool has_row = true;
    enum nj_status status = NJ_OK;
    while (status == NJ_OK) {
        status = nj_store_row(store, statement, &has_row, err);
        if (status != NJ_OK || !has_row) {
            break;
        }
        struct nj_store_event event = read_event(statement);
        status = visit(context, &event, err);
    }
    nj_store_done(statement);
    return status;
}

enum nj_status nj_store_list_events(struct nj_store *store, uint64_t after, size_t most,
                                    nj_store_event_visit *visit, void *context,
                                    struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_LIST_EVENTS);
    nj_store_bind(statement, 1, (int64_t)after);
    nj_store_bind(statement, 2, (int64_t)most);
    return visit_all(store, statement, visit, context, err);
}

enum nj_status nj_store_list_job_events(struct nj_store *store, uint64_t job_id, uint64_t after,
                                        size_t most, nj_store_event_visit *visit, void *context,
                                        struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_LIST_JOB_EVENTS);
    nj_store_bind(statement, 1, (int64_t)job_id);
    nj_store_bind(statement, 2, (int64_t)after);
    nj_store_bind(statement, 3, (int64_t)most);
    return visit_all(store, statement, visit, context, err);
}

enum nj_status nj_store_list_due_events(struct nj_store *store, uint64_t after, size_t most,
                                        nj_store_event_visit *visit, void *context,
                                        struct nj_error *err)
{
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_LIST_DUE_EVENTS);
    nj_store_bind(statement, 1, (int64_t)after);
    nj_store_bind(statement, 2, (int64_t)most);
    return visit_all(store, statement, visit, context, err);
}

enum nj_status nj_store_event_sent(struct nj_store *store, uint64_t event_id,
                                   struct nj_error *err)
{
    enum nj_status status = nj_store_enter(store, err);
    if (status != NJ_OK) {
        return status;
    }
    sqlite3_stmt *statement = nj_store_statement(store, NJ_SQL_SET_EVENT_SENT);
    nj_store_bind(statement, 1, (int64_t)event_id);
    return nj_store_leave(store, nj_store_run(store, statement, err), err);
}

enum nj_status nj_store_note(struct nj_store *store, uint64_t job_id, struct nj_text text,
                             int64_t unix_ms, struct nj_error *err)
{
    struct nj_store_event event = {.unix_ms = unix_ms,
                                   .kind = NJ_STORE_NOTED,
                                   .job_id = job_id,
                                   .item_index = NJ_NO_ITEM,
                                   .text = text};
    enum nj_status status = nj_store_enter(store, err);
    return status == NJ_OK
               ? nj_store_leave(store, nj_store_tell(store, &event, false, err), err)
               : status;
}
