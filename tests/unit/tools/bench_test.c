/* What the bench measures against, and that a report adds up. Rates are asserted nowhere. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "support/check.h"
#include "tools/bench_freed.h"
#include "tools/bench_kernels.h"
#include "tools/bench_report.h"

enum { N_OUTPUTS = 24, N_INPUTS = 544, N_ROWS = 32 }; /* more than a panel, several tiles */

static float weight_at(size_t output, size_t input)
{
    return (float)((output * 7 + input * 3) % 11) - 5.0F;
}

static float input_at(size_t row, size_t input)
{
    return (float)((row * 5 + input) % 7) - 3.0F;
}

/* Where the freed product expects a value: by panel, then by tile of `tile` things, then by
 * input. */
static size_t packed_index(size_t thing, size_t input, size_t n_things, size_t tile)
{
    size_t begin = input / NJ_BENCH_PANEL_INPUTS * NJ_BENCH_PANEL_INPUTS;
    size_t n_panel =
        N_INPUTS - begin < NJ_BENCH_PANEL_INPUTS ? N_INPUTS - begin : NJ_BENCH_PANEL_INPUTS;
    return begin * n_things + (thing / tile * n_panel + input - begin) * tile + thing % tile;
}

/* Small whole numbers, so that every order of the sum gives the same. */
static void check_freed(const struct nj_bench_loops *loops)
{
    static float weights[N_OUTPUTS * N_INPUTS];
    static float x[N_ROWS * N_INPUTS];
    float sums[N_OUTPUTS * N_ROWS] = {0};
    for (size_t i = 0; i < N_INPUTS; i++) {
        for (size_t o = 0; o < N_OUTPUTS; o++) {
            weights[packed_index(o, i, N_OUTPUTS, loops->freed_outputs)] = weight_at(o, i);
        }
        for (size_t r = 0; r < N_ROWS; r++) {
            x[packed_index(r, i, N_ROWS, loops->freed_rows)] = input_at(r, i);
        }
    }
    nj_bench_multiply_freed(loops, weights, N_OUTPUTS, N_INPUTS, x, N_ROWS, sums);
    size_t n_row_tiles = N_ROWS / loops->freed_rows;
    for (size_t o = 0; o < N_OUTPUTS; o++) {
        for (size_t r = 0; r < N_ROWS; r++) {
            float wanted = 0.0F;
            for (size_t i = 0; i < N_INPUTS; i++) {
                wanted += weight_at(o, i) * input_at(r, i);
            }
            size_t tile = o / loops->freed_outputs * n_row_tiles + r / loops->freed_rows;
            size_t at =
                (tile * loops->freed_outputs + o % loops->freed_outputs) * loops->freed_rows +
                r % loops->freed_rows;
            if (!CHECK(sums[at] == wanted)) {
                return;
            }
        }
    }
}

static void the_freed_product_computes_the_product(void)
{
    for (int level = NJ_CPU_AVX2; level < NJ_CPU_LEVELS; level++) {
        if (nj_cpu_level_is_available((enum nj_cpu_level)level)) {
            check_freed(nj_bench_loops_of((enum nj_cpu_level)level));
        }
    }
}

static void every_multiply_add_of_the_peak_loop_reaches_the_sink(void)
{
    for (int level = 0; level < NJ_CPU_LEVELS; level++) {
        if (!nj_cpu_level_is_available((enum nj_cpu_level)level)) {
            continue;
        }
        const struct nj_bench_loops *loops = nj_bench_loops_of((enum nj_cpu_level)level);
        float sums[2] = {0};
        uint64_t once = loops->multiply_adds(1, &sums[0]);
        CHECK_EQ(loops->multiply_adds(3, &sums[1]), 3 * once);
        /* A value becomes 0.999 of itself and a half: the halves count the values. */
        float start = 0.0F;
        (void)loops->multiply_adds(0, &start);
        float n_values = (sums[0] - start * 0.999F) / 0.5F;
        CHECK(fabsf(n_values - (float)once / 2.0F) < 0.01F * n_values);
    }
}

