/* Which reads a sweep made, and the same reads made once more by nothing but a reader: what the
 * drive gives when no sweep is in its way.
 *
 *     nj_read_trace_init(&trace, nj_reader_ring());
 *     seams.readers = &trace.table;         ... open the model, ...
 *     nj_read_trace_begin(&trace);          ... sweep ...
 *     nj_read_trace_end(&trace, err);
 *     nj_read_trace_replay(&trace, depth, clock, &elapsed_ns, err);
 *
 * Threads: the engine thread.
 */
#ifndef NJ_TOOLS_BENCH_SWEEP_TRACE_H
#define NJ_TOOLS_BENCH_SWEEP_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/status.h"
#include "stream/reader.h"

enum { NJ_REPLAY_MOST_DEPTH = 32 };

struct nj_traced_read {
    uint64_t offset_bytes;
    uint32_t length_bytes;
    uint32_t file;
};

/* The table is for one model at a time, and stays where it is while that is open. */
struct nj_read_trace {
    struct nj_reader_table table; /* the one below, watched */
    const struct nj_reader_table *below;
    void *reader; /* of the one below; NULL while none is open */
    const struct nj_file_system *fs;
    int *descriptors; /* (n_files) borrowed numbers, open as long as the reader */
    uint32_t n_files;
    bool is_recording;
    bool is_incomplete; /* memory ran out */
    struct nj_traced_read *reads;
    size_t n_reads;
    size_t capacity;
    uint64_t read_bytes;
};

void nj_read_trace_init(struct nj_read_trace *trace, const struct nj_reader_table *below);
/* After the model was closed. */
void nj_read_trace_deinit(struct nj_read_trace *trace);

/* Forgets what was recorded before. */
void nj_read_trace_begin(struct nj_read_trace *trace);
/* NJ_E_MEMORY when a read could not be noted down. */
enum nj_status nj_read_trace_end(struct nj_read_trace *trace, struct nj_error *err);

/* The recorded reads in their order, `depth` (1 .. NJ_REPLAY_MOST_DEPTH) in flight, into
 * buffers of their own. The model must be open. NJ_E_IO for a read that fails, NJ_E_MEMORY. */
enum nj_status nj_read_trace_replay(const struct nj_read_trace *trace, uint32_t depth,
                                    const struct nj_clock *clock, uint64_t *elapsed_ns,
                                    struct nj_error *err);

/* Takes the files out of the page cache, as far as the system follows the advice. */
void nj_read_trace_drop_cache(const struct nj_read_trace *trace);

#endif
