#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/checked.h"
#include "stream/body.h"
#include "stream/weight_block.h"

enum {
    RECORD_ALIGNMENT_BYTES = 64, /* a cache line, so that no two records share one */
    PAGE_BYTES = 4096
};

/* All records, one behind the other in file order, in one block paid for in the budget. */
struct memory {
    struct nj_weight_block block;
    uint64_t *places; /* (n_records) offset of each record in the block */
    uint64_t read_bytes;
    uint64_t n_reads;
};

/* --- the order of reading --- */

struct planned_read {
    struct nj_extent extent;
    uint32_t record;
};

static int compare_reads(const void *a, const void *b)
{
    const struct planned_read *left = a;
    const struct planned_read *right = b;
    if (left->extent.file != right->extent.file) {
        return left->extent.file < right->extent.file ? -1 : 1;
    }
    if (left->extent.offset_bytes != right->extent.offset_bytes) {
        return left->extent.offset_bytes < right->extent.offset_bytes ? -1 : 1;
    }
    return (left->record > right->record) - (left->record < right->record);
}

/* The records as reads in file order; the caller frees the array. NULL without memory. */
static struct planned_read *plan_reads(const struct nj_stream_options *options)
{
    struct planned_read *reads = calloc((size_t)options->n_records + 1, sizeof *reads);
    if (reads == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < options->n_records; i++) {
        reads[i] = (struct planned_read){options->extents[i], i};
    }
    qsort(reads, options->n_records, sizeof *reads, compare_reads);
    return reads;
}

static enum nj_status fail_too_large(struct nj_error *err)
{
    return nj_fail(err, NJ_E_BUDGET, "hold the weights in memory: sizes overflow");
}

/* Finds the place of the next record behind `*end_bytes`, which moves to the record's end. */
static enum nj_status place_next(uint64_t length_bytes, uint64_t *end_bytes, uint64_t *place,
                                 struct nj_error *err)
{
    if (!nj_round_up_u64(*end_bytes, RECORD_ALIGNMENT_BYTES, place) ||
        !nj_add_u64(*place, length_bytes, end_bytes)) {
        return fail_too_large(err);
    }
    return NJ_OK;
}

static enum nj_status block_length(uint64_t end_bytes, uint64_t *block_bytes,
                                   struct nj_error *err)
{
    if (!nj_round_up_u64(end_bytes, PAGE_BYTES, block_bytes) || *block_bytes > SIZE_MAX) {
        return fail_too_large(err);
    }
    return NJ_OK;
}

/* Gives each record its place in the block and the block its length. */
static enum nj_status lay_out(struct memory *memory, const struct planned_read *reads,
                              uint32_t n_records, uint64_t *block_bytes, struct nj_error *err)
{
    uint64_t end_bytes = 0;
    for (uint32_t i = 0; i < n_records; i++) {
        enum nj_status status = place_next(reads[i].extent.length_bytes, &end_bytes,
                                           &memory->places[reads[i].record], err);
        if (status != NJ_OK) {
            return status;
        }
    }
    return block_length(end_bytes, block_bytes, err);
}

