/* A figure that was sampled in several rounds.
 *
 * Threads: pure functions.
 */
#ifndef NJ_TOOLS_BENCH_FIGURE_H
#define NJ_TOOLS_BENCH_FIGURE_H

#include <stdint.h>

enum { NJ_BENCH_MOST_ROUNDS = 9 };

struct nj_bench_figure {
    double median;
    double best; /* the largest */
};

/* `n_samples` is 1 .. NJ_BENCH_MOST_ROUNDS. */
struct nj_bench_figure nj_bench_figure_of(const double *samples, uint32_t n_samples);

#endif
