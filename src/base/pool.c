#include "base/pool.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "base/thread.h"

enum {
    MAX_THREADS = 1024,
    /* About 10 microseconds: longer than the gap between two matrices of one layer, short
     * enough that a pool without work leaves the processor to others. */
    SPINS_BEFORE_SLEEP = 500
};

/* A run's progress in one word, so that claiming a piece and checking that its run is still the
 * current one is a single compare-and-swap: run number above, pieces nobody has claimed below.
 */
#define REMAINING_BITS 32

struct worker {
    struct nj_pool *pool;
    pthread_t thread;
    uint32_t thread_index;
};

/* Invariant: function, context and n_pieces change only while no piece is unclaimed or running.
 * A worker that reads them while they change fails its compare-and-swap and forgets them; they
 * are atomic so that this reading is defined. */
struct nj_pool {
    uint32_t n_threads;
    uint32_t n_started;     /* workers to join */
    struct worker *workers; /* n_threads - 1 */

    _Atomic(nj_pool_function *) function;
    _Atomic(void *) context;
    _Atomic uint32_t n_pieces;
    _Atomic uint64_t progress;
    _Atomic uint32_t n_done;
    atomic_bool stopping;

    pthread_mutex_t mutex; /* held for sleeping and waking only, guards no data */
    pthread_cond_t work_or_stop;
    pthread_cond_t all_done;
};

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static bool has_unclaimed(struct nj_pool *pool)
{
    return (uint32_t)atomic_load(&pool->progress) != 0;
}

static bool has_work_or_stops(struct nj_pool *pool)
{
    return has_unclaimed(pool) || atomic_load(&pool->stopping);
}

static bool is_all_done(struct nj_pool *pool)
{
    return atomic_load(&pool->n_done) == atomic_load(&pool->n_pieces);
}

/* Spins for a moment, then sleeps, until `is_so`. Whoever makes it so signals `changed` under
 * the mutex afterwards, so the wake-up cannot fall between the check and the sleep. */
static void wait_until(struct nj_pool *pool, bool (*is_so)(struct nj_pool *),
                       pthread_cond_t *changed)
{
    for (int spin = 0; spin < SPINS_BEFORE_SLEEP; spin++) {
        if (is_so(pool)) {
            return;
        }
        pause_briefly();
    }
    (void)pthread_mutex_lock(&pool->mutex);
    while (!is_so(pool)) {
        (void)pthread_cond_wait(changed, &pool->mutex);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
}

static void wake_all(struct nj_pool *pool, pthread_cond_t *changed)
{
    (void)pthread_mutex_lock(&pool->mutex);
    (void)pthread_cond_broadcast(changed);
    (void)pthread_mutex_unlock(&pool->mutex);
}

/* Claims and runs one piece; false when none is unclaimed. */
static bool run_one_piece(struct nj_pool *pool, uint32_t thread_index)
{
    uint64_t seen = atomic_load(&pool->progress);
    uint32_t remaining;
    uint32_t n_pieces;
    nj_pool_function *function;
    void *context;
    do {
        remaining = (uint32_t)seen;
        if (remaining == 0) {
            return false;
        }
        n_pieces = atomic_load(&pool->n_pieces);
        function = atomic_load(&pool->function);
        context = atomic_load(&pool->context);
    } while (!atomic_compare_exchange_weak(&pool->progress, &seen, seen - 1));
    function(context, n_pieces - remaining, thread_index);
    if (atomic_fetch_add(&pool->n_done, 1) + 1 == n_pieces) {
        wake_all(pool, &pool->all_done);
    }
    return true;
}

static void *work(void *argument)
{
    const struct worker *worker = argument;
    struct nj_pool *pool = worker->pool;
    (void)fesetenv(FE_DFL_ENV);
    while (!atomic_load(&pool->stopping)) {
        while (run_one_piece(pool, worker->thread_index)) {
        }
        wait_until(pool, has_work_or_stops, &pool->work_or_stop);
    }
    return NULL;
}

static enum nj_status start_workers(struct nj_pool *pool, struct nj_error *err)
{
    int error_number = 0;
    while (error_number == 0 && pool->n_started < pool->n_threads - 1) {
        struct worker *worker = &pool->workers[pool->n_started];
        worker->pool = pool;
        worker->thread_index = pool->n_started + 1;
        error_number = nj_thread_start(&worker->thread, work, worker);
        pool->n_started += error_number == 0 ? 1 : 0;
    }
    if (error_number != 0) {
        /* EAGAIN: a limit on threads or memory is reached, whatever the errno says. */
        return nj_fail(err, NJ_E_MEMORY, "start compute thread %u of %u: %s",
                       pool->n_started + 2, pool->n_threads, strerror(error_number));
    }
    return NJ_OK;
}

static uint32_t n_online_cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (n < 1) {
        return 1;
    }
    return n > MAX_THREADS ? MAX_THREADS : (uint32_t)n;
}

