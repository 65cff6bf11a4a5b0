#include "model/combine.h"

#include <string.h>

#include "model/profile.h"

struct combination {
    const struct nj_kernels *kernels;
    const struct nj_dims *dims;
    const struct nj_routing *routing;
    const float *outputs;
    float *y;
};

static void combine_range(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    const struct combination *work = context;
    const struct nj_routing *routing = work->routing;
    uint32_t n_chosen = work->dims->n_chosen;
    uint32_t width = work->dims->n_latent;
    (void)thread_index;
    for (uint32_t row = begin; row < end; row++) {
        float *y = work->y + (size_t)row * width;
        memset(y, 0, width * sizeof *y);
        for (uint32_t slot = 0; slot < n_chosen; slot++) {
            size_t pair = (size_t)row * n_chosen + slot;
            const float *output = work->outputs + (size_t)routing->positions[pair] * width;
            work->kernels->accumulate(y, output, routing->weights[pair], width);
        }
    }
}

void nj_combine(const struct nj_compute *compute, const struct nj_dims *dims,
                const struct nj_routing *routing, const float *outputs, uint32_t n_rows,
                float *y)
{
    struct combination work = {
        .kernels = compute->kernels, .dims = dims, .routing = routing, .outputs = outputs};
    work.y = y;
    uint64_t work_per_row = (uint64_t)dims->n_chosen * dims->n_latent;
    nj_compute_spread(compute, n_rows, work_per_row, combine_range, &work);
    nj_profile_lap(compute, NJ_OPERATION_COMBINATION);
}
