#include "snapshot/restore.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "format/checksum.h"
#include "format/planes.h"

/* One thread's memory, and what it found. */
struct hand {
    uint8_t *stored; /* (NJ_SEGMENT_PAYLOAD_LIMIT_BYTES) */
    uint8_t *raw;    /* ditto */
    struct nj_unpacker *unpacker;
    enum nj_status status;
    struct nj_error error;
};

enum { HAND_BYTES = 2 * NJ_SEGMENT_PAYLOAD_LIMIT_BYTES + NJ_UNPACKER_BYTES };

/* Pieces lie apart in the state, so threads never write to the same place. */
struct work {
    const struct nj_generation *generation;
    struct nj_state *state;
    struct hand *hands;
    uint32_t n_hands;
};

static enum nj_status read_piece(const struct nj_generation *generation,
                                 const struct nj_generation_piece *piece, struct hand *hand,
                                 struct nj_error *err)
{
    const struct nj_segment_source *source = &generation->sources[piece->source];
    uint8_t *to = piece->is_packed ? hand->stored : hand->raw;
    enum nj_status status = nj_file_read_exactly(
        source->fs, source->fd, to, piece->stored_bytes, piece->offset, source->name, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_bytes stored = {.data = to, .length_bytes = piece->stored_bytes};
    if (nj_crc32(0, stored) != piece->crc32) {
        return nj_fail(err, NJ_E_STATE, "%s changed while it was read", source->name);
    }
    return piece->is_packed
               ? nj_unpacker_unpack(hand->unpacker, stored, hand->raw, piece->raw_bytes, err)
               : NJ_OK;
}

/* Lengths and places were verified against the model's shape. */
static enum nj_status place_piece(const struct work *work,
                                  const struct nj_generation_piece *piece, const uint8_t *raw,
                                  struct nj_error *err)
{
    const void *values = raw;
    const struct nj_segment_section *section = &piece->section;
    uint64_t unit =
        section->type == NJ_SEGMENT_KV ? work->generation->shape.position_values : 1;
    return nj_state_fill(work->state, section->layer, section->first * unit,
                         section->count * unit, values, err);
}

static void restore_piece(void *context, uint32_t index, uint32_t thread_index)
{
    const struct work *work = context;
    struct hand *hand = &work->hands[thread_index];
    const struct nj_generation_piece *piece = &work->generation->pieces[index];
    if (hand->status == NJ_OK) {
        hand->status = read_piece(work->generation, piece, hand, &hand->error);
    }
    if (hand->status == NJ_OK) {
        hand->status = place_piece(work, piece, hand->raw, &hand->error);
    }
}

static void free_hands(struct work *work)
{
    for (uint32_t i = 0; i < work->n_hands; i++) {
        free(work->hands[i].stored);
        free(work->hands[i].raw);
        nj_unpacker_destroy(work->hands[i].unpacker);
    }
    free(work->hands);
}

static enum nj_status take_hand(struct hand *hand, struct nj_error *err)
{
    hand->stored = malloc(NJ_SEGMENT_PAYLOAD_LIMIT_BYTES);
    hand->raw = malloc(NJ_SEGMENT_PAYLOAD_LIMIT_BYTES);
    if (hand->stored == NULL || hand->raw == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "restore a snapshot: out of memory");
    }
    return nj_unpacker_create(&hand->unpacker, err);
}

static enum nj_status take_hands(struct work *work, uint32_t n_hands, struct nj_error *err)
{
    work->hands = calloc(n_hands, sizeof *work->hands);
    if (work->hands == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "restore a snapshot: out of memory");
    }
    work->n_hands = n_hands;
    enum nj_status status = NJ_OK;
    for (uint32_t i = 0; i < n_hands && status == NJ_OK; i++) {
        status = take_hand(&work->hands[i], err);
    }
    return status;
}

static enum nj_status first_failure(const struct work *work, struct nj_error *err)
{
    for (uint32_t i = 0; i < work->n_hands; i++) {
        const struct hand *hand = &work->hands[i];
        if (hand->status != NJ_OK) {
            enum nj_status status = hand->status == NJ_E_STORAGE ? NJ_E_STORAGE : NJ_E_STATE;
            return nj_fail(err, status, "%s", hand->error.text);
        }
    }
    return NJ_OK;
}

static enum nj_status run(struct work *work, struct nj_pool *pool, struct nj_error *err)
{
    uint32_t n_pieces = (uint32_t)work->generation->n_pieces;
    if (pool != NULL) {
        nj_pool_run(pool, n_pieces, restore_piece, work);
    } else {
        for (uint32_t i = 0; i < n_pieces; i++) {
            restore_piece(work, i, 0);
        }
    }
    return first_failure(work, err);
}

/* All threads if their memory can be paid, else this one. */
static enum nj_status pay(struct nj_byte_budget *budget, struct nj_pool **pool,
                          uint64_t *paid_bytes, struct nj_error *err)
{
    uint64_t n_threads = *pool == NULL ? 1 : nj_pool_n_threads(*pool);
    *paid_bytes = n_threads * HAND_BYTES;
    if (budget == NULL || nj_byte_budget_take(budget, *paid_bytes, err) == NJ_OK) {
        return NJ_OK;
    }
    *pool = NULL;
    *paid_bytes = HAND_BYTES;
    return nj_byte_budget_take(budget, *paid_bytes, err);
}

static enum nj_status fill(const struct nj_generation *generation, struct nj_state *state,
                           struct nj_pool *pool, struct nj_error *err)
{
    struct work work = {.generation = generation, .state = state};
    enum nj_status status = take_hands(&work, pool == NULL ? 1 : nj_pool_n_threads(pool), err);
    if (status == NJ_OK && generation->n_pieces > 0) {
        status = run(&work, pool, err);
    }
    free_hands(&work);
    return status;
}

enum nj_status nj_generation_restore(const struct nj_generation *generation,
                                     struct nj_state *state, struct nj_pool *pool,
                                     struct nj_byte_budget *budget, struct nj_error *err)
{
    uint64_t paid_bytes = 0;
    uint32_t n_positions = generation->shape.n_positions;
    assert(nj_state_length(state) == 0 && !nj_state_is_broken(state));
    if (generation->n_pieces > UINT32_MAX) {
        return nj_fail(err, NJ_E_STATE, "a snapshot of too many pieces");
    }
    enum nj_status status = nj_state_reserve(state, n_positions, err);
    if (nj_state_home(state) != NULL) {
        pool = NULL; /* one at a time */
    }
    if (status == NJ_OK) {
        status = pay(budget, &pool, &paid_bytes, err);
    }
    if (status != NJ_OK) {
        nj_state_reset(state);
        return status;
    }
    nj_state_mark_broken(state);
    status = fill(generation, state, pool, err);
    if (budget != NULL) {
        nj_byte_budget_give_back(budget, paid_bytes);
    }
    if (status == NJ_OK) {
        nj_state_advance(state, n_positions);
    } else {
        nj_state_reset(state);
    }
    return status;
}
