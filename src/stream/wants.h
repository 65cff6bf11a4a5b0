/* What was announced and not used yet: how often each record, and so its group, is still
 * needed, and which groups to read next, in the order of announcing.
 *
 * Threads: one at a time.
 */
#ifndef NJ_STREAM_WANTS_H
#define NJ_STREAM_WANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "stream/groups.h"

struct nj_wanted_group {
    uint32_t n_wanted;  /* of its records */
    uint32_t wanted_at; /* when it was last announced, in announcements since the beginning */
    bool is_queued;
};

/* Invariant: a group is in the queue at most once, so `n_groups` places are enough. */
struct nj_wants {
    const struct nj_group_table *table;
    bool *is_wanted;                /* (n_records) */
    struct nj_wanted_group *groups; /* (n_groups) */
    uint32_t *queue;                /* (n_groups) a ring: groups to read */
    uint32_t first;
    uint32_t n_queued;
    uint32_t n_announced;
};

/* Nothing is wanted. The table outlives it. NJ_E_MEMORY. */
enum nj_status nj_wants_init(struct nj_wants *wants, const struct nj_group_table *table,
                             struct nj_error *err);
void nj_wants_deinit(struct nj_wants *wants);

/* Nothing happens when the record is wanted, or is not. */
void nj_wants_add(struct nj_wants *wants, uint32_t record);
void nj_wants_remove(struct nj_wants *wants, uint32_t record);
bool nj_wants_has(const struct nj_wants *wants, uint32_t group);

/* Puts a group at the end of the queue, unless it is in it. */
void nj_wants_queue(struct nj_wants *wants, uint32_t group);
/* The first of the queue, which has one. */
uint32_t nj_wants_first(const struct nj_wants *wants);
void nj_wants_drop_first(struct nj_wants *wants);

/* Nothing is wanted any more. */
void nj_wants_clear(struct nj_wants *wants);

#endif
