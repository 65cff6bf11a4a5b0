/* Reads in flight: what the bodies that fetch bytes from files have in common.
 *
 * A reader takes requests and gives back results in whatever order they complete. It decides
 * nothing: not how many are in flight, not what a short read means, not whether to try again.
 * It is a table of functions, so that tests can wrap one and delay, shuffle or fail what it
 * does.
 *
 * Threads: all calls from one thread at a time.
 */
#ifndef NJ_STREAM_READER_H
#define NJ_STREAM_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

#define NJ_NO_BUFFER UINT32_MAX

struct nj_read_request {
    uint8_t *target;       /* at a multiple of the block, as are offset and length */
    uint64_t offset_bytes; /* in the file */
    uint32_t length_bytes;
    uint32_t file;   /* number among those given at open */
    uint32_t buffer; /* the frame in which all of `target` lies, or NJ_NO_BUFFER */
    uint32_t tag;    /* comes back with the result; below `limit`, one request at a time */
};

struct nj_read_result {
    uint32_t tag;
    int32_t result; /* bytes read, fewer than asked when the file ends; or minus an errno */
};

struct nj_reader_options {
    const struct nj_file_system *fs; /* outlives the reader, as do files and frames */
    const int *descriptors;          /* (n_files) copied */
    const uint32_t *drives; /* (n_files) copied: which device each lies on; NULL: one */
    uint32_t n_files;
    uint32_t limit; /* most requests in flight */
    uint8_t *frames;
    uint64_t frame_bytes;
    uint32_t n_frames;
};

struct nj_reader_table {
    const char *name; /* "ring", "threads" */
    void *context;    /* of the table, for `open` */
    /* The caller owns `*reader`. Fails where the system does not allow this kind of reading. */
    enum nj_status (*open)(void *context, const struct nj_reader_options *options,
                           void **reader, struct nj_error *err);
    /* Never fails: what cannot be submitted comes back as a result. */
    void (*submit)(void *reader, const struct nj_read_request *requests, uint32_t n_requests);
    /* Returns how many results it wrote, at most `limit`. When `waits`, at least one; then
     * something must be in flight. */
    uint32_t (*reap)(void *reader, bool waits, struct nj_read_result *results, uint32_t limit);
    /* Returns when nothing is in flight any more: memory may be released then. */
    void (*close)(void *reader);
};

/* The kernel's ring (io_uring). */
const struct nj_reader_table *nj_reader_ring(void);

/* Threads that call the file table's read_at, of their own for each drive. */
const struct nj_reader_table *nj_reader_threads(void);

#endif
