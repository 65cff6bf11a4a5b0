/* The writer thread's half of a snapshot: messages in, files out.
 *
 * Segments of several items are under way at once, since a sweep makes a layer of all of them
 * final together. What fails for one item is kept with it and stops its file only.
 *
 * Threads: the thread that takes the messages; outcomes may be read by another one once
 * everything handed over has been handled.
 */
#ifndef NJ_SNAPSHOT_SINK_H
#define NJ_SNAPSHOT_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "format/segment_encoder.h"
#include "snapshot/folder.h"

enum nj_sink_kind {
    NJ_SINK_BEGIN,  /* bytes: struct nj_sink_begin */
    NJ_SINK_RECORD, /* bytes: a section's values */
    NJ_SINK_COMMIT,
    NJ_SINK_ABANDON,
    NJ_SINK_PRUNE /* bytes: struct nj_sink_prune */
};

/* Followed by the bytes that its kind says. */
struct nj_sink_message {
    enum nj_sink_kind kind;
    uint32_t target; /* which file */
    struct nj_segment_section section;
};

struct nj_sink_begin {
    int directory_fd; /* borrowed until commit or abandon has been handled */
    struct nj_segment_header header;
};

struct nj_sink_prune {
    int directory_fd;
    bool
        ends_item; /* it is finished: the folder is closed, and goes if nothing is left in it */
    uint64_t item_index;
    uint64_t current;
    uint64_t previous;
};

/* How one target's file ended. */
struct nj_sink_outcome {
    enum nj_status status; /* NJ_OK and `is_durable`, or why not */
    bool is_durable;       /* committed, synced, and its name too */
    struct nj_error error;
    uint32_t chain;     /* after the commit */
    uint64_t raw_bytes; /* of all records, before packing */
    uint64_t file_bytes;
};

struct nj_sink;

/* Memory that one sink holds besides a little for each target. */
enum { NJ_SINK_BYTES = NJ_SEGMENT_ENCODER_BYTES };

/* `fs` is borrowed. NJ_E_USAGE, NJ_E_MEMORY. Caller owns `*sink`. */
enum nj_status nj_sink_create(const struct nj_file_system *fs, int pack_level,
                              uint32_t max_targets, struct nj_sink **sink,
                              struct nj_error *err);
/* Files under way are abandoned. */
void nj_sink_destroy(struct nj_sink *sink);

void nj_sink_handle(struct nj_sink *sink, const struct nj_sink_message *message,
                    struct nj_bytes bytes);

/* Of the target's last file. A prune is no file: its outcome is the first failure of any. */
const struct nj_sink_outcome *nj_sink_outcome(const struct nj_sink *sink, uint32_t target);
const struct nj_sink_outcome *nj_sink_prune_outcome(const struct nj_sink *sink);

#endif
