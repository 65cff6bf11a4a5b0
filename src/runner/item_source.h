/* Items of a job by number, read forward from its files; asking for an earlier one starts over.
 */
#ifndef NJ_RUNNER_ITEM_SOURCE_H
#define NJ_RUNNER_ITEM_SOURCE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/status.h"
#include "job/items.h"
#include "job/spec.h"

/* Zeroed, then the first three fields filled in, is ready to read. */
struct nj_item_source {
    const struct nj_job_spec *spec;
    const struct nj_file_system *fs;
    uint64_t job_seed;
    struct nj_item_iterator *iterator;
    uint64_t next_index;
};

void nj_item_source_deinit(struct nj_item_source *source);

/* Renders item `index` of the run into the arena: each sample of an item is one of its own.
 * NJ_E_INPUT when there is none any more. */
enum nj_status nj_item_source_read(struct nj_item_source *source, uint64_t index,
                                   struct nj_arena *arena, struct nj_item *item,
                                   struct nj_error *err);

#endif
