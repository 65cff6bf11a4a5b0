#include "tools/bench_sweep_trace.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LEAST_CAPACITY = 1024, PAGE_BYTES = 4096, HUGE_PAGE_BYTES = 2 << 20 };

/* --- the watched table --- */

static enum nj_status watch_open(void *context, const struct nj_reader_options *options,
                                 void **reader, struct nj_error *err)
{
    struct nj_read_trace *trace = context;
    size_t length = options->n_files * sizeof *trace->descriptors;
    int *descriptors = malloc(length);
    if (descriptors == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "watch reads: out of memory");
    }
    enum nj_status status =
        trace->below->open(trace->below->context, options, &trace->reader, err);
    if (status != NJ_OK) {
        free(descriptors);
        return status;
    }
    memcpy(descriptors, options->descriptors, length);
    trace->descriptors = descriptors;
    trace->n_files = options->n_files;
    trace->fs = options->fs;
    *reader = trace;
    return NJ_OK;
}

static bool has_room(struct nj_read_trace *trace, size_t n_more)
{
    if (trace->n_reads + n_more <= trace->capacity) {
        return true;
    }
    size_t capacity = trace->capacity == 0 ? LEAST_CAPACITY : 2 * trace->capacity;
    while (capacity < trace->n_reads + n_more) {
        capacity *= 2;
    }
    struct nj_traced_read *grown = realloc(trace->reads, capacity * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    trace->reads = grown;
    trace->capacity = capacity;
    return true;
}

static void watch_submit(void *reader, const struct nj_read_request *requests,
                         uint32_t n_requests)
{
    struct nj_read_trace *trace = reader;
    if (trace->is_recording && has_room(trace, n_requests)) {
        for (uint32_t i = 0; i < n_requests; i++) {
            trace->reads[trace->n_reads++] = (struct nj_traced_read){
                requests[i].offset_bytes, requests[i].length_bytes, requests[i].file};
            trace->read_bytes += requests[i].length_bytes;
        }
    } else if (trace->is_recording) {
        trace->is_incomplete = true;
    }
    trace->below->submit(trace->reader, requests, n_requests);
}

static uint32_t watch_reap(void *reader, bool waits, struct nj_read_result *results,
                           uint32_t limit)
{
    struct nj_read_trace *trace = reader;
    return trace->below->reap(trace->reader, waits, results, limit);
}

static void watch_close(void *reader)
{
    struct nj_read_trace *trace = reader;
    trace->below->close(trace->reader);
    trace->reader = NULL;
    free(trace->descriptors);
    trace->descriptors = NULL;
    trace->n_files = 0;
}

void nj_read_trace_init(struct nj_read_trace *trace, const struct nj_reader_table *below)
{
    memset(trace, 0, sizeof *trace);
    trace->below = below;
    trace->table = (struct nj_reader_table){.name = below->name,
                                            .context = trace,
                                            .open = watch_open,
                                            .submit = watch_submit,
                                            .reap = watch_reap,
                                            .close = watch_close};
}

void nj_read_trace_deinit(struct nj_read_trace *trace)
{
    assert(trace->reader == NULL);
    free(trace->reads);
    memset(trace, 0, sizeof *trace);
}

void nj_read_trace_begin(struct nj_read_trace *trace)
{
    trace->n_reads = 0;
    trace->read_bytes = 0;
    trace->is_incomplete = false;
    trace->is_recording = true;
}

enum nj_status nj_read_trace_end(struct nj_read_trace *trace, struct nj_error *err)
{
    trace->is_recording = false;
    return trace->is_incomplete
               ? nj_fail(err, NJ_E_MEMORY, "note down the reads of a sweep: out of memory")
               : NJ_OK;
}

/* --- the same reads alone --- */

struct replay {
    const struct nj_read_trace *trace;
    void *reader;
    uint8_t *memory; /* (depth, slot_bytes) */
    uint64_t slot_bytes;
    size_t n_submitted;
    size_t n_done;
};

static uint64_t largest_read(const struct nj_read_trace *trace)
{
    uint64_t largest = PAGE_BYTES;
    for (size_t i = 0; i < trace->n_reads; i++) {
        if (trace->reads[i].length_bytes > largest) {
            largest = trace->reads[i].length_bytes;
        }
    }
    return (largest + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/* The next read of the trace into buffer `slot`, which is free. */
static void submit_next(struct replay *replay, uint32_t slot)
{
    if (replay->n_submitted == replay->trace->n_reads) {
        return;
    }
    const struct nj_traced_read *read = &replay->trace->reads[replay->n_submitted++];
    const struct nj_read_request request = {.target =
                                                replay->memory + slot * replay->slot_bytes,
                                            .offset_bytes = read->offset_bytes,
                                            .length_bytes = read->length_bytes,
                                            .file = read->file,
                                            .buffer = slot,
                                            .tag = slot};
    replay->trace->below->submit(replay->reader, &request, 1);
}

/* Reads at the end of a file are short: that is no failure. */
static enum nj_status reap_all(struct replay *replay, struct nj_error *err)
{
    const struct nj_reader_table *below = replay->trace->below;
    while (replay->n_done < replay->trace->n_reads) {
        struct nj_read_result results[NJ_REPLAY_MOST_DEPTH];
        uint32_t n = below->reap(replay->reader, true, results, NJ_REPLAY_MOST_DEPTH);
        for (uint32_t i = 0; i < n; i++) {
            if (results[i].result < 0) {
                return nj_fail(err, NJ_E_IO, "read the weights without a sweep: %s",
                               strerror(-results[i].result));
            }
            replay->n_done++;
            submit_next(replay, results[i].tag);
        }
    }
    return NJ_OK;
}

static enum nj_status open_reader(struct replay *replay, uint32_t depth, struct nj_error *err)
{
    const struct nj_read_trace *trace = replay->trace;
    const struct nj_reader_options options = {.fs = trace->fs,
                                              .descriptors = trace->descriptors,
                                              .n_files = trace->n_files,
                                              .limit = depth,
                                              .frames = replay->memory,
                                              .frame_bytes = replay->slot_bytes,
                                              .n_frames = depth};
    return trace->below->open(trace->below->context, &options, &replay->reader, err);
}

/* In huge pages, as the frames of a sweep are: a read of 1 MiB into small ones is 256 pieces to
 * the drive, and was a third as fast. Touched, so that its pages are no part of the time. */
static uint8_t *take_memory(uint64_t bytes)
{
    uint64_t rounded = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    uint8_t *memory = aligned_alloc(HUGE_PAGE_BYTES, rounded);
    if (memory != NULL) {
        (void)madvise(memory, rounded, MADV_HUGEPAGE); /* advice */
        memset(memory, 0, rounded);
    }
    return memory;
}

enum nj_status nj_read_trace_replay(const struct nj_read_trace *trace, uint32_t depth,
                                    const struct nj_clock *clock, uint64_t *elapsed_ns,
                                    struct nj_error *err)
{
    struct replay replay = {.trace = trace, .slot_bytes = largest_read(trace)};
    assert(trace->reader != NULL && depth >= 1 && depth <= NJ_REPLAY_MOST_DEPTH);
    replay.memory = take_memory(depth * replay.slot_bytes);
    if (replay.memory == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "read without a sweep: out of memory");
    }
    enum nj_status status = open_reader(&replay, depth, err);
    if (status != NJ_OK) {
        goto out;
    }
    uint64_t begin_ns = clock->monotonic_ns(clock->context);
    for (uint32_t slot = 0; slot < depth; slot++) {
        submit_next(&replay, slot);
    }
    status = reap_all(&replay, err);
    *elapsed_ns = clock->monotonic_ns(clock->context) - begin_ns;
    trace->below->close(replay.reader);
out:
    free(replay.memory);
    return status;
}

void nj_read_trace_drop_cache(const struct nj_read_trace *trace)
{
    for (uint32_t i = 0; i < trace->n_files; i++) {
        (void)posix_fadvise(trace->descriptors[i], 0, 0, POSIX_FADV_DONTNEED); /* advice */
    }
}
