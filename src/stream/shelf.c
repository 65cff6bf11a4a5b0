#include "stream/shelf.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
    N_COUNTS = NJ_MOST_USES + 1,
    PASSING_LIST = N_COUNTS,
    N_LISTS,
    /* How many more uses say that one group is wanted more often than another. */
    TELLING_USES = 2
};

enum nj_status nj_shelf_init(struct nj_shelf *shelf, uint32_t n_frames, struct nj_error *err)
{
    *shelf = (struct nj_shelf){.n_frames = n_frames};
    shelf->places = calloc((size_t)n_frames + 1, sizeof *shelf->places);
    if (shelf->places == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "list %" PRIu32 " frames: no memory", n_frames);
    }
    for (uint32_t list = 0; list < N_LISTS; list++) {
        shelf->heads[list] = NJ_NO_FRAME;
    }
    return NJ_OK;
}

void nj_shelf_deinit(struct nj_shelf *shelf)
{
    free(shelf->places);
    *shelf = (struct nj_shelf){.places = NULL};
}

static void put_on_list(struct nj_shelf *shelf, uint32_t frame, uint32_t list, uint64_t put_at)
{
    struct nj_shelf_place *place = &shelf->places[frame];
    assert(place->put_at == 0);
    uint32_t head = shelf->heads[list];
    *place = (struct nj_shelf_place){NJ_NO_FRAME, head, put_at, list};
    if (head != NJ_NO_FRAME) {
        shelf->places[head].before = frame;
    }
    shelf->heads[list] = frame;
}

void nj_shelf_put_passing(struct nj_shelf *shelf, uint32_t frame)
{
    put_on_list(shelf, frame, PASSING_LIST, ++shelf->n_puts);
}

void nj_shelf_put(struct nj_shelf *shelf, uint32_t frame, uint8_t n_uses)
{
    assert(n_uses <= NJ_MOST_USES);
    put_on_list(shelf, frame, n_uses, ++shelf->n_puts);
}

void nj_shelf_take(struct nj_shelf *shelf, uint32_t frame)
{
    struct nj_shelf_place *place = &shelf->places[frame];
    if (place->put_at == 0) {
        return;
    }
    if (place->before == NJ_NO_FRAME) {
        shelf->heads[place->list] = place->behind;
    } else {
        shelf->places[place->before].behind = place->behind;
    }
    if (place->behind != NJ_NO_FRAME) {
        shelf->places[place->behind].before = place->before;
    }
    place->put_at = 0;
}

uint32_t nj_shelf_victim(const struct nj_shelf *shelf)
{
    if (shelf->heads[PASSING_LIST] != NJ_NO_FRAME) {
        return shelf->heads[PASSING_LIST];
    }
    uint32_t rarest = NJ_NO_FRAME;
    uint32_t latest = NJ_NO_FRAME;
    for (uint32_t list = 0; list < N_COUNTS; list++) {
        uint32_t head = shelf->heads[list];
        if (head == NJ_NO_FRAME) {
            continue;
        }
        rarest = rarest == NJ_NO_FRAME ? head : rarest;
        if (latest == NJ_NO_FRAME ||
            shelf->places[head].put_at > shelf->places[latest].put_at) {
            latest = head;
        }
    }
    if (rarest == NJ_NO_FRAME) {
        return NJ_NO_FRAME;
    }
    bool is_telling = shelf->places[latest].list >= shelf->places[rarest].list + TELLING_USES;
    return is_telling ? rarest : latest;
}

/* Puts the frames of a list, last one first, at the head of another. */
static void move_list(struct nj_shelf *shelf, uint32_t from, uint32_t to)
{
    uint32_t tail = shelf->heads[from];
    while (tail != NJ_NO_FRAME && shelf->places[tail].behind != NJ_NO_FRAME) {
        tail = shelf->places[tail].behind;
    }
    while (tail != NJ_NO_FRAME) {
        uint32_t next = shelf->places[tail].before;
        uint64_t put_at = shelf->places[tail].put_at;
        nj_shelf_take(shelf, tail);
        put_on_list(shelf, tail, to, put_at);
        tail = next;
    }
}

void nj_shelf_halve(struct nj_shelf *shelf)
{
    for (uint32_t count = 1; count < N_COUNTS; count++) {
        move_list(shelf, count, count / 2);
    }
}
