#include "identity/wide_stream.h"

#include <stdlib.h>
#include <string.h>

#include "identity/subject.h"
#include "stream/stream.h"

/* Larger records than an expert's. */
enum { POOLED_BYTES = NJ_RECORD_LIMIT_BYTES / 8 };

struct held_record {
    uint8_t *bytes;
    uint32_t n_pins;
};

struct nj_stream {
    struct nj_extent *extents;
    struct held_record *records;
    uint32_t n_records;
    uint8_t *spare; /* of the limit's size: fresh pages would cost as much as drawing */
};

static const struct wide_model *source;
static struct wide_stream_report report;

void wide_stream_use(const struct wide_model *model)
{
    source = model;
    report = (struct wide_stream_report){0};
}

struct wide_stream_report wide_stream_report(void)
{
    return report;
}

static void *copy(const void *from, size_t n_bytes)
{
    void *made = malloc(n_bytes);
    if (made == NULL) {
        subject_die("memory", "none left");
    }
    return from == NULL ? memset(made, 0, n_bytes) : memcpy(made, from, n_bytes);
}

enum nj_status nj_stream_open(const struct nj_stream_options *options,
                              struct nj_stream **stream, struct nj_error *err)
{
    size_t n = options->n_records;
    for (uint32_t i = 0; i < options->n_files; i++) {
        if (i >= WIDE_SHARDS || options->files[i].length_bytes != source->file_bytes[i]) {
            return nj_fail(err, NJ_E_WEIGHTS, "%s is not shard %u", options->files[i].path, i);
        }
    }
    struct nj_stream *made = copy(NULL, sizeof *made);
    made->extents = copy(options->extents, n * sizeof *made->extents);
    made->records = copy(NULL, n * sizeof *made->records);
    made->n_records = options->n_records;
    *stream = made;
    return NJ_OK;
}

void nj_stream_close(struct nj_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    for (uint32_t i = 0; i < stream->n_records; i++) {
        free(stream->records[i].bytes);
    }
    free(stream->spare);
    free(stream->records);
    free(stream->extents);
    free(stream);
}

void nj_stream_want(struct nj_stream *stream, const uint32_t *records, uint32_t n_records)
{
    /* Nothing is faster for being known beforehand. */
    (void)stream;
    (void)records;
    (void)n_records;
}

void nj_stream_forget(struct nj_stream *stream)
{
    (void)stream; /* nothing was remembered */
}

static uint8_t *take_buffer(struct nj_stream *stream, uint64_t length_bytes)
{
    uint8_t *bytes = stream->spare;
    if (length_bytes < POOLED_BYTES) {
        return copy(NULL, length_bytes);
    }
    stream->spare = NULL;
    return bytes != NULL ? bytes : copy(NULL, NJ_RECORD_LIMIT_BYTES);
}

static void give_buffer_back(struct nj_stream *stream, uint8_t *bytes, uint64_t length_bytes)
{
    if (length_bytes >= POOLED_BYTES && stream->spare == NULL) {
        stream->spare = bytes;
    } else {
        free(bytes);
    }
}

static uint8_t *draw(struct nj_stream *stream, const struct nj_extent *extent)
{
    const struct wide_tensor *tensor =
        wide_model_find(source, extent->file, extent->offset_bytes);
    if (tensor == NULL) {
        subject_die("wide stream", "a record outside all tensors");
    }
    uint8_t *bytes = take_buffer(stream, extent->length_bytes);
    wide_tensor_draw(tensor, extent->offset_bytes - tensor->begin_bytes, extent->length_bytes,
                     bytes);
    report.drawn_bytes += extent->length_bytes;
    report.held_bytes += extent->length_bytes;
    if (report.peak_bytes < report.held_bytes) {
        report.peak_bytes = report.held_bytes;
    }
    return bytes;
}

enum nj_status nj_stream_pin(struct nj_stream *stream, uint32_t record,
                             struct nj_pinned *pinned, struct nj_error *err)
{
    struct held_record *held = &stream->records[record];
    (void)err;
    if (held->n_pins++ == 0) {
        held->bytes = draw(stream, &stream->extents[record]);
    }
    report.n_pins += 1;
    *pinned = (struct nj_pinned){.bytes = held->bytes};
    return NJ_OK;
}

void nj_stream_unpin(struct nj_stream *stream, uint32_t record)
{
    struct held_record *held = &stream->records[record];
    if (--held->n_pins == 0) {
        uint64_t length_bytes = stream->extents[record].length_bytes;
        report.held_bytes -= length_bytes;
        give_buffer_back(stream, held->bytes, length_bytes);
        held->bytes = NULL;
    }
}

/* There are no files that could be written to. */
enum nj_status nj_stream_check_files(const struct nj_stream *stream, struct nj_error *err)
{
    (void)stream;
    (void)err;
    return NJ_OK;
}

enum nj_status nj_stream_accept_files(struct nj_stream *stream, struct nj_error *err)
{
    return nj_stream_check_files(stream, err);
}

uint32_t nj_stream_n_pinnable(const struct nj_stream *stream)
{
    (void)stream;
    return UINT32_MAX;
}

void nj_stream_report(const struct nj_stream *stream, struct nj_stream_report *told)
{
    (void)stream;
    *told = (struct nj_stream_report){.read_bytes = report.drawn_bytes, .reader = "drawn"};
}

uint64_t nj_stream_read_bytes(const struct nj_stream *stream)
{
    (void)stream;
    return report.drawn_bytes;
}
