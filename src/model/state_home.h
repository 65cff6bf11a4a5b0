/* Where the values of states lie when they are not in memory: what the sweep, the mixers and
 * the states themselves ask of such a place.
 *
 * A home has seats, one for each state. A sweep passes all its states through: layer by layer,
 * and in a layer window by window, the home brings the values of some states into memory and
 * takes them away again changed. It knows beforehand what will be asked for (every layer in
 * order, in it every passage in order), so it may read ahead, and write behind.
 *
 * What a seat holds stays whole until the sweep has ended: a sweep that is broken off has
 * changed nothing. A body: snapshot/slot_home.h.
 *
 * Threads: all calls are the engine thread's.
 */
#ifndef NJ_MODEL_STATE_HOME_H
#define NJ_MODEL_STATE_HOME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* A state's way through one sweep. */
struct nj_state_passage {
    uint32_t seat;
    uint32_t length;      /* positions that the seat holds */
    uint32_t next_length; /* and will hold after the sweep */
};

/* Values of a layer are those of its recurrent part, or of its positions from the first on. */
struct nj_state_home {
    void *context;

    /* An empty seat (length 0). NJ_E_BUDGET when there is none. */
    enum nj_status (*admit)(void *context, uint32_t *seat, struct nj_error *err);
    void (*dismiss)(void *context, uint32_t seat);
    void (*clear)(void *context, uint32_t seat); /* empty again */
    /* NJ_E_USAGE when a seat has no room for so many positions. */
    enum nj_status (*reserve)(void *context, uint32_t seat, uint32_t n_positions,
                              struct nj_error *err);
    /* False when what the seat held can no longer be had: clear it and feed again. */
    bool (*is_whole)(void *context, uint32_t seat);

    /* Between sweeps: to and from a seat. */
    enum nj_status (*store)(void *context, uint32_t seat, uint32_t layer, uint64_t first_value,
                            uint64_t n_values, const float *values, struct nj_error *err);
    enum nj_status (*load)(void *context, uint32_t seat, uint32_t layer, uint64_t first_value,
                           uint64_t n_values, float *values, struct nj_error *err);

    /* A sweep: begin, then for each layer windows from the first passage to the last, then end.
     * `passages` are copied. After a failure of any: abandon. */
    enum nj_status (*begin)(void *context, const struct nj_state_passage *passages,
                            uint32_t n_passages, struct nj_error *err);
    /* Passages `first`, first + 1, ...: as many as the window holds, at least one; `values`
     * gets the place of each. A recurrent part is there whole, zeros at length 0; of positions
     * there is room for next_length, and the first `length` are there. */
    enum nj_status (*enter)(void *context, uint32_t layer, uint32_t first, uint32_t *n_passages,
                            float **values, struct nj_error *err);
    /* The window's values are final. */
    void (*leave)(void *context);
    /* Returns when every seat holds what its passage left there. */
    enum nj_status (*end)(void *context, struct nj_error *err);
    void (*abandon)(void *context);
};

#endif
