#include "queue/store_sql.h"

/* States are numbers of job/state.h: items queued 1, running 2, interrupted 3, waiting 4, done
 * 5, failed 6, parked 7, cancelled 8; a job's 5 is skipped. Written out, since a partial index
 * is used only where its condition stands in the statement. */
#define JOB_COLUMNS                                                                            \
    "job_id, name, model, digest, state, reason, priority, preempts, groups_by_prefix, "       \
    "windows, days, timezone, on_window_end, start_text, start_at, deadline_text, deadline, "  \
    "max_attempts, backoff_ms, backoff_factor, backoff_most_ms, hooks, has_begun, "            \
    "submitted_ms, begun_ms, ended_ms, n_items, n_queued, n_running, n_interrupted, "          \
    "n_waiting, n_done, n_failed, n_parked, n_cancelled"
#define ITEM_COLUMNS  "item_index, state, attempts, retry_at_ms, reason"
#define EVENT_COLUMNS "event_id, unix_ms, kind, job_id, item_index, state, text"

static const char *const texts[NJ_N_SQL] = {
    [NJ_SQL_SAVEPOINT] = "SAVEPOINT step",
    [NJ_SQL_RELEASE] = "RELEASE step",
    [NJ_SQL_ROLL_BACK_TO] = "ROLLBACK TO step",
    [NJ_SQL_BEGIN] = "BEGIN IMMEDIATE",
    [NJ_SQL_COMMIT] = "COMMIT",
    [NJ_SQL_ROLL_BACK] = "ROLLBACK",

    [NJ_SQL_ADD_JOB] =
        "INSERT INTO jobs (name, model, digest, state, reason, priority, preempts,"
        " groups_by_prefix, windows, days, timezone, on_window_end, start_text, start_at,"
        " deadline_text, deadline, max_attempts, backoff_ms, backoff_factor, backoff_most_ms,"
        " hooks, submitted_ms, n_items, n_queued)"
        " VALUES (?1, ?2, ?3, ?4, '', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,"
        " ?17, ?18, ?19, ?20, ?21, ?22, ?22)",
    [NJ_SQL_ADD_ITEM] = "INSERT INTO items (job_id, item_index, state) VALUES (?1, ?2, 1)",
    [NJ_SQL_ADD_DEPENDENCY] =
        "INSERT OR REPLACE INTO dependencies (job_id, parent_id, required) VALUES (?1, ?2, ?3)",
    [NJ_SQL_GET_JOB] = "SELECT " JOB_COLUMNS " FROM jobs WHERE job_id = ?1",
    [NJ_SQL_LIST_JOBS] = "SELECT " JOB_COLUMNS " FROM jobs"
                         " WHERE job_id > ?1 AND ((?2 >> state) & 1) ORDER BY job_id LIMIT ?3",
    [NJ_SQL_FIND_NAME] = "SELECT job_id FROM jobs WHERE name = ?1 ORDER BY job_id DESC LIMIT 1",
    [NJ_SQL_FIND_DIGEST] =
        "SELECT job_id FROM jobs WHERE digest = ?1 ORDER BY job_id DESC LIMIT 1",
    [NJ_SQL_SET_JOB_STATE] =
        "UPDATE jobs SET state = ?2, reason = ?3, ended_ms = ?4 WHERE job_id = ?1",
    [NJ_SQL_ADD_COUNTS] =
        "UPDATE jobs SET n_queued = n_queued + ?2, n_running = n_running + ?3,"
        " n_interrupted = n_interrupted + ?4, n_waiting = n_waiting + ?5, n_done = n_done + ?6,"
        " n_failed = n_failed + ?7, n_parked = n_parked + ?8, n_cancelled = n_cancelled + ?9"
        " WHERE job_id = ?1",
    [NJ_SQL_SET_BEGUN] =
        "UPDATE jobs SET has_begun = 1, begun_ms = ?2 WHERE job_id = ?1 AND has_begun = 0",
    [NJ_SQL_LIST_PARENTS] =
        "SELECT d.parent_id, d.required, p.state, p.n_done, p.n_items FROM dependencies d"
        " JOIN jobs p ON p.job_id = d.parent_id WHERE d.job_id = ?1 ORDER BY d.parent_id",
    [NJ_SQL_COUNT_OPEN_CHILDREN] =
        "SELECT count(*) FROM dependencies d JOIN jobs c ON c.job_id = d.job_id"
        " WHERE d.parent_id = ?1 AND c.state < 5",
    [NJ_SQL_LIST_SKIPPED_BELOW] =
        "WITH RECURSIVE below (job_id) AS ("
        " SELECT job_id FROM dependencies WHERE parent_id = ?1"
        " UNION SELECT d.job_id FROM below b JOIN dependencies d ON d.parent_id = b.job_id)"
        " SELECT j.job_id FROM below b JOIN jobs j ON j.job_id = b.job_id"
        " WHERE j.state = 5 AND j.job_id > ?2 ORDER BY j.job_id LIMIT 1",
    [NJ_SQL_DELETE_RESULTS] = "DELETE FROM results WHERE job_id = ?1",
    [NJ_SQL_DELETE_ATTEMPTS] = "DELETE FROM attempts WHERE job_id = ?1",
    [NJ_SQL_DELETE_ITEMS] = "DELETE FROM items WHERE job_id = ?1",
    [NJ_SQL_DELETE_EVENTS] = "DELETE FROM events WHERE job_id = ?1",
    [NJ_SQL_DELETE_DEPENDENCIES] =
        "DELETE FROM dependencies WHERE job_id = ?1 OR parent_id = ?1",
    [NJ_SQL_DELETE_JOB] = "DELETE FROM jobs WHERE job_id = ?1",

    [NJ_SQL_GET_ITEM] =
        "SELECT " ITEM_COLUMNS " FROM items WHERE job_id = ?1 AND item_index = ?2",
    [NJ_SQL_SET_ITEM] = "UPDATE items SET state = ?3, attempts = ?4, retry_at_ms = ?5,"
                        " reason = ?6 WHERE job_id = ?1 AND item_index = ?2",
    [NJ_SQL_LIST_ITEMS] =
        "SELECT " ITEM_COLUMNS " FROM items"
        " WHERE job_id = ?1 AND item_index >= ?2 ORDER BY item_index LIMIT ?3",
    [NJ_SQL_LIST_ITEMS_IN] =
        "SELECT " ITEM_COLUMNS " FROM items WHERE job_id = ?1"
        " AND state = ?2 AND item_index >= ?3 ORDER BY item_index LIMIT ?4",
    [NJ_SQL_CANCEL_ITEMS] = "UPDATE items SET state = 8, retry_at_ms = 0, reason = ?3"
                            " WHERE job_id = ?1 AND state = ?2",
    [NJ_SQL_RETRY_ITEMS] = "UPDATE items SET state = 1, attempts = 0, retry_at_ms = 0,"
                           " reason = '' WHERE job_id = ?1 AND state = ?2",
    [NJ_SQL_INTERRUPT_ITEMS] = "UPDATE items SET state = 3, attempts = max(attempts - 1, 0)"
                               " WHERE job_id = ?1 AND state = 2",
    [NJ_SQL_LIST_DUE] = "SELECT item_index FROM items"
                        " WHERE job_id = ?1 AND state = 4 AND retry_at_ms <= ?2"
                        " ORDER BY retry_at_ms LIMIT 1",
    [NJ_SQL_NEXT_RETRY] = "SELECT min(retry_at_ms) FROM items WHERE job_id = ?1 AND state = 4",
    [NJ_SQL_LIST_JOBS_WITH_RUNNING] =
        "SELECT job_id FROM jobs WHERE n_running > 0 AND job_id > ?1 ORDER BY job_id LIMIT 1",
    [NJ_SQL_LIST_JOBS_WITH_WAITING] =
        "SELECT job_id FROM jobs WHERE n_waiting > 0 AND job_id > ?1 ORDER BY job_id LIMIT 1",
    [NJ_SQL_RESET_ATTEMPTS] = "UPDATE items SET attempts = 0"
                              " WHERE job_id = ?1 AND item_index = ?2 AND attempts > 0",

    [NJ_SQL_ADD_RESULT] =
        "INSERT OR IGNORE INTO results (job_id, item_index, sample, is_ok, unix_ms)"
        " VALUES (?1, ?2, ?3, ?4, ?5)",
    [NJ_SQL_LIST_RESULTS] = "SELECT sample, is_ok FROM results"
                            " WHERE job_id = ?1 AND item_index = ?2 ORDER BY sample",
    [NJ_SQL_DELETE_FAILED_RESULTS] = "DELETE FROM results WHERE job_id = ?1 AND item_index IN"
                                     " (SELECT item_index FROM items"
                                     "  WHERE job_id = ?1 AND state IN (6, 7))",
    [NJ_SQL_DELETE_ITEM_RESULTS] = "DELETE FROM results WHERE job_id = ?1 AND item_index = ?2",
    [NJ_SQL_ADD_ATTEMPT] = "INSERT INTO attempts (job_id, item_index, unix_ms, counted, text)"
                           " VALUES (?1, ?2, ?3, ?4, ?5)",
    [NJ_SQL_LIST_ATTEMPTS] = "SELECT attempt_id, unix_ms, counted, text FROM attempts"
                             " WHERE job_id = ?1 AND item_index = ?2 ORDER BY attempt_id",

    [NJ_SQL_ADD_EVENT] =
        "INSERT INTO events (unix_ms, kind, job_id, item_index, state, text, delivery)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [NJ_SQL_LIST_EVENTS] =
        "SELECT " EVENT_COLUMNS " FROM events WHERE event_id > ?1 ORDER BY event_id LIMIT ?2",
    [NJ_SQL_LIST_JOB_EVENTS] =
        "SELECT " EVENT_COLUMNS " FROM events"
        " WHERE job_id = ?1 AND event_id > ?2 ORDER BY event_id LIMIT ?3",
    [NJ_SQL_LIST_DUE_EVENTS] =
        "SELECT " EVENT_COLUMNS " FROM events"
        " WHERE delivery = 1 AND event_id > ?1 ORDER BY event_id LIMIT ?2",
    [NJ_SQL_SET_EVENT_SENT] = "UPDATE events SET delivery = 2 WHERE event_id = ?1",
};

const char *nj_sql_text(enum nj_sql sql)
{
    return texts[sql];
}
