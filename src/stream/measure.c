#include "stream/body.h"
#include "stream/extents.h"
#include "stream/groups.h"

/* Does not wrap: each group has less than 4 GiB, and there are fewer than 2^32. */
static void add_groups(const struct nj_group_table *table, struct nj_stream_needs *needs)
{
    uint64_t n_passing = 0;
    for (uint32_t i = 0; i < table->n_groups; i++) {
        const struct nj_group *group = &table->groups[i];
        if (group->keep == NJ_GROUP_RESIDENT) {
            needs->resident_bytes += group->memory_bytes;
            continue;
        }
        n_passing++;
        if (group->memory_bytes > needs->frame_bytes) {
            needs->frame_bytes = group->memory_bytes;
        }
    }
    uint64_t n_useful = n_passing > NJ_LEAST_FRAMES ? n_passing : NJ_LEAST_FRAMES;
    needs->least_frames_bytes = NJ_LEAST_FRAMES * needs->frame_bytes;
    needs->useful_frames_bytes = n_useful * needs->frame_bytes;
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
    add_groups(&table, &made);
    made.overhead_bytes = nj_group_table_bytes(&table);
    nj_group_table_deinit(&table);
    *needs = made;
    return NJ_OK;
}
