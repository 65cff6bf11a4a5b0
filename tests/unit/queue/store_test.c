/* Jobs and items in the store: what is kept, which moves are legal, what survives a start. */
#include "queue/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/faulty_vfs.h"
#include "unit/queue/queue_fixture.h"

static const struct nj_text no_text = {NULL, 0};

static struct faulty_vfs *vfs; /* without syncs, which would be most of the time */

static bool begin(struct fixture *fixture, const char *name)
{
    name_fixture(fixture, name);
    fixture->options.vfs_name = faulty_vfs_name(vfs);
    return open_fixture(fixture);
}

static size_t claim(struct fixture *fixture, uint64_t job_id, size_t most)
{
    struct nj_store_item items[16];
    size_t n_items = 0;
    enum nj_status status =
        nj_store_claim(fixture->store, job_id, most, NOW_MS, items, &n_items, &fixture->error);
    CHECK_EQ(status, NJ_OK);
    return n_items;
}

static enum nj_status end_item(struct fixture *fixture, uint64_t job_id, uint64_t item_index,
                               bool is_ok)
{
    return nj_store_end_item(fixture->store, job_id, item_index, is_ok, no_text, NOW_MS,
                             &fixture->error);
}

static enum nj_status interrupt(struct fixture *fixture, uint64_t job_id, uint64_t item_index,
                                enum nj_attempt attempt)
{
    return nj_store_interrupt(fixture->store, job_id, item_index, attempt,
                              nj_text_from("put down"), NOW_MS, &fixture->error);
}

static enum nj_status move_job(struct fixture *fixture, uint64_t job_id, enum nj_job_state to)
{
    return nj_store_move_job(fixture->store, job_id, to, nj_text_from("because"), NOW_MS,
                             &fixture->error);
}

static void a_job_is_read_back_as_it_was_submitted(void)
{
    struct fixture fixture;
    struct nj_arena arena = {0};
    struct nj_stored_job job;
    bool is_found = false;
    uint64_t job_id = 0;
    static const struct nj_window windows[] = {{1350, 390}, {0, 1440}};
    struct nj_job_orders orders = nj_job_orders_default();
    REQUIRE(begin(&fixture, "read_back"));
    orders.hours.windows = windows;
    orders.hours.n_windows = 2;
    orders.hours.days = 0x1f;
    orders.hours.timezone = nj_text_from("Europe/Berlin");
    orders.hours.on_window_end = NJ_WINDOW_END_FINISH_ITEM;
    orders.hours.start_at.text = nj_text_from("22:30");
    orders.priority = -7;
    orders.preempts = true;
    orders.retry.factor = 1.5;
    struct nj_store_submission submission = submission_of("night", 3, &orders);
    submission.start_at = 1234;
    submission.is_paused = true;
    REQUIRE_OK(nj_store_submit(fixture.store, &submission, &job_id, &fixture.error),
               &fixture.error);
    close_fixture(&fixture);
    REQUIRE(open_fixture(&fixture));

    REQUIRE_OK(nj_store_get_job(fixture.store, job_id, &arena, &job, &is_found, &fixture.error),
               &fixture.error);
    REQUIRE(is_found);
    CHECK(nj_text_equals(job.name, "night") && nj_text_equals(job.model, "tiny"));
    CHECK_BYTES(job.digest.bytes, submission.digest.bytes, NJ_DIGEST_BYTES);
    CHECK_EQ(job.state, NJ_JOB_PAUSED);
    CHECK_EQ(job.start_at, 1234);
    CHECK_EQ(job.deadline, INT64_MAX);
    CHECK_EQ(job.submitted_ms, NOW_MS);
    CHECK_EQ(job.orders.priority, -7);
    CHECK(job.orders.preempts && !job.orders.groups_by_prefix);
    CHECK_NEAR(job.orders.retry.factor, 1.5, 0);
    CHECK_EQ(job.orders.retry.backoff_ns, orders.retry.backoff_ns);
    REQUIRE(job.orders.hours.n_windows == 2);
    CHECK_EQ(job.orders.hours.windows[0].start_minute, 1350);
    CHECK_EQ(job.orders.hours.windows[1].end_minute, 1440);
    CHECK_EQ(job.orders.hours.days, 0x1f);
    CHECK(nj_text_equals(job.orders.hours.timezone, "Europe/Berlin"));
    CHECK(nj_text_equals(job.orders.hours.start_at.text, "22:30"));
    CHECK_EQ(job.orders.hours.on_window_end, NJ_WINDOW_END_FINISH_ITEM);
    CHECK_EQ(job.n_in[NJ_WORK_QUEUED], 3);
    nj_arena_deinit(&arena);
    close_fixture(&fixture);
}

