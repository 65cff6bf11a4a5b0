/* The weight stream of src/stream/stream.h once more, linked in its place: a record's bytes are
 * drawn when it is pinned and forgotten when it is unpinned.
 *
 * Threads: as stream.h. One stream at a time, because whose weights it draws is told
 * beforehand.
 */
#ifndef NJ_TESTS_IDENTITY_WIDE_STREAM_H
#define NJ_TESTS_IDENTITY_WIDE_STREAM_H

#include <stdint.h>

#include "identity/wide_model.h"

/* Before the stream is opened; borrowed. Files are numbered as shards. */
void wide_stream_use(const struct wide_model *model);

struct wide_stream_report {
    uint64_t n_pins;
    uint64_t held_bytes;
    uint64_t peak_bytes;
    uint64_t drawn_bytes;
};

struct wide_stream_report wide_stream_report(void);

#endif
