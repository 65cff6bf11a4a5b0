#include "model/compute.h"

/* Ranges per thread, so that a thread that was held up does not hold up the others. */
enum { RANGES_PER_THREAD = 4 };
/* Fewest output rows worth packing the activations for once more. */
enum { LEAST_SLICE_OUTPUTS = 32 };

struct spread {
    nj_range_function *function;
    void *context;
    uint32_t n_items;
    uint32_t n_ranges;
};

static uint32_t range_begin(uint32_t n_items, uint32_t n_ranges, uint32_t range)
{
    return (uint32_t)((uint64_t)n_items * range / n_ranges);
}

static void run_range(void *context, uint32_t piece, uint32_t thread_index)
{
    const struct spread *spread = context;
    uint32_t begin = range_begin(spread->n_items, spread->n_ranges, piece);
    uint32_t end = range_begin(spread->n_items, spread->n_ranges, piece + 1);
    spread->function(spread->context, begin, end, thread_index);
}

static uint32_t count_ranges(const struct nj_compute *compute, uint32_t n_items, uint64_t work)
{
    uint32_t n_threads = nj_pool_n_threads(compute->pool);
    uint64_t ranges = work / compute->least_range_work;
    uint64_t most = n_threads == 1 ? 1 : (uint64_t)n_threads * RANGES_PER_THREAD;
    if (ranges > most) {
        ranges = most;
    }
    if (ranges > n_items) {
        ranges = n_items;
    }
    return ranges < 1 ? 1 : (uint32_t)ranges;
}

void nj_compute_spread(const struct nj_compute *compute, uint32_t n_items,
                       uint64_t work_per_item, nj_range_function *function, void *context)
{
    if (n_items == 0) {
        return;
    }
    struct spread spread = {.function = function, .context = context, .n_items = n_items};
    spread.n_ranges = count_ranges(compute, n_items, n_items * work_per_item);
    nj_pool_run(compute->pool, spread.n_ranges, run_range, &spread);
}

static uint8_t *thread_memory(const struct nj_compute *compute, uint32_t thread_index)
{
    return compute->thread_memory +
           thread_index * (compute->kernel_bytes + compute->block_bytes);
}

void *nj_compute_kernel_scratch(const struct nj_compute *compute, uint32_t thread_index)
{
    return thread_memory(compute, thread_index);
}

float *nj_compute_block_scratch(const struct nj_compute *compute, uint32_t thread_index)
{
    void *scratch = thread_memory(compute, thread_index) + compute->kernel_bytes;
    return scratch;
}

struct products {
    const struct nj_compute *compute;
    const struct nj_product *products;
    uint32_t
        n_slices; /* of each product; item i is slice i % n_slices of product i / n_slices */
};

/* Slices [begin, end) of one product, as one call so that activations are packed once. */
static void run_slices(const struct products *work, const struct nj_product *product,
                       uint32_t begin, uint32_t end, uint32_t thread_index)
{
    uint32_t first = range_begin(product->matrix.n_outputs, work->n_slices, begin);
    uint32_t last = range_begin(product->matrix.n_outputs, work->n_slices, end);
    if (first == last) {
        return;
    }
    struct nj_matrix rows = nj_matrix_rows(&product->matrix, first, last - first);
    work->compute->kernels->multiply(&rows, product->x, product->x_stride, product->n_rows,
                                     product->y + first, product->y_stride,
                                     nj_compute_kernel_scratch(work->compute, thread_index));
}

static void run_products(void *context, uint32_t begin, uint32_t end, uint32_t thread_index)
{
    const struct products *work = context;
    while (begin < end) {
        uint32_t product = begin / work->n_slices;
        uint32_t product_end = (product + 1) * work->n_slices;
        uint32_t stop = product_end < end ? product_end : end;
        run_slices(work, &work->products[product], begin - product * work->n_slices,
                   stop - product * work->n_slices, thread_index);
        begin = stop;
    }
}

static uint64_t product_work(const struct nj_product *product)
{
    return (uint64_t)product->matrix.n_outputs * product->matrix.n_inputs * product->n_rows;
}

void nj_compute_products(const struct nj_compute *compute, const struct nj_product *products,
                         uint32_t n_products)
{
    uint64_t work = 0;
    uint32_t largest_outputs = 0;
    for (uint32_t i = 0; i < n_products; i++) {
        work += product_work(&products[i]);
        if (largest_outputs < products[i].matrix.n_outputs) {
            largest_outputs = products[i].matrix.n_outputs;
        }
    }
    if (work == 0) {
        return;
    }
    uint32_t n_slices = RANGES_PER_THREAD * nj_pool_n_threads(compute->pool);
    if (n_slices > largest_outputs / LEAST_SLICE_OUTPUTS) {
        n_slices = largest_outputs / LEAST_SLICE_OUTPUTS;
    }
    struct products all = {compute, products, n_slices < 1 ? 1 : n_slices};
    uint32_t n_items = n_products * all.n_slices;
    nj_compute_spread(compute, n_items, work / n_items, run_products, &all);
}

enum nj_status nj_compute_linear(const struct nj_compute *compute,
                                 const struct nj_bound_matrix *matrix, const float *x,
                                 size_t x_stride, uint32_t n_rows, float *y, size_t y_stride,
                                 struct nj_error *err)
{
    uint32_t n_tiles = nj_bound_matrix_n_tiles(matrix);
    for (uint32_t tile = 0; tile < n_tiles; tile++) {
        struct nj_tile pinned;
        enum nj_status status =
            nj_bound_matrix_pin(matrix, tile, compute->stream, &pinned, err);
        if (status != NJ_OK) {
            return status;
        }
        struct nj_product product = {.matrix = pinned.matrix,
                                     .x = x,
                                     .x_stride = x_stride,
                                     .y_stride = y_stride,
                                     .n_rows = n_rows};
        product.y = y + pinned.first_output;
        nj_compute_products(compute, &product, 1);
        nj_bound_matrix_unpin(matrix, tile, compute->stream);
    }
    return NJ_OK;
}
