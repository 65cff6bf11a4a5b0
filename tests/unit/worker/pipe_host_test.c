/* The daemon's part is written into the pipe beforehand, and what the host said is read
 * afterwards. */
#include "worker/pipe_host.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"

enum { JOB = 7, N_ITEMS = 5 };

struct fixture {
    int to_worker[2];
    int to_daemon[2];
    struct nj_pipe daemon; /* speaks and hears for the daemon */
    struct nj_pipe worker;
    struct nj_pipe_host host;
    struct nj_ledger_item items[N_ITEMS];
    struct nj_ledger ledger;
    struct nj_run_host folder_table;
    struct nj_run_host table;
    struct nj_error error;
    char folder[64]; /* what the folder's table was asked */
    uint64_t now_ns;
};

static uint64_t tick(void *context)
{
    struct fixture *fixture = context;
    return fixture->now_ns += 1000;
}

static void note(struct fixture *fixture, const char *word)
{
    (void)strncat(fixture->folder, word, sizeof fixture->folder - strlen(fixture->folder) - 1);
}

static enum nj_status folder_done(void *context, uint64_t item_index, uint32_t sample,
                                  bool is_ok, struct nj_error *err)
{
    (void)item_index;
    (void)sample;
    (void)is_ok;
    (void)err;
    note(context, "done ");
    return NJ_OK;
}

static enum nj_status folder_commit(void *context, struct nj_error *err)
{
    (void)err;
    note(context, "commit ");
    return NJ_OK;
}

static enum nj_run_control folder_poll(void *context)
{
    (void)context;
    return NJ_RUN_GO_ON;
}

static void folder_event(void *context, const struct nj_event *event)
{
    (void)event;
    note(context, "event ");
}

/* A folder of five items, of which item 1 has its result. */
static bool begin(struct fixture *fixture)
{
    *fixture = (struct fixture){.folder_table = {.context = fixture,
                                                 .item_done = folder_done,
                                                 .commit = folder_commit,
                                                 .poll = folder_poll,
                                                 .event = folder_event}};
    if (pipe(fixture->to_worker) != 0 || pipe(fixture->to_daemon) != 0 ||
        nj_pipe_open(&fixture->daemon, fixture->to_daemon[0], fixture->to_worker[1], NULL) !=
            NJ_OK ||
        nj_pipe_open(&fixture->worker, fixture->to_worker[0], fixture->to_daemon[1], NULL) !=
            NJ_OK) {
        return false;
    }
    struct nj_clock clock = {.context = fixture, .monotonic_ns = tick};
    nj_pipe_host_init(&fixture->host, &fixture->worker, clock, JOB);
    fixture->items[1].state = NJ_ITEM_OK;
    fixture->ledger = (struct nj_ledger){.items = fixture->items, .n_items = N_ITEMS};
    struct nj_run_patron patron = nj_pipe_host_patron(&fixture->host);
    fixture->table = patron.over(patron.context, &fixture->folder_table);
    return patron.begin(patron.context, &fixture->ledger, 4, NULL) == NJ_OK;
}

static void end(struct fixture *fixture)
{
    nj_pipe_host_deinit(&fixture->host);
    nj_pipe_close(&fixture->daemon);
    nj_pipe_close(&fixture->worker);
    (void)close(fixture->to_worker[0]);
    (void)close(fixture->to_worker[1]);
    (void)close(fixture->to_daemon[0]);
    (void)close(fixture->to_daemon[1]);
}

static void daemon_says(struct fixture *fixture, struct nj_worker_message message)
{
    CHECK_EQ(nj_pipe_send(&fixture->daemon, &message, NULL), NJ_OK);
}

static void daemon_gives(struct fixture *fixture, uint64_t item_index)
{
    daemon_says(fixture, (struct nj_worker_message){
                             .type = NJ_WORKER_TAKE, .job_id = JOB, .item_index = item_index});
}

static void daemon_says_go(struct fixture *fixture, enum nj_worker_order order)
{
    daemon_says(fixture, (struct nj_worker_message){.type = NJ_WORKER_GO, .number = order});
}

/* The next thing that the host said. */
static void check_heard(struct fixture *fixture, enum nj_worker_message_type type,
                        uint64_t item_index)
{
    struct nj_worker_message message;
    REQUIRE_OK(nj_pipe_receive(&fixture->daemon, &message, &fixture->error), &fixture->error);
    CHECK_EQ(message.type, type);
    CHECK_EQ(message.item_index, item_index);
}

/* The item that the run gets; -1 none, -2 a failure. */
static int64_t claim(struct fixture *fixture)
{
    uint64_t item_index = 0;
    bool has_item = false;
    enum nj_status status =
        fixture->table.claim(fixture->table.context, &item_index, &has_item, &fixture->error);
    if (status != NJ_OK) {
        return -2;
    }
    return has_item ? (int64_t)item_index : -1;
}

static void what_is_done_already_is_told_first(void)
{
    struct fixture fixture;
    REQUIRE(begin(&fixture));
    check_heard(&fixture, NJ_WORKER_DONE, 1);
    check_heard(&fixture, NJ_WORKER_READY, 0);
    end(&fixture);
}

