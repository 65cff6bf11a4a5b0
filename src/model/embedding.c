#include "model/embedding.h"

#include <string.h>

#include "quant/bf16.h"

/* A prompt repeats most of its tokens within this many rows; to look further back would take
 * longer than to read a row again. */
enum { LOOK_BACK_ROWS = 512 };

/* The nearest row before `row` that has its token, or `row` itself when none of the last few
 * hundred has. */
static uint32_t same_token_before(const struct nj_row *rows, uint32_t row)
{
    uint32_t end = row < LOOK_BACK_ROWS ? 0 : row - LOOK_BACK_ROWS;
    for (uint32_t i = row; i > end; i--) {
        if (rows[i - 1].token == rows[row].token) {
            return i - 1;
        }
    }
    return row;
}

static uint32_t tile_of(const struct nj_bound_matrix *embedding, nj_token token)
{
    return (uint32_t)token / embedding->rows_per_tile;
}

void nj_embedding_announce(const struct nj_weights *weights, struct nj_stream *stream,
                           const struct nj_row *rows, uint32_t n_rows)
{
    const struct nj_bound_matrix *embedding = &weights->global.embedding;
    for (uint32_t i = 0; i < n_rows; i++) {
        if (same_token_before(rows, i) == i) {
            uint32_t record =
                nj_bound_matrix_record(embedding, tile_of(embedding, rows[i].token));
            nj_stream_want(stream, &record, 1);
        }
    }
}

/* `bytes` may lie at any alignment. */
static void widen_row(const uint8_t *bytes, uint32_t n, float *row)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t bits;
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
        row[i] = nj_bf16_widen(bits);
    }
}

static enum nj_status look_up(const struct nj_bound_matrix *embedding, struct nj_stream *stream,
                              nj_token token, float *row, struct nj_error *err)
{
    uint32_t tile = tile_of(embedding, token);
    uint32_t n = embedding->n_inputs;
    struct nj_tile pinned;
    enum nj_status status = nj_bound_matrix_pin(embedding, tile, stream, &pinned, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "embedding of token %d", token);
    }
    struct nj_matrix source =
        nj_matrix_rows(&pinned.matrix, (uint32_t)token - pinned.first_output, 1);
    if (source.type == NJ_MATRIX_F32) {
        memcpy(row, source.weights, n * sizeof *row);
    } else {
        widen_row(source.weights, n, row);
    }
    nj_bound_matrix_unpin(embedding, tile, stream);
    return NJ_OK;
}

/* A token that was looked up a moment ago is not read a second time. */
enum nj_status nj_embedding_look_up(const struct nj_weights *weights, struct nj_stream *stream,
                                    const struct nj_row *rows, uint32_t n_rows, float *out,
                                    struct nj_error *err)
{
    const struct nj_bound_matrix *embedding = &weights->global.embedding;
    size_t n_hidden = embedding->n_inputs;
    enum nj_status status = NJ_OK;
    for (uint32_t i = 0; i < n_rows && status == NJ_OK; i++) {
        uint32_t before = same_token_before(rows, i);
        float *row = out + i * n_hidden;
        if (before != i) {
            memcpy(row, out + before * n_hidden, n_hidden * sizeof *row);
        } else {
            status = look_up(embedding, stream, rows[i].token, row, err);
        }
    }
    return status;
}
