/* One log of a run, read in all of its segments.
 *
 * A log begins in the file NAME. When the storage failed under it (a write or sync reported an
 * error), it was continued in NAME.2, NAME.3, ...: each says of which segment it is the
 * continuation and how many bytes of that one count. What stands behind them was written again.
 *
 * Reading touches nothing, so that all logs of a folder can be looked at before one is changed.
 *
 * File: docs/formats/record-log.md. Threads: one owner.
 */
#ifndef NJ_RUNNER_LOG_READER_H
#define NJ_RUNNER_LOG_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "format/record_log.h"

enum {
    NJ_LOG_SEGMENTS_LIMIT = 1000,
    NJ_LOG_NAME_BYTES = 40, /* of a segment, with its NUL */
    NJ_LOG_CONTINUATION_BYTES = 24
};

/* The first record of every segment but the first. No log has another record of this type. */
#define NJ_LOG_RECORD_CONTINUATION UINT32_MAX

struct nj_log_continuation {
    uint32_t segment;    /* its own number, from 2 */
    uint32_t before;     /* the number of the one that it continues */
    uint64_t kept_bytes; /* of that one; 0: nothing of it counts */
    uint32_t chain;      /* the header CRC of the last record among these */
};

/* Where a log lies and what it must be. */
struct nj_log_file_place {
    const struct nj_file_system *fs;
    int directory_fd;
    const char *name;                       /* constant text, at most 24 bytes */
    struct nj_record_log_identity identity; /* salt and fingerprint are for new files */
    const struct nj_log *log;               /* hears of damage and quarantine; may be NULL */
};

/* What a log holds, learned without touching it. */
struct nj_log_found {
    bool exists;
    uint32_t newest;  /* the highest number of a segment that is there; 0: none */
    uint32_t segment; /* of the record that is visited; at the end, the last that is read */
    uint64_t length_bytes;          /* of that one */
    struct nj_record_log_scan scan; /* of that one */
    uint32_t n_damaged;  /* segments before it, of which less verifies than was continued */
    uint32_t damaged;    /* the first of them */
    char complaint[160]; /* about it */
};

/* "tokens.log", "tokens.log.2", ... */
const char *nj_log_segment_name(const char *log_name, uint32_t segment,
                                char name[NJ_LOG_NAME_BYTES]);

void nj_log_continuation_encode(const struct nj_log_continuation *continuation,
                                uint8_t out[NJ_LOG_CONTINUATION_BYTES]);

/* Visits every verified record of all segments in order; an absent log is an empty one. A
 * record whose visit says NJ_E_STATE verifies and yet cannot be true: it, and what stands
 * behind it in its segment, counts as damage. NJ_E_STATE a newer version or another kind;
 * NJ_E_STORAGE (also for what is no file), NJ_E_PERMISSION, NJ_E_IO, NJ_E_MEMORY, or what
 * `visit` returned. */
enum nj_status nj_log_file_read(const struct nj_log_file_place *place, nj_record_visit *visit,
                                void *context, struct nj_log_found *found,
                                struct nj_error *err);

#endif