static void jobs_are_found_by_name_and_by_content(void)
{
    struct fixture fixture;
    uint64_t found = 0;
    bool is_found = false;
    struct nj_digest digest = {{7}};
    REQUIRE(begin(&fixture, "find"));
    (void)submit(&fixture, "a", 1);
    uint64_t newest = submit(&fixture, "a", 1);

    CHECK_EQ(nj_store_find_name(fixture.store, nj_text_from("a"), &found, &is_found, NULL),
             NJ_OK);
    CHECK(is_found);
    CHECK_EQ(found, newest);
    CHECK_EQ(nj_store_find_digest(fixture.store, &digest, &found, &is_found, NULL), NJ_OK);
    CHECK(is_found);
    digest.bytes[31] = 1;
    CHECK_EQ(nj_store_find_digest(fixture.store, &digest, &found, &is_found, NULL), NJ_OK);
    CHECK(!is_found);
    CHECK_EQ(nj_store_find_name(fixture.store, nj_text_from("b"), &found, &is_found, NULL),
             NJ_OK);
    CHECK(!is_found);
    close_fixture(&fixture);
}

static void the_database_is_private(void)
{
    struct fixture fixture;
    struct stat status;
    char wal[640];
    REQUIRE(begin(&fixture, "private"));
    (void)submit(&fixture, "a", 1);
    CHECK_EQ(stat(fixture.path, &status), 0);
    CHECK_EQ(status.st_mode & 0777, 0600);
    (void)snprintf(wal, sizeof wal, "%s-wal", fixture.path);
    CHECK_EQ(stat(wal, &status), 0);
    CHECK_EQ(status.st_mode & 0777, 0600);
    close_fixture(&fixture);
}

static void claims_take_interrupted_items_first_and_count_attempts(void)
{
    struct fixture fixture;
    REQUIRE(begin(&fixture, "claims"));
    uint64_t job_id = submit(&fixture, "a", 4);
    CHECK_EQ(claim(&fixture, job_id, 3), 3);
    CHECK_EQ(interrupt(&fixture, job_id, 2, NJ_ATTEMPT_COUNTS), NJ_OK);
    CHECK_EQ(interrupt(&fixture, job_id, 1, NJ_ATTEMPT_DOES_NOT_COUNT), NJ_OK);
    CHECK_STORE(fixture.store, "a: running, running/1 interrupted/0 interrupted/1 queued/0\n");

    CHECK_EQ(claim(&fixture, job_id, 2), 2);
    CHECK_STORE(fixture.store, "a: running, running/1 running/1 running/2 queued/0\n");
    CHECK_EQ(nj_store_progress(fixture.store, job_id, 2, &fixture.error), NJ_OK);
    CHECK_STORE(fixture.store, "a: running, running/1 running/1 running/0 queued/0\n");
    CHECK_EQ(claim(&fixture, job_id, 9), 1);
    CHECK_EQ(claim(&fixture, job_id, 9), 0);
    close_fixture(&fixture);
}

static void a_job_runs_while_an_item_does_and_ends_with_its_items(void)
{
    struct fixture fixture;
    REQUIRE(begin(&fixture, "ends"));
    uint64_t job_id = submit(&fixture, "a", 3);
    CHECK_STORE(fixture.store, "a: queued, queued/0 queued/0 queued/0\n");
    CHECK_EQ(claim(&fixture, job_id, 1), 1);
    CHECK_EQ(interrupt(&fixture, job_id, 0, NJ_ATTEMPT_DOES_NOT_COUNT), NJ_OK);
    CHECK_STORE(fixture.store, "a: queued, interrupted/0 queued/0 queued/0\n");
    CHECK_EQ(claim(&fixture, job_id, 3), 3);
    CHECK_EQ(end_item(&fixture, job_id, 0, true), NJ_OK);
    CHECK_EQ(end_item(&fixture, job_id, 1, false), NJ_OK);
    CHECK_EQ(nj_store_park_item(fixture.store, job_id, 2, nj_text_from("crashes"), NOW_MS,
                                &fixture.error),
             NJ_OK);
    CHECK_STORE(fixture.store, "a: done, done/0 failed/0 parked/1\n");
    close_fixture(&fixture);
}

