#include "stream/groups.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

/* --- which records make a group --- */

/* Without groups of the caller's, each record is one. */
static struct nj_record_group given_group(const struct nj_stream_options *options,
                                          uint32_t group)
{
    if (options->groups == NULL) {
        return (struct nj_record_group){group, 1, NJ_GROUP_CACHED};
    }
    return options->groups[group];
}

static enum nj_status check_cover(const struct nj_stream_options *options, uint32_t n_groups,
                                  struct nj_error *err)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < n_groups; i++) {
        struct nj_record_group given = given_group(options, i);
        if (given.first_record != next || given.n_records == 0 ||
            given.n_records > options->n_records - next) {
            return nj_fail(err, NJ_E_INTERNAL,
                           "group %" PRIu32 ": records %" PRIu32 " to %" PRIu64
                           ", wanted them from %" PRIu32 " on and below %" PRIu32,
                           i, given.first_record,
                           (uint64_t)given.first_record + given.n_records, next,
                           options->n_records);
        }
        next += given.n_records;
    }
    if (next != options->n_records) {
        return nj_fail(err, NJ_E_INTERNAL, "groups cover %" PRIu32 " of %" PRIu32 " records",
                       next, options->n_records);
    }
    return NJ_OK;
}

/* --- runs --- */

struct placed_record {
    struct nj_extent extent;
    uint32_t record;
};

static int compare_places(const void *a, const void *b)
{
    const struct nj_extent *left = &((const struct placed_record *)a)->extent;
    const struct nj_extent *right = &((const struct placed_record *)b)->extent;
    if (left->file != right->file) {
        return left->file < right->file ? -1 : 1;
    }
    return (left->offset_bytes > right->offset_bytes) -
           (left->offset_bytes < right->offset_bytes);
}

static uint64_t block_begin(uint64_t offset_bytes)
{
    return offset_bytes - offset_bytes % NJ_READ_BLOCK_BYTES;
}

/* Does not wrap: extents were checked to lie within files, whose lengths fit an off_t. */
static uint64_t block_end(const struct nj_extent *extent)
{
    uint64_t end = extent->offset_bytes + extent->length_bytes;
    return block_begin(end + NJ_READ_BLOCK_BYTES - 1);
}

static bool meets(const struct nj_read_run *run, const struct nj_extent *extent)
{
    return run->file == extent->file &&
           block_begin(extent->offset_bytes) <= run->offset_bytes + run->length_bytes;
}

/* What a group has read so far while its runs are made. */
struct run_maker {
    struct nj_group_table *table;
    struct nj_group *group;
    uint64_t memory_bytes; /* of all its runs */
};

/* Adds the record to the group's last run, or to a new one behind it. False when the group
 * outgrows 4 GiB. */
static bool place_record(struct run_maker *maker, const struct placed_record *placed,
                         uint32_t group)
{
    struct nj_group_table *table = maker->table;
    const struct nj_extent *extent = &placed->extent;
    struct nj_read_run *run =
        maker->group->n_runs == 0 ? NULL : &table->runs[table->n_runs - 1];
    if (run == NULL || !meets(run, extent)) {
        run = &table->runs[table->n_runs++];
        maker->group->n_runs++;
        *run = (struct nj_read_run){block_begin(extent->offset_bytes), 0, extent->file};
    }
    uint64_t run_begin = maker->memory_bytes - run->length_bytes; /* in the group's memory */
    uint64_t end = block_end(extent);
    uint64_t longer = end > run->offset_bytes + run->length_bytes
                          ? end - run->offset_bytes - run->length_bytes
                          : 0;
    if (maker->memory_bytes + longer > UINT32_MAX) {
        return false;
    }
    run->length_bytes += (uint32_t)longer;
    maker->memory_bytes += longer;
    table->records[placed->record] = (struct nj_record_place){
        .group = group,
        .offset_bytes = (uint32_t)(run_begin + extent->offset_bytes - run->offset_bytes),
        .length_bytes = (uint32_t)extent->length_bytes,
    };
    return true;
}

