#include "model/delta_attention.h"

#include <math.h>

#include "base/elementary.h"
#include "model/profile.h"
#include "model/state_window.h"

/* Added to the sum of squares under the root when q and k are normalised. */
static const float l2_norm_eps = 1e-6F;

/* Rows of the sweep, in the workspace. Channels are head-major: h * n_delta + i. */
struct buffers {
    float *qkv;          /* (n_rows, 3 * channels): q, then k, then v */
    float *convolved;    /* the same after convolution and SiLU */
    float *low_rank;     /* (n_rows, n_delta) */
    float *decay_logits; /* (n_rows, channels) */
    float *beta_logits;  /* (n_rows, heads) */
    float *gate;         /* (n_rows, channels) */
    float *heads;        /* (n_rows, channels): normed and gated outputs */
};

static uint32_t n_channels(const struct nj_dims *dims)
{
    return dims->n_delta_heads * dims->n_delta;
}

static struct buffers lay_out(struct nj_workspace *workspace, const struct nj_dims *dims,
                              uint32_t n_rows)
{
    uint64_t channels = n_channels(dims);
    return (struct buffers){
        .qkv = nj_workspace_rows(workspace, n_rows, 3 * channels),
        .convolved = nj_workspace_rows(workspace, n_rows, 3 * channels),
        .low_rank = nj_workspace_rows(workspace, n_rows, dims->n_delta),
        .decay_logits = nj_workspace_rows(workspace, n_rows, channels),
        .beta_logits = nj_workspace_rows(workspace, n_rows, dims->n_delta_heads),
        .gate = nj_workspace_rows(workspace, n_rows, channels),
        .heads = nj_workspace_rows(workspace, n_rows, channels),
    };
}

void nj_delta_measure(struct nj_workspace *workspace, const struct nj_dims *dims,
                      uint32_t n_rows)
{
    (void)lay_out(workspace, dims, n_rows);
}

/* Per thread: alpha, work of kda_step and output of one head. */
uint64_t nj_delta_thread_bytes(const struct nj_dims *dims)
{
    return 3 * (uint64_t)dims->n_delta * sizeof(float);
}

void nj_delta_prepare(struct nj_delta_weights *weights, const struct nj_dims *dims)
{
    for (uint32_t head = 0; head < dims->n_delta_heads; head++) {
        weights->rates[head] = nj_exp(weights->a_log[head]);
    }
}

