#include "model/latent_attention.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "model/norm.h"
#include "model/profile.h"
#include "model/state_window.h"

/* Heads that share one pass over a sequence's pages. */
enum { HEADS_PER_GROUP = 16 };

/* Rows of the sweep, in the workspace. */
struct buffers {
    float *q_low;        /* (n_rows, q_rank) */
    float *q_low_normed; /* (n_rows, q_rank) */
    float *q;            /* (n_rows, heads, n_nope + n_rope) */
    float *cached;       /* (n_rows, kv_rank + n_rope): kv_a_proj x */
    float *absorbed;     /* (n_rows, heads, kv_rank + n_rope): queries, then mixed latents */
    float *values;       /* (n_rows, heads, n_value) */
    float *gate;         /* (n_rows, heads, n_value) */
};

static uint32_t cached_width(const struct nj_dims *dims)
{
    return dims->kv_rank + dims->n_rope;
}

static uint32_t query_width(const struct nj_dims *dims)
{
    return dims->n_nope + dims->n_rope;
}

static struct buffers lay_out(struct nj_workspace *workspace, const struct nj_dims *dims,
                              uint32_t n_rows)
{
    uint64_t heads = dims->n_heads;
    return (struct buffers){
        .q_low = nj_workspace_rows(workspace, n_rows, dims->q_rank),
        .q_low_normed = nj_workspace_rows(workspace, n_rows, dims->q_rank),
        .q = nj_workspace_rows(workspace, n_rows, heads * query_width(dims)),
        .cached = nj_workspace_rows(workspace, n_rows, cached_width(dims)),
        .absorbed = nj_workspace_rows(workspace, n_rows, heads * cached_width(dims)),
        .values = nj_workspace_rows(workspace, n_rows, heads * dims->n_value),
        .gate = nj_workspace_rows(workspace, n_rows, heads * dims->n_value),
    };
}

void nj_latent_measure(struct nj_workspace *workspace, const struct nj_dims *dims,
                       uint32_t n_rows)
{
    (void)lay_out(workspace, dims, n_rows);
}

/* Per thread: scores of a group of heads against one page, and their accumulators. */
uint64_t nj_latent_thread_bytes(const struct nj_dims *dims)
{
    uint64_t values_per_head = 2 * NJ_PAGE_POSITIONS + dims->kv_rank;
    return HEADS_PER_GROUP * values_per_head * sizeof(float);
}

uint32_t nj_latent_score_rows(void)
{
    return HEADS_PER_GROUP;
}

/* What the steps of one layer read and write. */
struct attention {
    const struct nj_compute *compute;
    const struct nj_latent_weights *weights;
    const struct nj_dims *dims;
    const struct nj_runs *runs; /* of the window */
    const struct buffers *buffers;
    uint32_t layer;
    uint32_t n_rows;      /* of the sweep */
    struct nj_tile kv_up; /* the tile of kv_b_proj at hand */
};

