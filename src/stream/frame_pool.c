#include "stream/frame_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Uses are counted over this many walks through everything before they count half. */
    WALKS_BETWEEN_HALVINGS = 8,
    POISON = 0xA5
};

static uint32_t number_of(const struct nj_frame_pool *pool, const struct nj_frame *frame)
{
    return (uint32_t)(frame - pool->frames);
}

static uint8_t *memory_of(const struct nj_frame_pool *pool, const struct nj_frame *frame)
{
    return pool->block.bytes + number_of(pool, frame) * pool->frame_bytes;
}

/* --- init and deinit --- */

static enum nj_status make_tables(struct nj_frame_pool *pool, struct nj_error *err)
{
    size_t n_frames = pool->n_frames;
    size_t n_groups = pool->table->n_groups;
    pool->frames = calloc(n_frames + 1, sizeof *pool->frames);
    pool->free_frames = calloc(n_frames + 1, sizeof *pool->free_frames);
    pool->frame_of = calloc(n_groups + 1, sizeof *pool->frame_of);
    pool->n_uses = calloc(n_groups + 1, sizeof *pool->n_uses);
    if (pool->frames == NULL || pool->free_frames == NULL || pool->frame_of == NULL ||
        pool->n_uses == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "list %zu frames for %zu groups: no memory", n_frames,
                       n_groups);
    }
    for (size_t i = 0; i < n_groups; i++) {
        pool->frame_of[i] = NJ_NO_FRAME;
    }
    for (uint32_t i = pool->n_frames; i > 0; i--) {
        pool->free_frames[pool->n_free++] = i - 1;
    }
    return nj_shelf_init(&pool->shelf, pool->n_frames, err);
}

enum nj_status nj_frame_pool_init(struct nj_frame_pool *pool,
                                  const struct nj_group_table *table,
                                  const struct nj_wants *wants, uint32_t n_frames,
                                  uint64_t frame_bytes, struct nj_byte_budget *budget,
                                  struct nj_error *err)
{
    *pool = (struct nj_frame_pool){
        .table = table, .wants = wants, .n_frames = n_frames, .frame_bytes = frame_bytes};
    enum nj_status status = make_tables(pool, err);
    if (status == NJ_OK) {
        status = nj_weight_block_take(&pool->block, n_frames * frame_bytes, budget,
                                      "hold frames for weights", err);
    }
    if (status != NJ_OK) {
        nj_frame_pool_deinit(pool);
    }
    return status;
}

void nj_frame_pool_deinit(struct nj_frame_pool *pool)
{
    nj_shelf_deinit(&pool->shelf);
    nj_weight_block_give_back(&pool->block);
    free(pool->frames);
    free(pool->free_frames);
    free(pool->frame_of);
    free(pool->n_uses);
    *pool = (struct nj_frame_pool){.frames = NULL};
}

uint64_t nj_frame_pool_overhead_bytes(uint64_t n_groups, uint64_t n_frames)
{
    uint64_t a_group = sizeof(uint32_t) + sizeof(uint8_t);
    uint64_t a_frame =
        sizeof(struct nj_frame) + sizeof(uint32_t) + sizeof(struct nj_shelf_place);
    return n_groups * a_group + n_frames * a_frame;
}

/* --- finding --- */

struct nj_frame *nj_frame_pool_find(const struct nj_frame_pool *pool, uint32_t group)
{
    uint32_t number = pool->frame_of[group];
    return number == NJ_NO_FRAME ? NULL : &pool->frames[number];
}

struct nj_frame *nj_frame_pool_take_spare(struct nj_frame_pool *pool)
{
    if (pool->n_free == 0) {
        uint32_t victim = nj_shelf_victim(&pool->shelf);
        if (victim == NJ_NO_FRAME) {
            return NULL;
        }
        nj_frame_pool_give_up(pool, &pool->frames[victim]);
    }
    return &pool->frames[pool->free_frames[--pool->n_free]];
}

void nj_frame_pool_put_back(struct nj_frame_pool *pool, struct nj_frame *frame)
{
    assert(frame->state == NJ_FRAME_FREE);
    pool->free_frames[pool->n_free++] = number_of(pool, frame);
}

static uint32_t wanted_at(const struct nj_frame_pool *pool, const struct nj_frame *frame)
{
    return pool->wants->groups[frame->group].wanted_at;
}

