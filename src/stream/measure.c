#include "stream/body.h"
#include "stream/extents.h"
#include "stream/groups.h"

enum { IN_FLIGHT_BYTES = 1024 * 1024 }; /* requests, ring and what reader threads touch */

static uint64_t overhead_of(const struct nj_stream_options *options,
                            const struct nj_group_table *table,
                            const struct nj_stream_needs *needs)
{
    if (needs->frame_bytes == 0) {
        return nj_stream_frames_overhead_bytes(table, 0) + IN_FLIGHT_BYTES;
    }
    uint64_t bytes = needs->useful_frames_bytes;
    if (options->frames_bytes != 0 && options->frames_bytes < bytes) {
        bytes = options->frames_bytes;
    }
    return nj_stream_frames_overhead_bytes(table, bytes / needs->frame_bytes) + IN_FLIGHT_BYTES;
}

enum nj_status nj_stream_measure(const struct nj_stream_options *options,
                                 struct nj_stream_needs *needs, struct nj_error *err)
{
    struct nj_stream_needs made = {0};
    struct nj_group_table table;
    enum nj_status status = nj_extents_check(options, err);
    if (status == NJ_OK) {
        status = nj_stream_memory_measure(options, &made.whole_bytes, err);
    }
    if (status == NJ_OK) {
        status = nj_group_table_init(&table, options, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    nj_group_table_measure(&table, &made);
    made.overhead_bytes = overhead_of(options, &table, &made);
    nj_group_table_deinit(&table);
    *needs = made;
    return NJ_OK;
}
