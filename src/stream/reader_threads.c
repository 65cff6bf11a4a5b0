/* Reader threads: each belongs to one drive, takes the oldest request for it and calls read_at,
 * so that as many reads are in flight on a drive as it has threads, and a slow drive does not
 * hold up another one. Started when there is work and none is idle, because one or two are
 * enough for most drives. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/thread.h"
#include "stream/reader.h"

enum {
    /* For each drive. More only help far storage, and each may occupy a processor while it
     * copies from the page cache. */
    MAX_THREADS = 16
};

/* Requests in the order of asking. */
struct request_queue {
    struct nj_read_request *entries; /* (limit) a ring; `limit` bounds what is in flight */
    uint32_t first;
    uint32_t n;
};

struct result_queue {
    struct nj_read_result *entries; /* (limit) likewise */
    uint32_t first;
    uint32_t n;
};

struct threads;

struct drive {
    struct threads *all;
    pthread_cond_t work_or_stop;
    struct request_queue waiting;
    uint32_t n_idle;
    uint32_t n_threads;
    pthread_t threads[MAX_THREADS];
};

struct threads {
    const struct nj_file_system *fs;
    int *descriptors;     /* (n_files) */
    uint32_t *drive_of;   /* (n_files) */
    struct drive *drives; /* (n_drives) */
    uint32_t n_drives;
    uint32_t limit;
    pthread_mutex_t mutex; /* guards all queues and counts */
    pthread_cond_t some_done;
    struct result_queue done;
    bool stopping;
};

/* --- in a reader thread --- */

static bool take_request(struct drive *drive, struct nj_read_request *request)
{
    struct threads *threads = drive->all;
    drive->n_idle++;
    while (drive->waiting.n == 0 && !threads->stopping) {
        (void)pthread_cond_wait(&drive->work_or_stop, &threads->mutex);
    }
    drive->n_idle--;
    if (drive->waiting.n == 0) {
        return false;
    }
    *request = drive->waiting.entries[drive->waiting.first];
    drive->waiting.first = (drive->waiting.first + 1) % threads->limit;
    drive->waiting.n--;
    return true;
}

static void put_result(struct threads *threads, uint32_t tag, int32_t result)
{
    uint32_t place = (threads->done.first + threads->done.n) % threads->limit;
    threads->done.entries[place] = (struct nj_read_result){tag, result};
    threads->done.n++;
    (void)pthread_cond_signal(&threads->some_done);
}

static int32_t read_once(const struct threads *threads, const struct nj_read_request *request)
{
    const struct nj_file_system *fs = threads->fs;
    ssize_t n = fs->read_at(fs->context, threads->descriptors[request->file], request->target,
                            request->length_bytes, (off_t)request->offset_bytes);
    return n < 0 ? -errno : (int32_t)n;
}

static void *work(void *argument)
{
    struct drive *drive = argument;
    struct threads *threads = drive->all;
    struct nj_read_request request;
    (void)pthread_mutex_lock(&threads->mutex);
    while (take_request(drive, &request)) {
        (void)pthread_mutex_unlock(&threads->mutex);
        int32_t result = read_once(threads, &request);
        (void)pthread_mutex_lock(&threads->mutex);
        put_result(threads, request.tag, result);
    }
    (void)pthread_mutex_unlock(&threads->mutex);
    return NULL;
}

/* --- in the caller's --- */

static int start_thread(struct drive *drive)
{
    int error_number = nj_thread_start(&drive->threads[drive->n_threads], work, drive);
    drive->n_threads += error_number == 0 ? 1 : 0;
    return error_number;
}

static void put_request(struct threads *threads, const struct nj_read_request *request)
{
    struct drive *drive = &threads->drives[threads->drive_of[request->file]];
    struct request_queue *waiting = &drive->waiting;
    assert(waiting->n < threads->limit);
    waiting->entries[(waiting->first + waiting->n) % threads->limit] = *request;
    waiting->n++;
    (void)pthread_cond_signal(&drive->work_or_stop);
    /* The first thread was started at open; without another one its turn only comes later. */
    if (waiting->n > drive->n_idle && drive->n_threads < MAX_THREADS) {
        (void)start_thread(drive);
    }
}

static void threads_submit(void *reader, const struct nj_read_request *requests,
                           uint32_t n_requests)
{
    struct threads *threads = reader;
    (void)pthread_mutex_lock(&threads->mutex);
    for (uint32_t i = 0; i < n_requests; i++) {
        put_request(threads, &requests[i]);
    }
    (void)pthread_mutex_unlock(&threads->mutex);
}