static void a_job_without_one_good_item_has_failed(void)
{
    struct fixture fixture;
    REQUIRE(begin(&fixture, "fails"));
    uint64_t job_id = submit(&fixture, "a", 1);
    CHECK_EQ(claim(&fixture, job_id, 1), 1);
    CHECK_EQ(end_item(&fixture, job_id, 0, false), NJ_OK);
    CHECK_STORE(fixture.store, "a: failed, failed/0\n");
    close_fixture(&fixture);
}

static void items_that_failed_for_now_wait_and_come_back(void)
{
    struct fixture fixture;
    uint64_t n_released = 9;
    int64_t retry_at_ms = 0;
    REQUIRE(begin(&fixture, "wait"));
    uint64_t job_id = submit(&fixture, "a", 2);
    CHECK_EQ(claim(&fixture, job_id, 2), 2);
    for (uint64_t i = 0; i < 2; i++) {
        CHECK_EQ(nj_store_wait(fixture.store, job_id, i, NOW_MS + 10 + (int64_t)i,
                               nj_text_from("read error"), NOW_MS, &fixture.error),
                 NJ_OK);
    }
    CHECK_EQ(nj_store_next_retry(fixture.store, job_id, &retry_at_ms, NULL), NJ_OK);
    CHECK_EQ(retry_at_ms, NOW_MS + 10);
    CHECK_EQ(nj_store_release_due(fixture.store, NOW_MS + 9, &n_released, NULL), NJ_OK);
    CHECK_EQ(n_released, 0);
    CHECK_EQ(nj_store_release_due(fixture.store, NOW_MS + 10, &n_released, NULL), NJ_OK);
    CHECK_EQ(n_released, 1);
    CHECK_STORE(fixture.store, "a: queued, queued/1 waiting/1\n");
    CHECK_EQ(nj_store_release_due(fixture.store, NOW_MS + 11, &n_released, NULL), NJ_OK);
    CHECK_EQ(nj_store_next_retry(fixture.store, job_id, &retry_at_ms, NULL), NJ_OK);
    CHECK_EQ(retry_at_ms, INT64_MAX);
    close_fixture(&fixture);
}

static void illegal_moves_are_refused_and_change_nothing(void)
{
    struct fixture fixture;
    struct nj_store_item item;
    REQUIRE(begin(&fixture, "illegal"));
    uint64_t job_id = submit(&fixture, "a", 2);
    CHECK_EQ(interrupt(&fixture, job_id, 0, NJ_ATTEMPT_COUNTS), NJ_E_STATE);
    CHECK_CONTAINS(fixture.error.text, "item 1.0 is queued: it cannot become interrupted");
    CHECK_EQ(interrupt(&fixture, job_id, 2, NJ_ATTEMPT_COUNTS), NJ_E_NOT_FOUND);
    CHECK_EQ(move_job(&fixture, job_id, NJ_JOB_DONE), NJ_E_STATE);
    CHECK_EQ(move_job(&fixture, job_id, NJ_JOB_QUEUED), NJ_E_STATE);
    CHECK_EQ(move_job(&fixture, 77, NJ_JOB_PAUSED), NJ_E_NOT_FOUND);
    CHECK_EQ(claim(&fixture, job_id, 1), 1);
    CHECK_EQ(nj_store_claim_item(fixture.store, job_id, 0, NOW_MS, &item, &fixture.error),
             NJ_E_STATE);
    CHECK_EQ(move_job(&fixture, job_id, NJ_JOB_PAUSED), NJ_OK);
    CHECK_EQ(nj_store_claim_item(fixture.store, job_id, 1, NOW_MS, &item, &fixture.error),
             NJ_E_STATE);
    CHECK_CONTAINS(fixture.error.text, "job 1 is paused");
    CHECK_EQ(nj_store_remove_job(fixture.store, job_id, &fixture.error), NJ_E_STATE);
    CHECK_STORE(fixture.store, "a: paused, running/1 queued/0\n");
    CHECK_EQ(move_job(&fixture, job_id, NJ_JOB_QUEUED), NJ_OK);
    CHECK_STORE(fixture.store, "a: running, running/1 queued/0\n");
    close_fixture(&fixture);
}

