#include "snapshot/slot_lanes.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Counts since the sweep began; window i lies in memory i % n_windows.
 *
 * Invariant: n_written <= n_left <= n_entered <= n_read <= n_written + n_windows, and n_entered
 * is at most one more than n_left. The lock guards all below it but the windows' values. */
struct nj_slot_lanes {
    struct nj_slot_work work;
    struct nj_slot_window *windows;
    uint32_t n_windows;
    float *memory;
    pthread_t reader;
    pthread_t writer;
    bool has_reader;
    bool has_writer;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ends; /* the threads do */
    bool is_sweeping;
    bool is_all_read;
    bool is_reading;
    bool is_writing;
    uint64_t n_read;
    uint64_t n_entered;
    uint64_t n_left;
    uint64_t n_written;
    enum nj_status status; /* of the sweep */
    struct nj_error error;
    bool wants_commit; /* until it is done */
    enum nj_status commit_status;
    struct nj_error commit_error;
};

static void lock(struct nj_slot_lanes *lanes)
{
    (void)pthread_mutex_lock(&lanes->lock); /* fails only on misuse */
}

static void unlock(struct nj_slot_lanes *lanes)
{
    (void)pthread_mutex_unlock(&lanes->lock);
}

static void tell(struct nj_slot_lanes *lanes)
{
    (void)pthread_cond_broadcast(&lanes->changed);
}

static void wait_for_change(struct nj_slot_lanes *lanes)
{
    (void)pthread_cond_wait(&lanes->changed, &lanes->lock);
}

static struct nj_slot_window *window_of(struct nj_slot_lanes *lanes, uint64_t number)
{
    return &lanes->windows[number % lanes->n_windows];
}

static void note_failure(struct nj_slot_lanes *lanes, enum nj_status status,
                         const struct nj_error *error)
{
    if (lanes->status == NJ_OK) {
        lanes->status = status;
        lanes->error = *error;
    }
}

/* --- the reader --- */

static bool may_read(const struct nj_slot_lanes *lanes)
{
    return lanes->is_sweeping && !lanes->is_all_read && lanes->status == NJ_OK &&
           lanes->n_read - lanes->n_written < lanes->n_windows;
}

/* The lock is held, but not while reading. */
static void read_next(struct nj_slot_lanes *lanes)
{
    struct nj_error error;
    struct nj_slot_window *window = window_of(lanes, lanes->n_read);
    if (!lanes->work.next(lanes->work.context, window)) {
        lanes->is_all_read = true;
        return;
    }
    lanes->is_reading = true;
    unlock(lanes);
    enum nj_status status = lanes->work.read(lanes->work.context, window, &error);
    lock(lanes);
    lanes->is_reading = false;
    if (status == NJ_OK) {
        lanes->n_read += 1;
    } else {
        note_failure(lanes, status, &error);
    }
}

static void *read_windows(void *context)
{
    struct nj_slot_lanes *lanes = context;
    lock(lanes);
    while (!lanes->ends) {
        if (may_read(lanes)) {
            read_next(lanes);
            tell(lanes);
        } else {
            wait_for_change(lanes);
        }
    }
    unlock(lanes);
    return NULL;
}

/* --- the writer --- */

static bool may_write(const struct nj_slot_lanes *lanes)
{
    return lanes->is_sweeping && lanes->status == NJ_OK && lanes->n_written < lanes->n_left;
}

static void write_next(struct nj_slot_lanes *lanes)
{
    struct nj_error error;
    const struct nj_slot_window *window = window_of(lanes, lanes->n_written);
    lanes->is_writing = true;
    unlock(lanes);
    enum nj_status status = lanes->work.write(lanes->work.context, window, &error);
    lock(lanes);
    lanes->is_writing = false;
    if (status == NJ_OK) {
        lanes->n_written += 1;
    } else {
        note_failure(lanes, status, &error);
    }
}

/* A failed one stays: what it should have made durable is no longer known to be anywhere, so
 * the slots before it, which later writes would replace, are the last that are whole. */
static void commit(struct nj_slot_lanes *lanes)
{
    struct nj_error error;
    unlock(lanes);
    enum nj_status status = lanes->work.commit(lanes->work.context, &error);
    lock(lanes);
    if (status != NJ_OK) {
        lanes->commit_status = status;
        lanes->commit_error = error;
        note_failure(lanes, status, &error);
    }
    lanes->wants_commit = false;
}

static void *write_windows(void *context)
{
    struct nj_slot_lanes *lanes = context;
    lock(lanes);
    for (;;) {
        if (lanes->wants_commit) {
            commit(lanes);
            tell(lanes);
        } else if (lanes->ends) {
            break;
        } else if (may_write(lanes)) {
            write_next(lanes);
            tell(lanes);
        } else {
            wait_for_change(lanes);
        }
    }
    unlock(lanes);
    return NULL;
}

/* --- creation --- */

static enum nj_status take_memory(struct nj_slot_lanes *lanes, uint64_t window_bytes,
                                  struct nj_error *err)
{
    uint64_t window_values = (window_bytes + sizeof(float) - 1) / sizeof(float);
    lanes->windows = calloc(lanes->n_windows, sizeof *lanes->windows);
    lanes->memory = calloc(lanes->n_windows, window_values * sizeof *lanes->memory);
    if (lanes->windows == NULL || lanes->memory == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "%u windows of %llu bytes for states: out of memory",
                       lanes->n_windows, (unsigned long long)window_bytes);
    }
    for (uint32_t i = 0; i < lanes->n_windows; i++) {
        lanes->windows[i].values = lanes->memory + i * window_values;
    }
    return NJ_OK;
}

