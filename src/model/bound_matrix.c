#include "model/bound_matrix.h"

#include <assert.h>

#include "quant/mxfp4.h"

bool nj_bound_matrix_is_present(const struct nj_bound_matrix *matrix)
{
    return matrix->n_outputs != 0;
}

uint32_t nj_bound_matrix_n_tiles(const struct nj_bound_matrix *matrix)
{
    if (!nj_bound_matrix_is_present(matrix)) {
        return 0;
    }
    return (matrix->n_outputs - 1) / matrix->rows_per_tile + 1;
}

static uint32_t records_per_tile(const struct nj_bound_matrix *matrix)
{
    return matrix->type == NJ_MATRIX_MXFP4 ? 2 : 1;
}

uint32_t nj_bound_matrix_n_records(const struct nj_bound_matrix *matrix)
{
    return nj_bound_matrix_n_tiles(matrix) * records_per_tile(matrix);
}

uint32_t nj_bound_matrix_record(const struct nj_bound_matrix *matrix, uint32_t tile)
{
    return matrix->first_record + tile * records_per_tile(matrix);
}

uint32_t nj_bound_matrix_tile_rows(const struct nj_bound_matrix *matrix, uint32_t tile)
{
    uint32_t first = tile * matrix->rows_per_tile;
    uint32_t left = matrix->n_outputs - first;
    return left < matrix->rows_per_tile ? left : matrix->rows_per_tile;
}

uint64_t nj_matrix_row_bytes(enum nj_matrix_type type, uint32_t n_inputs)
{
    switch (type) {
    case NJ_MATRIX_F32:
        return (uint64_t)n_inputs * 4;
    case NJ_MATRIX_BF16:
        return (uint64_t)n_inputs * 2;
    case NJ_MATRIX_MXFP4:
        return (uint64_t)n_inputs / 2;
    }
    return 0;
}

uint64_t nj_matrix_row_scale_bytes(enum nj_matrix_type type, uint32_t n_inputs)
{
    return type == NJ_MATRIX_MXFP4 ? (uint64_t)n_inputs / NJ_MXFP4_BLOCK_VALUES : 0;
}

enum nj_status nj_bound_matrix_pin(const struct nj_bound_matrix *matrix, uint32_t tile,
                                   struct nj_stream *stream, struct nj_tile *pinned,
                                   struct nj_error *err)
{
    struct nj_pinned values = {NULL, 0};
    struct nj_pinned scales = {NULL, 0};
    uint32_t record = nj_bound_matrix_record(matrix, tile);
    enum nj_status status = nj_stream_pin(stream, record, &values, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "%s", matrix->name);
    }
    if (matrix->type == NJ_MATRIX_MXFP4) {
        status = nj_stream_pin(stream, record + 1, &scales, err);
        if (status != NJ_OK) {
            nj_stream_unpin(stream, record);
            return nj_prefix(err, status, "%s", matrix->name);
        }
    }
    assert(values.device == 0 && scales.device == 0); /* kernels here read host memory */
    pinned->matrix = (struct nj_matrix){.type = matrix->type,
                                        .n_outputs = nj_bound_matrix_tile_rows(matrix, tile),
                                        .n_inputs = matrix->n_inputs,
                                        .weights = values.bytes,
                                        .scales = scales.bytes};
    pinned->first_output = tile * matrix->rows_per_tile;
    return NJ_OK;
}

void nj_bound_matrix_unpin(const struct nj_bound_matrix *matrix, uint32_t tile,
                           struct nj_stream *stream)
{
    uint32_t record = nj_bound_matrix_record(matrix, tile);
    nj_stream_unpin(stream, record);
    if (matrix->type == NJ_MATRIX_MXFP4) {
        nj_stream_unpin(stream, record + 1);
    }
}

struct nj_matrix nj_matrix_rows(const struct nj_matrix *matrix, uint32_t first, uint32_t n_rows)
{
    assert(first + n_rows <= matrix->n_outputs);
    uint64_t row_bytes = nj_matrix_row_bytes(matrix->type, matrix->n_inputs);
    uint64_t scale_bytes = nj_matrix_row_scale_bytes(matrix->type, matrix->n_inputs);
    struct nj_matrix rows = *matrix;
    rows.n_outputs = n_rows;
    rows.weights = (const uint8_t *)matrix->weights + first * row_bytes;
    if (matrix->scales != NULL) {
        rows.scales = matrix->scales + first * scale_bytes;
    }
    return rows;
}
