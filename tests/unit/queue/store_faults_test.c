/* A night of changes, with every write, sync and truncation failing once, and the process
 * killed before each: what was acknowledged is there, what was not is either there as a whole
 * or not at all, and the database is sound. */
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "support/faulty_vfs.h"
#include "unit/queue/queue_fixture.h"

static const struct nj_text no_text = {NULL, 0};
static struct faulty_vfs *vfs;
static unsigned long stride = 9; /* every so many calls; with the argument `long` each one */

/* --- the night: each step is acknowledged on its own --- */

typedef enum nj_status step_function(struct nj_store *store, struct nj_error *err);

static enum nj_status submit_first(struct nj_store *store, struct nj_error *err)
{
    uint64_t job_id = 0;
    struct nj_job_orders orders = nj_job_orders_default();
    struct nj_store_submission submission = submission_of("first", 3, &orders);
    return nj_store_submit(store, &submission, &job_id, err);
}

static enum nj_status submit_second(struct nj_store *store, struct nj_error *err)
{
    uint64_t job_id = 0;
    struct nj_store_parent parent = {1, NJ_AFTER_ANY};
    struct nj_job_orders orders = nj_job_orders_default();
    struct nj_store_submission submission = submission_of("second", 60, &orders);
    submission.parents = &parent;
    submission.n_parents = 1;
    return nj_store_submit(store, &submission, &job_id, err);
}

static enum nj_status claim_two(struct nj_store *store, struct nj_error *err)
{
    struct nj_store_item items[2];
    size_t n_items = 0;
    return nj_store_claim(store, 1, 2, NOW_MS, items, &n_items, err);
}

