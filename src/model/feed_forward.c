#include "model/feed_forward.h"

#include "model/profile.h"

struct activation {
    const struct nj_kernels *kernels;
    const struct nj_dims *dims;
    float *gate;
    const float *up;
    uint32_t n_values;
};

static void activate_range(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    const struct activation *work = context;
    const struct nj_dims *dims = work->dims;
    (void)thread_index;
    for (uint32_t row = begin; row < end; row++) {
        float *gate = work->gate + (size_t)row * work->n_values;
        const float *up = work->up + (size_t)row * work->n_values;
        if (dims->activation == NJ_ACTIVATION_SITU) {
            work->kernels->situ(gate, up, dims->situ_beta, dims->situ_linear_beta,
                                work->n_values, gate);
        } else {
            work->kernels->swiglu(gate, up, work->n_values, gate);
        }
    }
}

void nj_activate_rows(const struct nj_compute *compute, const struct nj_dims *dims, float *gate,
                      const float *up, uint32_t n_rows, uint32_t n_values)
{
    struct activation work = {
        .kernels = compute->kernels, .dims = dims, .up = up, .n_values = n_values};
    work.gate = gate;
    nj_compute_spread(compute, n_rows, 32 * (uint64_t)n_values, activate_range, &work);
    nj_profile_lap(compute, NJ_OPERATION_ACTIVATION);
}

struct buffers {
    float *gate; /* (n_rows, width) */
    float *up;   /* (n_rows, width) */
};

static struct buffers lay_out(struct nj_workspace *workspace, uint32_t width, uint32_t n_rows)
{
    return (struct buffers){.gate = nj_workspace_rows(workspace, n_rows, width),
                            .up = nj_workspace_rows(workspace, n_rows, width)};
}

void nj_feed_forward_measure(struct nj_workspace *workspace, uint32_t width, uint32_t n_rows)
{
    (void)lay_out(workspace, width, n_rows);
}

enum nj_status nj_feed_forward(const struct nj_compute *compute,
                               const struct nj_feed_forward_weights *weights,
                               const struct nj_dims *dims, const float *x, uint32_t n_rows,
                               struct nj_workspace *workspace, float *out, struct nj_error *err)
{
    uint32_t width = weights->gate.n_outputs;
    struct buffers buffers = lay_out(workspace, width, n_rows);
    enum nj_status status = nj_compute_linear(compute, &weights->gate, x, dims->n_hidden,
                                              n_rows, buffers.gate, width, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_compute_linear(compute, &weights->up, x, dims->n_hidden, n_rows, buffers.up,
                               width, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_profile_lap(compute, NJ_OPERATION_FORWARD_PRODUCTS);
    nj_activate_rows(compute, dims, buffers.gate, buffers.up, n_rows, width);
    status = nj_compute_linear(compute, &weights->down, buffers.gate, width, n_rows, out,
                               dims->n_hidden, err);
    nj_profile_lap(compute, NJ_OPERATION_FORWARD_PRODUCTS);
    return status;
}
