/* How many reads to keep in flight on one drive, found by trying.
 *
 * Too few leave the drive idle between them; too many only make an urgent one wait behind
 * others that are needed as well. So when in doubt it is deeper. Two things say which: the rate
 * while the engine waits for the drive, compared between depths, and reads that ran out while
 * the engine computed and then waited.
 *
 *     SETTLED      --(enough measured)--> TRYING_MORE or TRYING_LESS, in turn
 *     TRYING_MORE  --(faster)--> TRYING_MORE, twice as deep; --(not)--> SETTLED, as before
 *     TRYING_LESS  --(faster)--> TRYING_LESS, half as deep;   --(not)--> SETTLED, as before
 *
 * Pure: time comes in as an argument. Threads: one at a time.
 */
#ifndef NJ_STREAM_READ_DEPTH_H
#define NJ_STREAM_READ_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NJ_READ_DEPTH_START = 32,
    NJ_READ_DEPTH_LEAST = 16,
    NJ_READ_DEPTH_MOST_TRIED = 64, /* by rate; reads that ran out may take it further */
    NJ_READ_DEPTH_MOST = 256
};

enum nj_read_depth_phase {
    NJ_READ_DEPTH_SETTLED,
    NJ_READ_DEPTH_TRYING_MORE,
    NJ_READ_DEPTH_TRYING_LESS
};

struct nj_read_depth {
    uint32_t depth;
    enum nj_read_depth_phase phase;
    uint32_t settled_depth; /* to go back to */
    double settled_rate;    /* bytes a nanosecond; 0: never measured */
    uint32_t n_windows;     /* measured since settling */
    uint32_t n_windows_to_next_try;
    bool tries_less_next;
    /* The window being measured. Time runs from `since_ns` while the engine waits; reads that
     * were in flight before it began to wait (`n_to_skip`) took time that was not seen. */
    uint64_t window_bytes;
    uint64_t window_ns;
    uint64_t since_ns;
    uint64_t waited_until_ns;
    uint32_t n_to_skip;
};

void nj_read_depth_init(struct nj_read_depth *depth);

/* The engine begins to wait, with this many reads in flight. */
void nj_read_depth_wait(struct nj_read_depth *depth, uint32_t n_in_flight, uint64_t now_ns);

/* A read came back while it waited. */
void nj_read_depth_arrived(struct nj_read_depth *depth, uint32_t length_bytes, uint64_t now_ns);

/* Reads ran out while there was more to read, and then the engine had to wait. */
void nj_read_depth_ran_out(struct nj_read_depth *depth);

#endif