/* What the end of one sweep writes, in one transaction. */
static enum nj_status end_sweep(struct nj_store *store, struct nj_error *err)
{
    bool is_first = false;
    struct nj_store_item items[1];
    size_t n_items = 0;
    enum nj_status status = nj_store_begin(store, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_store_mark_result(store, 1, 0, 0, true, NOW_MS, &is_first, err);
    if (status == NJ_OK) {
        status = nj_store_end_item(store, 1, 0, true, no_text, NOW_MS, err);
    }
    if (status == NJ_OK) {
        status = nj_store_progress(store, 1, 1, err);
    }
    if (status == NJ_OK) {
        status = nj_store_claim(store, 1, 1, NOW_MS, items, &n_items, err);
    }
    if (status == NJ_OK) {
        return nj_store_commit(store, err);
    }
    nj_store_abandon(store);
    return status;
}

static enum nj_status interrupt_one(struct nj_store *store, struct nj_error *err)
{
    return nj_store_interrupt(store, 1, 1, NJ_ATTEMPT_COUNTS, nj_text_from("signal 6"), NOW_MS,
                              err);
}

static enum nj_status let_wait(struct nj_store *store, struct nj_error *err)
{
    return nj_store_wait(store, 1, 2, NOW_MS + 1, nj_text_from("read error"), NOW_MS, err);
}

static enum nj_status release(struct nj_store *store, struct nj_error *err)
{
    uint64_t n_items = 0;
    return nj_store_release_due(store, NOW_MS + 1, &n_items, err);
}

static enum nj_status pause_second(struct nj_store *store, struct nj_error *err)
{
    return nj_store_move_job(store, 2, NJ_JOB_PAUSED, no_text, NOW_MS, err);
}

static enum nj_status fail_one(struct nj_store *store, struct nj_error *err)
{
    return nj_store_end_item(store, 1, 2, false, nj_text_from("too long"), NOW_MS, err);
}

static enum nj_status recover(struct nj_store *store, struct nj_error *err)
{
    uint64_t n_items = 0;
    return nj_store_recover(store, NOW_MS, &n_items, err);
}

static enum nj_status cancel_second(struct nj_store *store, struct nj_error *err)
{
    return nj_store_move_job(store, 2, NJ_JOB_CANCELLED, nj_text_from("asked"), NOW_MS, err);
}

static enum nj_status remove_second(struct nj_store *store, struct nj_error *err)
{
    return nj_store_remove_job(store, 2, err);
}

static step_function *const steps[] = {
    submit_first, submit_second, claim_two, end_sweep, interrupt_one, let_wait,     release,
    pause_second, claim_two,     fail_one,  recover,   cancel_second, remove_second};

enum { N_STEPS = sizeof steps / sizeof steps[0] };

/* What the database holds after so many steps. */
static struct dump wanted[N_STEPS + 1];

static void begin_night(struct fixture *fixture)
{
    name_fixture(fixture, "night");
    fixture->options.vfs_name = faulty_vfs_name(vfs);
}

static void the_night_without_faults_is_the_measure(void)
{
    struct fixture fixture;
    begin_night(&fixture);
    REQUIRE(open_fixture(&fixture));
    dump_all(fixture.store, &wanted[0]);
    for (size_t i = 0; i < N_STEPS; i++) {
        REQUIRE_OK(steps[i](fixture.store, &fixture.error), &fixture.error);
        dump_all(fixture.store, &wanted[i + 1]);
        CHECK(strcmp(wanted[i].text, wanted[i + 1].text) != 0 || steps[i] == release);
    }
    close_fixture(&fixture);
    CHECK_TEXT(wanted[N_STEPS].text, "first: queued, done/0 interrupted/0 failed/0\n");
}

/* What is found is what `n_done` steps made, or one more, which was under way. */
static void check_found(struct fixture *fixture, size_t n_done)
{
    struct dump found;
    if (!open_fixture(fixture)) {
        return;
    }
    CHECK_EQ(nj_store_check(fixture->store, &fixture->error), NJ_OK);
    dump_all(fixture->store, &found);
    bool is_next = n_done < N_STEPS && strcmp(found.text, wanted[n_done + 1].text) == 0;
    if (!is_next) {
        CHECK_TEXT(found.text, wanted[n_done].text);
    }
    close_fixture(fixture);
}

/* --- faults --- */

/* Goes on where it failed, as the daemon does when there is room again. */
static void finish_night(struct fixture *fixture, size_t n_done)
{
    struct dump found;
    for (size_t i = n_done; i < N_STEPS; i++) {
        REQUIRE_OK(steps[i](fixture->store, &fixture->error), &fixture->error);
    }
    dump_all(fixture->store, &found);
    CHECK_TEXT(found.text, wanted[N_STEPS].text);
}

static void check_failure(struct fixture *fixture, enum nj_status status, bool is_full,
                          size_t n_done)
{
    struct nj_error again;
    CHECK_EQ(status, is_full ? NJ_E_BUDGET : NJ_E_STORAGE);
    CHECK_CONTAINS(fixture->error.text, fixture->path);
    if (is_full) {
        finish_night(fixture, n_done);
    } else {
        CHECK_EQ(recover(fixture->store, &again), NJ_E_STORAGE);
        CHECK_CONTAINS(again.text, "must be opened again");
    }
}

/* One night with the n-th call failing; false when there are fewer calls. */
static bool run_faulty_night(enum faulty_vfs_call call, unsigned long at, int code)
{
    struct fixture fixture;
    bool is_full = code == SQLITE_FULL;
    size_t n_done = 0;
    begin_night(&fixture);
    faulty_vfs_reset(vfs);
    faulty_vfs_fail(vfs, call, at, code, is_full);
    enum nj_status status = nj_store_open(&fixture.options, &fixture.store, &fixture.error);
    while (status == NJ_OK && n_done < N_STEPS) {
        status = steps[n_done](fixture.store, &fixture.error);
        n_done += status == NJ_OK ? 1 : 0;
    }
    bool has_fired = faulty_vfs_fired(vfs);
    CHECK(status == NJ_OK || has_fired);
    faulty_vfs_reset(vfs);
    if (status != NJ_OK && fixture.store != NULL) {
        check_failure(&fixture, status, is_full, n_done);
        n_done = is_full ? N_STEPS : n_done;
    }
    close_fixture(&fixture);
    check_found(&fixture, n_done);
    return has_fired;
}

static void fail_each(enum faulty_vfs_call call, int code, unsigned long step)
{
    unsigned long at = 1;
    while (at < 1000 && run_faulty_night(call, at, code)) {
        at += step;
    }
    CHECK(at > 10 && at < 1000);
}

static void a_disk_that_fills_at_any_write_is_a_pause(void)
{
    fail_each(FAULTY_VFS_WRITE, SQLITE_FULL, stride);
}

static void a_write_that_fails_leaves_old_or_new(void)
{
    fail_each(FAULTY_VFS_WRITE, SQLITE_IOERR_WRITE, stride);
}

static void a_sync_that_fails_breaks_the_store_and_loses_nothing(void)
{
    fail_each(FAULTY_VFS_SYNC, SQLITE_IOERR_FSYNC, 1);
}

static void a_read_that_fails_is_told(void)
{
    fail_each(FAULTY_VFS_READ, SQLITE_IOERR_READ, 1);
}

/* --- kills --- */

/* In the child: one byte for each step that was acknowledged. */
static void run_killed_night(struct fixture *fixture, unsigned long at, int acknowledged)
{
    faulty_vfs_reset(vfs);
    faulty_vfs_kill(vfs, at);
    if (nj_store_open(&fixture->options, &fixture->store, &fixture->error) != NJ_OK) {
        _exit(1);
    }
    for (size_t i = 0; i < N_STEPS; i++) {
        if (steps[i](fixture->store, &fixture->error) != NJ_OK ||
            write(acknowledged, "x", 1) != 1) {
            _exit(1);
        }
    }
    nj_store_close(fixture->store);
    _exit(0);
}

static size_t count_bytes(int fd)
{
    char bytes[N_STEPS];
    size_t n = 0;
    ssize_t n_read = 0;
    while ((n_read = read(fd, bytes, sizeof bytes)) > 0) {
        n += (size_t)n_read;
    }
    return n;
}

/* True when it was killed; false when it came to its end. */
static bool kill_one_night(unsigned long at)
{
    struct fixture fixture;
    int ends[2];
    int result = 0;
    begin_night(&fixture);
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        run_killed_night(&fixture, at, ends[1]);
    }
    (void)close(ends[1]);
    size_t n_done = count_bytes(ends[0]);
    (void)close(ends[0]);
    CHECK_EQ(waitpid(child, &result, 0), child);
    bool is_killed = WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL;
    CHECK(is_killed || (WIFEXITED(result) && WEXITSTATUS(result) == 0));
    faulty_vfs_reset(vfs);
    check_found(&fixture, n_done);
    return is_killed;
}

static void a_kill_before_any_step_loses_nothing_acknowledged(void)
{
    unsigned long at = 1;
    while (at < 1000 && kill_one_night(at)) {
        at += stride;
    }
    CHECK(at > 50 && at < 1000);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "long") == 0) {
        stride = 1;
    }
    vfs = faulty_vfs_create();
    faulty_vfs_skip_syncs(vfs);
    RUN(the_night_without_faults_is_the_measure);
    RUN(a_disk_that_fills_at_any_write_is_a_pause);
    RUN(a_write_that_fails_leaves_old_or_new);
    RUN(a_sync_that_fails_breaks_the_store_and_loses_nothing);
    RUN(a_read_that_fails_is_told);
    RUN(a_kill_before_any_step_loses_nothing_acknowledged);
    faulty_vfs_destroy(vfs);
    return test_result();
}
