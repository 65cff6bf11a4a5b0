#include "tools/bench_kernels.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tools/bench_freed.h"
#include "tools/bench_loops.h"

const uint32_t nj_bench_widths[NJ_BENCH_WIDTHS] = {1, 4, 8, 16, 32, 64, 128};

enum {
    MOST_ROWS = 128,
    HUGE_PAGE_BYTES = 2 << 20,
    PEAK_ROUNDS = 10000,
    STREAM_BYTES = 32 << 20
};

/* Of one thing, in all rounds; shares are of a sample of the limit taken right before. */
struct samples {
    double rate[NJ_BENCH_MOST_ROUNDS];
    double share[NJ_BENCH_MOST_ROUNDS];
};

struct bench {
    const struct nj_kernels *kernels;
    const struct nj_bench_loops *loops;
    struct nj_bench_plan plan;
    uint8_t *pool; /* weights of every type, see fill_pool */
    uint64_t pool_at;
    uint8_t *scales;
    float *x; /* (MOST_ROWS, n_inputs) */
    float *y; /* (MOST_ROWS, n_outputs) */
    void *scratch;
    float sink;

    struct samples peak; /* one of the many of each round */
    struct samples stream;
    struct samples products[NJ_BENCH_TYPES][NJ_BENCH_WIDTHS];
    struct samples one_row[NJ_BENCH_TYPES]; /* GB/s */
    struct samples freed;
};

struct nj_bench_plan nj_bench_plan_for(enum nj_cpu_level level, bool is_quick)
{
    struct nj_bench_plan plan = {.n_rounds = 9,
                                 .sample_ns = 8000000,
                                 .pool_bytes = 256U << 20,
                                 .n_outputs = 3072,
                                 .n_inputs = 3584};
    if (is_quick) {
        plan.n_rounds = 3;
        plan.sample_ns = 2000000;
    }
    if (level == NJ_CPU_SCALAR) {
        plan.n_outputs = 48; /* or a single product takes seconds */
    }
    return plan;
}

uint64_t nj_bench_matrix_bytes(enum nj_matrix_type type, uint32_t n_outputs, uint32_t n_inputs)
{
    uint64_t n_values = (uint64_t)n_outputs * n_inputs;
    switch (type) {
    case NJ_MATRIX_F32:
        return n_values * 4;
    case NJ_MATRIX_BF16:
        return n_values * 2;
    case NJ_MATRIX_MXFP4:
        break;
    }
    return n_values / 2 + n_values / 32;
}

/* --- memory ------------------------------------------------------------------------------ */

static void *take(uint64_t n_bytes)
{
    size_t rounded = (n_bytes + HUGE_PAGE_BYTES - 1) & ~(size_t)(HUGE_PAGE_BYTES - 1);
    void *memory = aligned_alloc(HUGE_PAGE_BYTES, rounded);
    if (memory != NULL) {
        /* Small pages would measure the page walk as well; refused is only slower. */
        (void)madvise(memory, rounded, MADV_HUGEPAGE);
    }
    return memory;
}

/* Every half word is a BF16 between 2^-7 and 2 of either sign, so every word is such an F32 and
 * every byte two nibbles: one pool serves all types. */
static void fill_pool(uint8_t *pool, uint64_t n_bytes)
{
    uint32_t state = 20261201;
    for (uint64_t i = 0; i < n_bytes; i += sizeof state) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        uint32_t value = (state & 0x83ff83ffU) | 0x3c003c00U;
        memcpy(pool + i, &value, sizeof value);
    }
}

static void bench_deinit(struct bench *bench)
{
    free(bench->pool);
    free(bench->scales);
    free(bench->x);
    free(bench->y);
    free(bench->scratch);
    *bench = (struct bench){0};
}

static enum nj_status bench_init(struct bench *bench, const struct nj_kernels *kernels,
                                 const struct nj_bench_plan *plan, struct nj_error *err)
{
    *bench = (struct bench){.kernels = kernels, .plan = *plan};
    bench->loops = nj_bench_loops_of(kernels->level);
    uint64_t x_bytes = (uint64_t)MOST_ROWS * plan->n_inputs * sizeof(float);
    uint64_t y_bytes = (uint64_t)MOST_ROWS * plan->n_outputs * sizeof(float);
    uint64_t scales_bytes = (uint64_t)plan->n_outputs * plan->n_inputs / 32;
    bench->pool = take(plan->pool_bytes);
    bench->scales = take(scales_bytes);
    bench->x = take(x_bytes);
    bench->y = take(y_bytes);
    bench->scratch = take(nj_kernels_scratch_bytes(plan->n_inputs, MOST_ROWS));
    if (bench->pool == NULL || bench->scales == NULL || bench->x == NULL || bench->y == NULL ||
        bench->scratch == NULL) {
        bench_deinit(bench);
        (void)nj_fail(err, NJ_E_MEMORY, "bench: no memory for %llu bytes of weights",
                      (unsigned long long)plan->pool_bytes);
        return NJ_E_MEMORY;
    }
    fill_pool(bench->pool, plan->pool_bytes);
    fill_pool((uint8_t *)bench->x, x_bytes);
    memset(bench->y, 0, y_bytes);
    for (uint64_t i = 0; i < scales_bytes; i++) {
        bench->scales[i] = (uint8_t)(118 + i % 7); /* a real matrix has few different ones */
    }
    return NJ_OK;
}

