#include "tools/bench_sweep.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/machine_memory.h"
#include "model/model.h"
#include "tools/bench_sweep_rows.h"
#include "tools/bench_sweep_trace.h"

const uint32_t nj_sweep_bench_widths[NJ_SWEEP_BENCH_WIDTHS] = {1, 8, 32, 64, 128};

enum {
    MOST_PAIRS = 101,
    DEFAULT_PAIRS = 7,
    N_WARM = 2,      /* sweeps until the depth of reads has settled */
    MORE_FRAMES = 12 /* than the least: 16 keep a drive busy while a wave computes */
};

static const double nano = 1e-9;

struct bench {
    const struct nj_sweep_bench_options *options;
    struct nj_clock clock;
    struct nj_model_seams seams;
    struct nj_model_options model_options;
    struct nj_read_trace trace;
    struct nj_swept streamed;
    struct nj_swept whole; /* the same with all weights in memory, if that is asked for */
    bool has_whole;
    uint32_t n_pairs;
    struct nj_sweep_bench_report *report;
};

/* --- opening --- */

static uint32_t most_rows(const struct nj_sweep_bench_options *options)
{
    uint32_t n = options->n_widths;
    return nj_sweep_bench_widths[n == 0 || n > NJ_SWEEP_BENCH_WIDTHS ? NJ_SWEEP_BENCH_WIDTHS - 1
                                                                     : n - 1];
}

/* Longest that a sequence becomes: all sweeps, or the chunk of a prompt. */
static uint32_t most_positions(uint32_t n_pairs)
{
    uint32_t n_sweeps = NJ_SWEEP_BENCH_WIDTHS * (n_pairs + N_WARM);
    return n_sweeps > NJ_SWEEP_BENCH_PREFILL ? n_sweeps : NJ_SWEEP_BENCH_PREFILL;
}

static enum nj_status plan_for(const struct bench *bench, uint64_t memory_bytes,
                               struct nj_memory_plan *plan, struct nj_error *err)
{
    struct nj_model_options options = bench->model_options;
    options.memory_bytes = memory_bytes;
    options.takes_fewer_sequences = false;
    memset(plan, 0, sizeof *plan);
    return nj_model_plan_with(&bench->seams, &options, plan, err);
}

/* The least for the widest batch that this machine has room for, with so many frames more that
 * the drive is kept busy. */
static enum nj_status choose_memory(struct bench *bench, struct nj_error *err)
{
    struct nj_memory_plan plan;
    uint64_t left = nj_machine_memory_left(bench->seams.fs, "");
    for (int i = NJ_SWEEP_BENCH_WIDTHS - 1; i >= 0; i--) {
        bench->model_options.n_sequences = nj_sweep_bench_widths[i];
        if (nj_sweep_bench_widths[i] > most_rows(bench->options)) {
            continue;
        }
        enum nj_status status = plan_for(bench, 1, &plan, err); /* refused, with the floor */
        if (status != NJ_OK && status != NJ_E_BUDGET) {
            return status;
        }
        if (plan.floor_bytes > left && i > 0) {
            continue;
        }
        status = plan_for(bench, plan.floor_bytes, &plan, err);
        if (status != NJ_OK) {
            return status;
        }
        uint64_t frame_bytes = plan.frames_bytes / NJ_LEAST_FRAMES;
        bench->model_options.memory_bytes = plan.floor_bytes + MORE_FRAMES * frame_bytes;
        bench->model_options.takes_fewer_sequences = false;
        return NJ_OK;
    }
    return nj_fail(err, NJ_E_BUDGET, "no batch width fits this machine");
}

/* The ring, or threads where it is refused: as a run chooses. */
static enum nj_status open_with(struct bench *bench, const struct nj_reader_table *table,
                                struct nj_model **model, struct nj_error *err)
{
    nj_read_trace_init(&bench->trace, table);
    bench->seams.readers = &bench->trace.table;
    return nj_model_open_with(&bench->seams, &bench->model_options, model, err);
}

