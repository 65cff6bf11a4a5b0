#include "tools/bench_sweep.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/machine_memory.h"
#include "base/random.h"
#include "model/model.h"
#include "model/sweep.h"
#include "tools/bench_sweep_trace.h"

const uint32_t nj_sweep_bench_widths[NJ_SWEEP_BENCH_WIDTHS] = {1, 8, 32, 64, 128};

enum {
    MOST_ROWS = 128, /* the last of the widths */
    MOST_PAIRS = 101,
    DEFAULT_PAIRS = 7,
    N_WARM = 2,       /* sweeps until the depth of reads has settled */
    MORE_FRAMES = 12, /* than the least: 16 keep a drive busy while a wave computes */
    RANDOM_SEED = 20261201
};

static const double nano = 1e-9;

struct bench {
    const struct nj_sweep_bench_options *options;
    struct nj_clock clock;
    struct nj_model_seams seams;
    struct nj_model_options model_options;
    struct nj_read_trace trace;
    struct nj_model *model;
    const struct nj_dims *dims;
    struct nj_state *states[MOST_ROWS];
    uint32_t n_states;
    float *logits; /* (MOST_ROWS, n_vocabulary) */
    uint64_t n_drawn;
    uint32_t n_pairs;
    struct nj_sweep_bench_report *report;
};

/* What one sweep took. */
struct taken {
    uint64_t wall_ns;
    double engine_s; /* processor time of the engine thread, which takes part in all work */
    double processor_s;
    uint64_t read_bytes;
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
                                struct nj_error *err)
{
    nj_read_trace_init(&bench->trace, table);
    bench->seams.readers = &bench->trace.table;
    return nj_model_open_with(&bench->seams, &bench->model_options, &bench->model, err);
}

static enum nj_status open_model(struct bench *bench, struct nj_error *err)
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
        enum nj_status status = open_with(bench, nj_reader_ring(), &refusal);
        if (status != NJ_E_IO && status != NJ_E_UNSUPPORTED) {
            return status == NJ_OK ? NJ_OK : nj_fail(err, status, "%s", refusal.text);
        }
        if (wants_ring) {
            return nj_fail(err, status, "%s", refusal.text);
        }
        (void)snprintf(bench->report->note, sizeof bench->report->note, "%.*s",
                       (int)sizeof bench->report->note - 1, refusal.text);
    }
    return open_with(bench, nj_reader_threads(), err);
}

static enum nj_status make_states(struct bench *bench, struct nj_error *err)
{
    uint32_t n = nj_model_n_sequences(bench->model);
    n = n < most_rows(bench->options) ? n : most_rows(bench->options);
    assert(n >= 1); /* a model that opens has room for one */
    for (; bench->n_states < n; bench->n_states++) {
        enum nj_status status = nj_state_create(bench->dims, nj_model_budget(bench->model),
                                                &bench->states[bench->n_states], err);
        if (status != NJ_OK) {
            return status;
        }
    }
    bench->logits = calloc((size_t)n * bench->dims->n_vocabulary, sizeof(float));
    return bench->logits != NULL ? NJ_OK : nj_fail(err, NJ_E_MEMORY, "logits: out of memory");
}