static void cancelling_ends_open_items_and_keeps_results(void)
{
    struct fixture fixture;
    REQUIRE(begin(&fixture, "cancel"));
    uint64_t job_id = submit(&fixture, "a", 3);
    CHECK_EQ(claim(&fixture, job_id, 2), 2);
    CHECK_EQ(end_item(&fixture, job_id, 0, true), NJ_OK);
    CHECK_EQ(move_job(&fixture, job_id, NJ_JOB_CANCELLED), NJ_OK);
    CHECK_STORE(fixture.store, "a: cancelled, done/0 cancelled/1 cancelled/0\n");
    /* It was finished before anyone could be told. */
    CHECK_EQ(end_item(&fixture, job_id, 1, true), NJ_OK);
    CHECK_STORE(fixture.store, "a: cancelled, done/0 done/0 cancelled/0\n");
    close_fixture(&fixture);
}

static void the_first_result_of_a_sample_wins(void)
{
    struct fixture fixture;
    bool is_first = false;
    struct nj_store_mark marks[4];
    size_t n_marks = 0;
    REQUIRE(begin(&fixture, "marks"));
    uint64_t job_id = submit(&fixture, "a", 1);
    CHECK_EQ(claim(&fixture, job_id, 1), 1);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(nj_store_mark_result(fixture.store, job_id, 0, 3, i == 0, NOW_MS, &is_first,
                                      &fixture.error),
                 NJ_OK);
        CHECK_EQ(is_first, i == 0);
    }
    CHECK_EQ(nj_store_list_marks(fixture.store, job_id, 0, marks, 4, &n_marks, NULL), NJ_OK);
    CHECK_EQ(n_marks, 1);
    CHECK(marks[0].sample == 3 && marks[0].is_ok);
    CHECK_EQ(nj_store_mark_result(fixture.store, job_id, 1, 0, true, NOW_MS, &is_first, NULL),
             NJ_E_NOT_FOUND);
    CHECK_EQ(end_item(&fixture, job_id, 0, true), NJ_OK);
    CHECK_EQ(end_item(&fixture, job_id, 0, true), NJ_OK);
    CHECK_EQ(end_item(&fixture, job_id, 0, false), NJ_E_STATE);

    CHECK_EQ(nj_store_redo_item(fixture.store, job_id, 0, nj_text_from("no result"), NOW_MS,
                                &fixture.error),
             NJ_OK);
    CHECK_STORE(fixture.store, "a: queued, queued/0\n");
    CHECK_EQ(nj_store_list_marks(fixture.store, job_id, 0, marks, 4, &n_marks, NULL), NJ_OK);
    CHECK_EQ(n_marks, 0);
    close_fixture(&fixture);
}

static void a_retry_takes_failed_and_parked_items_only(void)
{
    struct fixture fixture;
    uint64_t n_items = 0;
    bool is_first = false;
    size_t n_marks = 9;
    struct nj_store_mark mark;
    REQUIRE(begin(&fixture, "retry"));
    uint64_t job_id = submit(&fixture, "a", 3);
    CHECK_EQ(nj_store_retry_job(fixture.store, job_id, NOW_MS, &n_items, &fixture.error),
             NJ_E_STATE);
    CHECK_EQ(claim(&fixture, job_id, 3), 3);
    CHECK_EQ(end_item(&fixture, job_id, 0, true), NJ_OK);
    CHECK_EQ(nj_store_mark_result(fixture.store, job_id, 1, 0, false, NOW_MS, &is_first, NULL),
             NJ_OK);
    CHECK_EQ(end_item(&fixture, job_id, 1, false), NJ_OK);
    CHECK_EQ(nj_store_park_item(fixture.store, job_id, 2, no_text, NOW_MS, NULL), NJ_OK);
    CHECK_EQ(nj_store_retry_job(fixture.store, job_id, NOW_MS, &n_items, &fixture.error),
             NJ_OK);
    CHECK_EQ(n_items, 2);
    CHECK_STORE(fixture.store, "a: queued, done/0 queued/0 queued/0\n");
    CHECK_EQ(nj_store_list_marks(fixture.store, job_id, 1, &mark, 1, &n_marks, NULL), NJ_OK);
    CHECK_EQ(n_marks, 0);
    close_fixture(&fixture);
}

