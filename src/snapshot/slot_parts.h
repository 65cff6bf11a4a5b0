/* The inside of a home of slots, for the files that work on it: slot_home.c makes it, seats
 * states and commits, slot_passage.c moves values for the sweep.
 */
#ifndef NJ_SNAPSHOT_SLOT_PARTS_H
#define NJ_SNAPSHOT_SLOT_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/state_home.h"
#include "snapshot/slot_home.h"
#include "snapshot/slot_lanes.h"
#include "snapshot/slot_layout.h"
#include "snapshot/slot_name.h"

struct nj_slot_seat {
    bool is_taken;
    bool is_whole;  /* what it held can be had */
    bool is_summed; /* every layer's checksum is known */
    uint32_t generation;
};

/* Invariant: between sweeps the file holds, for every seat that is taken, the values that its
 * state has, recurrent parts in the seat's generation. `sums` are of those; `next_sums` are
 * what the sweep under way makes of them, and count once it has ended. */
struct nj_slot_home {
    struct nj_slot_home_options options;
    struct nj_slot_layout layout;
    struct nj_state_home table;
    char name[NJ_SLOT_NAME_BYTES];
    int fd;
    struct nj_slot_seat *seats;        /* (n_seats) */
    uint32_t *sums;                    /* (n_seats, n_layers): CRC-32 */
    uint32_t *next_sums;               /* ditto */
    struct nj_state_passage *passages; /* (n_seats), of the sweep */
    uint32_t n_passages;
    uint32_t next_layer; /* that the reader will ask for, and its first passage */
    uint32_t next_first;
    struct nj_slot_lanes *lanes;
    uint8_t *commit_bytes; /* a table */
    uint64_t commit_number;
    uint64_t durable_number;
    _Atomic uint64_t read_bytes;
    _Atomic uint64_t written_bytes;
};

bool nj_slot_is_latent(const struct nj_slot_home *home, uint32_t layer);
/* Values that a seat has of a layer at so many positions. */
uint64_t nj_slot_part_values(const struct nj_slot_home *home, uint32_t layer,
                             uint32_t n_positions);
/* A place in `sums` or `next_sums`. */
uint32_t *nj_slot_sum(const struct nj_slot_home *home, uint32_t *sums, uint32_t seat,
                      uint32_t layer);

/* NJ_E_STORAGE. */
enum nj_status nj_slot_read_values(struct nj_slot_home *home, float *values, uint64_t n_values,
                                   uint64_t offset, struct nj_error *err);
enum nj_status nj_slot_write_values(struct nj_slot_home *home, const float *values,
                                    uint64_t n_values, uint64_t offset, struct nj_error *err);

/* The work of the lanes; `context` is the home. */
bool nj_slot_next_window(void *context, struct nj_slot_window *window);
enum nj_status nj_slot_read_window(void *context, const struct nj_slot_window *window,
                                   struct nj_error *err);
enum nj_status nj_slot_write_window(void *context, const struct nj_slot_window *window,
                                    struct nj_error *err);

#endif