static enum nj_status make_group(struct nj_group_table *table,
                                 const struct nj_stream_options *options, uint32_t number,
                                 struct placed_record *sorted, struct nj_error *err)
{
    struct nj_record_group given = given_group(options, number);
    struct nj_group *group = &table->groups[number];
    *group = (struct nj_group){.first_record = given.first_record,
                               .n_records = given.n_records,
                               .first_run = table->n_runs,
                               .keep = given.keep};
    for (uint32_t i = 0; i < given.n_records; i++) {
        uint32_t record = given.first_record + i;
        sorted[i] = (struct placed_record){options->extents[record], record};
    }
    qsort(sorted, given.n_records, sizeof *sorted, compare_places);
    struct run_maker maker = {.table = table, .group = group};
    for (uint32_t i = 0; i < given.n_records; i++) {
        if (!place_record(&maker, &sorted[i], number)) {
            return nj_fail(err, NJ_E_INTERNAL, "group %" PRIu32 " has 4 GiB and more", number);
        }
    }
    group->memory_bytes = (uint32_t)maker.memory_bytes;
    return NJ_OK;
}

/* --- the table --- */

static uint32_t longest_group(const struct nj_stream_options *options, uint32_t n_groups)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < n_groups; i++) {
        uint32_t n_records = given_group(options, i).n_records;
        longest = n_records > longest ? n_records : longest;
    }
    return longest;
}

/* Runs were made room for as if no two records met. */
static void give_back_unused_runs(struct nj_group_table *table)
{
    struct nj_read_run *fitted =
        realloc(table->runs, ((size_t)table->n_runs + 1) * sizeof *table->runs);
    if (fitted != NULL) {
        table->runs = fitted;
    }
}

enum nj_status nj_group_table_init(struct nj_group_table *table,
                                   const struct nj_stream_options *options,
                                   struct nj_error *err)
{
    uint32_t n_groups = options->groups == NULL ? options->n_records : options->n_groups;
    enum nj_status status = check_cover(options, n_groups, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_group_table made = {.n_groups = n_groups, .n_records = options->n_records};
    size_t n_records = options->n_records;
    struct placed_record *sorted =
        calloc((size_t)longest_group(options, n_groups) + 1, sizeof *sorted);
    made.groups = calloc((size_t)n_groups + 1, sizeof *made.groups);
    made.runs = calloc(n_records + 1, sizeof *made.runs);
    made.records = calloc(n_records + 1, sizeof *made.records);
    if (sorted == NULL || made.groups == NULL || made.runs == NULL || made.records == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "list %zu records: no memory", n_records);
    }
    for (uint32_t i = 0; i < n_groups && status == NJ_OK; i++) {
        status = make_group(&made, options, i, sorted, err);
    }
    free(sorted);
    if (status != NJ_OK) {
        nj_group_table_deinit(&made);
        return status;
    }
    give_back_unused_runs(&made);
    *table = made;
    return NJ_OK;
}

void nj_group_table_deinit(struct nj_group_table *table)
{
    free(table->groups);
    free(table->runs);
    free(table->records);
    *table = (struct nj_group_table){.groups = NULL};
}

uint64_t nj_group_table_bytes(const struct nj_group_table *table)
{
    return (uint64_t)table->n_groups * sizeof *table->groups +
           (uint64_t)table->n_runs * sizeof *table->runs +
           (uint64_t)table->n_records * sizeof *table->records;
}

/* Nothing wraps: each group has less than 4 GiB, and there are fewer than 2^32. */
void nj_group_table_measure(const struct nj_group_table *table, struct nj_stream_needs *needs)
{
    uint64_t n_passing = 0;
    needs->resident_bytes = 0;
    needs->frame_bytes = 0;
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
