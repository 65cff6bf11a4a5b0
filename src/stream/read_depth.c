#include "stream/read_depth.h"

enum {
    WINDOW_BYTES = 128 * 1024 * 1024,
    WINDOW_NS = 50 * 1000 * 1000,
    /* Waits that follow each other this closely are one: the drive saw no pause. */
    CLOSE_NS = 1000 * 1000,
    /* 4 GiB at least: a trial costs one window, so it may be wrong by a quarter and cost less
     * than a hundredth. */
    WINDOWS_BETWEEN_TRIES = 32
};

/* Rates of drives vary by more than that between windows: of two wrong answers, more reads in
 * flight is the harmless one. */
static const double WORTH_MORE = 1.02;
static const double WORTH_LESS = 1.10;

void nj_read_depth_init(struct nj_read_depth *depth)
{
    *depth = (struct nj_read_depth){.depth = NJ_READ_DEPTH_START,
                                    .settled_depth = NJ_READ_DEPTH_START,
                                    .n_windows_to_next_try = 1};
}

static void clear_window(struct nj_read_depth *depth)
{
    depth->window_bytes = 0;
    depth->window_ns = 0;
}

/* --- trying --- */

static void settle(struct nj_read_depth *depth, uint32_t at)
{
    depth->depth = at;
    depth->settled_depth = at;
    depth->phase = NJ_READ_DEPTH_SETTLED;
    depth->n_windows = 0;
    depth->n_windows_to_next_try = WINDOWS_BETWEEN_TRIES;
}

static void try_more(struct nj_read_depth *depth)
{
    if (depth->depth * 2 > NJ_READ_DEPTH_MOST_TRIED) {
        settle(depth, depth->depth);
        return;
    }
    depth->settled_depth = depth->depth;
    depth->depth *= 2;
    depth->phase = NJ_READ_DEPTH_TRYING_MORE;
}

static void try_less(struct nj_read_depth *depth)
{
    if (depth->depth / 2 < NJ_READ_DEPTH_LEAST) {
        settle(depth, depth->depth);
        return;
    }
    depth->settled_depth = depth->depth;
    depth->depth /= 2;
    depth->phase = NJ_READ_DEPTH_TRYING_LESS;
}

static void judge_settled(struct nj_read_depth *depth, double rate)
{
    depth->settled_rate = rate;
    if (++depth->n_windows < depth->n_windows_to_next_try) {
        return;
    }
    bool tries_less = depth->tries_less_next;
    depth->tries_less_next = !tries_less;
    if (tries_less) {
        try_less(depth);
    } else {
        try_more(depth);
    }
}

static void judge(struct nj_read_depth *depth, double rate)
{
    switch (depth->phase) {
    case NJ_READ_DEPTH_SETTLED:
        judge_settled(depth, rate);
        break;
    case NJ_READ_DEPTH_TRYING_MORE:
        if (rate > depth->settled_rate * WORTH_MORE) {
            depth->settled_rate = rate;
            try_more(depth);
        } else {
            settle(depth, depth->settled_depth);
        }
        break;
    case NJ_READ_DEPTH_TRYING_LESS:
        if (rate > depth->settled_rate * WORTH_LESS) {
            depth->settled_rate = rate;
            try_less(depth);
        } else {
            settle(depth, depth->settled_depth);
        }
        break;
    }
}

/* --- measuring --- */

void nj_read_depth_wait(struct nj_read_depth *depth, uint32_t n_in_flight, uint64_t now_ns)
{
    bool follows = now_ns - depth->waited_until_ns <= CLOSE_NS;
    if (!follows) {
        depth->n_to_skip = n_in_flight;
    }
    if (n_in_flight < depth->depth) {
        depth->n_to_skip = NJ_READ_DEPTH_MOST; /* not what this depth can do */
    } else if (depth->n_to_skip > n_in_flight) {
        depth->n_to_skip = n_in_flight;
    }
    depth->waited_until_ns = now_ns;
}

void nj_read_depth_arrived(struct nj_read_depth *depth, uint32_t length_bytes, uint64_t now_ns)
{
    depth->waited_until_ns = now_ns;
    if (depth->n_to_skip > 0) {
        depth->n_to_skip--;
        depth->since_ns = now_ns;
        return;
    }
    depth->window_bytes += length_bytes;
    depth->window_ns += now_ns - depth->since_ns;
    depth->since_ns = now_ns;
    if (depth->window_bytes >= WINDOW_BYTES && depth->window_ns >= WINDOW_NS) {
        judge(depth, (double)depth->window_bytes / (double)depth->window_ns);
        clear_window(depth);
        depth->n_to_skip = depth->depth; /* those in flight began at the other depth */
    }
}

void nj_read_depth_ran_out(struct nj_read_depth *depth)
{
    if (depth->depth * 2 <= NJ_READ_DEPTH_MOST) {
        settle(depth, depth->depth * 2);
        clear_window(depth);
    }
}
