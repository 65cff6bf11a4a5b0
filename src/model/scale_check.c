#include "model/scale_check.h"

#include "model/weight_walk.h"
#include "quant/mxfp4.h"

/* Whether `record` is one of the matrix, whose scales are every second one. */
static bool holds(const struct nj_bound_matrix *matrix, uint32_t record)
{
    return record >= matrix->first_record &&
           record - matrix->first_record < nj_bound_matrix_n_records(matrix);
}

static enum nj_status mark(void *context, int32_t layer, int32_t expert,
                           const struct nj_bound_matrix *matrix, struct nj_error *err)
{
    uint8_t *is_scales = context;
    (void)layer;
    (void)expert;
    (void)err;
    if (matrix->type != NJ_MATRIX_MXFP4) {
        return NJ_OK;
    }
    for (uint32_t tile = 0; tile < nj_bound_matrix_n_tiles(matrix); tile++) {
        uint32_t scales = nj_bound_matrix_record(matrix, tile) + 1;
        is_scales[scales / 8] |= (uint8_t)(1U << scales % 8);
    }
    return NJ_OK;
}

enum nj_status nj_scale_check_init(struct nj_scale_check *check, struct nj_weights *weights,
                                   const struct nj_dims *dims, struct nj_error *err)
{
    check->weights = weights;
    check->dims = dims;
    check->is_scales = nj_arena_take(&weights->arena, weights->n_records / 8 + 1);
    if (check->is_scales == NULL) {
        return nj_arena_fail(&weights->arena, "scales", err);
    }
    return nj_weight_walk(weights, dims, mark, check->is_scales, err);
}

/* A bad scale, while the tensor that it belongs to is looked for. */
struct bad_scale {
    uint32_t record;
    unsigned long long offset; /* in the file */
};

static enum nj_status tell(void *context, int32_t layer, int32_t expert,
                           const struct nj_bound_matrix *matrix, struct nj_error *err)
{
    const struct bad_scale *bad = context;
    if (!holds(matrix, bad->record)) {
        return NJ_OK;
    }
    if (expert >= 0) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "layer %d, expert %d, %s.weight_scale: scale 255 at byte %llu of its "
                       "file is not a number",
                       layer, expert, matrix->name, bad->offset);
    }
    if (layer >= 0) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "layer %d, %s.weight_scale: scale 255 at byte %llu of its file is not a "
                       "number",
                       layer, matrix->name, bad->offset);
    }
    return nj_fail(err, NJ_E_WEIGHTS,
                   "%s.weight_scale: scale 255 at byte %llu of its file is not a number",
                   matrix->name, bad->offset);
}

enum nj_status nj_scale_check_record(void *context, uint32_t record, const uint8_t *bytes,
                                     uint64_t length_bytes, struct nj_error *err)
{
    const struct nj_scale_check *check = context;
    size_t bad_index = 0;
    if ((check->is_scales[record / 8] >> record % 8 & 1) == 0 ||
        nj_mxfp4_scales_are_numbers(bytes, length_bytes, &bad_index)) {
        return NJ_OK;
    }
    struct bad_scale bad = {.record = record,
                            .offset = check->weights->extents[record].offset_bytes + bad_index};
    return nj_weight_walk(check->weights, check->dims, tell, &bad, err);
}