static void items_come_in_the_daemons_order_and_done_ones_are_answered(void)
{
    struct fixture fixture;
    REQUIRE(begin(&fixture));
    daemon_gives(&fixture, 4);
    daemon_gives(&fixture, 1);
    daemon_gives(&fixture, 0);
    daemon_says_go(&fixture, NJ_WORKER_GO_ON);
    CHECK_EQ(claim(&fixture), 4);
    CHECK_EQ(claim(&fixture), 0);
    CHECK_EQ(claim(&fixture), -1); /* it has asked, and asks no more before the next sweep */
    check_heard(&fixture, NJ_WORKER_DONE, 1);
    check_heard(&fixture, NJ_WORKER_READY, 0);
    check_heard(&fixture, NJ_WORKER_SWEPT, 0);
    check_heard(&fixture, NJ_WORKER_DONE, 1);
    end(&fixture);
}

static void a_commit_is_the_folders_first_and_then_the_queues(void)
{
    struct fixture fixture;
    REQUIRE(begin(&fixture));
    daemon_gives(&fixture, 0);
    daemon_says_go(&fixture, NJ_WORKER_GO_ON);
    CHECK_EQ(claim(&fixture), 0);
    daemon_gives(&fixture, 2);
    daemon_says_go(&fixture, NJ_WORKER_DRAIN);
    CHECK_EQ(fixture.table.poll(fixture.table.context), NJ_RUN_GO_ON);
    CHECK_EQ(fixture.table.item_done(fixture.table.context, 0, 0, true, NULL), NJ_OK);
    CHECK_EQ(fixture.table.commit(fixture.table.context, NULL), NJ_OK);
    CHECK_TEXT(fixture.folder, "done commit ");
    CHECK_EQ(fixture.table.poll(fixture.table.context), NJ_RUN_DRAIN);
    CHECK_EQ(claim(&fixture), 2);
    end(&fixture);
}

static void a_token_is_progress_and_an_event(void)
{
    struct fixture fixture;
    struct nj_worker_message message;
    struct nj_event token = {.type = NJ_EVENT_TOKEN, .item_index = 3, .token = 11};
    REQUIRE(begin(&fixture));
    fixture.table.event(fixture.table.context, &token);
    CHECK_TEXT(fixture.folder, "event ");
    check_heard(&fixture, NJ_WORKER_DONE, 1);
    check_heard(&fixture, NJ_WORKER_READY, 0);
    check_heard(&fixture, NJ_WORKER_PROGRESS, 3);
    REQUIRE_OK(nj_pipe_receive(&fixture.daemon, &message, &fixture.error), &fixture.error);
    CHECK_EQ(message.type, NJ_WORKER_EVENT);
    char text[512];
    (void)snprintf(text, sizeof text, "%.*s", (int)message.text.length_bytes,
                   message.text.data);
    CHECK_CONTAINS(text, "\"token\":11");
    end(&fixture);
}

static void room_is_asked_for(void)
{
    struct fixture fixture;
    REQUIRE(begin(&fixture));
    daemon_says(&fixture, (struct nj_worker_message){
                              .type = NJ_WORKER_ROOM, .is_ok = true, .number = 100});
    CHECK_EQ(fixture.table.reserve(fixture.table.context, 50, &fixture.error), NJ_OK);
    daemon_says(&fixture, (struct nj_worker_message){.type = NJ_WORKER_ROOM, .number = 20});
    CHECK_EQ(fixture.table.reserve(fixture.table.context, 50, &fixture.error), NJ_E_STORAGE);
    CHECK_CONTAINS(fixture.error.text, "20 bytes");
    end(&fixture);
}

static void a_daemon_of_another_version_is_refused(void)
{
    struct fixture fixture;
    REQUIRE(begin(&fixture));
    daemon_says(&fixture, (struct nj_worker_message){.type = NJ_WORKER_WELCOME, .version = 1});
    CHECK_EQ(nj_pipe_host_greet(&fixture.host, 5, &fixture.error), NJ_OK);
    daemon_says(&fixture, (struct nj_worker_message){.type = NJ_WORKER_WELCOME, .version = 2});
    CHECK_EQ(nj_pipe_host_greet(&fixture.host, 5, &fixture.error), NJ_E_UNSUPPORTED);
    end(&fixture);
}

static void an_item_of_nobody_is_refused(void)
{
    struct fixture fixture;
    REQUIRE(begin(&fixture));
    daemon_gives(&fixture, N_ITEMS);
    daemon_says_go(&fixture, NJ_WORKER_GO_ON);
    CHECK_EQ(claim(&fixture), -2);
    CHECK_CONTAINS(fixture.error.text, "gives item 7.5, which is not ours");
    end(&fixture);
}

static void without_the_daemon_the_run_stops(void)
{
    struct fixture fixture;
    struct nj_event token = {.type = NJ_EVENT_TOKEN};
    REQUIRE(begin(&fixture));
    (void)close(fixture.to_worker[1]);
    fixture.to_worker[1] = -1;
    CHECK_EQ(claim(&fixture), -2);
    CHECK_EQ(fixture.error.status, NJ_E_STOPPED);
    (void)close(fixture.to_daemon[0]);
    fixture.to_daemon[0] = -1;
    fixture.table.event(fixture.table.context, &token);
    CHECK_EQ(fixture.table.poll(fixture.table.context), NJ_RUN_DRAIN);
    CHECK_EQ(fixture.table.commit(fixture.table.context, &fixture.error), NJ_E_STOPPED);
    end(&fixture);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    RUN(what_is_done_already_is_told_first);
    RUN(items_come_in_the_daemons_order_and_done_ones_are_answered);
    RUN(a_commit_is_the_folders_first_and_then_the_queues);
    RUN(a_token_is_progress_and_an_event);
    RUN(room_is_asked_for);
    RUN(a_daemon_of_another_version_is_refused);
    RUN(an_item_of_nobody_is_refused);
    RUN(without_the_daemon_the_run_stops);
    return test_result();
}
