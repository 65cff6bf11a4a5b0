/* Weight bytes as opaque records by number: the layer that decides when bytes arrive, never
 * which.
 *
 * A record is an extent of one file: a row tile (at most 64 MiB) of one tensor. This layer
 * knows nothing of layers or experts. The model registers all its records once, then for each
 * walk says what it needs next and in which order (`want`), pins a record while it computes
 * with it, and unpins it.
 *
 * Records that are used together form a group: it is read, kept and given up as a whole, with
 * one read for each run of bytes that touch in the file.
 *
 * Two bodies. Without a memory limit everything is read when the stream is opened. With one,
 * groups that are resident are read when it is opened, and all others pass through frames of
 * one size: read ahead in the order in which they were wanted, kept after use where the limit
 * leaves room, and read again when they are not there. That is why pin may fail with a read
 * error, and why a pinned pointer has no promised alignment (released files align nothing).
 *
 * A pinned record's `device` is 0 for host memory; the handle leaves room for others.
 *
 * Threads: the engine thread only.
 */
#ifndef NJ_STREAM_STREAM_H
#define NJ_STREAM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/byte_budget.h"
#include "base/clock.h"
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

/* What becomes of a group after its use. */
enum nj_group_keep {
    NJ_GROUP_PASSING,  /* needed once a walk: its frame is the first to be given up */
    NJ_GROUP_CACHED,   /* kept while there is room, the often used ones longest */
    NJ_GROUP_RESIDENT, /* read when the stream is opened, outside the frames, and never again */
};

/* Consecutive records. Groups cover all records, in order. */
struct nj_record_group {
    uint32_t first_record;
    uint32_t n_records;
    enum nj_group_keep keep;
};

/* Looks at a record as it enters memory, on the engine thread; a status refuses it: opening
 * fails, or the pin that asked for it. */
typedef enum nj_status nj_record_check(void *context, uint32_t record, const uint8_t *bytes,
                                       uint64_t length_bytes, struct nj_error *err);

/* Which body reads: the kernel's ring, threads that call read_at, or the ring with threads in
 * its place where it or direct I/O is refused. */
enum nj_reader_kind { NJ_READER_AUTO, NJ_READER_RING, NJ_READER_THREADS };

struct nj_reader_table; /* stream/reader.h; tests wrap it to delay, shuffle and fail reads */

struct nj_stream_options {
    const struct nj_file_system *fs;
    struct nj_byte_budget
        *budget; /* borrowed for the stream's life; paid before memory is taken */
    const struct nj_stream_file *files;
    uint32_t n_files;
    const struct nj_extent *extents; /* record i is extents[i]; copied */
    uint32_t n_records;
    const struct nj_record_group *groups; /* copied; NULL: each record is a group of its own */
    uint32_t n_groups;
    /* 0: everything in memory. Else for the frames, at least `least_frames_bytes`; what is more
     * than `useful_frames_bytes` is left alone. */
    uint64_t frames_bytes;
    enum nj_reader_kind reader;
    const struct nj_reader_table *readers; /* NULL: the real one of that kind */
    const struct nj_clock *clock;          /* copied; NULL: the system's */
    nj_record_check *check;                /* NULL: none */
    void *check_context;
    /* For tests: a frame is overwritten when it is given up, so that use after unpin shows.
     * Always on where NJ_POISON is defined, as in sanitized builds. */
    bool poisons;
};

/* What a stream of these groups takes, computed before anything is opened. */
struct nj_stream_needs {
    uint64_t whole_bytes;         /* everything in memory */
    uint64_t resident_bytes;      /* the resident groups of a stream with frames */
    uint64_t frame_bytes;         /* of one frame: the largest other group, lined up; or 0 */
    uint64_t least_frames_bytes;  /* NJ_LEAST_FRAMES frames; 0 when every group is resident */
    uint64_t useful_frames_bytes; /* more would hold nothing */
    uint64_t overhead_bytes;      /* tables of a stream with frames, not paid from the budget */
};

/* Three groups pinned and one on its way. */
enum { NJ_LEAST_FRAMES = 4 };

/* Reads `extents`, `groups`, the lengths of `files`, and for the overhead `frames_bytes` (0: as
 * many as are useful). NJ_E_INTERNAL for extents outside their file and groups that do not
 * cover the records in order, NJ_E_MEMORY without memory for the tables. */
enum nj_status nj_stream_measure(const struct nj_stream_options *options,
                                 struct nj_stream_needs *needs, struct nj_error *err);

struct nj_stream;

struct nj_pinned {
    const uint8_t *bytes; /* valid until unpinned */
    uint32_t device;
};

/* Caller owns `*stream`. NJ_E_WEIGHTS names file and offset; NJ_E_BUDGET gives both figures. */
enum nj_status nj_stream_open(const struct nj_stream_options *options,
                              struct nj_stream **stream, struct nj_error *err);
void nj_stream_close(struct nj_stream *stream);

/* How many groups may be pinned at once, one frame being kept for what comes next; UINT32_MAX
 * when everything is in memory. At least 1. */
uint32_t nj_stream_n_pinnable(const struct nj_stream *stream);

/* Announces the records needed next, in this order. A hint: it never fails. What is announced
 * is kept, once read, until it is pinned; announcing it again before that changes nothing. With
 * no records it is a poll: it takes in what has arrived and asks the disk for more; call it
 * wherever the engine has computed for a while. */
void nj_stream_want(struct nj_stream *stream, const uint32_t *records, uint32_t n_records);

/* Takes back everything announced and not yet used, after a walk that ended early: what is
 * never pinned would be kept for it for ever. */
void nj_stream_forget(struct nj_stream *stream);

/* Waits until the record's bytes are in memory and keeps them there. NJ_E_WEIGHTS when they
 * cannot be read, after a few tries; the stream stays usable, and a later pin tries again. More
 * groups at once than nj_stream_n_pinnable are a mistake of the caller. */
enum nj_status nj_stream_pin(struct nj_stream *stream, uint32_t record,
                             struct nj_pinned *pinned, struct nj_error *err);
void nj_stream_unpin(struct nj_stream *stream, uint32_t record);

/* NJ_E_WEIGHTS names a file that was written to since it was opened, or replaced by another one
 * under its name: what was pinned since the last check may be of neither version. Every walk
 * ends with it, before anybody believes its outcome. No bytes are read, and nothing is wrong
 * when everything is in memory. */
enum nj_status nj_stream_check_files(const struct nj_stream *stream, struct nj_error *err);

/* For a caller who has found that the files hold again what they held: later checks compare
 * with what they look like now, and what frames hold is given up, because it may have been read
 * in between. Nothing may be pinned. NJ_E_WEIGHTS as above, for a file that was replaced. */
enum nj_status nj_stream_accept_files(struct nj_stream *stream, struct nj_error *err);

/* Bytes asked of the disk since open, and where the time of pins went, for reports. */
uint64_t nj_stream_read_bytes(const struct nj_stream *stream);
struct nj_stream_report {
    uint64_t read_bytes;
    uint64_t n_reads;
    uint64_t n_cache_hits; /* groups that were wanted and already there */
    uint64_t n_rereads;    /* groups given up between want and pin: 0 unless memory is tight */
    uint64_t waited_ns;    /* the engine stood still in pin */
    uint32_t depth;        /* reads kept in flight now */
    const char *reader;    /* "memory", "ring", "threads" */
    const char *note;      /* why not ring and direct I/O; NULL when they are used */
};
void nj_stream_report(const struct nj_stream *stream, struct nj_stream_report *report);

#endif
