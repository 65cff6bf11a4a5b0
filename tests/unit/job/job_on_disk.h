/* A job file in the test's folder, read and open for iterating. */
#ifndef NJ_TESTS_UNIT_JOB_JOB_ON_DISK_H
#define NJ_TESTS_UNIT_JOB_JOB_ON_DISK_H

#include "job/items.h"
#include "unit/job/reading.h"
#include "unit/job/rows_on_disk.h"

struct job {
    struct reading reading;
    struct nj_item_iterator *iterator;
    struct nj_arena arena; /* of the items */
};

static inline void read_job(struct job *job, const char *text)
{
    char path[256];
    *job = (struct job){.iterator = NULL};
    (void)snprintf(path, sizeof path, "%s", path_in_folder("job.yaml"));
    read_bytes_as(&job->reading, path, text, strlen(text));
    CHECK_TEXT(job->reading.complaints, "");
}

static inline bool open_job(struct job *job, const char *text)
{
    read_job(job, text);
    enum nj_status status =
        job->reading.spec == NULL
            ? NJ_E_INPUT
            : nj_item_iterator_open(job->reading.spec, nj_file_system_real(), 7, &job->iterator,
                                    &job->reading.error);
    if (status != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", job->reading.error.text);
    }
    return status == NJ_OK;
}

static inline void close_job(struct job *job)
{
    nj_item_iterator_close(job->iterator);
    nj_arena_deinit(&job->arena);
    close_reading(&job->reading);
}

/* The next item; CHECKs that there is one. */
static inline struct nj_item next_item(struct job *job)
{
    struct nj_item item = {0};
    bool has_item = false;
    CHECK_EQ(nj_item_iterator_next(job->iterator, &job->arena, &item, &has_item,
                                   &job->reading.error),
             NJ_OK);
    CHECK(has_item);
    return item;
}

static inline void check_end(struct job *job)
{
    struct nj_item item = {0};
    bool has_item = true;
    CHECK_EQ(nj_item_iterator_next(job->iterator, &job->arena, &item, &has_item, NULL), NJ_OK);
    CHECK(!has_item);
}

/* How many items the job has, by counting and by iterating; UINT64_MAX when the two differ. */
static inline uint64_t count_both_ways(const char *text)
{
    struct job job;
    uint64_t n_checked = 0;
    uint64_t n_iterated = 0;
    if (!open_job(&job, text)) {
        close_job(&job);
        return UINT64_MAX;
    }
    (void)nj_items_check(job.reading.spec, nj_file_system_real(), &job.reading.diagnostics,
                         &n_checked, NULL);
    for (bool has_item = true; has_item; n_iterated += has_item ? 1 : 0) {
        struct nj_item item;
        if (nj_item_iterator_next(job.iterator, &job.arena, &item, &has_item, NULL) != NJ_OK) {
            break;
        }
    }
    close_job(&job);
    return n_checked == n_iterated ? n_checked : UINT64_MAX;
}

#endif
