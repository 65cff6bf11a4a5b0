#include "stream/stream.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "stream/body.h"
#include "stream/extents.h"

/* Invariant: n_pinned is the sum of pin_counts. */
struct nj_stream {
    struct nj_stream_body body;
    uint32_t n_records;
    uint32_t *pin_counts; /* (n_records) */
    uint64_t n_pinned;
};

enum nj_status nj_stream_open(const struct nj_stream_options *options,
                              struct nj_stream **stream, struct nj_error *err)
{
    enum nj_status status = nj_extents_check(options, err);
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
    status = options->frames_bytes == 0 ? nj_stream_memory_open(options, &created->body, err)
                                        : nj_stream_frames_open(options, &created->body, err);
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

uint32_t nj_stream_n_pinnable(const struct nj_stream *stream)
{
    return stream->body.n_pinnable;
}

void nj_stream_want(struct nj_stream *stream, const uint32_t *records, uint32_t n_records)
{
    stream->body.want(stream->body.state, records, n_records);
}

void nj_stream_forget(struct nj_stream *stream)
{
    stream->body.forget(stream->body.state);
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

enum nj_status nj_stream_check_files(const struct nj_stream *stream, struct nj_error *err)
{
    return stream->body.check_files(stream->body.state, err);
}

enum nj_status nj_stream_accept_files(struct nj_stream *stream, struct nj_error *err)
{
    assert(stream->n_pinned == 0);
    return stream->body.accept_files(stream->body.state, err);
}

uint64_t nj_stream_read_bytes(const struct nj_stream *stream)
{
    struct nj_stream_report report;
    nj_stream_report(stream, &report);
    return report.read_bytes;
}

void nj_stream_report(const struct nj_stream *stream, struct nj_stream_report *report)
{
    stream->body.report(stream->body.state, report);
}
