/* Frames that hold a group nobody uses or waits for, and which of them to give up next.
 *
 * Passing groups go first. Of the others, the one used least often goes, unless the one used
 * last was used about as often: then that one goes. So a walk that comes round again and again,
 * which uses every group equally often, finds what it left behind and does not lose all of it
 * to what it just used; giving up the least recently used would leave it nothing. A difference
 * of one use says nothing, because within a walk some groups had their turn and others not yet.
 *
 * Putting, taking and choosing take constant time.
 *
 * Threads: one at a time.
 */
#ifndef NJ_STREAM_SHELF_H
#define NJ_STREAM_SHELF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define NJ_NO_FRAME UINT32_MAX

enum { NJ_MOST_USES = 15 };

struct nj_shelf_place {
    uint32_t before; /* in its list, put later; NJ_NO_FRAME at the head */
    uint32_t behind;
    uint64_t put_at; /* counts puts; 0: not on the shelf */
    uint32_t list;
};

struct nj_shelf {
    struct nj_shelf_place *places;    /* (n_frames) */
    uint32_t heads[NJ_MOST_USES + 2]; /* by uses; last the passing ones */
    uint32_t n_frames;
    uint64_t n_puts;
};

/* Empty. NJ_E_MEMORY. */
enum nj_status nj_shelf_init(struct nj_shelf *shelf, uint32_t n_frames, struct nj_error *err);
void nj_shelf_deinit(struct nj_shelf *shelf);

/* Puts a frame that is not on it; `n_uses` is at most NJ_MOST_USES. */
void nj_shelf_put_passing(struct nj_shelf *shelf, uint32_t frame);
void nj_shelf_put(struct nj_shelf *shelf, uint32_t frame, uint8_t n_uses);

/* Takes it off again; nothing happens when it is not there. */
void nj_shelf_take(struct nj_shelf *shelf, uint32_t frame);

/* The frame to give up, still on the shelf; NJ_NO_FRAME when it is empty. */
uint32_t nj_shelf_victim(const struct nj_shelf *shelf);

/* All uses count half from now on. */
void nj_shelf_halve(struct nj_shelf *shelf);

#endif
