/* The frames of a stream: memory for one group each, all of one size, so that any group fits
 * into any frame and memory never falls to pieces.
 *
 *     FREE     --(begin)--> LOADING      its group is being read
 *     LOADING  --(arrive)--> READY
 *     LOADING, READY --(give_up)--> FREE the read failed, or there must be room
 *
 * A READY frame that is neither pinned nor wanted lies on the shelf (shelf.h), which says what
 * to give up next.
 *
 * Threads: the engine thread only.
 */
#ifndef NJ_STREAM_FRAME_POOL_H
#define NJ_STREAM_FRAME_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byte_budget.h"
#include "base/status.h"
#include "stream/groups.h"
#include "stream/loader.h"
#include "stream/shelf.h"
#include "stream/wants.h"
#include "stream/weight_block.h"

enum nj_frame_state { NJ_FRAME_FREE, NJ_FRAME_LOADING, NJ_FRAME_READY };

struct nj_frame {
    struct nj_load load; /* its group, target and buffer are set by begin */
    uint32_t group;      /* unless it is free */
    uint32_t n_pins;
    enum nj_frame_state state;
    bool is_ahead; /* begun and never pinned yet */
};

/* Invariants: a group has at most one frame; n_ahead counts the frames that are ahead; a frame
 * is on the shelf exactly when it is ready, not pinned and not wanted. */
struct nj_frame_pool {
    const struct nj_group_table *table;
    const struct nj_wants *wants;
    struct nj_weight_block block;
    uint64_t frame_bytes;
    uint32_t n_frames;
    uint32_t n_ahead;
    struct nj_frame *frames; /* (n_frames) */
    uint32_t *free_frames;   /* (n_frames) numbers, n_free of them valid */
    uint32_t n_free;
    uint32_t *frame_of; /* (n_groups) or NJ_NO_FRAME */
    struct nj_shelf shelf;
    uint8_t *n_uses; /* (n_groups) saturates at NJ_MOST_USES */
    uint64_t n_uses_counted;
    bool poisons; /* what is given up is overwritten */
};

/* All free. Table and wants outlive it. NJ_E_MEMORY, NJ_E_BUDGET. */
enum nj_status nj_frame_pool_init(struct nj_frame_pool *pool,
                                  const struct nj_group_table *table,
                                  const struct nj_wants *wants, uint32_t n_frames,
                                  uint64_t frame_bytes, struct nj_byte_budget *budget,
                                  struct nj_error *err);
void nj_frame_pool_deinit(struct nj_frame_pool *pool);

/* What its tables take. */
uint64_t nj_frame_pool_overhead_bytes(uint64_t n_groups, uint64_t n_frames);

/* The frame of a group, or NULL. */
struct nj_frame *nj_frame_pool_find(const struct nj_frame_pool *pool, uint32_t group);

/* A free frame, made free if need be; NULL when all hold what is used or wanted. The caller
 * begins it or puts it back. */
struct nj_frame *nj_frame_pool_take_spare(struct nj_frame_pool *pool);
void nj_frame_pool_put_back(struct nj_frame_pool *pool, struct nj_frame *frame);

/* The ready frame that is needed last, among those not pinned; or NULL. */
struct nj_frame *nj_frame_pool_needed_last(const struct nj_frame_pool *pool);

void nj_frame_pool_begin(struct nj_frame_pool *pool, struct nj_frame *frame, uint32_t group);
void nj_frame_pool_arrive(struct nj_frame_pool *pool, struct nj_frame *frame);
/* The frame is not pinned, and nothing is being read into it any more. */
void nj_frame_pool_give_up(struct nj_frame_pool *pool, struct nj_frame *frame);

/* Returns where its group lies. */
const uint8_t *nj_frame_pool_pin(struct nj_frame_pool *pool, struct nj_frame *frame);
/* True when that was the last pin, and nobody wants the group: it is on the shelf now. */
bool nj_frame_pool_unpin(struct nj_frame_pool *pool, struct nj_frame *frame);

/* A ready frame whose group is wanted now, or no longer is: takes it off the shelf, or lays it
 * there, unless it is pinned. */
void nj_frame_pool_reserve(struct nj_frame_pool *pool, struct nj_frame *frame);
void nj_frame_pool_release(struct nj_frame_pool *pool, struct nj_frame *frame);

#endif
