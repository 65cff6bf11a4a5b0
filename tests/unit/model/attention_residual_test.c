#include "model/attention_residual.h"

#include "support/check.h"

enum { HIDDEN = 4 };

/* A one-thread machine without weights. */
static struct nj_compute make_compute(struct nj_pool **pool)
{
    struct nj_error error;
    if (nj_pool_create(1, pool, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "pool: %s", error.text);
    }
    return (struct nj_compute){
        .kernels = nj_kernels_scalar(), .pool = *pool, .least_range_work = 1};
}

/* The check values of the architecture's fact sheet, for w = norm * projection. */
static void two_sources_mix_as_published(void)
{
    struct nj_pool *pool = NULL;
    struct nj_compute compute = make_compute(&pool);
    float norm[HIDDEN] = {1.0F, -0.5F, 0.25F, 2.0F};
    float projection[HIDDEN] = {0.5F, 0.5F, 0.5F, 0.5F};
    float product[HIDDEN];
    struct nj_residual_mix_weights weights = {norm, projection, product};
    const float values[2 * HIDDEN] = {1.0F, 2.0F, 3.0F, 4.0F, 4.0F, -3.0F, 2.0F, -1.0F};
    struct nj_residual_sources sources = {values, HIDDEN, 2};
    float out[HIDDEN];

    nj_residual_mix_prepare(&weights, HIDDEN);
    nj_residual_mix(&compute, &weights, &sources, 1, HIDDEN, 1e-5F, out);

    CHECK_NEAR(out[0], 1.88749502, 2e-6);
    CHECK_NEAR(out[1], 0.520841631, 2e-6);
    CHECK_NEAR(out[2], 2.70416833, 2e-6);
    CHECK_NEAR(out[3], 2.52084163, 2e-6);
    nj_pool_destroy(pool);
}

static void one_source_is_its_own_mix(void)
{
    struct nj_pool *pool = NULL;
    struct nj_compute compute = make_compute(&pool);
    float product[HIDDEN] = {3.0F, -1.0F, 0.5F, 2.0F};
    struct nj_residual_mix_weights weights = {.product = product};
    const float values[2 * HIDDEN] = {1.0F, 2.0F, 3.0F, 4.0F, 4.0F, -3.0F, 2.0F, -1.0F};
    struct nj_residual_sources sources = {values, 0, 1};
    float out[2 * HIDDEN];

    nj_residual_mix(&compute, &weights, &sources, 2, HIDDEN, 1e-5F, out);

    CHECK_BYTES(out, values, sizeof values);
    nj_pool_destroy(pool);
}

int main(void)
{
    RUN(two_sources_mix_as_published);
    RUN(one_source_is_its_own_mix);
    return test_result();
}
