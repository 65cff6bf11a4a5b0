/* The kernel's ring: requests and results are entries in memory shared with it, so that a read
 * costs no thread, and one system call serves many.
 *
 * Descriptors are registered, and a frame's memory when it is first read into; where either is
 * refused (registered memory is locked, and plain users may lock little) the plain form of the
 * request does the same. */
#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "stream/reader.h"

enum {
    MAX_BUFFERS = 16384, /* the kernel's own limit */
    MAX_SUBMIT_TRIES = 1000,
    PAUSE_NS = 1000000
};

enum buffer_state { BUFFER_NEW, BUFFER_REGISTERED, BUFFER_REFUSED };

struct ring {
    struct io_uring ring;
    int *descriptors; /* (n_files) */
    bool has_registered_files;
    uint8_t *frames;
    uint64_t frame_bytes;
    uint32_t n_buffers; /* 0: none is registered any more, or never was */
    uint8_t *buffers;   /* (n_buffers) enum buffer_state */
    uint32_t limit;
    uint8_t *is_open; /* (limit) by tag: submitted, its result not yet given back */
    uint32_t n_open;
    int broken_errno; /* the ring takes nothing any more; 0: it does */
    uint32_t n_stuck; /* open requests that the kernel never took */
};

/* --- registering --- */

/* Kernels before 5.19 know no sparse table; all plain then. */
static void prepare_buffers(struct ring *ring, const struct nj_reader_options *options)
{
    if (options->n_frames == 0 || options->n_frames > MAX_BUFFERS ||
        io_uring_register_buffers_sparse(&ring->ring, options->n_frames) != 0) {
        return;
    }
    ring->buffers = calloc(options->n_frames, sizeof *ring->buffers);
    ring->n_buffers = ring->buffers == NULL ? 0 : options->n_frames;
}

/* Registers a frame when it is first used, so that opening does not touch all of memory. */
static bool has_registered_buffer(struct ring *ring, uint32_t buffer)
{
    if (buffer >= ring->n_buffers) {
        return false;
    }
    if (ring->buffers[buffer] != BUFFER_NEW) {
        return ring->buffers[buffer] == BUFFER_REGISTERED;
    }
    struct iovec frame = {ring->frames + buffer * ring->frame_bytes, ring->frame_bytes};
    __u64 tag = 0;
    bool is_taken =
        io_uring_register_buffers_update_tag(&ring->ring, buffer, &frame, &tag, 1) == 1;
    ring->buffers[buffer] = is_taken ? BUFFER_REGISTERED : BUFFER_REFUSED;
    return is_taken;
}

/* --- submitting --- */

static void prepare(struct ring *ring, const struct nj_read_request *request)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&ring->ring);
    assert(entry != NULL && request->tag < ring->limit && !ring->is_open[request->tag]);
    int fd = ring->has_registered_files ? (int)request->file : ring->descriptors[request->file];
    if (has_registered_buffer(ring, request->buffer)) {
        io_uring_prep_read_fixed(entry, fd, request->target, request->length_bytes,
                                 request->offset_bytes, (int)request->buffer);
    } else {
        io_uring_prep_read(entry, fd, request->target, request->length_bytes,
                           request->offset_bytes);
    }
    if (ring->has_registered_files) {
        entry->flags |= IOSQE_FIXED_FILE;
    }
    io_uring_sqe_set_data64(entry, request->tag);
}

static bool is_passing(int error_number)
{
    return error_number == EAGAIN || error_number == EBUSY || error_number == EINTR;
}

/* Hands everything prepared to the kernel. What it refuses for the moment is handed over later,
 * by reap. Any other refusal is for good. */
static void hand_over(struct ring *ring)
{
    while (ring->broken_errno == 0 && io_uring_sq_ready(&ring->ring) > 0) {
        int n = io_uring_submit(&ring->ring);
        if (n == -EINTR) {
            continue;
        }
        if (n < 0 && !is_passing(-n)) {
            ring->broken_errno = -n;
            ring->n_stuck = io_uring_sq_ready(&ring->ring);
        }
        if (n <= 0) {
            return;
        }
    }
}

static void ring_submit(void *reader, const struct nj_read_request *requests,
                        uint32_t n_requests)
{
    struct ring *ring = reader;
    for (uint32_t i = 0; i < n_requests; i++) {
        if (ring->broken_errno == 0) {
            prepare(ring, &requests[i]);
        } else {
            ring->n_stuck++;
        }
        ring->is_open[requests[i].tag] = 1;
        ring->n_open++;
    }
    hand_over(ring);
}

/* --- reaping --- */

static uint32_t n_in_kernel(const struct ring *ring)
{
    uint32_t n_outside =
        ring->broken_errno != 0 ? ring->n_stuck : io_uring_sq_ready(&ring->ring);
    return ring->n_open - n_outside;
}

