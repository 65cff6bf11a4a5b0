#include "tools/bench_figure.h"

#include <stdlib.h>
#include <string.h>

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

struct nj_bench_figure nj_bench_figure_of(const double *samples, uint32_t n_samples)
{
    double sorted[NJ_BENCH_MOST_ROUNDS];
    memcpy(sorted, samples, n_samples * sizeof *sorted);
    qsort(sorted, n_samples, sizeof *sorted, compare_numbers);
    return (struct nj_bench_figure){sorted[n_samples / 2], sorted[n_samples - 1]};
}