static uint64_t submit_after(struct fixture *fixture, const char *name, uint64_t parent,
                             enum nj_after_when when)
{
    uint64_t job_id = 0;
    struct nj_store_parent parents[] = {{parent, when}};
    struct nj_job_orders orders = nj_job_orders_default();
    struct nj_store_submission submission = submission_of(name, 1, &orders);
    submission.parents = parents;
    submission.n_parents = 1;
    CHECK_EQ(nj_store_submit(fixture->store, &submission, &job_id, &fixture->error), NJ_OK);
    return job_id;
}

static enum nj_dependency dependency_of(struct fixture *fixture, uint64_t job_id,
                                        uint64_t *awaited)
{
    enum nj_dependency dependency = NJ_DEPENDENCY_MET;
    CHECK_EQ(nj_store_dependency(fixture->store, job_id, &dependency, awaited, &fixture->error),
             NJ_OK);
    return dependency;
}

static void dependants_follow_how_a_job_ended(void)
{
    struct fixture fixture;
    uint64_t awaited = 0;
    uint64_t n_items = 0;
    REQUIRE(begin(&fixture, "after"));
    uint64_t parent = submit(&fixture, "parent", 1);
    uint64_t on_ok = submit_after(&fixture, "ok", parent, NJ_AFTER_OK);
    uint64_t on_fail = submit_after(&fixture, "fail", parent, NJ_AFTER_FAIL);
    uint64_t on_any = submit_after(&fixture, "any", parent, NJ_AFTER_ANY);
    uint64_t grandchild = submit_after(&fixture, "grandchild", on_ok, NJ_AFTER_OK);
    CHECK_EQ(dependency_of(&fixture, on_ok, &awaited), NJ_DEPENDENCY_OPEN);
    CHECK_EQ(awaited, parent);
    CHECK_EQ(dependency_of(&fixture, parent, &awaited), NJ_DEPENDENCY_MET);

    CHECK_EQ(claim(&fixture, parent, 1), 1);
    CHECK_EQ(end_item(&fixture, parent, 0, false), NJ_OK);
    CHECK_EQ(dependency_of(&fixture, on_ok, &awaited), NJ_DEPENDENCY_UNMEETABLE);
    CHECK_EQ(dependency_of(&fixture, on_fail, &awaited), NJ_DEPENDENCY_MET);
    CHECK_EQ(dependency_of(&fixture, on_any, &awaited), NJ_DEPENDENCY_MET);
    CHECK_EQ(move_job(&fixture, on_ok, NJ_JOB_SKIPPED), NJ_OK);
    CHECK_EQ(dependency_of(&fixture, grandchild, &awaited), NJ_DEPENDENCY_UNMEETABLE);
    CHECK_EQ(move_job(&fixture, grandchild, NJ_JOB_SKIPPED), NJ_OK);
    CHECK_EQ(nj_store_remove_job(fixture.store, parent, &fixture.error), NJ_E_STATE);

    CHECK_EQ(nj_store_retry_job(fixture.store, parent, NOW_MS, &n_items, &fixture.error),
             NJ_OK);
    CHECK_STORE(fixture.store, "parent: queued, queued/0\nok: queued, queued/0\n"
                               "fail: queued, queued/0\nany: queued, queued/0\n"
                               "grandchild: queued, queued/0\n");
    struct nj_store_parent unknown = {99, NJ_AFTER_OK};
    struct nj_job_orders orders = nj_job_orders_default();
    struct nj_store_submission submission = submission_of("x", 1, &orders);
    submission.parents = &unknown;
    submission.n_parents = 1;
    CHECK_EQ(nj_store_submit(fixture.store, &submission, &awaited, &fixture.error),
             NJ_E_NOT_FOUND);
    close_fixture(&fixture);
}

