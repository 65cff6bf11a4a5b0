/* What the tests of the store share: a database in a folder of its own, jobs put into it, and a
 * text of all that it holds, to compare by. */
#ifndef NJ_TESTS_UNIT_QUEUE_FIXTURE_H
#define NJ_TESTS_UNIT_QUEUE_FIXTURE_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "queue/store.h"
#include "queue/store_events.h"
#include "queue/store_items.h"
#include "queue/store_jobs.h"
#include "support/check.h"

enum { NOW_MS = 1000000 };

struct fixture {
    char path[512];
    struct nj_store_options options;
    struct nj_store *store;
    struct nj_error error;
};

/* A database of this name that is not there yet. */
static inline void name_fixture(struct fixture *fixture, const char *name)
{
    char path[640];
    *fixture = (struct fixture){.store = NULL};
    (void)snprintf(fixture->path, sizeof fixture->path, "%s/%s", test_folder(), name);
    fixture->options =
        (struct nj_store_options){.fs = nj_file_system_real(), .path = fixture->path};
    (void)unlink(fixture->path);
    (void)snprintf(path, sizeof path, "%s-wal", fixture->path);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s-journal", fixture->path);
    (void)unlink(path);
}

static inline bool open_fixture(struct fixture *fixture)
{
    enum nj_status status = nj_store_open(&fixture->options, &fixture->store, &fixture->error);
    if (status != NJ_OK) {
        test_fail(__FILE__, __LINE__, "open: %s", fixture->error.text);
    }
    return status == NJ_OK;
}

static inline void close_fixture(struct fixture *fixture)
{
    nj_store_close(fixture->store);
    fixture->store = NULL;
}

static inline struct nj_store_submission submission_of(const char *name, uint64_t n_items,
                                                       const struct nj_job_orders *orders)
{
    return (struct nj_store_submission){.name = nj_text_from(name),
                                        .model = nj_text_from("tiny"),
                                        .digest = {{7}},
                                        .orders = orders,
                                        .start_at = INT64_MIN,
                                        .deadline = INT64_MAX,
                                        .n_items = n_items,
                                        .unix_ms = NOW_MS};
}

/* Its number, or 0. */
static inline uint64_t submit(struct fixture *fixture, const char *name, uint64_t n_items)
{
    uint64_t job_id = 0;
    struct nj_job_orders orders = nj_job_orders_default();
    struct nj_store_submission submission = submission_of(name, n_items, &orders);
    if (nj_store_submit(fixture->store, &submission, &job_id, &fixture->error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "submit: %s", fixture->error.text);
    }
    return job_id;
}

/* --- a text of everything --- */

enum { DUMP_BYTES = 8192 };

struct dump {
    char text[DUMP_BYTES];
    size_t used;
    uint64_t n_in[NJ_WORK_STATES_END]; /* of the job at hand */
};

static inline enum nj_status dump_item(void *context, const struct nj_store_item *item,
                                       struct nj_error *err)
{
    struct dump *dump = context;
    (void)err;
    dump->n_in[item->state]++;
    int length = snprintf(dump->text + dump->used, DUMP_BYTES - dump->used, " %s/%u",
                          nj_work_state_name(item->state), item->n_attempts);
    dump->used += (size_t)length < DUMP_BYTES - dump->used ? (size_t)length : 0;
    return NJ_OK;
}

/* Counts that are kept with a job are those of its items. */
static inline void check_counts(const struct dump *dump, const struct nj_stored_job *job)
{
    for (int state = NJ_WORK_QUEUED; state < NJ_WORK_STATES_END; state++) {
        CHECK_EQ(job->n_in[state], dump->n_in[state]);
    }
}

/* "name: state, queued/attempts running/attempts ...", a line a job. */
static inline void dump_all(struct nj_store *store, struct dump *dump)
{
    struct nj_arena arena;
    struct nj_stored_job *jobs = NULL;
    size_t n_jobs = 0;
    struct nj_error error;
    nj_arena_init(&arena, 0);
    *dump = (struct dump){.used = 0};
    CHECK_EQ(nj_store_list_jobs(store, NJ_JOBS_ALL, 0, 100, &arena, &jobs, &n_jobs, &error),
             NJ_OK);
    for (size_t i = 0; i < n_jobs; i++) {
        dump->used += (size_t)snprintf(dump->text + dump->used, DUMP_BYTES - dump->used,
                                       "%.*s: %s,", (int)jobs[i].name.length_bytes,
                                       jobs[i].name.data, nj_job_state_name(jobs[i].state));
        memset(dump->n_in, 0, sizeof dump->n_in);
        CHECK_EQ(nj_store_list_items(store, jobs[i].job_id, 0, 1000, dump_item, dump, &error),
                 NJ_OK);
        check_counts(dump, &jobs[i]);
        dump->used += (size_t)snprintf(dump->text + dump->used, DUMP_BYTES - dump->used, "\n");
    }
    nj_arena_deinit(&arena);
}

#define CHECK_STORE(store, wanted)                                                             \
    do {                                                                                       \
        struct dump dump_;                                                                     \
        dump_all((store), &dump_);                                                             \
        CHECK_TEXT(dump_.text, (wanted));                                                      \
    } while (0)

#endif
