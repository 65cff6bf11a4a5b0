/* A weight matrix as records: row tiles of at most 64 MiB, pinned one at a time.
 *
 * Tiles keep the memory floor small (the output head of Kimi K3 is 2.35 GB) and cut only
 * between rows, or between groups of `row_unit` rows where a reader needs them together. A
 * matrix in MXFP4 has two records a tile, values and then scales, cut at the same rows.
 */
#ifndef NJ_MODEL_BOUND_MATRIX_H
#define NJ_MODEL_BOUND_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "kernels/kernels.h"
#include "stream/stream.h"

/* All zero: the model has no such matrix. Records of a matrix are numbered one after another.
 */
struct nj_bound_matrix {
    const char *name; /* of the tensor below its layer, without suffix: a constant */
    enum nj_matrix_type type;
    uint32_t n_outputs;
    uint32_t n_inputs;
    uint32_t rows_per_tile;
    uint32_t first_record; /* of tile 0 */
};

/* One tile in memory. */
struct nj_tile {
    struct nj_matrix matrix; /* rows first_output .. first_output + matrix.n_outputs - 1 */
    uint32_t first_output;
};

bool nj_bound_matrix_is_present(const struct nj_bound_matrix *matrix);
uint32_t nj_bound_matrix_n_tiles(const struct nj_bound_matrix *matrix);
/* Records of all tiles; they begin at first_record. */
uint32_t nj_bound_matrix_n_records(const struct nj_bound_matrix *matrix);
/* Of tile `tile`: its values, and behind them its scales (MXFP4 only). */
uint32_t nj_bound_matrix_record(const struct nj_bound_matrix *matrix, uint32_t tile);
/* Rows of tile `tile`. */
uint32_t nj_bound_matrix_tile_rows(const struct nj_bound_matrix *matrix, uint32_t tile);

/* Bytes of one row of values, and of its scales (0 unless MXFP4). */
uint64_t nj_matrix_row_bytes(enum nj_matrix_type type, uint32_t n_inputs);
uint64_t nj_matrix_row_scale_bytes(enum nj_matrix_type type, uint32_t n_inputs);

/* A failure is told with the name of the matrix before it. */
enum nj_status nj_bound_matrix_pin(const struct nj_bound_matrix *matrix, uint32_t tile,
                                   struct nj_stream *stream, struct nj_tile *pinned,
                                   struct nj_error *err);
void nj_bound_matrix_unpin(const struct nj_bound_matrix *matrix, uint32_t tile,
                           struct nj_stream *stream);

/* `n_rows` rows of a pinned matrix from `first` on, as a matrix of their own. */
struct nj_matrix nj_matrix_rows(const struct nj_matrix *matrix, uint32_t first,
                                uint32_t n_rows);

#endif