static void removing_a_job_leaves_nothing_of_it(void)
{
    struct fixture fixture;
    REQUIRE(begin(&fixture, "remove"));
    uint64_t job_id = submit(&fixture, "a", 2);
    CHECK_EQ(claim(&fixture, job_id, 1), 1);
    CHECK_EQ(move_job(&fixture, job_id, NJ_JOB_CANCELLED), NJ_OK);
    CHECK_EQ(nj_store_remove_job(fixture.store, job_id, &fixture.error), NJ_OK);
    CHECK_STORE(fixture.store, "");
    CHECK(submit(&fixture, "b", 1) > job_id); /* numbers are not used twice */
    close_fixture(&fixture);
}

struct heard {
    char text[512];
    uint64_t last;
};

static enum nj_status hear(void *context, const struct nj_store_event *event,
                           struct nj_error *err)
{
    struct heard *heard = context;
    (void)err;
    size_t used = strlen(heard->text);
    (void)snprintf(heard->text + used, sizeof heard->text - used, "%d %d %lld %.*s;",
                   (int)event->kind, event->state, (long long)event->item_index,
                   (int)event->text.length_bytes, event->text.data);
    heard->last = event->event_id;
    return NJ_OK;
}

static void events_are_kept_and_those_for_hooks_are_due_until_sent(void)
{
    struct fixture fixture;
    struct heard all = {.last = 0};
    struct heard due = {.last = 0};
    uint64_t job_id = 0;
    struct nj_job_orders orders = nj_job_orders_default();
    REQUIRE(begin(&fixture, "events"));
    orders.hooks[NJ_HOOK_ON_DONE].kind = NJ_HOOK_RUN;
    struct nj_store_submission submission = submission_of("a", 2, &orders);
    REQUIRE_OK(nj_store_submit(fixture.store, &submission, &job_id, &fixture.error),
               &fixture.error);
    CHECK_EQ(claim(&fixture, job_id, 2), 2);
    CHECK_EQ(nj_store_end_item(fixture.store, job_id, 1, false, nj_text_from("too long"),
                               NOW_MS, NULL),
             NJ_OK);
    CHECK_EQ(nj_store_note(fixture.store, 0, nj_text_from("hello"), NOW_MS, NULL), NJ_OK);
    CHECK_EQ(end_item(&fixture, job_id, 0, true), NJ_OK);
    CHECK_EQ(nj_store_list_events(fixture.store, 0, 100, hear, &all, NULL), NJ_OK);
    CHECK_TEXT(all.text, "1 1 -1 a;3 6 1 too long;4 0 -1 hello;2 6 -1 ;");
    all.text[0] = '\0';
    CHECK_EQ(nj_store_list_job_events(fixture.store, job_id, 1, 1, hear, &all, NULL), NJ_OK);
    CHECK_TEXT(all.text, "3 6 1 too long;");

    CHECK_EQ(nj_store_list_due_events(fixture.store, 0, 100, hear, &due, NULL), NJ_OK);
    CHECK_TEXT(due.text, "2 6 -1 ;");
    CHECK_EQ(nj_store_event_sent(fixture.store, due.last, NULL), NJ_OK);
    due.text[0] = '\0';
    CHECK_EQ(nj_store_list_due_events(fixture.store, 0, 100, hear, &due, NULL), NJ_OK);
    CHECK_TEXT(due.text, "");
    close_fixture(&fixture);
}

static enum nj_status hear_attempt(void *context, const struct nj_store_attempt *attempt,
                                   struct nj_error *err)
{
    char *text = context;
    (void)err;
    (void)snprintf(text + strlen(text), 128 - strlen(text), "%d %.*s;", attempt->is_counted,
                   (int)attempt->text.length_bytes, attempt->text.data);
    return NJ_OK;
}

