#include "model/scale_check.h"

#include "quant/mxfp4.h"

struct check {
    const struct nj_weights *weights;
    struct nj_stream *stream;
};

static enum nj_status fail_at(const struct check *check, const char *tensor, uint32_t layer,
                              int32_t expert, uint32_t record, size_t bad_index,
                              struct nj_error *err)
{
    unsigned long long offset = check->weights->extents[record].offset_bytes + bad_index;
    if (expert < 0) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "layer %u, %s.weight_scale: scale 255 at byte %llu of its file is not a "
                       "number",
                       layer, tensor, offset);
    }
    return nj_fail(
        err, NJ_E_WEIGHTS,
        "layer %u, expert %d, %s.weight_scale: scale 255 at byte %llu of its file is "
        "not a number",
        layer, expert, tensor, offset);
}

static enum nj_status check_matrix(void *context, const char *tensor, uint32_t layer,
                                   int32_t expert, const struct nj_bound_matrix *matrix,
                                   struct nj_error *err)
{
    const struct check *check = context;
    if (matrix->type != NJ_MATRIX_MXFP4) {
        return NJ_OK;
    }
    for (uint32_t tile = 0; tile < nj_bound_matrix_n_tiles(matrix); tile++) {
        uint32_t record = matrix->first_scales + tile;
        struct nj_pinned scales;
        enum nj_status status = nj_stream_pin(check->stream, record, &scales, err);
        if (status != NJ_OK) {
            return status;
        }
        size_t bad_index = 0;
        bool is_good = nj_mxfp4_scales_are_numbers(
            scales.bytes, check->weights->extents[record].length_bytes, &bad_index);
        nj_stream_unpin(check->stream, record);
        if (!is_good) {
            return fail_at(check, tensor, layer, expert, record, bad_index, err);
        }
    }
    return NJ_OK;
}

enum nj_status nj_scale_check(const struct nj_weights *weights, const struct nj_dims *dims,
                              struct nj_stream *stream, struct nj_error *err)
{
    struct check check = {weights, stream};
    return nj_weights_each_matrix(weights, dims, check_matrix, &check, err);
}