/* The next `n_bytes` of the pool, so that what was used last is out of every cache. */
static const void *next_weights(struct bench *bench, uint64_t n_bytes)
{
    if (bench->pool_at + n_bytes > bench->plan.pool_bytes) {
        bench->pool_at = 0;
    }
    const void *weights = bench->pool + bench->pool_at;
    bench->pool_at += (n_bytes + 63U) & ~(uint64_t)63U;
    return weights;
}

/* --- samples ----------------------------------------------------------------------------- */

static uint64_t thread_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* cannot fail for this clock */
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static double peak_sample(struct bench *bench)
{
    uint64_t begin = thread_ns();
    uint64_t end = begin;
    uint64_t n_operations = 0;
    while (end - begin < bench->plan.sample_ns / 8 || end == begin) {
        n_operations += bench->loops->multiply_adds(PEAK_ROUNDS, &bench->sink);
        end = thread_ns();
    }
    return (double)n_operations / (double)(end - begin);
}

static double stream_sample(struct bench *bench)
{
    uint64_t n_bytes = bench->plan.pool_bytes < STREAM_BYTES ? bench->plan.pool_bytes & ~1023ULL
                                                             : STREAM_BYTES;
    uint64_t begin = thread_ns();
    uint64_t end = begin;
    uint64_t n_read = 0;
    while (end - begin < bench->plan.sample_ns || end == begin) {
        bench->loops->read(next_weights(bench, n_bytes), n_bytes, &bench->sink);
        n_read += n_bytes;
        end = thread_ns();
    }
    return (double)n_read / (double)(end - begin);
}

static void multiply_once(struct bench *bench, enum nj_matrix_type type, uint32_t n_rows)
{
    const struct nj_bench_plan *plan = &bench->plan;
    struct nj_matrix matrix = {
        .type = type, .n_outputs = plan->n_outputs, .n_inputs = plan->n_inputs};
    matrix.weights =
        next_weights(bench, nj_bench_matrix_bytes(type, plan->n_outputs, plan->n_inputs));
    matrix.scales = type == NJ_MATRIX_MXFP4 ? bench->scales : NULL;
    bench->kernels->multiply(&matrix, bench->x, plan->n_inputs, n_rows, bench->y,
                             plan->n_outputs, bench->scratch);
}

static void multiply_freed_once(struct bench *bench, uint32_t n_rows)
{
    const struct nj_bench_plan *plan = &bench->plan;
    const float *weights = next_weights(
        bench, nj_bench_matrix_bytes(NJ_MATRIX_F32, plan->n_outputs, plan->n_inputs));
    memset(bench->y, 0, (size_t)n_rows * plan->n_outputs * sizeof *bench->y);
    nj_bench_multiply_freed(bench->loops, weights, plan->n_outputs, plan->n_inputs, bench->x,
                            n_rows, bench->y);
}

/* GFLOP/s; the freed product where `type` is NULL. */
static double product_sample(struct bench *bench, const enum nj_matrix_type *type,
                             uint32_t n_rows)
{
    uint64_t begin = thread_ns();
    uint64_t end = begin;
    uint64_t n_products = 0;
    while (end - begin < bench->plan.sample_ns || end == begin) {
        if (type != NULL) {
            multiply_once(bench, *type, n_rows);
        } else {
            multiply_freed_once(bench, n_rows);
        }
        n_products++;
        end = thread_ns();
    }
    double operations = 2.0 * (double)bench->plan.n_outputs * bench->plan.n_inputs * n_rows;
    return (double)n_products * operations / (double)(end - begin);
}

/* Bytes of weights that one row takes for each operation. */
static double bytes_an_operation(const struct bench *bench, enum nj_matrix_type type)
{
    const struct nj_bench_plan *plan = &bench->plan;
    return (double)nj_bench_matrix_bytes(type, plan->n_outputs, plan->n_inputs) /
           (2.0 * (double)plan->n_outputs * plan->n_inputs);
}

