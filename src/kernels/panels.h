/* What panels.inc and the files that include it share.
 *
 * A product in panels: a tile of weight rows meets all activation rows a panel of inputs at a
 * time, while the panel stays in L1 as F32. Accumulators wait in scratch between panels. A
 * block of such tiles goes by before the next panel, so that a panel of activations stays in
 * L2.
 *
 * Threads: types only.
 */
#ifndef NJ_KERNELS_PANELS_H
#define NJ_KERNELS_PANELS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

/* The product at hand, of at most MOST_ROWS activation rows. */
struct product {
    const struct nj_matrix *matrix;
    const float *x;
    size_t x_stride;
    uint32_t n_rows;
    uint32_t n_row_tiles;
    float *y;
    size_t y_stride;
    size_t n_groups;     /* whole ones of sixteen inputs */
    size_t panel_groups; /* at most PANEL_GROUPS */
    float *decoded;      /* DECODED_VALUES, for a piece of weights */
    float *lanes;        /* of each piece of a block: (row tiles, weights, TILE_INPUTS, 16) */
};

/* Weight rows in one panel: a tile, or two rows or one that are left over. */
struct piece {
    uint32_t first_output;
    uint32_t n_weights; /* TILE_WEIGHTS, 2 or 1 */
    size_t first_group;
    size_t n_groups;
    const uint8_t *weights; /* of the first row, as F32 at any alignment */
    size_t row_bytes;       /* from one row to the next */
};

#endif
