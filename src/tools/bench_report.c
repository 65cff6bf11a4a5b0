#include "tools/bench_report.h"

/* Below this share of a recorded rate, the machine is not what it was. */
static const double least_of_recorded = 0.9;

static const char *const type_names[NJ_BENCH_TYPES] = {"F32", "BF16", "MXFP4"};
static const char *const type_keys[NJ_BENCH_TYPES] = {"f32", "bf16", "mxfp4"};

/* --- for a person ------------------------------------------------------------------------ */

static void print_limit(FILE *out, const char *name, const char *unit,
                        struct nj_bench_figure here, double recorded)
{
    (void)fprintf(out, "%-12s %8.1f %-8s best %8.1f", name, here.median, unit, here.best);
    if (recorded > 0.0) {
        (void)fprintf(out, "   recorded %8.1f%s", recorded,
                      here.median < least_of_recorded * recorded
                          ? "   BELOW 90 % OF IT: this machine is busy or throttled"
                          : "");
    }
    (void)fputc('\n', out);
}

static void print_limits(FILE *out, const struct nj_bench_report *report,
                         const struct nj_bench_record *record)
{
    print_limit(out, "FMA peak", "GFLOP/s", report->peak_gflops,
                record == NULL ? 0.0 : record->peak_gflops);
    print_limit(out, "read stream", "GB/s", report->stream_gb_s,
                record == NULL ? 0.0 : record->stream_gb_s);
    if (record == NULL) {
        (void)fprintf(out, "nothing is recorded for this processor at this level\n");
    } else {
        (void)fprintf(out, "recorded: docs/MEASUREMENTS.md, %s\n", record->source);
    }
}

static void print_products(FILE *out, const struct nj_bench_report *report)
{
    (void)fprintf(out,
                  "\nGFLOP/s; share of the peak sampled right before and after; share of the "
                  "roof, which\nis the peak or what the read stream feeds, if that is less; "
                  "best GFLOP/s\n");
    (void)fprintf(out, "rows");
    for (int type = 0; type < NJ_BENCH_TYPES; type++) {
        (void)fprintf(out, "   %-29s", type_names[type]);
    }
    (void)fputc('\n', out);
    for (int width = 0; width < NJ_BENCH_WIDTHS; width++) {
        (void)fprintf(out, "%4u", nj_bench_widths[width]);
        for (int type = 0; type < NJ_BENCH_TYPES; type++) {
            const struct nj_bench_rate *rate = &report->products[type][width];
            (void)fprintf(out, "   %7.1f  %4.0f %% %4.0f %%  %6.1f ", rate->gflops.median,
                          100.0 * rate->peak_share.median, 100.0 * rate->roof_share,
                          rate->gflops.best);
        }
        (void)fputc('\n', out);
    }
}

static void print_one_row(FILE *out, const struct nj_bench_report *report)
{
    (void)fprintf(out, "\nOne row: GB/s of weights, share of the read stream\n");
    for (int type = 0; type < NJ_BENCH_TYPES; type++) {
        (void)fprintf(out, "%-6s %6.1f  %4.0f %%   best %6.1f\n", type_names[type],
                      report->one_row_gb_s[type].median,
                      100.0 * report->one_row_stream_share[type].median,
                      report->one_row_gb_s[type].best);
    }
}

static void print_contract(FILE *out, const struct nj_bench_report *report)
{
    if (report->freed.gflops.best <= 0.0) {
        return;
    }
    (void)fprintf(
        out,
        "\nPrice of the numbers contract at %u rows, against a product with the rules "
        "lifted\n(free order, F32 weights and activations packed beforehand): %.1f "
        "GFLOP/s, %.0f %%, best %.1f\n",
        nj_bench_widths[NJ_BENCH_WIDTHS - 1], report->freed.gflops.median,
        100.0 * report->freed.peak_share.median, report->freed.gflops.best);
    for (int type = 0; type < NJ_BENCH_TYPES; type++) {
        (void)fprintf(out, "%-6s %5.1f %%   of the best runs %5.1f %%\n", type_names[type],
                      100.0 * report->contract_price[type].median,
                      100.0 * report->contract_price[type].of_best);
    }
}