static enum nj_status open_model(struct bench *bench, struct nj_model **model,
                                 struct nj_error *err)
{
    const char *reader = bench->options->reader;
    bool wants_threads = reader != NULL && strcmp(reader, "threads") == 0;
    bool wants_ring = reader != NULL && strcmp(reader, "ring") == 0;
    if (reader != NULL && !wants_threads && !wants_ring) {
        return nj_fail(err, NJ_E_USAGE, "no reader \"%.40s\"; ring and threads are known",
                       reader);
    }
    if (!wants_threads) {
        struct nj_error refusal = {0};
        enum nj_status status = open_with(bench, nj_reader_ring(), model, &refusal);
        if (status != NJ_E_IO && status != NJ_E_UNSUPPORTED) {
            return status == NJ_OK ? NJ_OK : nj_fail(err, status, "%s", refusal.text);
        }
        if (wants_ring) {
            return nj_fail(err, status, "%s", refusal.text);
        }
        (void)snprintf(bench->report->note, sizeof bench->report->note, "%.*s",
                       (int)sizeof bench->report->note - 1, refusal.text);
    }
    return open_with(bench, nj_reader_threads(), model, err);
}

static enum nj_status open_streamed(struct bench *bench, struct nj_error *err)
{
    const struct nj_sweep_bench_options *options = bench->options;
    struct nj_model *model = NULL;
    enum nj_status status = NJ_OK;
    if (options->memory_bytes == 0) {
        status = choose_memory(bench, err);
    }
    if (status == NJ_OK) {
        status = open_model(bench, &model, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    if (nj_model_plan(model)->is_whole) {
        nj_model_close(model);
        return nj_fail(err, NJ_E_UNSUPPORTED,
                       "%s fits into %llu bytes of memory whole: a sweep reads nothing. Give "
                       "it less with --memory",
                       options->path, (unsigned long long)bench->model_options.memory_bytes);
    }
    return nj_swept_init(&bench->streamed, model, most_rows(options), err);
}

/* Refused where the machine has no room for it beside the one that streams. */
static enum nj_status open_whole(struct bench *bench, struct nj_error *err)
{
    struct nj_model *model = NULL;
    struct nj_model_seams seams = bench->seams;
    struct nj_model_options options = bench->model_options;
    options.memory_bytes = nj_model_plan(bench->streamed.model)->useful_bytes;
    options.n_sequences = bench->streamed.n_states;
    seams.readers = NULL;
    uint64_t left = nj_machine_memory_left(seams.fs, seams.machine_root);
    if (left < options.memory_bytes) {
        return nj_fail(err, NJ_E_BUDGET,
                       "hold all weights in memory as well: %llu bytes are needed, %llu left",
                       (unsigned long long)options.memory_bytes, (unsigned long long)left);
    }
    enum nj_status status = nj_model_open_with(&seams, &options, &model, err);
    if (status != NJ_OK) {
        return status;
    }
    bench->has_whole = true;
    return nj_swept_init(&bench->whole, model, bench->streamed.n_states, err);
}

static void close_all(struct bench *bench)
{
    nj_swept_deinit(&bench->whole);
    nj_swept_deinit(&bench->streamed);
    nj_read_trace_deinit(&bench->trace);
}

/* --- one sweep --- */

typedef enum nj_status sweep_some(struct nj_swept *swept, uint32_t n_rows,
                                  struct nj_swept_time *took, struct nj_error *err);

/* One that streams, and its reads recorded. */
static enum nj_status sweep_streamed(struct bench *bench, sweep_some *sweep, uint32_t n_rows,
                                     struct nj_swept_time *took, struct nj_error *err)
{
    nj_read_trace_drop_cache(&bench->trace);
    nj_read_trace_begin(&bench->trace);
    enum nj_status status = sweep(&bench->streamed, n_rows, took, err);
    enum nj_status recorded = nj_read_trace_end(&bench->trace, err);
    return status == NJ_OK ? recorded : status;
}

/* What computing takes: measured with all weights in memory, or else the time of the sweep
 * without what it waited for bytes. */
static enum nj_status time_computing(struct bench *bench, sweep_some *sweep, uint32_t n_rows,
                                     const struct nj_swept_time *streamed, double *seconds,
                                     struct nj_error *err)
{
    struct nj_swept_time whole;
    *seconds = nano * (double)(streamed->wall_ns - streamed->waited_ns);
    if (!bench->has_whole) {
        return NJ_OK;
    }
    enum nj_status status = sweep(&bench->whole, n_rows, &whole, err);
    if (status == NJ_OK) {
        *seconds = nano * (double)whole.wall_ns;
    }
    return status;
}

/* --- pairs --- */

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *values, uint32_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

static enum nj_status replay(struct bench *bench, uint32_t depth, double *bytes_per_s,
                             struct nj_error *err)
{
    uint64_t elapsed_ns = 0;
    nj_read_trace_drop_cache(&bench->trace);
    enum nj_status status =
        nj_read_trace_replay(&bench->trace, depth, &bench->clock, &elapsed_ns, err);
    double seconds = nano * (double)(elapsed_ns == 0 ? 1 : elapsed_ns);
    *bytes_per_s = (double)bench->trace.read_bytes / seconds;
    return status;
}

/* By one replay of the last sweep at each power of two. */
static enum nj_status find_depth(struct bench *bench, uint32_t *depth, struct nj_error *err)
{
    double best = 0.0;
    *depth = 1;
    for (uint32_t tried = 1; tried <= NJ_REPLAY_MOST_DEPTH; tried *= 2) {
        double rate = 0.0;
        enum nj_status status = replay(bench, tried, &rate, err);
        if (status != NJ_OK) {
            return status;
        }
        if (rate > best) {
            best = rate;
            *depth = tried;
        }
    }
    return NJ_OK;
}

/* What the pairs gave, by pair. */
struct pairs {
    double wall_s[MOST_PAIRS];
    double read_s[MOST_PAIRS];
    double compute_s[MOST_PAIRS];
    double busy_s[MOST_PAIRS];
    double raw_share[MOST_PAIRS];
    double limit_ratio[MOST_PAIRS];
    double processor_s[MOST_PAIRS];
    double read_bytes[MOST_PAIRS];
};

static void note_pair(struct pairs *pairs, uint32_t at, const struct nj_swept_time *took,
                      double compute_s, uint64_t read_bytes, double raw_bytes_per_s)
{
    double wall_s = nano * (double)took->wall_ns;
    double read_s = (double)read_bytes / raw_bytes_per_s;
    pairs->wall_s[at] = wall_s;
    pairs->compute_s[at] = compute_s;
    pairs->busy_s[at] = took->engine_s;
    pairs->read_s[at] = read_s;
    pairs->raw_share[at] = read_s / wall_s;
    pairs->limit_ratio[at] = wall_s / fmax(read_s, compute_s);
    pairs->processor_s[at] = took->processor_s;
    pairs->read_bytes[at] = (double)read_bytes;
}

static void conclude(struct pairs *pairs, uint32_t n, struct nj_sweep_bench_figure *figure)
{
    figure->wall_s = median(pairs->wall_s, n);
    figure->read_s = median(pairs->read_s, n);
    figure->compute_s = median(pairs->compute_s, n);
    figure->busy_s = median(pairs->busy_s, n);
    figure->raw_share = median(pairs->raw_share, n);
    figure->limit_ratio = median(pairs->limit_ratio, n);
    figure->processor_s = median(pairs->processor_s, n);
    figure->read_bytes = median(pairs->read_bytes, n);
}

/* The two of a pair change places from one pair to the next, so that neither always comes
 * second. In odd pairs the bare reader goes first and repeats the sweep before. */
static enum nj_status run_pair(struct bench *bench, sweep_some *sweep, uint32_t n_rows,
                               uint32_t depth, uint32_t at, struct pairs *pairs,
                               struct nj_error *err)
{
    struct nj_swept_time took = {0};
    double compute_s = 0.0;
    double rate = 0.0;
    enum nj_status status = NJ_OK;
    if (at % 2 == 1) {
        status = replay(bench, depth, &rate, err);
    }
    if (status == NJ_OK) {
        status = sweep_streamed(bench, sweep, n_rows, &took, err);
    }
    if (status == NJ_OK) {
        status = time_computing(bench, sweep, n_rows, &took, &compute_s, err);
    }
    if (status == NJ_OK && at % 2 == 0) {
        status = replay(bench, depth, &rate, err);
    }
    if (status == NJ_OK) {
        note_pair(pairs, at, &took, compute_s, bench->trace.read_bytes, rate);
    }
    return status;
}

static enum nj_status warm_up(struct bench *bench, sweep_some *sweep, uint32_t n_rows,
                              struct nj_error *err)
{
    struct nj_swept_time took;
    enum nj_status status = NJ_OK;
    for (int i = 0; i < N_WARM && status == NJ_OK; i++) {
        status = sweep_streamed(bench, sweep, n_rows, &took, err);
    }
    return status == NJ_OK && bench->has_whole ? sweep(&bench->whole, n_rows, &took, err)
                                               : status;
}

static enum nj_status measure_width(struct bench *bench, sweep_some *sweep, uint32_t n_rows,
                                    struct nj_sweep_bench_figure *figure, struct nj_error *err)
{
    struct pairs pairs;
    enum nj_status status = warm_up(bench, sweep, n_rows, err);
    if (status == NJ_OK) {
        status = find_depth(bench, &figure->depth, err);
    }
    for (uint32_t at = 0; at < bench->n_pairs && status == NJ_OK; at++) {
        status = run_pair(bench, sweep, n_rows, figure->depth, at, &pairs, err);
    }
    if (status != NJ_OK) {
        return nj_prefix(err, status, "%u rows", n_rows);
    }
    conclude(&pairs, bench->n_pairs, figure);
    figure->n_rows = n_rows;
    return NJ_OK;
}

static enum nj_status measure_all(struct bench *bench, struct nj_error *err)
{
    struct nj_sweep_bench_report *report = bench->report;
    enum nj_status status = NJ_OK;
    for (int i = 0; i < NJ_SWEEP_BENCH_WIDTHS && status == NJ_OK; i++) {
        if (nj_sweep_bench_widths[i] <= bench->streamed.n_states) {
            status = measure_width(bench, nj_swept_batch, nj_sweep_bench_widths[i],
                                   &report->widths[i], err);
        }
    }
    return status == NJ_OK ? measure_width(bench, nj_swept_prompt, NJ_SWEEP_BENCH_PREFILL,
                                           &report->prefill, err)
                           : status;
}

static uint64_t peak_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

static void tell(struct bench *bench)
{
    struct nj_sweep_bench_report *report = bench->report;
    struct nj_stream_report stream;
    nj_model_stream_report(bench->streamed.model, &stream);
    report->useful_bytes = nj_model_plan(bench->streamed.model)->useful_bytes;
    report->memory_bytes = bench->model_options.memory_bytes;
    report->reader = bench->trace.below->name;
    if (report->note[0] == '\0' && stream.note != NULL) {
        (void)snprintf(report->note, sizeof report->note, "%s", stream.note);
    }
    report->n_pairs = bench->n_pairs;
    report->has_whole = bench->has_whole;
    if (!bench->has_whole) {
        report->peak_bytes = peak_bytes();
    }
}

enum nj_status nj_sweep_bench_measure(const struct nj_sweep_bench_options *options,
                                      struct nj_sweep_bench_report *report,
                                      struct nj_error *err)
{
    uint32_t n_pairs = options->n_pairs == 0 ? DEFAULT_PAIRS : options->n_pairs;
    struct bench bench = {.options = options,
                          .clock = nj_clock_system(),
                          .seams = {.fs = nj_file_system_real(), .machine_root = ""},
                          .n_pairs = n_pairs < MOST_PAIRS ? n_pairs : MOST_PAIRS,
                          .report = report};
    bench.model_options =
        (struct nj_model_options){.path = options->path,
                                  .cpu_level = options->cpu_level,
                                  .n_threads = options->n_threads,
                                  .max_rows = NJ_SWEEP_BENCH_PREFILL,
                                  .memory_bytes = options->memory_bytes,
                                  .n_sequences = most_rows(options),
                                  .takes_fewer_sequences = true,
                                  .n_positions = most_positions(bench.n_pairs)};
    memset(report, 0, sizeof *report);
    enum nj_status status = open_streamed(&bench, err);
    if (status == NJ_OK && options->holds_whole) {
        status = open_whole(&bench, err);
    }
    if (status == NJ_OK) {
        status = measure_all(&bench, err);
    }
    if (status == NJ_OK) {
        tell(&bench);
    }
    close_all(&bench);
    return status == NJ_OK ? NJ_OK : nj_prefix(err, status, "bench sweep");
}