enum nj_status nj_pool_create(uint32_t n_threads, struct nj_pool **pool, struct nj_error *err)
{
    if (n_threads > MAX_THREADS) {
        return nj_fail(err, NJ_E_USAGE, "use %u compute threads: at most %d", n_threads,
                       MAX_THREADS);
    }
    struct nj_pool *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "make a thread pool: out of memory");
    }
    made->n_threads = n_threads == 0 ? n_online_cpus() : n_threads;
    (void)pthread_mutex_init(&made->mutex, NULL); /* with default attributes neither can fail */
    (void)pthread_cond_init(&made->work_or_stop, NULL);
    (void)pthread_cond_init(&made->all_done, NULL);
    made->workers = calloc(made->n_threads, sizeof *made->workers);
    enum nj_status status =
        made->workers == NULL
            ? nj_fail(err, NJ_E_MEMORY, "make %u compute threads: out of memory",
                      made->n_threads)
            : start_workers(made, err);
    if (status != NJ_OK) {
        nj_pool_destroy(made);
        return status;
    }
    *pool = made;
    return NJ_OK;
}

void nj_pool_destroy(struct nj_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    atomic_store(&pool->stopping, true);
    wake_all(pool, &pool->work_or_stop);
    for (uint32_t i = 0; i < pool->n_started; i++) {
        (void)pthread_join(pool->workers[i].thread, NULL);
    }
    (void)pthread_cond_destroy(&pool->all_done);
    (void)pthread_cond_destroy(&pool->work_or_stop);
    (void)pthread_mutex_destroy(&pool->mutex);
    free(pool->workers);
    free(pool);
}

uint32_t nj_pool_n_threads(const struct nj_pool *pool)
{
    return pool->n_threads;
}

static void run_on_all(struct nj_pool *pool, uint32_t n_pieces, nj_pool_function *function,
                       void *context)
{
    uint64_t run_number = atomic_load(&pool->progress) >> REMAINING_BITS;
    atomic_store(&pool->function, function);
    atomic_store(&pool->context, context);
    atomic_store(&pool->n_pieces, n_pieces);
    atomic_store(&pool->n_done, 0);
    atomic_store(&pool->progress, (run_number + 1) << REMAINING_BITS | n_pieces);
    wake_all(pool, &pool->work_or_stop);
    while (run_one_piece(pool, 0)) {
    }
    wait_until(pool, is_all_done, &pool->all_done);
}

void nj_pool_run(struct nj_pool *pool, uint32_t n_pieces, nj_pool_function *function,
                 void *context)
{
    fenv_t before;
    (void)fegetenv(&before);
    (void)fesetenv(FE_DFL_ENV); /* also turns off flush-to-zero and denormals-are-zero */
    if (pool->n_threads == 1 || n_pieces <= 1) {
        for (uint32_t piece = 0; piece < n_pieces; piece++) {
            function(context, piece, 0);
        }
    } else {
        run_on_all(pool, n_pieces, function, context);
    }
    (void)fesetenv(&before);
}
