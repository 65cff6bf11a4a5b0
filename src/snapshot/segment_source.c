#include "snapshot/segment_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

enum { WINDOW_BYTES = 2 * NJ_SEGMENT_RECORD_LIMIT_BYTES };

enum nj_status nj_segment_source_open(struct nj_segment_source *source,
                                      const struct nj_file_system *fs, int directory_fd,
                                      uint64_t number, struct nj_error *err)
{
    *source = (struct nj_segment_source){.fs = fs, .fd = -1};
    nj_segment_name(number, source->name);
    enum nj_status status = nj_file_open_read(fs, directory_fd, source->name, &source->fd, err);
    if (status != NJ_OK) {
        source->fd = -1;
        return status;
    }
    status = nj_file_length(fs, source->fd, &source->length_bytes, err);
    if (status != NJ_OK) {
        nj_segment_source_close(source);
    }
    return status;
}

void nj_segment_source_close(struct nj_segment_source *source)
{
    if (source->fd >= 0) {
        (void)source->fs->close(source->fs->context, source->fd); /* only read from */
    }
    free(source->window);
    source->window = NULL;
    source->fd = -1;
}

static void forget_window(struct nj_segment_source *source)
{
    free(source->window);
    source->window = NULL;
    source->window_capacity = 0;
    source->n_window = 0;
}

static enum nj_status fill(struct nj_segment_source *source, uint64_t offset,
                           struct nj_error *err)
{
    uint64_t left = source->length_bytes - offset;
    size_t n_bytes = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
    source->n_window = 0;
    enum nj_status status =
        nj_vector_reserve(&source->window, &source->window_capacity, 1, n_bytes, err);
    if (status == NJ_OK) {
        status = nj_file_read_exactly(source->fs, source->fd, source->window, n_bytes, offset,
                                      source->name, err);
    }
    if (status == NJ_OK) {
        source->window_offset = offset;
        source->n_window = n_bytes;
    }
    return status;
}

static enum nj_status view(void *context, uint64_t offset, size_t n_bytes, const uint8_t **data,
                           struct nj_error *err)
{
    struct nj_segment_source *source = context;
    bool is_held = offset >= source->window_offset && source->n_window >= n_bytes &&
                   offset - source->window_offset <= source->n_window - n_bytes;
    enum nj_status status = is_held ? NJ_OK : fill(source, offset, err);
    if (status == NJ_OK) {
        *data = source->window + (offset - source->window_offset);
    }
    return status;
}

enum nj_status nj_segment_source_scan(struct nj_segment_source *source, nj_segment_visit *visit,
                                      void *context, struct nj_segment_scan *scan,
                                      struct nj_error *err)
{
    struct nj_record_source bytes = {
        .context = source, .length_bytes = source->length_bytes, .view = view};
    enum nj_status status = nj_segment_scan_source(&bytes, visit, context, scan, err);
    forget_window(source); /* a chain holds many sources open */
    return status;
}

/* Enough to see the header: the scan is ended at the first record. */
static enum nj_status stop(void *context, const struct nj_segment_record *record,
                           struct nj_error *err)
{
    (void)context;
    (void)record;
    (void)err;
    return NJ_E_STOPPED;
}

bool nj_segment_header_read(const struct nj_file_system *fs, int directory_fd, uint64_t number,
                            struct nj_segment_header *header)
{
    struct nj_segment_source source;
    struct nj_segment_scan scan;
    struct nj_error ignored; /* the caller asks only whether there is one */
    if (nj_segment_source_open(&source, fs, directory_fd, number, &ignored) != NJ_OK) {
        return false;
    }
    (void)nj_segment_source_scan(&source, stop, NULL, &scan, &ignored);
    nj_segment_source_close(&source);
    *header = scan.header;
    return scan.valid_bytes >= NJ_SEGMENT_HEADER_BYTES;
}

static enum nj_status pass_over(void *context, const struct nj_segment_record *record,
                                struct nj_error *err)
{
    (void)context;
    (void)record;
    (void)err;
    return NJ_OK;
}

/* A header that is all there and does not verify was damaged: it is written in one piece. */
bool nj_segment_is_unfinished(const struct nj_file_system *fs, int directory_fd,
                              uint64_t number)
{
    struct nj_segment_source source;
    struct nj_segment_scan scan;
    struct nj_error ignored; /* what cannot be read is for the caller to complain about */
    if (nj_segment_source_open(&source, fs, directory_fd, number, &ignored) != NJ_OK) {
        return false;
    }
    enum nj_status status = nj_segment_source_scan(&source, pass_over, NULL, &scan, &ignored);
    bool is_cut_header =
        scan.verdict == NJ_SEGMENT_NO_HEADER && source.length_bytes < NJ_SEGMENT_HEADER_BYTES;
    nj_segment_source_close(&source);
    return status == NJ_OK && (is_cut_header || scan.verdict == NJ_SEGMENT_TORN ||
                               scan.verdict == NJ_SEGMENT_EMPTY);
}
