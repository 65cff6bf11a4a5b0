/* What the files of the store share: its innards and the steps of a statement. Included by
 * store*.c alone. */
#ifndef NJ_QUEUE_STORE_PARTS_H
#define NJ_QUEUE_STORE_PARTS_H

#include <pthread.h>
#include <sqlite3.h>

#include "base/text.h"
#include "job/state.h"
#include "queue/store.h"
#include "queue/store_events.h"
#include "queue/store_sql.h"

struct nj_store {
    sqlite3 *database;
    sqlite3_stmt *statements[NJ_N_SQL];
    char *path;
    pthread_t owner;
    bool is_begun;  /* between begin and commit */
    bool is_broken; /* a write or sync failed */
};

/* How many items come into a state (or leave it, negative). */
struct nj_work_counts {
    int64_t by_state[NJ_WORK_STATES_END];
};

/* The statement, ready to be bound. */
sqlite3_stmt *nj_store_statement(struct nj_store *store, enum nj_sql sql);

/* Parameters count from 1. The text must live until the statement has run. */
void nj_store_bind(sqlite3_stmt *statement, int parameter, int64_t value);
void nj_store_bind_text(sqlite3_stmt *statement, int parameter, struct nj_text value);

/* One row further. At the end of the rows, or after a failure, the statement is reset. */
enum nj_status nj_store_row(struct nj_store *store, sqlite3_stmt *statement, bool *has_row,
                            struct nj_error *err);

/* All of a statement that gives no rows. */
enum nj_status nj_store_run(struct nj_store *store, sqlite3_stmt *statement,
                            struct nj_error *err);

/* Ends the reading of rows early, and the life of their texts. */
void nj_store_done(sqlite3_stmt *statement);

struct nj_text nj_store_text(sqlite3_stmt *statement, int column);

/* Around everything that a changing call does: all of it or nothing. `leave` gets the status so
 * far and returns the final one. */
enum nj_status nj_store_enter(struct nj_store *store, struct nj_error *err);
enum nj_status nj_store_leave(struct nj_store *store, enum nj_status status,
                              struct nj_error *err);

/* Of what NJ_SQL_GET_JOB and NJ_SQL_LIST_JOBS give, and the counts by state behind the last. */
enum { NJ_COLUMN_STATE = 4, NJ_COLUMN_HOOKS = 21, NJ_COLUMN_ITEMS = 26 };

/* `state` 0 when there is no such job; `hooks` has a bit for each nj_hook_occasion. */
enum nj_status nj_store_read_state(struct nj_store *store, uint64_t job_id, int *state,
                                   int64_t *hooks, struct nj_error *err);

/* The first column of a statement that gives one row or none. */
enum nj_status nj_store_find_one(struct nj_store *store, sqlite3_stmt *statement,
                                 uint64_t *number, bool *is_found, struct nj_error *err);

enum nj_status nj_store_tell_job(struct nj_store *store, uint64_t job_id,
                                 enum nj_store_event_kind kind, enum nj_job_state state,
                                 struct nj_text text, int64_t unix_ms, bool is_due,
                                 struct nj_error *err);

/* Adds to a job's counts and moves it where they say: running, queued, ended. */
enum nj_status nj_store_add_counts(struct nj_store *store, uint64_t job_id,
                                   const struct nj_work_counts *counts, int64_t unix_ms,
                                   struct nj_error *err);

/* A job that is done or failed is queued again. */
enum nj_status nj_store_reopen_job(struct nj_store *store, uint64_t job_id,
                                   struct nj_text reason, int64_t unix_ms,
                                   struct nj_error *err);

/* Ends every open item of a job as cancelled. */
enum nj_status nj_store_cancel_items(struct nj_store *store, uint64_t job_id,
                                     struct nj_text reason, int64_t unix_ms,
                                     struct nj_error *err);

/* Appends an event; `is_due` when a hook waits for it. */
enum nj_status nj_store_tell(struct nj_store *store, const struct nj_store_event *event,
                             bool is_due, struct nj_error *err);

#endif