static void an_item_has_the_history_of_its_attempts(void)
{
    struct fixture fixture;
    char text[128] = "";
    REQUIRE(begin(&fixture, "attempts"));
    uint64_t job_id = submit(&fixture, "a", 1);
    CHECK_EQ(claim(&fixture, job_id, 1), 1);
    CHECK_EQ(interrupt(&fixture, job_id, 0, NJ_ATTEMPT_COUNTS), NJ_OK);
    CHECK_EQ(claim(&fixture, job_id, 1), 1);
    CHECK_EQ(nj_store_interrupt(fixture.store, job_id, 0, NJ_ATTEMPT_DOES_NOT_COUNT, no_text,
                                NOW_MS, NULL),
             NJ_OK);
    CHECK_EQ(claim(&fixture, job_id, 1), 1);
    CHECK_EQ(
        nj_store_park_item(fixture.store, job_id, 0, nj_text_from("signal 11"), NOW_MS, NULL),
        NJ_OK);
    CHECK_EQ(nj_store_list_attempts(fixture.store, job_id, 0, hear_attempt, text, NULL), NJ_OK);
    CHECK_TEXT(text, "1 put down;1 signal 11;");
    close_fixture(&fixture);
}

static void what_ran_when_everything_died_goes_on_and_is_not_to_blame(void)
{
    struct fixture fixture;
    uint64_t n_items = 0;
    REQUIRE(begin(&fixture, "recover"));
    uint64_t first = submit(&fixture, "a", 3);
    uint64_t second = submit(&fixture, "b", 1);
    CHECK_EQ(claim(&fixture, first, 2), 2);
    CHECK_EQ(claim(&fixture, second, 1), 1);
    CHECK_EQ(nj_store_begin(fixture.store, NULL), NJ_OK); /* to sync once, not 600 times */
    for (int start = 0; start < 300; start++) {
        CHECK_EQ(nj_store_recover(fixture.store, NOW_MS, &n_items, &fixture.error), NJ_OK);
        CHECK_EQ(n_items, 3);
        CHECK_EQ(nj_store_recover(fixture.store, NOW_MS, &n_items, &fixture.error), NJ_OK);
        CHECK_EQ(n_items, 0);
        CHECK_EQ(claim(&fixture, first, 2), 2);
        CHECK_EQ(claim(&fixture, second, 1), 1);
    }
    CHECK_EQ(nj_store_commit(fixture.store, NULL), NJ_OK);
    CHECK_STORE(fixture.store, "a: running, running/1 running/1 queued/0\nb: running, "
                               "running/1\n");
    close_fixture(&fixture);
}

static void what_is_abandoned_never_was(void)
{
    struct fixture fixture;
    REQUIRE(begin(&fixture, "abandon"));
    uint64_t job_id = submit(&fixture, "a", 1);
    CHECK_EQ(nj_store_begin(fixture.store, NULL), NJ_OK);
    CHECK_EQ(claim(&fixture, job_id, 1), 1);
    /* A call that fails inside takes only itself back. */
    CHECK_EQ(interrupt(&fixture, job_id, 7, NJ_ATTEMPT_COUNTS), NJ_E_NOT_FOUND);
    CHECK_STORE(fixture.store, "a: running, running/1\n");
    nj_store_abandon(fixture.store);
    CHECK_STORE(fixture.store, "a: queued, queued/0\n");
    nj_store_abandon(fixture.store);
    close_fixture(&fixture);
}

/* In a child that was there before the first: SQLite's memory of its own locks is not carried
 * over. */
static int open_when_told(struct fixture *fixture, int told)
{
    char byte = 0;
    struct nj_store *second = NULL;
    if (read(told, &byte, 1) != 1) {
        return -1;
    }
    return (int)nj_store_open(&fixture->options, &second, NULL);
}

static void a_second_process_is_refused(void)
{
    struct fixture fixture;
    int ends[2];
    int result = 0;
    name_fixture(&fixture, "second");
    REQUIRE(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(open_when_told(&fixture, ends[0]));
    }
    REQUIRE(open_fixture(&fixture));
    (void)submit(&fixture, "a", 1);
    CHECK_EQ(write(ends[1], "x", 1), 1);
    REQUIRE(waitpid(child, &result, 0) == child);
    CHECK(WIFEXITED(result));
    CHECK_EQ(WEXITSTATUS(result), NJ_E_STATE);
    CHECK_STORE(fixture.store, "a: queued, queued/0\n");
    close_fixture(&fixture);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static size_t read_file(const char *path, uint8_t *bytes, size_t most)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, bytes, most);
    (void)close(fd);
    return length < 0 ? 0 : (size_t)length;
}

