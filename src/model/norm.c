#include "model/norm.h"

#include "model/profile.h"

struct row_work {
    const struct nj_kernels *kernels;
    const float *x;
    const float *weight;
    float *y;
    size_t x_stride;
    size_t y_stride;
    uint32_t n_values;
    float eps;
};

static void norm_range(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    const struct row_work *work = context;
    (void)thread_index;
    for (uint32_t row = begin; row < end; row++) {
        work->kernels->rms_norm(work->x + row * work->x_stride, work->weight, work->n_values,
                                work->eps, work->y + row * work->y_stride);
    }
}

void nj_norm_rows(const struct nj_compute *compute, const float *x, size_t x_stride,
                  uint32_t n_rows, uint32_t n_values, const float *weight, float eps, float *y,
                  size_t y_stride)
{
    struct row_work work = {.kernels = compute->kernels,
                            .x = x,
                            .weight = weight,
                            .x_stride = x_stride,
                            .y_stride = y_stride,
                            .n_values = n_values,
                            .eps = eps};
    work.y = y;
    nj_compute_spread(compute, n_rows, 2 * (uint64_t)n_values, norm_range, &work);
    nj_profile_lap(compute, NJ_OPERATION_NORM);
}

static void add_range(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    const struct row_work *work = context;
    (void)thread_index;
    for (uint32_t row = begin; row < end; row++) {
        work->kernels->add(work->y + row * work->y_stride, work->x + row * work->x_stride,
                           work->n_values);
    }
}

void nj_add_rows(const struct nj_compute *compute, const float *x, uint32_t n_rows,
                 uint32_t n_values, float *y)
{
    struct row_work work = {.kernels = compute->kernels,
                            .x = x,
                            .x_stride = n_values,
                            .y_stride = n_values,
                            .n_values = n_values};
    work.y = y;
    nj_compute_spread(compute, n_rows, n_values, add_range, &work);
    nj_profile_lap(compute, NJ_OPERATION_ADDITION);
}

static void gate_range(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    const struct row_work *work = context;
    (void)thread_index;
    for (uint32_t row = begin; row < end; row++) {
        work->kernels->multiply_sigmoid(work->y + row * work->y_stride,
                                        work->x + row * work->x_stride, work->n_values);
    }
}

void nj_gate_rows(const struct nj_compute *compute, const float *gate, uint32_t n_rows,
                  uint32_t n_values, float *y)
{
    struct row_work work = {.kernels = compute->kernels,
                            .x = gate,
                            .x_stride = n_values,
                            .y_stride = n_values,
                            .n_values = n_values};
    work.y = y;
    nj_compute_spread(compute, n_rows, 16 * (uint64_t)n_values, gate_range, &work);
    nj_profile_lap(compute, NJ_OPERATION_GATE);
}