void nj_bench_report_print(FILE *out, const struct nj_bench_report *report,
                           const char *processor, const struct nj_bench_record *record)
{
    (void)fprintf(out,
                  "Kernels at level %s on %s\none thread, median of %u interleaved rounds, "
                  "matrices of %u x %u out of cache\n\n",
                  nj_cpu_level_name(report->level), processor, report->plan.n_rounds,
                  report->plan.n_outputs, report->plan.n_inputs);
    print_limits(out, report, record);
    print_products(out, report);
    print_one_row(out, report);
    print_contract(out, report);
}

/* --- JSON -------------------------------------------------------------------------------- */

static void write_figure(struct nj_json_writer *writer, const char *key,
                         struct nj_bench_figure figure)
{
    nj_json_key(writer, key);
    nj_json_begin_object(writer);
    nj_json_key(writer, "median");
    nj_json_write_number(writer, figure.median);
    nj_json_key(writer, "best");
    nj_json_write_number(writer, figure.best);
    nj_json_end_object(writer);
}

static void write_rate(struct nj_json_writer *writer, const struct nj_bench_rate *rate)
{
    write_figure(writer, "gflops", rate->gflops);
    write_figure(writer, "peak_share", rate->peak_share);
}

static void write_roof_share(struct nj_json_writer *writer, double share)
{
    nj_json_key(writer, "roof_share");
    nj_json_write_number(writer, share);
}

static void write_type(struct nj_json_writer *writer, const struct nj_bench_report *report,
                       int type)
{
    nj_json_begin_object(writer);
    nj_json_key(writer, "rows");
    nj_json_begin_array(writer);
    for (int width = 0; width < NJ_BENCH_WIDTHS; width++) {
        nj_json_begin_object(writer);
        nj_json_key(writer, "n_rows");
        nj_json_write_unsigned(writer, nj_bench_widths[width]);
        write_rate(writer, &report->products[type][width]);
        write_roof_share(writer, report->products[type][width].roof_share);
        nj_json_end_object(writer);
    }
    nj_json_end_array(writer);
    write_figure(writer, "one_row_gb_s", report->one_row_gb_s[type]);
    write_figure(writer, "one_row_stream_share", report->one_row_stream_share[type]);
    if (report->freed.gflops.best > 0.0) {
        nj_json_key(writer, "contract_price");
        nj_json_write_number(writer, report->contract_price[type].median);
        nj_json_key(writer, "contract_price_of_best");
        nj_json_write_number(writer, report->contract_price[type].of_best);
    }
    nj_json_end_object(writer);
}

static void write_record(struct nj_json_writer *writer, const struct nj_bench_record *record)
{
    nj_json_key(writer, "recorded");
    if (record == NULL) {
        nj_json_write_null(writer);
        return;
    }
    nj_json_begin_object(writer);
    nj_json_key(writer, "peak_gflops");
    nj_json_write_number(writer, record->peak_gflops);
    nj_json_key(writer, "stream_gb_s");
    nj_json_write_number(writer, record->stream_gb_s);
    nj_json_key(writer, "source");
    nj_json_write_string(writer, record->source);
    nj_json_end_object(writer);
}

void nj_bench_report_write(struct nj_json_writer *writer, const struct nj_bench_report *report,
                           const char *processor, const struct nj_bench_record *record)
{
    nj_json_begin_object(writer);
    nj_json_key(writer, "cpu_level");
    nj_json_write_string(writer, nj_cpu_level_name(report->level));
    nj_json_key(writer, "processor");
    nj_json_write_string(writer, processor);
    nj_json_key(writer, "n_rounds");
    nj_json_write_unsigned(writer, report->plan.n_rounds);
    nj_json_key(writer, "n_outputs");
    nj_json_write_unsigned(writer, report->plan.n_outputs);
    nj_json_key(writer, "n_inputs");
    nj_json_write_unsigned(writer, report->plan.n_inputs);
    write_figure(writer, "peak_gflops", report->peak_gflops);
    write_figure(writer, "stream_gb_s", report->stream_gb_s);
    write_record(writer, record);
    for (int type = 0; type < NJ_BENCH_TYPES; type++) {
        nj_json_key(writer, type_keys[type]);
        write_type(writer, report, type);
    }
    if (report->freed.gflops.best > 0.0) {
        nj_json_key(writer, "freed");
        nj_json_begin_object(writer);
        write_rate(writer, &report->freed);
        nj_json_end_object(writer);
    }
    nj_json_end_object(writer);
    nj_json_write_newline(writer);
}
