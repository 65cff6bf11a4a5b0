/* Reader threads: each takes the oldest request and calls read_at, so that as many reads are in
 * flight as there are threads. Started when there is work and none is idle, because one or two
 * are enough for most drives. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "stream/reader.h"

enum {
    /* More only help far storage, and each may occupy a processor while it copies from the page
     * cache. */
    MAX_THREADS = 16,
    STACK_BYTES = 128 * 1024
};

/* A ring of at most `limit` entries; `limit` bounds what is in flight, so it never overflows.
 */
struct request_queue {
    struct nj_read_request *entries;
    uint32_t first;
    uint32_t n;
};

struct result_queue {
    struct nj_read_result *entries;
    uint32_t first;
    uint32_t n;
};

struct threads {
    const struct nj_file_system *fs;
    int *descriptors; /* (n_files) */
    uint32_t limit;
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t work_or_stop;
    pthread_cond_t some_done;
    struct request_queue waiting;
    struct result_queue done;
    uint32_t n_idle;
    uint32_t n_threads;
    bool stopping;
    pthread_t threads[MAX_THREADS];
};

/* --- in a reader thread --- */

static bool take_request(struct threads *threads, struct nj_read_request *request)
{
    threads->n_idle++;
    while (threads->waiting.n == 0 && !threads->stopping) {
        (void)pthread_cond_wait(&threads->work_or_stop, &threads->mutex);
    }
    threads->n_idle--;
    if (threads->waiting.n == 0) {
        return false;
    }
    *request = threads->waiting.entries[threads->waiting.first];
    threads->waiting.first = (threads->waiting.first + 1) % threads->limit;
    threads->waiting.n--;
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
    struct threads *threads = argument;
    struct nj_read_request request;
    (void)pthread_mutex_lock(&threads->mutex);
    while (take_request(threads, &request)) {
        (void)pthread_mutex_unlock(&threads->mutex);
        int32_t result = read_once(threads, &request);
        (void)pthread_mutex_lock(&threads->mutex);
        put_result(threads, request.tag, result);
    }
    (void)pthread_mutex_unlock(&threads->mutex);
    return NULL;
}

/* --- in the caller's --- */

/* One more thread, without signals: those belong to the threads of the program around us. */
static int start_thread(struct threads *threads)
{
    pthread_attr_t attributes;
    sigset_t every_signal;
    sigset_t before;
    int error_number = pthread_attr_init(&attributes);
    if (error_number != 0) {
        return error_number;
    }
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES); /* else the default, larger */
    (void)sigfillset(&every_signal);
    (void)pthread_sigmask(SIG_SETMASK, &every_signal, &before);
    error_number =
        pthread_create(&threads->threads[threads->n_threads], &attributes, work, threads);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    threads->n_threads += error_number == 0 ? 1 : 0;
    return error_number;
}

static void threads_submit(void *reader, const struct nj_read_request *requests,
                           uint32_t n_requests)
{
    struct threads *threads = reader;
    (void)pthread_mutex_lock(&threads->mutex);
    for (uint32_t i = 0; i < n_requests; i++) {
        assert(threads->waiting.n < threads->limit);
        uint32_t place = (threads->waiting.first + threads->waiting.n) % threads->limit;
        threads->waiting.entries[place] = requests[i];
        threads->waiting.n++;
        (void)pthread_cond_signal(&threads->work_or_stop);
    }
    /* The first thread was started at open; without another one its turn only comes later. */
    if (threads->waiting.n > threads->n_idle && threads->n_threads < MAX_THREADS) {
        (void)start_thread(threads);
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

static void release(struct threads *threads)
{
    (void)pthread_cond_destroy(&threads->some_done);
    (void)pthread_cond_destroy(&threads->work_or_stop);
    (void)pthread_mutex_destroy(&threads->mutex);
    free(threads->done.entries);
    free(threads->waiting.entries);
    free(threads->descriptors);
    free(threads);
}

/* Requests nobody has begun are dropped: their results would reach no one. */
static void threads_close(void *reader)
{
    struct threads *threads = reader;
    (void)pthread_mutex_lock(&threads->mutex);
    threads->stopping = true;
    threads->waiting.n = 0;
    (void)pthread_cond_broadcast(&threads->work_or_stop);
    (void)pthread_mutex_unlock(&threads->mutex);
    for (uint32_t i = 0; i < threads->n_threads; i++) {
        (void)pthread_join(threads->threads[i], NULL);
    }
    release(threads);
}

static struct threads *create(const struct nj_reader_options *options)
{
    struct threads *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    (void)pthread_mutex_init(&made->mutex, NULL); /* with default attributes none can fail */
    (void)pthread_cond_init(&made->work_or_stop, NULL);
    (void)pthread_cond_init(&made->some_done, NULL);
    made->fs = options->fs;
    made->limit = options->limit;
    made->descriptors = calloc((size_t)options->n_files + 1, sizeof *made->descriptors);
    made->waiting.entries = calloc(options->limit, sizeof *made->waiting.entries);
    made->done.entries = calloc(options->limit, sizeof *made->done.entries);
    if (made->descriptors == NULL || made->waiting.entries == NULL ||
        made->done.entries == NULL) {
        release(made);
        return NULL;
    }
    for (uint32_t i = 0; i < options->n_files; i++) {
        made->descriptors[i] = options->descriptors[i];
    }
    return made;
}

static enum nj_status threads_open(void *context, const struct nj_reader_options *options,
                                   void **reader, struct nj_error *err)
{
    (void)context;
    struct threads *made = create(options);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "make reader threads: no memory");
    }
    if (start_thread(made) != 0) {
        release(made);
        return nj_fail(err, NJ_E_MEMORY, "start a reader thread: the system allows no more");
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