static enum nj_status open_all(struct bench *bench, struct nj_error *err)
{
    const struct nj_sweep_bench_options *options = bench->options;
    enum nj_status status = NJ_OK;
    if (options->memory_bytes == 0) {
        status = choose_memory(bench, err);
    }
    if (status == NJ_OK) {
        status = open_model(bench, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    if (nj_model_plan(bench->model)->is_whole) {
        return nj_fail(err, NJ_E_UNSUPPORTED,
                       "%s fits into %llu bytes of memory whole: a sweep reads nothing. Give "
                       "it less with --memory",
                       options->path, (unsigned long long)bench->model_options.memory_bytes);
    }
    bench->dims = nj_model_dims(bench->model);
    return make_states(bench, err);
}

static void close_all(struct bench *bench)
{
    for (uint32_t i = 0; i < bench->n_states; i++) {
        nj_state_destroy(bench->states[i]);
    }
    free(bench->logits);
    nj_model_close(bench->model);
    nj_read_trace_deinit(&bench->trace);
}

/* --- one sweep --- */

static nj_token draw_token(struct bench *bench)
{
    double drawn = nj_draw_uniform(RANDOM_SEED, 0, bench->n_drawn++, 0);
    return (nj_token)(drawn * bench->dims->n_vocabulary);
}

/* RUSAGE_SELF: of all threads; RUSAGE_THREAD: of the engine's. */
static double processor_seconds(int who)
{
    struct rusage usage;
    if (getrusage(who, &usage) != 0) {
        return 0.0;
    }
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static enum nj_status sweep_rows(struct bench *bench, const struct nj_row *rows,
                                 uint32_t n_rows, struct taken *taken, struct nj_error *err)
{
    nj_read_trace_drop_cache(&bench->trace);
    double engine_s = processor_seconds(RUSAGE_THREAD);
    double processor_s = processor_seconds(RUSAGE_SELF);
    uint64_t begin_ns = bench->clock.monotonic_ns(bench->clock.context);
    nj_read_trace_begin(&bench->trace);
    enum nj_status status = nj_sweep_run(bench->model, rows, n_rows, NULL, bench->logits, err);
    taken->wall_ns = bench->clock.monotonic_ns(bench->clock.context) - begin_ns;
    taken->engine_s = processor_seconds(RUSAGE_THREAD) - engine_s;
    taken->processor_s = processor_seconds(RUSAGE_SELF) - processor_s;
    enum nj_status recorded = nj_read_trace_end(&bench->trace, err);
    taken->read_bytes = bench->trace.read_bytes;
    return status == NJ_OK ? recorded : status;
}

/* One token more for the first `n_rows` sequences. */
static enum nj_status sweep_batch(struct bench *bench, uint32_t n_rows, struct taken *taken,
                                  struct nj_error *err)
{
    struct nj_row rows[MOST_ROWS];
    for (uint32_t i = 0; i < n_rows; i++) {
        rows[i] = (struct nj_row){.state = bench->states[i],
                                  .position = nj_state_length(bench->states[i]),
                                  .token = draw_token(bench),
                                  .wants_logits = true};
    }
    return sweep_rows(bench, rows, n_rows, taken, err);
}

/* A prompt of `n_rows` in one chunk, of the first sequence. */
static enum nj_status sweep_prompt(struct bench *bench, uint32_t n_rows, struct taken *taken,
                                   struct nj_error *err)
{
    struct nj_row rows[NJ_SWEEP_BENCH_PREFILL];
    nj_state_reset(bench->states[0]);
    for (uint32_t i = 0; i < n_rows; i++) {
        rows[i] = (struct nj_row){.state = bench->states[0],
                                  .position = i,
                                  .token = draw_token(bench),
                                  .wants_logits = i + 1 == n_rows};
    }
    return sweep_rows(bench, rows, n_rows, taken, err);
}

typedef enum nj_status sweep_some(struct bench *bench, uint32_t n_rows, struct taken *taken,
                                  struct nj_error *err);

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
    double busy_s[MOST_PAIRS];
    double raw_share[MOST_PAIRS];
    double limit_ratio[MOST_PAIRS];
    double processor_s[MOST_PAIRS];
    double read_bytes[MOST_PAIRS];
};

static void note_pair(struct pairs *pairs, uint32_t at, const struct taken *taken,
                      double raw_bytes_per_s)
{
    double wall_s = nano * (double)taken->wall_ns;
    double busy_s = taken->engine_s;
    double read_s = (double)taken->read_bytes / raw_bytes_per_s;
    pairs->wall_s[at] = wall_s;
    pairs->busy_s[at] = busy_s;
    pairs->read_s[at] = read_s;
    pairs->raw_share[at] = read_s / wall_s;
    pairs->limit_ratio[at] = wall_s / fmax(read_s, busy_s);
    pairs->processor_s[at] = taken->processor_s;
    pairs->read_bytes[at] = (double)taken->read_bytes;
}

static void conclude(struct pairs *pairs, uint32_t n, struct nj_sweep_bench_figure *figure)
{
    figure->wall_s = median(pairs->wall_s, n);
    figure->read_s = median(pairs->read_s, n);
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
    struct taken taken = {0};
    double rate = 0.0;
    enum nj_status status = NJ_OK;
    if (at % 2 == 1) {
        status = replay(bench, depth, &rate, err);
    }
    if (status == NJ_OK) {
        status = sweep(bench, n_rows, &taken, err);
    }
    if (status == NJ_OK && at % 2 == 0) {
        status = replay(bench, depth, &rate, err);
    }
    if (status == NJ_OK) {
        note_pair(pairs, at, &taken, rate);
    }
    return status;
}

static enum nj_status measure_width(struct bench *bench, sweep_some *sweep, uint32_t n_rows,
                                    struct nj_sweep_bench_figure *figure, struct nj_error *err)
{
    struct pairs pairs;
    struct taken taken;
    enum nj_status status = NJ_OK;
    for (int i = 0; i < N_WARM && status == NJ_OK; i++) {
        status = sweep(bench, n_rows, &taken, err);
    }
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
        if (nj_sweep_bench_widths[i] <= bench->n_states) {
            status = measure_width(bench, sweep_batch, nj_sweep_bench_widths[i],
                                   &report->widths[i], err);
        }
    }
    return status == NJ_OK ? measure_width(bench, sweep_prompt, NJ_SWEEP_BENCH_PREFILL,
                                           &report->prefill, err)
                           : status;
}

static void tell(struct bench *bench)
{
    struct nj_sweep_bench_report *report = bench->report;
    struct nj_stream_report stream;
    struct rusage usage;
    nj_model_stream_report(bench->model, &stream);
    report->useful_bytes = nj_model_plan(bench->model)->useful_bytes;
    report->memory_bytes = bench->model_options.memory_bytes;
    report->reader = bench->trace.below->name;
    if (report->note[0] == '\0' && stream.note != NULL) {
        (void)snprintf(report->note, sizeof report->note, "%s", stream.note);
    }
    report->n_pairs = bench->n_pairs;
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        report->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
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
    enum nj_status status = open_all(&bench, err);
    if (status == NJ_OK) {
        status = measure_all(&bench, err);
    }
    if (status == NJ_OK) {
        tell(&bench);
    }
    close_all(&bench);
    return status == NJ_OK ? NJ_OK : nj_prefix(err, status, "bench sweep");
}