static enum nj_status start(pthread_t *thread, bool *has_thread, void *(*work)(void *),
                            struct nj_slot_lanes *lanes, struct nj_error *err)
{
    int problem = pthread_create(thread, NULL, work, lanes);
    if (problem != 0) {
        return nj_fail(err, NJ_E_MEMORY, "start a thread that moves states: %s",
                       strerror(problem));
    }
    *has_thread = true;
    return NJ_OK;
}

enum nj_status nj_slot_lanes_create(const struct nj_slot_work *work, uint32_t n_windows,
                                    uint64_t window_bytes, struct nj_slot_lanes **lanes,
                                    struct nj_error *err)
{
    assert(n_windows >= 2);
    struct nj_slot_lanes *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "move states: out of memory");
    }
    made->work = *work;
    made->n_windows = n_windows;
    /* With default attributes these cannot fail on Linux. */
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_cond_init(&made->changed, NULL);
    enum nj_status status = take_memory(made, window_bytes, err);
    if (status == NJ_OK) {
        status = start(&made->reader, &made->has_reader, read_windows, made, err);
    }
    if (status == NJ_OK) {
        status = start(&made->writer, &made->has_writer, write_windows, made, err);
    }
    if (status != NJ_OK) {
        nj_slot_lanes_destroy(made);
        return status;
    }
    *lanes = made;
    return NJ_OK;
}

void nj_slot_lanes_destroy(struct nj_slot_lanes *lanes)
{
    if (lanes == NULL) {
        return;
    }
    lock(lanes);
    lanes->ends = true;
    tell(lanes);
    unlock(lanes);
    if (lanes->has_reader) {
        (void)pthread_join(lanes->reader, NULL); /* fails only on misuse */
    }
    if (lanes->has_writer) {
        (void)pthread_join(lanes->writer, NULL);
    }
    (void)pthread_cond_destroy(&lanes->changed);
    (void)pthread_mutex_destroy(&lanes->lock);
    free(lanes->windows);
    free(lanes->memory);
    free(lanes);
}

/* --- a sweep --- */

void nj_slot_lanes_begin(struct nj_slot_lanes *lanes)
{
    lock(lanes);
    assert(!lanes->is_sweeping && !lanes->is_reading && !lanes->is_writing);
    lanes->n_read = 0;
    lanes->n_entered = 0;
    lanes->n_left = 0;
    lanes->n_written = 0;
    lanes->is_all_read = false;
    lanes->status = lanes->commit_status;
    lanes->error = lanes->commit_error;
    lanes->is_sweeping = true;
    tell(lanes);
    unlock(lanes);
}

static enum nj_status failure(const struct nj_slot_lanes *lanes, struct nj_error *err)
{
    return lanes->status == NJ_OK ? NJ_OK
                                  : nj_fail(err, lanes->status, "%s", lanes->error.text);
}

enum nj_status nj_slot_lanes_enter(struct nj_slot_lanes *lanes, struct nj_slot_window *window,
                                   struct nj_error *err)
{
    lock(lanes);
    assert(lanes->is_sweeping && lanes->n_entered == lanes->n_left);
    while (lanes->status == NJ_OK && lanes->n_read == lanes->n_entered) {
        assert(!lanes->is_all_read); /* the sweep asks for no more than there is */
        wait_for_change(lanes);
    }
    enum nj_status status = failure(lanes, err);
    if (status == NJ_OK) {
        *window = *window_of(lanes, lanes->n_entered);
        lanes->n_entered += 1;
    }
    unlock(lanes);
    return status;
}

void nj_slot_lanes_leave(struct nj_slot_lanes *lanes)
{
    lock(lanes);
    assert(lanes->n_entered == lanes->n_left + 1);
    lanes->n_left += 1;
    tell(lanes);
    unlock(lanes);
}

enum nj_status nj_slot_lanes_end(struct nj_slot_lanes *lanes, struct nj_error *err)
{
    lock(lanes);
    while (lanes->status == NJ_OK && lanes->n_written < lanes->n_left) {
        wait_for_change(lanes);
    }
    enum nj_status status = failure(lanes, err);
    if (status == NJ_OK) {
        lanes->is_sweeping = false;
    }
    unlock(lanes);
    return status;
}

void nj_slot_lanes_abandon(struct nj_slot_lanes *lanes)
{
    lock(lanes);
    lanes->is_sweeping = false;
    while (lanes->is_reading || lanes->is_writing) {
        wait_for_change(lanes);
    }
    unlock(lanes);
}

/* --- commits --- */

void nj_slot_lanes_commit(struct nj_slot_lanes *lanes)
{
    lock(lanes);
    assert(!lanes->is_sweeping && !lanes->wants_commit);
    lanes->wants_commit = lanes->commit_status == NJ_OK;
    tell(lanes);
    unlock(lanes);
}

bool nj_slot_lanes_is_committing(struct nj_slot_lanes *lanes)
{
    lock(lanes);
    bool is_committing = lanes->wants_commit;
    unlock(lanes);
    return is_committing;
}

enum nj_status nj_slot_lanes_settle(struct nj_slot_lanes *lanes, struct nj_error *err)
{
    lock(lanes);
    while (lanes->wants_commit) {
        wait_for_change(lanes);
    }
    enum nj_status status =
        lanes->commit_status == NJ_OK
            ? NJ_OK
            : nj_fail(err, lanes->commit_status, "%s", lanes->commit_error.text);
    unlock(lanes);
    return status;
}
