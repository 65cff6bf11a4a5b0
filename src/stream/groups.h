/* The groups of a stream as tables: which bytes of which file each one reads, and where in the
 * group's memory each of its records then lies.
 *
 * A run is what one group reads from one file in one go: its records in file order, joined
 * where they touch, widened to whole blocks as direct I/O wants it. Runs lie one behind the
 * other in the group's memory. Joining where the widened ends meet reads nothing that would not
 * be read anyway.
 *
 * Threads: built once, then constant.
 */
#ifndef NJ_STREAM_GROUPS_H
#define NJ_STREAM_GROUPS_H

#include <stdint.h>

#include "base/status.h"
#include "stream/stream.h"

/* Memory, offsets and lengths of reads are multiples of this. Devices with 512-byte blocks
 * allow less, which would save at most 7 KiB a run. */
enum { NJ_READ_BLOCK_BYTES = 4096 };

struct nj_read_run {
    uint64_t offset_bytes; /* in the file, a multiple of the block */
    uint32_t length_bytes; /* a multiple of the block; may reach past the end of the file */
    uint32_t file;
};

struct nj_group {
    uint32_t first_record;
    uint32_t n_records;
    uint32_t first_run;
    uint32_t n_runs;
    uint32_t memory_bytes; /* the lengths of its runs together */
    enum nj_group_keep keep;
};

struct nj_record_place {
    uint32_t group;
    uint32_t offset_bytes; /* in the group's memory */
    uint32_t length_bytes;
};

/* Invariant: groups cover records 0 .. n_records - 1 in order, and runs in the same order. */
struct nj_group_table {
    struct nj_group *groups;         /* (n_groups) */
    struct nj_read_run *runs;        /* (n_runs) */
    struct nj_record_place *records; /* (n_records) */
    uint32_t n_groups;
    uint32_t n_runs;
    uint32_t n_records;
};

/* NJ_E_INTERNAL for groups that do not cover the records in order, or a group of 4 GiB and
 * more; the extents have been checked. The caller deinits `*table` after success only. */
enum nj_status nj_group_table_init(struct nj_group_table *table,
                                   const struct nj_stream_options *options,
                                   struct nj_error *err);
void nj_group_table_deinit(struct nj_group_table *table);

/* Fills in all of `*needs` that depends on groups: resident_bytes, frame_bytes and the bytes of
 * the fewest and of the useful frames. */
void nj_group_table_measure(const struct nj_group_table *table, struct nj_stream_needs *needs);

/* What the table itself takes. */
uint64_t nj_group_table_bytes(const struct nj_group_table *table);

#endif
