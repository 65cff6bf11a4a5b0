#include "model/attention_residual.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "model/profile.h"

void nj_residual_mix_prepare(struct nj_residual_mix_weights *weights, uint32_t n_hidden)
{
    for (uint32_t i = 0; i < n_hidden; i++) {
        weights->product[i] = weights->norm[i] * weights->projection[i];
    }
}

struct mix {
    const struct nj_kernels *kernels;
    const struct nj_residual_sources *sources;
    const float *product;
    float *out;
    uint32_t n_hidden;
    float eps;
};

static float score(const struct mix *mix, const float *source)
{
    const struct nj_kernels *kernels = mix->kernels;
    float projected = kernels->dot(source, mix->product, mix->n_hidden);
    float mean_square = kernels->dot(source, source, mix->n_hidden) / (float)mix->n_hidden;
    return projected * (1.0F / sqrtf(mean_square + mix->eps));
}

/* scores become probabilities. */
static void softmax(const struct nj_kernels *kernels, float *scores, uint32_t n)
{
    float shares[NJ_RESIDUAL_SOURCES_LIMIT];
    float maximum = scores[0];
    for (uint32_t i = 1; i < n; i++) {
        maximum = scores[i] > maximum ? scores[i] : maximum;
    }
    float total = kernels->exp_minus(scores, maximum, n, shares);
    for (uint32_t i = 0; i < n; i++) {
        scores[i] = shares[i] / total;
    }
}

static void mix_row(const struct mix *mix, uint32_t row)
{
    const struct nj_residual_sources *sources = mix->sources;
    const float *first = sources->values + (size_t)row * mix->n_hidden;
    float *out = mix->out + (size_t)row * mix->n_hidden;
    float weights[NJ_RESIDUAL_SOURCES_LIMIT] = {0.0F};
    for (uint32_t i = 0; i < sources->n_sources; i++) {
        weights[i] = score(mix, first + i * sources->stride);
    }
    softmax(mix->kernels, weights, sources->n_sources);
    memset(out, 0, mix->n_hidden * sizeof *out);
    mix->kernels->axpy(weights, sources->n_sources, first, sources->stride, mix->n_hidden, out);
}

static void mix_range(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    (void)thread_index;
    for (uint32_t row = begin; row < end; row++) {
        mix_row(context, row);
    }
}

void nj_residual_mix(const struct nj_compute *compute,
                     const struct nj_residual_mix_weights *weights,
                     const struct nj_residual_sources *sources, uint32_t n_rows,
                     uint32_t n_hidden, float eps, float *out)
{
    assert(sources->n_sources >= 1 && sources->n_sources <= NJ_RESIDUAL_SOURCES_LIMIT);
    struct mix mix = {.kernels = compute->kernels,
                      .sources = sources,
                      .product = weights->product,
                      .n_hidden = n_hidden,
                      .eps = eps};
    mix.out = out;
    uint64_t work_per_row = 3 * (uint64_t)sources->n_sources * n_hidden;
    nj_compute_spread(compute, n_rows, work_per_row, mix_range, &mix);
    nj_profile_lap(compute, NJ_OPERATION_RESIDUAL_MIX);
}
