/* No statement reads all items, or all of anything that grows with them; a job file of 100,000
 * items is one transaction with as many syncs as one of a few. */
#include <sqlite3.h>

#include "queue/store_sql.h"
#include "support/faulty_vfs.h"
#include "unit/queue/queue_fixture.h"

enum { MANY = 100000, FEW = 1000 };

/* The database that a store has made, opened by SQLite alone. */
static sqlite3 *open_plainly(struct fixture *fixture)
{
    sqlite3 *database = NULL;
    name_fixture(fixture, "plan");
    if (open_fixture(fixture)) {
        (void)submit(fixture, "a", 3);
        close_fixture(fixture);
    }
    CHECK_EQ(sqlite3_open_v2(fixture->path, &database, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    return database;
}

/* Scans are allowed of what a statement has made itself (b, the jobs below one) and of a
 * partial index; sorting, of the former alone. */
static bool is_allowed(const char *detail, bool may_sort)
{
    bool sorts = strstr(detail, "TEMP B-TREE FOR ORDER BY") != NULL;
    if (sorts) {
        return may_sort;
    }
    return strncmp(detail, "SCAN ", 5) != 0 || strcmp(detail, "SCAN b") == 0 ||
           strstr(detail, "INDEX jobs_with_") != NULL ||
           strstr(detail, "INDEX events_due") != NULL;
}

static size_t check_plan(sqlite3 *database, enum nj_sql sql)
{
    char text[2048];
    size_t n_lines = 0;
    sqlite3_stmt *statement = NULL;
    (void)snprintf(text, sizeof text, "EXPLAIN QUERY PLAN %s", nj_sql_text(sql));
    CHECK_EQ(sqlite3_prepare_v2(database, text, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(statement, 3);
        n_lines++;
        if (!is_allowed(detail, sql == NJ_SQL_LIST_SKIPPED_BELOW)) {
            test_fail(__FILE__, __LINE__, "%s: %s", nj_sql_text(sql), detail);
        }
    }
    (void)sqlite3_finalize(statement);
    return n_lines;
}

static void no_statement_reads_all_items(void)
{
    struct fixture fixture;
    size_t n_lines = 0;
    sqlite3 *database = open_plainly(&fixture);
    for (int sql = NJ_SQL_ADD_JOB; sql < NJ_N_SQL; sql++) {
        n_lines += check_plan(database, (enum nj_sql)sql);
    }
    CHECK(n_lines > 30);
    (void)sqlite3_close(database);
}

/* The check above can fail: it does when there is no index. */
static void a_statement_without_an_index_would_be_seen(void)
{
    struct fixture fixture;
    bool has_scan = false;
    sqlite3_stmt *statement = NULL;
    sqlite3 *database = open_plainly(&fixture);
    CHECK_EQ(sqlite3_exec(database, "DROP INDEX events_of_job", NULL, NULL, NULL), SQLITE_OK);
    CHECK_EQ(sqlite3_prepare_v2(database,
                                "EXPLAIN QUERY PLAN DELETE FROM events WHERE job_id = 1", -1,
                                &statement, NULL),
             SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(statement, 3);
        has_scan = has_scan || !is_allowed(detail, false);
    }
    CHECK(has_scan);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(database);
}

static unsigned long syncs_of_submitting(struct faulty_vfs *faulty, uint64_t n_items)
{
    struct fixture fixture;
    name_fixture(&fixture, "many");
    fixture.options.vfs_name = faulty_vfs_name(faulty);
    if (!open_fixture(&fixture)) {
        return 0;
    }
    faulty_vfs_reset(faulty);
    (void)submit(&fixture, "a", n_items);
    unsigned long n_syncs = faulty_vfs_count(faulty, FAULTY_VFS_SYNC);
    struct nj_store_item items[8];
    size_t n_claimed = 0;
    CHECK_EQ(nj_store_claim(fixture.store, 1, 8, NOW_MS, items, &n_claimed, NULL), NJ_OK);
    CHECK_EQ(n_claimed, 8);
    close_fixture(&fixture);
    return n_syncs;
}

static void a_hundred_thousand_items_are_as_many_syncs_as_a_thousand(void)
{
    struct faulty_vfs *faulty = faulty_vfs_create();
    unsigned long few = syncs_of_submitting(faulty, FEW);
    unsigned long many = syncs_of_submitting(faulty, MANY);
    CHECK(few >= 1);
    /* The log, once more for its first header, and for the checkpoint that follows. */
    CHECK(many <= few + 3);
    CHECK(many <= 5);
    faulty_vfs_destroy(faulty);
}

static void every_commit_is_synced(void)
{
    struct fixture fixture;
    struct faulty_vfs *faulty = faulty_vfs_create();
    name_fixture(&fixture, "synced");
    fixture.options.vfs_name = faulty_vfs_name(faulty);
    REQUIRE(open_fixture(&fixture));
    for (unsigned i = 0; i < 4; i++) {
        faulty_vfs_reset(faulty);
        (void)submit(&fixture, "a", 1);
        CHECK(faulty_vfs_count(faulty, FAULTY_VFS_SYNC) >= 1);
    }
    close_fixture(&fixture);
    faulty_vfs_destroy(faulty);
}

int main(void)
{
    RUN(no_statement_reads_all_items);
    RUN(a_statement_without_an_index_would_be_seen);
    RUN(a_hundred_thousand_items_are_as_many_syncs_as_a_thousand);
    RUN(every_commit_is_synced);
    return test_result();
}
