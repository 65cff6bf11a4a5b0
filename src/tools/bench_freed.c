#include "tools/bench_freed.h"

/* Asks for `n_values` to be in L2 soon. */
static void prefetch(const float *values, size_t n_values)
{
    for (size_t i = 0; i < n_values; i += 16) {
        __builtin_prefetch(values + i, 0, 2);
    }
}

void nj_bench_multiply_freed(const struct nj_bench_loops *loops, const float *weights,
                             uint32_t n_outputs, uint32_t n_inputs, const float *x,
                             uint32_t n_rows, float *sums)
{
    const size_t n_output_tiles = n_outputs / loops->freed_outputs;
    const size_t n_row_tiles = n_rows / loops->freed_rows;
    const size_t tile_values = (size_t)loops->freed_outputs * loops->freed_rows;
    uint32_t n_panel;
    for (uint32_t begin = 0; begin < n_inputs; begin += n_panel) {
        n_panel =
            n_inputs - begin < NJ_BENCH_PANEL_INPUTS ? n_inputs - begin : NJ_BENCH_PANEL_INPUTS;
        const float *panel_weights = weights + (size_t)begin * n_outputs;
        const size_t tile_weight_values = (size_t)n_panel * loops->freed_outputs;
        const size_t share = tile_weight_values / n_row_tiles;
        const float *panel_x = x + (size_t)begin * n_rows;
        for (size_t o = 0; o < n_output_tiles; o++) {
            const float *tile_weights = panel_weights + o * tile_weight_values;
            for (size_t r = 0; r < n_row_tiles; r++) {
                if (o + 1 < n_output_tiles) {
                    prefetch(tile_weights + tile_weight_values + r * share, share);
                }
                loops->freed_tile(tile_weights, panel_x + r * n_panel * loops->freed_rows,
                                  n_panel, sums + (o * n_row_tiles + r) * tile_values);
            }
        }
    }
}