static uint32_t threads_reap(void *reader, bool waits, struct nj_read_result *results,
                             uint32_t limit)
{
    struct threads *threads = reader;
    uint32_t n = 0;
    (void)pthread_mutex_lock(&threads->mutex);
    while (waits && threads->done.n == 0) {
        (void)pthread_cond_wait(&threads->some_done, &threads->mutex);
    }
    while (n < limit && threads->done.n > 0) {
        results[n++] = threads->done.entries[threads->done.first];
        threads->done.first = (threads->done.first + 1) % threads->limit;
        threads->done.n--;
    }
    (void)pthread_mutex_unlock(&threads->mutex);
    return n;
}

static void stop(struct threads *threads)
{
    (void)pthread_mutex_lock(&threads->mutex);
    threads->stopping = true;
    for (uint32_t i = 0; i < threads->n_drives; i++) {
        threads->drives[i].waiting.n = 0; /* their results would reach no one */
        (void)pthread_cond_broadcast(&threads->drives[i].work_or_stop);
    }
    (void)pthread_mutex_unlock(&threads->mutex);
    for (uint32_t i = 0; i < threads->n_drives; i++) {
        struct drive *drive = &threads->drives[i];
        for (uint32_t j = 0; j < drive->n_threads; j++) {
            (void)pthread_join(drive->threads[j], NULL);
        }
    }
}

/* Requests nobody has begun are dropped; those begun are waited for. */
static void threads_close(void *reader)
{
    struct threads *threads = reader;
    stop(threads);
    for (uint32_t i = 0; i < threads->n_drives; i++) {
        (void)pthread_cond_destroy(&threads->drives[i].work_or_stop);
        free(threads->drives[i].waiting.entries);
    }
    (void)pthread_cond_destroy(&threads->some_done);
    (void)pthread_mutex_destroy(&threads->mutex);
    free(threads->done.entries);
    free(threads->drives);
    free(threads->drive_of);
    free(threads->descriptors);
    free(threads);
}

/* One thread for each drive: false when the system allows no more, or memory is out. */
static bool start_drives(struct threads *threads)
{
    for (uint32_t i = 0; i < threads->n_drives; i++) {
        struct drive *drive = &threads->drives[i];
        drive->waiting.entries = calloc(threads->limit, sizeof *drive->waiting.entries);
        if (drive->waiting.entries == NULL || start_thread(drive) != 0) {
            return false;
        }
    }
    return true;
}

static bool take_tables(struct threads *threads, const struct nj_reader_options *options)
{
    size_t n_files = options->n_files;
    threads->descriptors = calloc(n_files + 1, sizeof *threads->descriptors);
    threads->drive_of = calloc(n_files + 1, sizeof *threads->drive_of);
    threads->done.entries = calloc(options->limit, sizeof *threads->done.entries);
    if (threads->descriptors == NULL || threads->drive_of == NULL ||
        threads->done.entries == NULL) {
        return false;
    }
    uint32_t n_drives = 1;
    for (size_t i = 0; i < n_files; i++) {
        uint32_t drive = options->drives == NULL ? 0 : options->drives[i];
        threads->descriptors[i] = options->descriptors[i];
        threads->drive_of[i] = drive;
        n_drives = drive < n_drives ? n_drives : drive + 1;
    }
    threads->drives = calloc(n_drives, sizeof *threads->drives);
    threads->n_drives = threads->drives == NULL ? 0 : n_drives;
    for (uint32_t i = 0; i < threads->n_drives; i++) {
        threads->drives[i].all = threads;
        (void)pthread_cond_init(&threads->drives[i].work_or_stop, NULL); /* cannot fail */
    }
    return threads->drives != NULL;
}

static enum nj_status threads_open(void *context, const struct nj_reader_options *options,
                                   void **reader, struct nj_error *err)
{
    (void)context;
    struct threads *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "make reader threads: no memory");
    }
    (void)pthread_mutex_init(&made->mutex, NULL); /* with default attributes neither can fail */
    (void)pthread_cond_init(&made->some_done, NULL);
    made->fs = options->fs;
    made->limit = options->limit;
    if (!take_tables(made, options) || !start_drives(made)) {
        threads_close(made);
        return nj_fail(err, NJ_E_MEMORY,
                       "start reader threads: no memory, or the system allows no more");
    }
    *reader = made;
    return NJ_OK;
}

const struct nj_reader_table *nj_reader_threads(void)
{
    static const struct nj_reader_table table = {
        .name = "threads",
        .open = threads_open,
        .submit = threads_submit,
        .reap = threads_reap,
        .close = threads_close,
    };
    return &table;
}