static void a_newer_database_is_refused_and_untouched(void)
{
    static uint8_t before[1 << 20];
    static uint8_t after[1 << 20];
    static const uint8_t newer[] = {0, 0, 0, 2};
    struct fixture fixture;
    REQUIRE(begin(&fixture, "newer"));
    (void)submit(&fixture, "a", 1);
    close_fixture(&fixture);
    int fd = open(fixture.path, O_WRONLY | O_CLOEXEC);
    CHECK_EQ(pwrite(fd, newer, sizeof newer, 60), sizeof newer);
    (void)close(fd);
    size_t length = read_file(fixture.path, before, sizeof before);

    CHECK_EQ(nj_store_open(&fixture.options, &fixture.store, &fixture.error), NJ_E_UNSUPPORTED);
    CHECK_CONTAINS(fixture.error.text, "written by a newer nightjar (version 2");
    CHECK(length > 4096);
    CHECK_EQ(read_file(fixture.path, after, sizeof after), length);
    CHECK_BYTES(after, before, length);
}

static void what_is_no_queue_is_refused(void)
{
    static const char *const contents[] = {"x", "SQLite format 3"};
    struct fixture fixture;
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        uint8_t page[4096] = {0};
        name_fixture(&fixture, "foreign");
        memcpy(page, contents[i], strlen(contents[i]));
        int fd = open(fixture.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        CHECK(write(fd, page, i == 0 ? 1 : sizeof page) > 0);
        (void)close(fd);
        CHECK_EQ(nj_store_open(&fixture.options, &fixture.store, &fixture.error), NJ_E_STORAGE);
        CHECK_CONTAINS(fixture.error.text, "is not a queue of nightjar");
    }
}

static void damage_is_found(void)
{
    struct fixture fixture;
    uint8_t noise[2048];
    REQUIRE(begin(&fixture, "damage"));
    (void)submit(&fixture, "a", 500);
    CHECK_EQ(nj_store_check(fixture.store, &fixture.error), NJ_OK);
    close_fixture(&fixture);
    memset(noise, 0xa5, sizeof noise);
    int fd = open(fixture.path, O_WRONLY | O_CLOEXEC);
    for (off_t page = 2; page < 20; page++) { /* whichever of them hold the items */
        CHECK_EQ(pwrite(fd, noise, sizeof noise, page * 4096 + 100), sizeof noise);
    }
    (void)close(fd);
    REQUIRE(open_fixture(&fixture));
    CHECK_EQ(nj_store_check(fixture.store, &fixture.error), NJ_E_STORAGE);
    close_fixture(&fixture);
}

int main(void)
{
    vfs = faulty_vfs_create();
    faulty_vfs_skip_syncs(vfs);
    RUN(a_job_is_read_back_as_it_was_submitted);
    RUN(jobs_are_found_by_name_and_by_content);
    RUN(the_database_is_private);
    RUN(claims_take_interrupted_items_first_and_count_attempts);
    RUN(a_job_runs_while_an_item_does_and_ends_with_its_items);
    RUN(a_job_without_one_good_item_has_failed);
    RUN(items_that_failed_for_now_wait_and_come_back);
    RUN(illegal_moves_are_refused_and_change_nothing);
    RUN(cancelling_ends_open_items_and_keeps_results);
    RUN(the_first_result_of_a_sample_wins);
    RUN(a_retry_takes_failed_and_parked_items_only);
    RUN(dependants_follow_how_a_job_ended);
    RUN(removing_a_job_leaves_nothing_of_it);
    RUN(events_are_kept_and_those_for_hooks_are_due_until_sent);
    RUN(an_item_has_the_history_of_its_attempts);
    RUN(what_ran_when_everything_died_goes_on_and_is_not_to_blame);
    RUN(what_is_abandoned_never_was);
    RUN(a_second_process_is_refused);
    RUN(a_newer_database_is_refused_and_untouched);
    RUN(what_is_no_queue_is_refused);
    RUN(damage_is_found);
    faulty_vfs_destroy(vfs);
    return test_result();
}