static void sample_product(struct bench *bench, const enum nj_matrix_type *type,
                           uint32_t n_rows, uint32_t round, struct samples *samples)
{
    double before = peak_sample(bench);
    samples->rate[round] = product_sample(bench, type, n_rows);
    double after = peak_sample(bench);
    /* The higher one: a disturbed sample of the limit would flatter. */
    samples->share[round] = samples->rate[round] / (after > before ? after : before);
}

static void sample_round(struct bench *bench, uint32_t round)
{
    bench->peak.rate[round] = peak_sample(bench);
    for (size_t width = 0; width < NJ_BENCH_WIDTHS; width++) {
        for (int t = 0; t < NJ_BENCH_TYPES; t++) {
            enum nj_matrix_type type = (enum nj_matrix_type)t;
            sample_product(bench, &type, nj_bench_widths[width], round,
                           &bench->products[t][width]);
        }
    }
    if (bench->loops->freed_tile != NULL) {
        sample_product(bench, NULL, MOST_ROWS, round, &bench->freed);
    }
    for (int t = 0; t < NJ_BENCH_TYPES; t++) {
        enum nj_matrix_type type = (enum nj_matrix_type)t;
        double stream = stream_sample(bench);
        double rate = product_sample(bench, &type, 1) * bytes_an_operation(bench, type);
        bench->one_row[t].rate[round] = rate;
        bench->one_row[t].share[round] = rate / stream;
        bench->stream.rate[round] = stream;
    }
}

/* --- figures ----------------------------------------------------------------------------- */

static struct nj_bench_rate rate_of(const struct samples *samples, uint32_t n)
{
    return (struct nj_bench_rate){.gflops = nj_bench_figure_of(samples->rate, n),
                                  .peak_share = nj_bench_figure_of(samples->share, n)};
}

/* GFLOP/s that the stream feeds: each byte of weights serves every row. */
static double stream_bound(const struct bench *bench, enum nj_matrix_type type, uint32_t n_rows,
                           double stream_gb_s)
{
    return stream_gb_s / bytes_an_operation(bench, type) * n_rows;
}

static double roof_share(const struct bench *bench, enum nj_matrix_type type, int width,
                         const struct nj_bench_report *report)
{
    const struct nj_bench_rate *rate = &report->products[type][width];
    double bound =
        stream_bound(bench, type, nj_bench_widths[width], report->stream_gb_s.median);
    double of_stream = rate->gflops.median / bound;
    return of_stream > rate->peak_share.median ? of_stream : rate->peak_share.median;
}

static void fill_report(const struct bench *bench, struct nj_bench_report *report)
{
    uint32_t n = bench->plan.n_rounds;
    *report = (struct nj_bench_report){.level = bench->kernels->level, .plan = bench->plan};
    report->peak_gflops = nj_bench_figure_of(bench->peak.rate, n);
    report->stream_gb_s = nj_bench_figure_of(bench->stream.rate, n);
    report->freed = rate_of(&bench->freed, n);
    for (int type = 0; type < NJ_BENCH_TYPES; type++) {
        for (int width = 0; width < NJ_BENCH_WIDTHS; width++) {
            report->products[type][width] = rate_of(&bench->products[type][width], n);
            report->products[type][width].roof_share =
                roof_share(bench, (enum nj_matrix_type)type, width, report);
        }
        report->one_row_gb_s[type] = nj_bench_figure_of(bench->one_row[type].rate, n);
        report->one_row_stream_share[type] = nj_bench_figure_of(bench->one_row[type].share, n);
        if (report->freed.gflops.best > 0.0) {
            const struct nj_bench_rate *wide = &report->products[type][NJ_BENCH_WIDTHS - 1];
            report->contract_price[type].median =
                1.0 - wide->peak_share.median / report->freed.peak_share.median;
            report->contract_price[type].of_best =
                1.0 - wide->gflops.best / report->freed.gflops.best;
        }
    }
}

enum nj_status nj_bench_measure(const struct nj_kernels *kernels,
                                const struct nj_bench_plan *plan,
                                struct nj_bench_report *report, struct nj_error *err)
{
    struct bench bench;
    enum nj_status status = bench_init(&bench, kernels, plan, err);
    if (status != NJ_OK) {
        return status;
    }
    for (uint32_t round = 0; round < plan->n_rounds; round++) {
        sample_round(&bench, round);
    }
    fill_report(&bench, report);
    bench_deinit(&bench);
    return NJ_OK;
}