static enum nj_status project_qkv(const struct nj_compute *compute,
                                  const struct nj_delta_weights *weights,
                                  const struct nj_dims *dims, const float *x, uint32_t n_rows,
                                  const struct buffers *buffers, struct nj_error *err)
{
    uint32_t channels = n_channels(dims);
    size_t stride = 3 * (size_t)channels;
    const struct nj_bound_matrix *matrices[3] = {&weights->q, &weights->k, &weights->v};
    for (uint32_t i = 0; i < 3; i++) {
        float *y = buffers->qkv + (size_t)i * channels;
        enum nj_status status =
            nj_compute_linear(compute, matrices[i], x, dims->n_hidden, n_rows, y, stride, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    return NJ_OK;
}

/* y = up (down x), nothing in between. */
static enum nj_status project_low_rank(const struct nj_compute *compute,
                                       const struct nj_bound_matrix *down,
                                       const struct nj_bound_matrix *up, const float *x,
                                       uint32_t n_rows, float *low_rank, float *y,
                                       struct nj_error *err)
{
    enum nj_status status = nj_compute_linear(compute, down, x, down->n_inputs, n_rows,
                                              low_rank, down->n_outputs, err);
    if (status != NJ_OK) {
        return status;
    }
    return nj_compute_linear(compute, up, low_rank, up->n_inputs, n_rows, y, up->n_outputs,
                             err);
}

static enum nj_status project_gate(const struct nj_compute *compute,
                                   const struct nj_delta_weights *weights,
                                   const struct nj_dims *dims, const float *x, uint32_t n_rows,
                                   const struct buffers *buffers, struct nj_error *err)
{
    if (dims->has_full_rank_gate) {
        return nj_compute_linear(compute, &weights->gate, x, dims->n_hidden, n_rows,
                                 buffers->gate, n_channels(dims), err);
    }
    return project_low_rank(compute, &weights->gate_down, &weights->gate_up, x, n_rows,
                            buffers->low_rank, buffers->gate, err);
}

static enum nj_status project(const struct nj_compute *compute,
                              const struct nj_delta_weights *weights,
                              const struct nj_dims *dims, const float *x, uint32_t n_rows,
                              const struct buffers *buffers, struct nj_error *err)
{
    enum nj_status status = project_qkv(compute, weights, dims, x, n_rows, buffers, err);
    if (status != NJ_OK) {
        return status;
    }
    status = project_low_rank(compute, &weights->decay_down, &weights->decay_up, x, n_rows,
                              buffers->low_rank, buffers->decay_logits, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_compute_linear(compute, &weights->beta, x, dims->n_hidden, n_rows,
                               buffers->beta_logits, dims->n_delta_heads, err);
    if (status != NJ_OK) {
        return status;
    }
    return project_gate(compute, weights, dims, x, n_rows, buffers, err);
}

/* What the steps of one layer read and write. */
struct stepping {
    const struct nj_compute *compute;
    const struct nj_delta_weights *weights;
    const struct nj_dims *dims;
    const struct nj_runs *runs; /* of the window */
    const struct buffers *buffers;
    uint32_t layer;
};

static void convolve_runs(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    const struct stepping *stepping = context;
    const struct nj_dims *dims = stepping->dims;
    const struct buffers *buffers = stepping->buffers;
    uint32_t width = 3 * n_channels(dims);
    (void)thread_index;
    for (uint32_t i = begin; i < end; i++) {
        const struct nj_run *run = &stepping->runs->runs[i];
        float *history = nj_state_conv_history(run->state, stepping->layer);
        for (uint32_t j = 0; j < run->n_rows; j++) {
            size_t at = (size_t)(run->first_row + j) * width;
            stepping->compute->kernels->conv_step(stepping->weights->taps, width, dims->n_taps,
                                                  history, buffers->qkv + at,
                                                  buffers->convolved + at);
        }
    }
}

/* One head of one sequence. */
struct head {
    uint32_t index;
    float *state;                 /* (n_delta keys, n_delta values) */
    float *alpha, *work, *output; /* (n_delta) of the thread */
};

static void step_head(const struct stepping *stepping, const struct head *head, uint32_t row)
{
    const struct nj_kernels *kernels = stepping->compute->kernels;
    const struct nj_delta_weights *weights = stepping->weights;
    const struct nj_dims *dims = stepping->dims;
    const struct buffers *buffers = stepping->buffers;
    uint32_t n = dims->n_delta;
    uint32_t channels = n_channels(dims);
    size_t in_head = (size_t)head->index * n;
    size_t in_row = (size_t)row * channels + in_head;
    float *q = buffers->convolved + (size_t)row * 3 * channels + in_head;
    float *k = q + channels;
    const float *v = k + channels;
    float q_scale = 1.0F / sqrtf((float)n);

    kernels->l2_normalize(q, n, l2_norm_eps, q_scale);
    kernels->l2_normalize(k, n, l2_norm_eps, 1.0F);
    kernels->decay(buffers->decay_logits + in_row, weights->decay_bias + in_head,
                   weights->rates[head->index], dims->gate_lower_bound, n, head->alpha);
    float beta_logit = buffers->beta_logits[(size_t)row * dims->n_delta_heads + head->index];
    float beta = nj_sigmoid(beta_logit);
    kernels->kda_step(head->state, n, n, q, k, v, head->alpha, beta, head->work, head->output);

    float *normed = buffers->heads + in_row;
    kernels->rms_norm(head->output, weights->output_norm, n, dims->rms_norm_eps, normed);
    kernels->multiply_sigmoid(normed, buffers->gate + in_row, n);
}

/* Item: (run, head). Tokens of a run strictly in order. */
static void step_heads(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    const struct stepping *stepping = context;
    const struct nj_dims *dims = stepping->dims;
    size_t n = dims->n_delta;
    float *scratch = nj_compute_block_scratch(stepping->compute, thread_index);
    for (uint32_t i = begin; i < end; i++) {
        const struct nj_run *run = &stepping->runs->runs[i / dims->n_delta_heads];
        uint64_t n_values = 0;
        float *states = nj_state_recurrent(run->state, stepping->layer, &n_values);
        uint32_t index = i % dims->n_delta_heads;
        struct head head = {.index = index,
                            .state = states + index * n * n,
                            .alpha = scratch,
                            .work = scratch + n,
                            .output = scratch + 2 * n};
        for (uint32_t j = 0; j < run->n_rows; j++) {
            step_head(stepping, &head, run->first_row + j);
        }
    }
}

static void step_window(struct stepping *stepping)
{
    const struct nj_compute *compute = stepping->compute;
    const struct nj_dims *dims = stepping->dims;
    uint32_t n_runs = stepping->runs->n_runs;
    uint64_t rows_per_run = nj_state_window_n_rows(stepping->runs) / n_runs + 1;
    uint64_t conv_work = rows_per_run * n_channels(dims) * 3 * (dims->n_taps + 16);
    nj_compute_spread(compute, n_runs, conv_work, convolve_runs, stepping);
    nj_profile_lap(compute, NJ_OPERATION_CONVOLUTION);
    uint64_t step_work = rows_per_run * dims->n_delta * dims->n_delta * 4;
    nj_compute_spread(compute, n_runs * dims->n_delta_heads, step_work, step_heads, stepping);
    nj_profile_lap(compute, NJ_OPERATION_DELTA_STEP);
}

/* Steps every state of the layer, as many at a time as are in memory. */
static enum nj_status step_states(struct stepping stepping, const struct nj_runs *runs,
                                  struct nj_error *err)
{
    struct nj_runs window = {.n_runs = 0};
    stepping.runs = &window;
    for (uint32_t first = 0; first < runs->n_runs; first += window.n_runs) {
        enum nj_status status = nj_state_window_open(runs, stepping.layer, first, &window, err);
        if (status != NJ_OK) {
            return status;
        }
        step_window(&stepping);
        nj_state_window_close(&window);
    }
    return NJ_OK;
}

enum nj_status nj_delta_attention(const struct nj_compute *compute,
                                  const struct nj_delta_weights *weights,
                                  const struct nj_dims *dims, uint32_t layer,
                                  const struct nj_runs *runs, const float *x, uint32_t n_rows,
                                  struct nj_workspace *workspace, float *out,
                                  struct nj_error *err)
{
    struct buffers buffers = lay_out(workspace, dims, n_rows);
    enum nj_status status = project(compute, weights, dims, x, n_rows, &buffers, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_profile_lap(compute, NJ_OPERATION_DELTA_PRODUCTS);
    struct stepping stepping = {.compute = compute,
                                .weights = weights,
                                .dims = dims,
                                .buffers = &buffers,
                                .layer = layer};
    status = step_states(stepping, runs, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_compute_linear(compute, &weights->output, buffers.heads, n_channels(dims),
                               n_rows, out, dims->n_hidden, err);
    nj_profile_lap(compute, NJ_OPERATION_DELTA_PRODUCTS);
    return status;
}