struct nj_frame *nj_frame_pool_needed_last(const struct nj_frame_pool *pool)
{
    struct nj_frame *last = NULL;
    for (uint32_t i = 0; i < pool->n_frames; i++) {
        struct nj_frame *frame = &pool->frames[i];
        if (frame->state == NJ_FRAME_READY && frame->n_pins == 0 &&
            (last == NULL || wanted_at(pool, frame) > wanted_at(pool, last))) {
            last = frame;
        }
    }
    return last;
}

/* --- from free to ready and back --- */

static void end_ahead(struct nj_frame_pool *pool, struct nj_frame *frame)
{
    pool->n_ahead -= frame->is_ahead ? 1 : 0;
    frame->is_ahead = false;
}

void nj_frame_pool_begin(struct nj_frame_pool *pool, struct nj_frame *frame, uint32_t group)
{
    assert(frame->state == NJ_FRAME_FREE && pool->frame_of[group] == NJ_NO_FRAME);
    pool->frame_of[group] = number_of(pool, frame);
    frame->group = group;
    frame->state = NJ_FRAME_LOADING;
    frame->is_ahead = true;
    pool->n_ahead++;
    frame->load.group = group;
    frame->load.target = memory_of(pool, frame);
    frame->load.buffer = number_of(pool, frame);
}

void nj_frame_pool_arrive(struct nj_frame_pool *pool, struct nj_frame *frame)
{
    assert(pool->frame_of[frame->group] == number_of(pool, frame));
    frame->state = NJ_FRAME_READY;
}

void nj_frame_pool_give_up(struct nj_frame_pool *pool, struct nj_frame *frame)
{
    assert(frame->state != NJ_FRAME_FREE && frame->n_pins == 0);
    nj_shelf_take(&pool->shelf, number_of(pool, frame));
    end_ahead(pool, frame);
    frame->state = NJ_FRAME_FREE;
    pool->frame_of[frame->group] = NJ_NO_FRAME;
    if (pool->poisons) {
        memset(memory_of(pool, frame), POISON, pool->frame_bytes);
    }
    nj_frame_pool_put_back(pool, frame);
}

/* --- use --- */

void nj_frame_pool_reserve(struct nj_frame_pool *pool, struct nj_frame *frame)
{
    nj_shelf_take(&pool->shelf, number_of(pool, frame));
}

void nj_frame_pool_release(struct nj_frame_pool *pool, struct nj_frame *frame)
{
    assert(frame->state == NJ_FRAME_READY);
    if (frame->n_pins > 0) {
        return;
    }
    end_ahead(pool, frame);
    if (pool->table->groups[frame->group].keep == NJ_GROUP_PASSING) {
        nj_shelf_put_passing(&pool->shelf, number_of(pool, frame));
    } else {
        nj_shelf_put(&pool->shelf, number_of(pool, frame), pool->n_uses[frame->group]);
    }
}

const uint8_t *nj_frame_pool_pin(struct nj_frame_pool *pool, struct nj_frame *frame)
{
    assert(frame->state == NJ_FRAME_READY);
    nj_shelf_take(&pool->shelf, number_of(pool, frame));
    end_ahead(pool, frame);
    frame->n_pins++;
    return memory_of(pool, frame);
}

/* Halves all counts now and then, so that what was used often long ago is forgotten. */
static void count_use(struct nj_frame_pool *pool, uint32_t group)
{
    uint32_t n_groups = pool->table->n_groups;
    if (pool->n_uses[group] < NJ_MOST_USES) {
        pool->n_uses[group]++;
    }
    if (++pool->n_uses_counted < (uint64_t)WALKS_BETWEEN_HALVINGS * n_groups) {
        return;
    }
    pool->n_uses_counted = 0;
    for (uint32_t i = 0; i < n_groups; i++) {
        pool->n_uses[i] /= 2;
    }
    nj_shelf_halve(&pool->shelf);
}

bool nj_frame_pool_unpin(struct nj_frame_pool *pool, struct nj_frame *frame)
{
    assert(frame->state == NJ_FRAME_READY && frame->n_pins > 0);
    if (--frame->n_pins > 0 || nj_wants_has(pool->wants, frame->group)) {
        return false;
    }
    count_use(pool, frame->group);
    nj_frame_pool_release(pool, frame);
    return true;
}