/* The kernel has nothing of ours and takes nothing: waits for it, but not for ever. */
static void wait_to_hand_over(struct ring *ring)
{
    const struct timespec pause = {0, PAUSE_NS};
    for (int i = 0; i < MAX_SUBMIT_TRIES && ring->broken_errno == 0; i++) {
        hand_over(ring);
        if (n_in_kernel(ring) > 0) {
            return;
        }
        (void)nanosleep(&pause, NULL); /* cut short by a signal, it is tried earlier */
    }
    if (ring->broken_errno == 0) {
        ring->broken_errno = EAGAIN;
        ring->n_stuck = io_uring_sq_ready(&ring->ring);
    }
}

/* Once all that the kernel took has come back, what is still open is stuck. */
static uint32_t give_back_stuck(struct ring *ring, struct nj_read_result *results,
                                uint32_t limit)
{
    uint32_t n = 0;
    for (uint32_t tag = 0; tag < ring->limit && n < limit; tag++) {
        if (ring->is_open[tag]) {
            results[n++] = (struct nj_read_result){tag, -ring->broken_errno};
            ring->is_open[tag] = 0;
        }
    }
    ring->n_open -= n;
    ring->n_stuck -= n;
    return n;
}

static uint32_t take_completions(struct ring *ring, struct nj_read_result *results,
                                 uint32_t limit)
{
    struct io_uring_cqe *completion = NULL;
    uint32_t n = 0;
    while (n < limit && io_uring_peek_cqe(&ring->ring, &completion) == 0) {
        uint32_t tag = (uint32_t)io_uring_cqe_get_data64(completion);
        results[n++] = (struct nj_read_result){tag, completion->res};
        io_uring_cqe_seen(&ring->ring, completion);
        ring->is_open[tag] = 0;
    }
    ring->n_open -= n;
    return n;
}

static uint32_t ring_reap(void *reader, bool waits, struct nj_read_result *results,
                          uint32_t limit)
{
    struct ring *ring = reader;
    hand_over(ring);
    if (waits && n_in_kernel(ring) == 0) {
        wait_to_hand_over(ring);
    }
    if (ring->broken_errno != 0 && n_in_kernel(ring) == 0) {
        return give_back_stuck(ring, results, limit);
    }
    uint32_t n = take_completions(ring, results, limit);
    while (waits && n == 0) {
        struct io_uring_cqe *completion = NULL;
        (void)io_uring_wait_cqe(&ring->ring, &completion); /* a signal: look and wait again */
        n = take_completions(ring, results, limit);
    }
    return n;
}

/* --- open and close --- */

static void release(struct ring *ring)
{
    free(ring->is_open);
    free(ring->buffers);
    free(ring->descriptors);
    free(ring);
}

static void ring_close(void *reader)
{
    struct ring *ring = reader;
    struct nj_read_result result;
    /* What was never handed over stays unread; the kernel may still write into the rest. */
    while (n_in_kernel(ring) > 0) {
        struct io_uring_cqe *completion = NULL;
        (void)io_uring_wait_cqe(&ring->ring, &completion);
        (void)take_completions(ring, &result, 1);
    }
    io_uring_queue_exit(&ring->ring);
    release(ring);
}

static struct ring *create(const struct nj_reader_options *options)
{
    struct ring *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->frames = options->frames;
    made->frame_bytes = options->frame_bytes;
    made->limit = options->limit;
    made->descriptors = calloc((size_t)options->n_files + 1, sizeof *made->descriptors);
    made->is_open = calloc(options->limit, sizeof *made->is_open);
    if (made->descriptors == NULL || made->is_open == NULL) {
        release(made);
        return NULL;
    }
    for (uint32_t i = 0; i < options->n_files; i++) {
        made->descriptors[i] = options->descriptors[i];
    }
    return made;
}

static enum nj_status ring_open(void *context, const struct nj_reader_options *options,
                                void **reader, struct nj_error *err)
{
    (void)context;
    struct ring *made = create(options);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "make a ring: no memory");
    }
    int result = io_uring_queue_init(options->limit, &made->ring, 0);
    if (result < 0) {
        release(made);
        return nj_fail(err, NJ_E_IO, "make a ring (io_uring): %s", strerror(-result));
    }
    made->has_registered_files =
        options->n_files > 0 &&
        io_uring_register_files(&made->ring, made->descriptors, options->n_files) == 0;
    prepare_buffers(made, options);
    *reader = made;
    return NJ_OK;
}

const struct nj_reader_table *nj_reader_ring(void)
{
    static const struct nj_reader_table table = {
        .name = "ring",
        .open = ring_open,
        .submit = ring_submit,
        .reap = ring_reap,
        .close = ring_close,
    };
    return &table;
}