static enum nj_status project_q(const struct attention *attention, const float *x,
                                struct nj_error *err)
{
    const struct nj_compute *compute = attention->compute;
    const struct nj_latent_weights *weights = attention->weights;
    const struct nj_dims *dims = attention->dims;
    const struct buffers *buffers = attention->buffers;
    uint32_t n_rows = attention->n_rows;
    size_t q_stride = (size_t)dims->n_heads * query_width(dims);
    if (dims->q_rank == 0) {
        return nj_compute_linear(compute, &weights->q, x, dims->n_hidden, n_rows, buffers->q,
                                 q_stride, err);
    }
    enum nj_status status = nj_compute_linear(compute, &weights->q_down, x, dims->n_hidden,
                                              n_rows, buffers->q_low, dims->q_rank, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_profile_lap(compute, NJ_OPERATION_LATENT_PRODUCTS);
    nj_norm_rows(compute, buffers->q_low, dims->q_rank, n_rows, dims->q_rank, weights->q_norm,
                 dims->latent_norm_eps, buffers->q_low_normed, dims->q_rank);
    return nj_compute_linear(compute, &weights->q_up, buffers->q_low_normed, dims->q_rank,
                             n_rows, buffers->q, q_stride, err);
}

static float *position_of(const struct attention *attention, const struct nj_run *run,
                          uint32_t position)
{
    float *page = nj_state_page(run->state, attention->layer, position / NJ_PAGE_POSITIONS);
    return page + (size_t)(position % NJ_PAGE_POSITIONS) * cached_width(attention->dims);
}

/* The latent is normed, k_r is kept as it is. */
static void remember_runs(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    const struct attention *attention = context;
    const struct nj_dims *dims = attention->dims;
    (void)thread_index;
    for (uint32_t i = begin; i < end; i++) {
        const struct nj_run *run = &attention->runs->runs[i];
        for (uint32_t j = 0; j < run->n_rows; j++) {
            const float *from =
                attention->buffers->cached + (size_t)(run->first_row + j) * cached_width(dims);
            float *to = position_of(attention, run, run->first_position + j);
            attention->compute->kernels->rms_norm(from, attention->weights->kv_norm,
                                                  dims->kv_rank, dims->latent_norm_eps, to);
            memcpy(to + dims->kv_rank, from + dims->kv_rank, dims->n_rope * sizeof *to);
        }
    }
}

static enum nj_status project_cached(const struct attention *attention, const float *x,
                                     struct nj_error *err)
{
    const struct nj_dims *dims = attention->dims;
    enum nj_status status = nj_compute_linear(
        attention->compute, &attention->weights->kv_down, x, dims->n_hidden, attention->n_rows,
        attention->buffers->cached, cached_width(dims), err);
    nj_profile_lap(attention->compute, NJ_OPERATION_LATENT_PRODUCTS);
    return status;
}

/* Rows of kv_b_proj of one head: n_nope key rows, then n_value value rows. */
static struct nj_matrix key_rows(const struct attention *attention, uint32_t head)
{
    const struct nj_dims *dims = attention->dims;
    uint32_t first = head * (dims->n_nope + dims->n_value) - attention->kv_up.first_output;
    return nj_matrix_rows(&attention->kv_up.matrix, first, dims->n_nope);
}

static struct nj_matrix value_rows(const struct attention *attention, uint32_t head)
{
    const struct nj_dims *dims = attention->dims;
    uint32_t first =
        head * (dims->n_nope + dims->n_value) + dims->n_nope - attention->kv_up.first_output;
    return nj_matrix_rows(&attention->kv_up.matrix, first, dims->n_value);
}

/* out = matrix^T a, axpy form from 0. */
static void transposed_product(const struct nj_kernels *kernels, const struct nj_matrix *matrix,
                               const float *a, float *out)
{
    memset(out, 0, matrix->n_inputs * sizeof *out);
    if (matrix->type == NJ_MATRIX_BF16) {
        kernels->axpy_bf16(a, matrix->n_outputs, matrix->weights, matrix->n_inputs,
                           matrix->n_inputs, out);
    } else {
        assert(matrix->type == NJ_MATRIX_F32);
        kernels->axpy(a, matrix->n_outputs, matrix->weights, matrix->n_inputs, matrix->n_inputs,
                      out);
    }
}

/* Item: a head of the tile at hand. q becomes [q~ | q_rope]. */
static void absorb_heads(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    const struct attention *attention = context;
    const struct nj_dims *dims = attention->dims;
    (void)thread_index;
    uint32_t first_head = attention->kv_up.first_output / (dims->n_nope + dims->n_value);
    for (uint32_t head = first_head + begin; head < first_head + end; head++) {
        struct nj_matrix keys = key_rows(attention, head);
        for (uint32_t row = 0; row < attention->n_rows; row++) {
            size_t at = (size_t)row * dims->n_heads + head;
            const float *q = attention->buffers->q + at * query_width(dims);
            float *absorbed = attention->buffers->absorbed + at * cached_width(dims);
            transposed_product(attention->compute->kernels, &keys, q, absorbed);
            memcpy(absorbed + dims->kv_rank, q + dims->n_nope, dims->n_rope * sizeof *q);
        }
    }
}

/* Item: a head of the tile at hand. The mixed latents become values. */
static void expand_heads(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    const struct attention *attention = context;
    const struct nj_dims *dims = attention->dims;
    uint32_t first_head = attention->kv_up.first_output / (dims->n_nope + dims->n_value);
    for (uint32_t head = first_head + begin; head < first_head + end; head++) {
        struct nj_matrix values = value_rows(attention, head);
        attention->compute->kernels->multiply(
            &values, attention->buffers->absorbed + (size_t)head * cached_width(dims),
            (size_t)dims->n_heads * cached_width(dims), attention->n_rows,
            attention->buffers->values + (size_t)head * dims->n_value,
            (size_t)dims->n_heads * dims->n_value,
            nj_compute_kernel_scratch(attention->compute, thread_index));
    }
}

/* Runs a step over all heads, tile by tile of kv_b_proj (tiles never part a head). Its keys are
 * used before the attention and its values after: `is_needed_again` keeps the tiles for that.
 */
static enum nj_status for_heads(struct attention *attention, nj_range_function *step,
                                uint64_t work_per_head, bool is_needed_again,
                                struct nj_error *err)
{
    const struct nj_bound_matrix *kv_up = &attention->weights->kv_up;
    struct nj_stream *stream = attention->compute->stream;
    uint32_t head_rows = attention->dims->n_nope + attention->dims->n_value;
    for (uint32_t tile = 0; tile < nj_bound_matrix_n_tiles(kv_up); tile++) {
        enum nj_status status =
            nj_bound_matrix_pin(kv_up, tile, stream, &attention->kv_up, err);
        if (status != NJ_OK) {
            return status;
        }
        if (is_needed_again) {
            uint32_t record =
                nj_bound_matrix_record(kv_up, tile); /* never packed: one a tile */
            nj_stream_want(stream, &record, 1);
        }
        uint32_t n_heads = attention->kv_up.matrix.n_outputs / head_rows;
        nj_compute_spread(attention->compute, n_heads, work_per_head, step, attention);
        nj_bound_matrix_unpin(kv_up, tile, stream);
    }
    nj_profile_lap(attention->compute, NJ_OPERATION_ABSORPTION);
    return NJ_OK;
}

/* The online softmax of one head over the blocks so far. */
struct softmax {
    float maximum;
    float total;
    float *mixed; /* (kv_rank) */
};

static void add_block(const struct attention *attention, struct softmax *softmax, float *scores,
                      uint32_t n, const float *page, bool is_first, float *shares)
{
    const struct nj_kernels *kernels = attention->compute->kernels;
    const struct nj_dims *dims = attention->dims;
    float scale = 1.0F / sqrtf((float)(dims->n_nope + dims->n_rope));
    kernels->scale(scores, scale, n);
    float maximum = is_first ? scores[0] : softmax->maximum;
    for (uint32_t i = 0; i < n; i++) {
        maximum = scores[i] > maximum ? scores[i] : maximum;
    }
    float block_total = kernels->exp_minus(scores, maximum, n, shares);
    if (is_first) {
        softmax->total = block_total;
        memset(softmax->mixed, 0, dims->kv_rank * sizeof *softmax->mixed);
    } else {
        float correction = 0.0F;
        (void)kernels->exp_minus(&softmax->maximum, maximum, 1, &correction);
        softmax->total = softmax->total * correction + block_total;
        kernels->scale(softmax->mixed, correction, dims->kv_rank);
    }
    softmax->maximum = maximum;
    kernels->axpy(shares, n, page, cached_width(dims), dims->kv_rank, softmax->mixed);
}

/* A group of heads of one row over all positions that the row sees. */
static void attend(const struct attention *attention, const struct nj_run *run,
                   uint32_t position, float *queries, uint32_t n_heads, uint32_t thread_index)
{
    const struct nj_dims *dims = attention->dims;
    const struct nj_kernels *kernels = attention->compute->kernels;
    float *scores = nj_compute_block_scratch(attention->compute, thread_index);
    float *shares = scores + (size_t)HEADS_PER_GROUP * NJ_PAGE_POSITIONS;
    float *mixed = shares + (size_t)HEADS_PER_GROUP * NJ_PAGE_POSITIONS;
    struct softmax softmax[HEADS_PER_GROUP];
    for (uint32_t head = 0; head < n_heads; head++) {
        softmax[head] = (struct softmax){.mixed = mixed + (size_t)head * dims->kv_rank};
    }
    uint32_t n_visible = position + 1;
    for (uint32_t first = 0; first < n_visible; first += NJ_PAGE_POSITIONS) {
        uint32_t left = n_visible - first;
        uint32_t n = left < NJ_PAGE_POSITIONS ? left : NJ_PAGE_POSITIONS;
        const float *page = position_of(attention, run, first);
        struct nj_matrix positions = {.type = NJ_MATRIX_F32,
                                      .n_outputs = n,
                                      .n_inputs = cached_width(dims),
                                      .weights = page};
        kernels->multiply(&positions, queries, cached_width(dims), n_heads, scores,
                          NJ_PAGE_POSITIONS,
                          nj_compute_kernel_scratch(attention->compute, thread_index));
        for (uint32_t head = 0; head < n_heads; head++) {
            add_block(attention, &softmax[head], scores + (size_t)head * NJ_PAGE_POSITIONS, n,
                      page, first == 0, shares);
        }
    }
    for (uint32_t head = 0; head < n_heads; head++) {
        float inverse_total = 1.0F / softmax[head].total;
        kernels->scale(softmax[head].mixed, inverse_total, dims->kv_rank);
        memcpy(queries + (size_t)head * cached_width(dims), softmax[head].mixed,
               dims->kv_rank * sizeof *queries);
    }
}

static uint32_t n_groups(const struct nj_dims *dims)
{
    return (dims->n_heads + HEADS_PER_GROUP - 1) / HEADS_PER_GROUP;
}

static const struct nj_run *run_of_row(const struct nj_runs *runs, uint32_t row)
{
    uint32_t low = 0;
    uint32_t high = runs->n_runs;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (runs->runs[middle].first_row <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &runs->runs[low];
}

/* Item: (row of the window, group of heads). */
static void attend_groups(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    const struct attention *attention = context;
    const struct nj_dims *dims = attention->dims;
    uint32_t groups = n_groups(dims);
    for (uint32_t i = begin; i < end; i++) {
        uint32_t row = attention->runs->runs[0].first_row + i / groups;
        uint32_t first_head = i % groups * HEADS_PER_GROUP;
        uint32_t left = dims->n_heads - first_head;
        const struct nj_run *run = run_of_row(attention->runs, row);
        float *queries = attention->buffers->absorbed +
                         ((size_t)row * dims->n_heads + first_head) * cached_width(dims);
        attend(attention, run, run->first_position + (row - run->first_row), queries,
               left < HEADS_PER_GROUP ? left : HEADS_PER_GROUP, thread_index);
    }
}

/* Positions that an average row looks at, for spreading the work. */
static uint64_t mean_visible(const struct nj_runs *runs)
{
    uint64_t total = 0;
    assert(runs->n_runs > 0);
    for (uint32_t i = 0; i < runs->n_runs; i++) {
        total += (uint64_t)runs->runs[i].first_position + runs->runs[i].n_rows;
    }
    return total / runs->n_runs;
}

static enum nj_status gate_and_project(const struct attention *attention, const float *x,
                                       float *out, struct nj_error *err)
{
    const struct nj_compute *compute = attention->compute;
    const struct nj_latent_weights *weights = attention->weights;
    const struct nj_dims *dims = attention->dims;
    const struct buffers *buffers = attention->buffers;
    uint32_t width = dims->n_heads * dims->n_value;
    if (dims->has_mla_gate) {
        enum nj_status status = nj_compute_linear(compute, &weights->gate, x, dims->n_hidden,
                                                  attention->n_rows, buffers->gate, width, err);
        if (status != NJ_OK) {
            return status;
        }
        nj_profile_lap(compute, NJ_OPERATION_LATENT_PRODUCTS);
        nj_gate_rows(compute, buffers->gate, attention->n_rows, width, buffers->values);
    }
    return nj_compute_linear(compute, &weights->output, buffers->values, width,
                             attention->n_rows, out, dims->n_hidden, err);
}

static void attend_window(struct attention *attention)
{
    const struct nj_dims *dims = attention->dims;
    const struct nj_compute *compute = attention->compute;
    uint64_t remember_work = (uint64_t)cached_width(dims) * 4;
    nj_compute_spread(compute, attention->runs->n_runs, remember_work, remember_runs,
                      attention);
    nj_profile_lap(compute, NJ_OPERATION_NORM);
    uint64_t group_work =
        mean_visible(attention->runs) * HEADS_PER_GROUP * 2 * cached_width(dims);
    uint32_t n_rows = nj_state_window_n_rows(attention->runs);
    nj_compute_spread(compute, n_rows * n_groups(dims), group_work, attend_groups, attention);
    nj_profile_lap(compute, NJ_OPERATION_ATTENTION);
}

/* Appends to every state of the layer and looks at it, as many at a time as are in memory. */
static enum nj_status attend_states(struct attention *attention, const struct nj_runs *runs,
                                    struct nj_error *err)
{
    struct nj_runs window = {.n_runs = 0};
    enum nj_status status = NJ_OK;
    attention->runs = &window;
    for (uint32_t first = 0; first < runs->n_runs && status == NJ_OK; first += window.n_runs) {
        status = nj_state_window_open(runs, attention->layer, first, &window, err);
        if (status == NJ_OK) {
            attend_window(attention);
            nj_state_window_close(&window);
        }
    }
    attention->runs = runs;
    return status;
}

enum nj_status nj_latent_attention(const struct nj_compute *compute,
                                   const struct nj_latent_weights *weights,
                                   const struct nj_dims *dims, uint32_t layer,
                                   const struct nj_runs *runs, const float *x, uint32_t n_rows,
                                   struct nj_workspace *workspace, float *out,
                                   struct nj_error *err)
{
    struct buffers buffers = lay_out(workspace, dims, n_rows);
    struct attention attention = {.compute = compute,
                                  .weights = weights,
                                  .dims = dims,
                                  .runs = runs,
                                  .buffers = &buffers,
                                  .layer = layer,
                                  .n_rows = n_rows};
    enum nj_status status = project_q(&attention, x, err);
    if (status != NJ_OK) {
        return status;
    }
    status = project_cached(&attention, x, err);
    if (status != NJ_OK) {
        return status;
    }
    uint64_t absorb_work = (uint64_t)n_rows * dims->n_nope * dims->kv_rank;
    status = for_heads(&attention, absorb_heads, absorb_work, true, err);
    if (status != NJ_OK) {
        return status;
    }
    status = attend_states(&attention, runs, err);
    if (status != NJ_OK) {
        return status;
    }
    uint64_t expand_work = (uint64_t)n_rows * dims->n_value * dims->kv_rank;
    status = for_heads(&attention, expand_heads, expand_work, false, err);
    if (status != NJ_OK) {
        return status;
    }
    status = gate_and_project(&attention, x, out, err);
    nj_profile_lap(compute, NJ_OPERATION_LATENT_PRODUCTS);
    return status;
}
