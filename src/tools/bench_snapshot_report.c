#include "tools/bench_snapshot.h"
#include "tools/sheet.h"

/* Bytes without their unit are counts. */
static void write_kind(struct nj_sheet *sheet, const char *key, const char *title,
                       const struct nj_snapshot_bench_kind *kind)
{
    double ratio =
        kind->packed_bytes == 0 ? 0.0 : (double)kind->raw_bytes / (double)kind->packed_bytes;
    nj_sheet_begin_section(sheet, key, title);
    nj_sheet_count(sheet, "raw_bytes", "bytes", kind->raw_bytes);
    nj_sheet_count(sheet, "packed_bytes", "packed", kind->packed_bytes);
    nj_sheet_number(sheet, "ratio", "times smaller", (float)ratio);
    nj_sheet_end_section(sheet);
}

static void number(struct nj_sheet *sheet, const char *key, const char *label, double value)
{
    nj_sheet_number(sheet, key, label, (float)value);
}

static void write_rates(struct nj_sheet *sheet, const struct nj_snapshot_bench_report *report)
{
    nj_sheet_begin_section(sheet, "packing", "Packing, one thread");
    number(sheet, "pack_mb_s", "packed, MB/s", report->pack_bytes_s * 1e-6);
    number(sheet, "unpack_mb_s", "unpacked, MB/s", report->unpack_bytes_s * 1e-6);
    nj_sheet_end_section(sheet);
}

static void write_round(struct nj_sheet *sheet, const struct nj_snapshot_bench_report *report)
{
    nj_sheet_begin_section(sheet, "round", "A round of all sequences");
    nj_sheet_count(sheet, "file_bytes", "bytes written", report->file_bytes);
    number(sheet, "engine_ms", "engine thread, ms", report->copied_s * 1e3);
    number(sheet, "blocked_ms", "of that waiting, ms", report->blocked_s * 1e3);
    number(sheet, "writer_ms", "writer's processor time, ms", report->writer_s * 1e3);
    number(sheet, "durable_ms", "until durable, ms", report->round_s * 1e3);
    nj_sheet_end_section(sheet);
}

static void write_restore(struct nj_sheet *sheet, const struct nj_snapshot_bench_report *report)
{
    double bound = report->read_s > report->inflate_s ? report->read_s : report->inflate_s;
    nj_sheet_begin_section(sheet, "restore", "Restoring one sequence");
    number(sheet, "restore_ms", "restored, ms", report->restore_s * 1e3);
    number(sheet, "read_ms", "reading the bytes alone, ms", report->read_s * 1e3);
    number(sheet, "inflate_ms", "unpacking on all threads, ms", report->inflate_s * 1e3);
    number(sheet, "times_the_larger", "times the larger of both",
           bound > 0.0 ? report->restore_s / bound : 0.0);
    nj_sheet_end_section(sheet);
}

static void write_cost(struct nj_sheet *sheet, const struct nj_snapshot_bench_report *report)
{
    nj_sheet_begin_section(sheet, "cost", "At the automatic interval");
    number(sheet, "interval_s", "interval, s", report->interval_s);
    number(sheet, "cost_percent", "engine and writer, % of it", report->cost_share * 100.0);
    number(sheet, "mb_per_hour", "written, MB/h", report->bytes_per_hour * 1e-6);
    nj_sheet_count(sheet, "pairs", "pairs of runs", report->n_pairs);
    number(sheet, "wall_percent", "slower in median, %", report->wall_share * 100.0);
    nj_sheet_end_section(sheet);
}

enum nj_status nj_snapshot_bench_write(const struct nj_snapshot_bench_report *report,
                                       const struct nj_snapshot_bench_options *options,
                                       char **text, size_t *length_bytes, struct nj_error *err)
{
    struct nj_sheet sheet;
    enum nj_status status = nj_sheet_init(&sheet, options->wants_json, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_sheet_begin_section(&sheet, "states", "States");
    nj_sheet_text(&sheet, "model", "model", options->path);
    nj_sheet_count(&sheet, "threads", "threads", report->n_threads);
    nj_sheet_count(&sheet, "sequences", "sequences", report->n_sequences);
    nj_sheet_count(&sheet, "positions", "positions of each", report->n_positions);
    nj_sheet_end_section(&sheet);
    write_kind(&sheet, "recurrent", "Recurrent states", &report->recurrent);
    write_kind(&sheet, "latent", "Latent cache", &report->latent);
    write_rates(&sheet, report);
    write_round(&sheet, report);
    write_restore(&sheet, report);
    write_cost(&sheet, report);
    status = nj_sheet_finish(&sheet, text, length_bytes, err);
    nj_sheet_deinit(&sheet);
    return status;
}
