/* Weight bytes as opaque records by number: the layer that decides when bytes arrive, never
 * which.
 *
 * A record is an extent of one file: a row tile (at most 64 MiB) of one tensor. This layer
 * knows nothing of layers or experts. The model registers all its records once, then for each
 * walk says what it needs next and in which order (`want`), pins a record while it computes
 * with it, and unpins it.
 *
 * Body of today: everything is read into memory when the stream is opened. Bodies that read
 * ahead under a byte budget come behind this same interface; that is why pin may fail with a
 * read error, and why a pinned pointer has no promised alignment (released files align
 * nothing).
 *
 * A pinned record's `device` is 0 for host memory; the handle leaves room for others.
 *
 * Threads: the engine thread only.
 */
#ifndef NJ_STREAM_STREAM_H
#define NJ_STREAM_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/byte_budget.h"
#include "base/file.h"
#include "base/status.h"

enum { NJ_RECORD_LIMIT_BYTES = 64 * 1024 * 1024 };

/* Where a record lies. `drive` groups files that share a device, for parallel reads. */
struct nj_extent {
    uint32_t drive;
    uint32_t file;
    uint64_t offset_bytes;
    uint64_t length_bytes; /* 1 .. NJ_RECORD_LIMIT_BYTES */
};

struct nj_stream_file {
    const char *path;
    uint64_t length_bytes; /* as indexed; another length at open is NJ_E_WEIGHTS */
};

struct nj_stream_options {
    const struct nj_file_system *fs;
    struct nj_byte_budget
        *budget; /* borrowed for the stream's life; paid before memory is taken */
    const struct nj_stream_file *files;
    uint32_t n_files;
    const struct nj_extent *extents; /* record i is extents[i]; copied */
    uint32_t n_records;
};

struct nj_stream;

struct nj_pinned {
    const uint8_t *bytes; /* valid until unpinned */
    uint32_t device;
};

/* Caller owns `*stream`. NJ_E_WEIGHTS names file and offset; NJ_E_BUDGET gives both figures. */
enum nj_status nj_stream_open(const struct nj_stream_options *options,
                              struct nj_stream **stream, struct nj_error *err);
void nj_stream_close(struct nj_stream *stream);

/* Announces the records needed next, in this order. A hint: it never fails. */
void nj_stream_want(struct nj_stream *stream, const uint32_t *records, uint32_t n_records);

/* Waits until the record's bytes are in memory and keeps them there. */
enum nj_status nj_stream_pin(struct nj_stream *stream, uint32_t record,
                             struct nj_pinned *pinned, struct nj_error *err);
void nj_stream_unpin(struct nj_stream *stream, uint32_t record);

/* Bytes read from disk since open, for reports. */
uint64_t nj_stream_read_bytes(const struct nj_stream *stream);

#endif