static void measure_quickly(struct nj_bench_report *report)
{
    const struct nj_kernels *kernels = NULL;
    struct nj_error err = {0};
    struct nj_bench_plan plan = {.n_rounds = 2,
                                 .sample_ns = 1000,
                                 .pool_bytes = 1 << 20,
                                 .n_outputs = 24,
                                 .n_inputs = 64};
    REQUIRE(nj_kernels_choose("auto", &kernels, &err) == NJ_OK);
    CHECK_EQ(nj_bench_measure(kernels, &plan, report, &err), NJ_OK);
}

static void every_product_of_a_report_has_a_rate(void)
{
    struct nj_bench_report report;
    measure_quickly(&report);
    CHECK(report.peak_gflops.median > 0.0);
    CHECK(report.stream_gb_s.median > 0.0);
    for (int type = 0; type < NJ_BENCH_TYPES; type++) {
        CHECK(report.one_row_gb_s[type].median > 0.0);
        for (int width = 0; width < NJ_BENCH_WIDTHS; width++) {
            const struct nj_bench_rate *rate = &report.products[type][width];
            CHECK(rate->gflops.median > 0.0 && rate->gflops.best >= rate->gflops.median);
        }
    }
}

static void a_matrix_is_as_large_as_its_weights_and_scales(void)
{
    CHECK_EQ(nj_bench_matrix_bytes(NJ_MATRIX_F32, 3, 64), 768);
    CHECK_EQ(nj_bench_matrix_bytes(NJ_MATRIX_BF16, 3, 64), 384);
    CHECK_EQ(nj_bench_matrix_bytes(NJ_MATRIX_MXFP4, 3, 64), 3 * (32 + 2));
}

static char *print(const struct nj_bench_report *report, const struct nj_bench_record *record)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!CHECK(out != NULL)) {
        return NULL;
    }
    nj_bench_report_print(out, report, "a processor", record);
    CHECK_EQ(fclose(out), 0);
    return text;
}

static void a_machine_below_nine_tenths_of_its_record_is_told(void)
{
    const struct nj_bench_record record = {"a processor", NJ_CPU_AVX2, 100.0, 20.0,
                                           "somewhere"};
    struct nj_bench_report report = {.level = NJ_CPU_AVX2, .plan = {.n_rounds = 9}};
    report.peak_gflops.median = 91.0;
    report.stream_gb_s.median = 18.5;
    char *fine = print(&report, &record);
    report.stream_gb_s.median = 17.5;
    char *slow = print(&report, &record);
    char *unknown = print(&report, NULL);
    CHECK(strstr(fine, "BELOW 90 %") == NULL);
    CHECK_CONTAINS(fine, "somewhere");
    CHECK_CONTAINS(slow, "BELOW 90 %");
    CHECK_CONTAINS(unknown, "nothing is recorded");
    free(fine);
    free(slow);
    free(unknown);
}

static void the_json_of_a_report_reads_back(void)
{
    struct nj_bench_report report = {.level = NJ_CPU_AVX2, .plan = {.n_rounds = 9}};
    struct nj_json_writer writer;
    struct nj_text text;
    struct nj_json *document = NULL;
    struct nj_error err = {0};
    double rate = 0.0;
    report.products[NJ_MATRIX_MXFP4][NJ_BENCH_WIDTHS - 1].gflops.median = 12.5;
    nj_json_writer_init(&writer);
    nj_bench_report_write(&writer, &report, "a processor", NULL);
    REQUIRE(nj_json_finish(&writer, &text, &err) == NJ_OK);
    REQUIRE(nj_json_parse(text, "report", &document, &err) == NJ_OK);
    const struct nj_json_value *rows =
        nj_json_get(nj_json_get(nj_json_root(document), "mxfp4"), "rows");
    const struct nj_json_value *widest = nj_json_at(rows, NJ_BENCH_WIDTHS - 1);
    CHECK(nj_json_as_number(nj_json_get(nj_json_get(widest, "gflops"), "median"), &rate));
    CHECK(rate == 12.5);
    nj_json_destroy(document);
    nj_json_writer_deinit(&writer);
}

int main(void)
{
    RUN(the_freed_product_computes_the_product);
    RUN(every_multiply_add_of_the_peak_loop_reaches_the_sink);
    RUN(every_product_of_a_report_has_a_rate);
    RUN(a_matrix_is_as_large_as_its_weights_and_scales);
    RUN(a_machine_below_nine_tenths_of_its_record_is_told);
    RUN(the_json_of_a_report_reads_back);
    return test_result();
}
