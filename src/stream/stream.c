#include "stream/stream.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "stream/body.h"

/* Invariant: n_pinned is the sum of pin_counts. */
struct nj_stream {
    struct nj_stream_body body;
    uint32_t n_records;
    uint32_t *pin_counts; /* (n_records) */
    uint64_t n_pinned;
};

/* An extent comes from headers that were checked against the file; one that does not fit was
 * put together wrongly, and reading it would hand out the neighbour's bytes. */
static enum nj_status check_extent(const struct nj_stream_options *options, uint32_t record,
                                   struct nj_error *err)
{
    const struct nj_extent *extent = &options->extents[record];
    if (extent->file >= options->n_files) {
        return nj_fail(err, NJ_E_INTERNAL, "record %" PRIu32 ": file %" PRIu32 " of %" PRIu32,
                       record, extent->file, options->n_files);
    }
    const struct nj_stream_file *file = &options->files[extent->file];
    if (extent->length_bytes == 0 || extent->length_bytes > NJ_RECORD_LIMIT_BYTES ||
        extent->offset_bytes > file->length_bytes ||
        extent->length_bytes > file->length_bytes - extent->offset_bytes) {
        return nj_fail(err, NJ_E_INTERNAL,
                       "record %" PRIu32 ": %" PRIu64 " bytes at offset %" PRIu64
                       " of %s, which has %" PRIu64,
                       record, extent->length_bytes, extent->offset_bytes, file->path,
                       file->length_bytes);
    }
    return NJ_OK;
}

static enum nj_status check_extents(const struct nj_stream_options *options,
                                    struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (uint32_t i = 0; i < options->n_records && status == NJ_OK; i++) {
        status = check_extent(options, i, err);
    }
    return status;
}

enum nj_status nj_stream_open(const struct nj_stream_options *options,
                              struct nj_stream **stream, struct nj_error *err)
{
    enum nj_status status = check_extents(options, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_stream *created = calloc(1, sizeof *created);
    uint32_t *pin_counts = calloc((size_t)options->n_records + 1, sizeof *pin_counts);
    if (created == NULL || pin_counts == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "open a stream of %" PRIu32 " records: no memory",
                         options->n_records);
        goto out;
    }
    status = nj_stream_memory_open(options, &created->body, err);
    if (status != NJ_OK) {
        goto out;
    }
    created->n_records = options->n_records;
    created->pin_counts = pin_counts;
    *stream = created;
    return NJ_OK;
out:
    free(pin_counts);
    free(created);
    return status;
}

void nj_stream_close(struct nj_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    assert(stream->n_pinned == 0);
    stream->body.close(stream->body.state);
    free(stream->pin_counts);
    free(stream);
}

void nj_stream_want(struct nj_stream *stream, const uint32_t *records, uint32_t n_records)
{
    stream->body.want(stream->body.state, records, n_records);
}

enum nj_status nj_stream_pin(struct nj_stream *stream, uint32_t record,
                             struct nj_pinned *pinned, struct nj_error *err)
{
    assert(record < stream->n_records);
    enum nj_status status = stream->body.pin(stream->body.state, record, pinned, err);
    if (status == NJ_OK) {
        stream->pin_counts[record]++;
        stream->n_pinned++;
    }
    return status;
}

void nj_stream_unpin(struct nj_stream *stream, uint32_t record)
{
    assert(record < stream->n_records && stream->pin_counts[record] > 0);
    stream->pin_counts[record]--;
    stream->n_pinned--;
    stream->body.unpin(stream->body.state, record);
}

uint64_t nj_stream_read_bytes(const struct nj_stream *stream)
{
    return stream->body.read_bytes(stream->body.state);
}
