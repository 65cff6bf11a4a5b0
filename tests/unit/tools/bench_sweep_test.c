/* That the bench of sweeps measures sweeps, and replays the reads that they made. Rates are
 * asserted nowhere. */
#include "tools/bench_sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "model/sweep.h"
#include "support/check.h"
#include "tools/bench_sweep_trace.h"
#include "tools/synth.h"

/* 12 MB. */
static const char *make_model(void)
{
    static char path[256];
    struct nj_error err = {0};
    const struct nj_synth_options options = {.seed = 1};
    if (path[0] == '\0') {
        (void)snprintf(path, sizeof path, "%s/model", test_folder());
        CHECK_EQ(nj_synth_write(nj_file_system_real(), &options, path, NULL, &err), NJ_OK);
    }
    return path;
}

static void each_width_and_a_prompt_are_measured(void)
{
    const struct nj_sweep_bench_options options = {
        .path = make_model(), .n_threads = 1, .n_pairs = 1, .n_widths = 2, .holds_whole = true};
    struct nj_sweep_bench_report report;
    struct nj_error err = {0};
    REQUIRE_OK(nj_sweep_bench_measure(&options, &report, &err), &err);

    CHECK_EQ(report.n_pairs, 1);
    CHECK_EQ(report.widths[0].n_rows, 1);
    CHECK_EQ(report.widths[1].n_rows, 8);
    CHECK_EQ(report.widths[2].n_rows, 0);
    CHECK_EQ(report.prefill.n_rows, 512);
    CHECK(report.widths[0].read_bytes > 1e6);
    CHECK(report.widths[1].read_bytes > report.widths[0].read_bytes);
    CHECK(report.prefill.read_bytes < 20e6);
    CHECK(report.widths[0].busy_s <= report.widths[0].wall_s);
    CHECK(report.widths[0].raw_share > 0.0);
}

static void the_report_is_one_json_document(void)
{
    const struct nj_sweep_bench_report report = {
        .reader = "ring", .n_pairs = 7, .widths = {{.n_rows = 1, .wall_s = 0.5}}};
    struct nj_json_writer writer;
    struct nj_json *document = NULL;
    struct nj_text text;
    struct nj_error err = {0};
    double rate = 0.0;
    nj_json_writer_init(&writer);
    nj_sweep_bench_write(&writer, &report);
    REQUIRE_OK(nj_json_finish(&writer, &text, &err), &err);
    REQUIRE_OK(nj_json_parse(text, "report", &document, &err), &err);

    const struct nj_json_value *widths = nj_json_get(nj_json_root(document), "widths");
    CHECK_EQ(nj_json_count(widths), 1);
    CHECK(nj_json_as_number(nj_json_get(nj_json_at(widths, 0), "tokens_per_s"), &rate));
    CHECK_NEAR(rate, 2.0, 1e-9);
    nj_json_destroy(document);
    nj_json_writer_deinit(&writer);
}

static void a_model_that_stays_in_memory_is_refused(void)
{
    const struct nj_sweep_bench_options options = {
        .path = make_model(), .n_pairs = 1, .n_widths = 1, .memory_bytes = 1ULL << 30};
    struct nj_sweep_bench_report report;
    struct nj_error err = {0};

    CHECK_EQ(nj_sweep_bench_measure(&options, &report, &err), NJ_E_UNSUPPORTED);
    CHECK_CONTAINS(err.text, "--memory");
}

static void an_unknown_reader_is_refused(void)
{
    const struct nj_sweep_bench_options options = {.path = make_model(), .reader = "tape"};
    struct nj_sweep_bench_report report;
    struct nj_error err = {0};

    CHECK_EQ(nj_sweep_bench_measure(&options, &report, &err), NJ_E_USAGE);
    CHECK_CONTAINS(err.text, "tape");
}

/* A reader that only counts. */
struct counter {
    uint32_t n_reads;
    uint64_t n_bytes;
    uint32_t tags[NJ_REPLAY_MOST_DEPTH];
    uint32_t n_held;
    uint32_t most_held;
};

static struct counter counter;

static enum nj_status counter_open(void *context, const struct nj_reader_options *options,
                                   void **reader, struct nj_error *err)
{
    (void)options;
    (void)err;
    *reader = context;
    return NJ_OK;
}

static void counter_submit(void *reader, const struct nj_read_request *requests,
                           uint32_t n_requests)
{
    struct counter *count = reader;
    for (uint32_t i = 0; i < n_requests; i++) {
        count->n_reads++;
        count->n_bytes += requests[i].length_bytes;
        count->tags[count->n_held++] = requests[i].tag;
    }
    count->most_held = count->n_held > count->most_held ? count->n_held : count->most_held;
}

static uint32_t counter_reap(void *reader, bool waits, struct nj_read_result *results,
                             uint32_t limit)
{
    struct counter *count = reader;
    (void)waits;
    if (count->n_held == 0 || limit == 0) {
        return 0;
    }
    results[0] = (struct nj_read_result){count->tags[--count->n_held], 4096};
    return 1;
}

static void counter_close(void *reader)
{
    (void)reader;
}

static void a_replay_makes_the_recorded_reads_at_the_depth_wanted(void)
{
    enum { N_READS = 20, DEPTH = 4 };
    const struct nj_reader_table table = {"counter",      &counter,     counter_open,
                                          counter_submit, counter_reap, counter_close};
    const struct nj_clock clock = nj_clock_system();
    const int descriptors[] = {-1};
    const struct nj_reader_options options = {.descriptors = descriptors, .n_files = 1};
    struct nj_read_result result;
    struct nj_read_trace trace;
    struct nj_error err = {0};
    uint64_t elapsed_ns = 0;
    void *reader = NULL;
    nj_read_trace_init(&trace, &table);
    REQUIRE_OK(trace.table.open(trace.table.context, &options, &reader, &err), &err);
    nj_read_trace_begin(&trace);
    for (uint32_t i = 0; i < N_READS; i++) {
        const struct nj_read_request request = {.length_bytes = 4096 * (1 + i % 3)};
        trace.table.submit(reader, &request, 1);
        CHECK_EQ(trace.table.reap(reader, true, &result, 1), 1);
    }
    REQUIRE_OK(nj_read_trace_end(&trace, &err), &err);
    uint64_t recorded_bytes = counter.n_bytes;
    memset(&counter, 0, sizeof counter);

    REQUIRE_OK(nj_read_trace_replay(&trace, DEPTH, &clock, &elapsed_ns, &err), &err);

    CHECK_EQ(counter.n_reads, N_READS);
    CHECK_EQ(counter.n_bytes, recorded_bytes);
    CHECK_EQ(trace.read_bytes, recorded_bytes);
    CHECK_EQ(counter.most_held, DEPTH);
    trace.table.close(reader);
    nj_read_trace_deinit(&trace);
}

int main(void)
{
    RUN(each_width_and_a_prompt_are_measured);
    RUN(the_report_is_one_json_document);
    RUN(a_model_that_stays_in_memory_is_refused);
    RUN(an_unknown_reader_is_refused);
    RUN(a_replay_makes_the_recorded_reads_at_the_depth_wanted);
    return test_result();
}
