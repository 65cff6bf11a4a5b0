#include "tools/bench_sweep.h"

static const double giga = 1e9;

/* A width at which reading takes longer than everything else. */
static bool is_disk_bound(const struct nj_sweep_bench_figure *figure)
{
    return figure->read_s > figure->compute_s;
}

static double tokens_per_second(const struct nj_sweep_bench_figure *figure)
{
    return (double)figure->n_rows / figure->wall_s;
}

static void print_figure(FILE *out, const struct nj_sweep_bench_figure *figure)
{
    double gigabytes = figure->read_bytes / giga;
    (void)fprintf(
        out, "%4u %8.2f %9.3f %8.3f %9.3f %8.3f %8.3f %8.3f %7.2f %6.1f %% %8.2f %9.2f  %s\n",
        figure->n_rows, tokens_per_second(figure), figure->wall_s, figure->read_s,
        figure->compute_s, figure->busy_s, gigabytes, gigabytes / figure->n_rows,
        gigabytes / figure->wall_s, 100.0 * figure->raw_share, figure->limit_ratio,
        figure->processor_s, is_disk_bound(figure) ? "disk" : "compute");
}

static void print_peak(FILE *out, const struct nj_sweep_bench_report *report)
{
    if (report->peak_bytes > 0) {
        (void)fprintf(out, " (peak of the process %.2f GB)", (double)report->peak_bytes / giga);
    }
}

void nj_sweep_bench_print(FILE *out, const struct nj_sweep_bench_report *report)
{
    (void)fprintf(out, "%.2f GB would hold everything, %.2f GB are given",
                  (double)report->useful_bytes / giga, (double)report->memory_bytes / giga);
    print_peak(out, report);
    (void)fprintf(out,
                  ", reader: %s%s%s\nmedians of %u pairs of a sweep and a bare reader "
                  "over the same bytes at its best depth\n\n",
                  report->reader, report->note[0] == '\0' ? "" : ": ", report->note,
                  report->n_pairs);
    (void)fprintf(
        out, "rows tokens/s    s/sweep   read s compute s   busy s GB/sweep GB/token    GB/s "
             "of raw  by limit     cpu s  bound by\n");
    for (int i = 0; i < NJ_SWEEP_BENCH_WIDTHS; i++) {
        if (report->widths[i].n_rows != 0) {
            print_figure(out, &report->widths[i]);
        }
    }
    if (report->prefill.n_rows != 0) {
        (void)fprintf(out, "\none chunk of a prompt\n");
        print_figure(out, &report->prefill);
    }
    (void)fprintf(out,
                  "\nof raw: rate by that of the bare reader. by limit: time by the larger "
                  "of read and compute.\n"
                  "compute: %s.\nbusy: processor time of the engine thread, which computes "
                  "along. cpu: of all threads.\n",
                  report->has_whole ? "time of the same rows with all weights in memory"
                                    : "time without waiting for bytes");
}

static void write_number(struct nj_json_writer *writer, const char *key, double value)
{
    nj_json_key(writer, key);
    nj_json_write_number(writer, value);
}

static void write_count(struct nj_json_writer *writer, const char *key, uint64_t value)
{
    nj_json_key(writer, key);
    nj_json_write_unsigned(writer, value);
}

static void write_figure(struct nj_json_writer *writer,
                         const struct nj_sweep_bench_figure *figure)
{
    nj_json_begin_object(writer);
    write_count(writer, "rows", figure->n_rows);
    write_number(writer, "tokens_per_s", tokens_per_second(figure));
    write_number(writer, "sweep_s", figure->wall_s);
    write_number(writer, "read_s", figure->read_s);
    write_number(writer, "compute_s", figure->compute_s);
    write_number(writer, "busy_s", figure->busy_s);
    write_number(writer, "read_bytes", figure->read_bytes);
    write_number(writer, "read_bytes_per_token", figure->read_bytes / figure->n_rows);
    write_number(writer, "raw_share", figure->raw_share);
    write_number(writer, "limit_ratio", figure->limit_ratio);
    write_number(writer, "processor_s", figure->processor_s);
    write_count(writer, "raw_depth", figure->depth);
    nj_json_key(writer, "is_disk_bound");
    nj_json_write_boolean(writer, is_disk_bound(figure));
    nj_json_end_object(writer);
}

void nj_sweep_bench_write(struct nj_json_writer *writer,
                          const struct nj_sweep_bench_report *report)
{
    nj_json_begin_object(writer);
    write_count(writer, "version", 1);
    write_count(writer, "useful_bytes", report->useful_bytes);
    write_count(writer, "memory_bytes", report->memory_bytes);
    write_count(writer, "peak_bytes", report->peak_bytes);
    nj_json_key(writer, "has_whole");
    nj_json_write_boolean(writer, report->has_whole);
    write_count(writer, "pairs", report->n_pairs);
    nj_json_key(writer, "reader");
    nj_json_write_string(writer, report->reader);
    nj_json_key(writer, "widths");
    nj_json_begin_array(writer);
    for (int i = 0; i < NJ_SWEEP_BENCH_WIDTHS; i++) {
        if (report->widths[i].n_rows != 0) {
            write_figure(writer, &report->widths[i]);
        }
    }
    nj_json_end_array(writer);
    if (report->prefill.n_rows != 0) {
        nj_json_key(writer, "prefill");
        write_figure(writer, &report->prefill);
    }
    nj_json_end_object(writer);
}