/* The order of the records does not matter for the sum: each begins lined up. */
enum nj_status nj_stream_memory_measure(const struct nj_stream_options *options,
                                        uint64_t *bytes, struct nj_error *err)
{
    uint64_t end_bytes = 0;
    uint64_t place = 0;
    for (uint32_t i = 0; i < options->n_records; i++) {
        enum nj_status status =
            place_next(options->extents[i].length_bytes, &end_bytes, &place, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    return block_length(end_bytes, bytes, err);
}

/* --- memory --- */

static void memory_close(void *state)
{
    struct memory *memory = state;
    nj_weight_block_give_back(&memory->block);
    free(memory->places);
    free(memory);
}

/* --- reading --- */

/* Whatever the system calls it, a model file that cannot be read is a fault of the model. The
 * sentence already there stays. */
static enum nj_status fail_as_weights(struct nj_error *err)
{
    if (err != NULL) {
        err->status = NJ_E_WEIGHTS;
    }
    return NJ_E_WEIGHTS;
}

static enum nj_status open_file(const struct nj_file_system *fs,
                                const struct nj_stream_file *file, int *fd,
                                struct nj_error *err)
{
    uint64_t length_bytes = 0;
    int opened = -1;
    enum nj_status status = nj_file_open_read(fs, AT_FDCWD, file->path, &opened, err);
    if (status != NJ_OK) {
        return fail_as_weights(err);
    }
    status = nj_file_length(fs, opened, &length_bytes, err);
    if (status != NJ_OK) {
        status = nj_prefix(err, NJ_E_WEIGHTS, "%s", file->path);
    } else if (length_bytes != file->length_bytes) {
        status = nj_fail(err, NJ_E_WEIGHTS,
                         "%s: has %" PRIu64 " bytes, wanted the %" PRIu64
                         " it had when its header was read",
                         file->path, length_bytes, file->length_bytes);
    }
    if (status != NJ_OK) {
        (void)fs->close(fs->context, opened); /* nothing was written through it */
        return status;
    }
    *fd = opened;
    return NJ_OK;
}

static enum nj_status read_record(struct memory *memory,
                                  const struct nj_stream_options *options, int fd,
                                  const struct planned_read *read, struct nj_error *err)
{
    const struct nj_extent *extent = &read->extent;
    uint8_t *place = memory->block.bytes + memory->places[read->record];
    enum nj_status status =
        nj_file_read_exactly(options->fs, fd, place, (size_t)extent->length_bytes,
                             extent->offset_bytes, options->files[extent->file].path, err);
    if (status != NJ_OK) {
        return fail_as_weights(err);
    }
    memory->read_bytes += extent->length_bytes;
    memory->n_reads++;
    if (options->check == NULL) {
        return NJ_OK;
    }
    return options->check(options->check_context, read->record, place, extent->length_bytes,
                          err);
}

/* Reads the records of one file, which are `reads[*next]` and those behind it. */
static enum nj_status read_file(struct memory *memory, const struct nj_stream_options *options,
                                uint32_t file, const struct planned_read *reads, uint32_t *next,
                                struct nj_error *err)
{
    const struct nj_file_system *fs = options->fs;
    int fd = -1;
    enum nj_status status = open_file(fs, &options->files[file], &fd, err);
    if (status != NJ_OK) {
        return status;
    }
    while (status == NJ_OK && *next < options->n_records && reads[*next].extent.file == file) {
        status = read_record(memory, options, fd, &reads[*next], err);
        *next += 1;
    }
    (void)fs->close(fs->context, fd); /* nothing was written through it */
    return status;
}

/* Files without records are opened too: their length must be what the index saw. */
static enum nj_status read_files(struct memory *memory, const struct nj_stream_options *options,
                                 const struct planned_read *reads, struct nj_error *err)
{
    uint32_t next = 0;
    enum nj_status status = NJ_OK;
    for (uint32_t file = 0; file < options->n_files && status == NJ_OK; file++) {
        status = read_file(memory, options, file, reads, &next, err);
    }
    assert(status != NJ_OK || next == options->n_records);
    return status;
}

/* --- the body --- */

static void memory_want(void *state, const uint32_t *records, uint32_t n_records)
{
    /* Everything is here already. */
    (void)state;
    (void)records;
    (void)n_records;
}

static void memory_forget(void *state)
{
    (void)state; /* nothing is kept for those who want it */
}

static enum nj_status memory_pin(void *state, uint32_t record, struct nj_pinned *pinned,
                                 struct nj_error *err)
{
    const struct memory *memory = state;
    (void)err; /* what is in memory cannot fail to arrive */
    pinned->bytes = memory->block.bytes + memory->places[record];
    pinned->device = 0;
    return NJ_OK;
}

static void memory_unpin(void *state, uint32_t record)
{
    /* Nothing is ever evicted. */
    (void)state;
    (void)record;
}

static enum nj_status memory_check_files(const void *state, struct nj_error *err)
{
    (void)state; /* no file is open any more */
    (void)err;
    return NJ_OK;
}

static enum nj_status memory_accept_files(void *state, struct nj_error *err)
{
    return memory_check_files(state, err);
}

static void memory_report(const void *state, struct nj_stream_report *report)
{
    const struct memory *memory = state;
    *report = (struct nj_stream_report){
        .read_bytes = memory->read_bytes, .n_reads = memory->n_reads, .reader = "memory"};
}

static enum nj_status fill(struct memory *memory, const struct nj_stream_options *options,
                           const struct planned_read *reads, struct nj_error *err)
{
    uint64_t block_bytes = 0;
    enum nj_status status = lay_out(memory, reads, options->n_records, &block_bytes, err);
    if (status == NJ_OK) {
        status = nj_weight_block_take(&memory->block, block_bytes, options->budget,
                                      "hold the weights in memory", err);
    }
    if (status == NJ_OK) {
        status = read_files(memory, options, reads, err);
    }
    return status;
}

enum nj_status nj_stream_memory_open(const struct nj_stream_options *options,
                                     struct nj_stream_body *body, struct nj_error *err)
{
    struct memory *memory = calloc(1, sizeof *memory);
    struct planned_read *reads = plan_reads(options);
    if (memory != NULL) {
        memory->places = calloc((size_t)options->n_records + 1, sizeof *memory->places);
    }
    enum nj_status status = NJ_OK;
    if (memory == NULL || reads == NULL || memory->places == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "list %" PRIu32 " records: no memory",
                         options->n_records);
    } else {
        status = fill(memory, options, reads, err);
    }
    free(reads);
    if (status != NJ_OK) {
        if (memory != NULL) {
            memory_close(memory);
        }
        return status;
    }
    *body = (struct nj_stream_body){
        .state = memory,
        .close = memory_close,
        .n_pinnable = UINT32_MAX,
        .want = memory_want,
        .forget = memory_forget,
        .pin = memory_pin,
        .unpin = memory_unpin,
        .check_files = memory_check_files,
        .accept_files = memory_accept_files,
        .report = memory_report,
    };
    return NJ_OK;
}
