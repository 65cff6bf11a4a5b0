#include "tools/bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "tools/bench_kernels.h"
#include "tools/bench_machine.h"
#include "tools/bench_report.h"

static enum nj_status as_text(const struct nj_bench_report *report, char **text,
                              size_t *length_bytes, struct nj_error *err)
{
    char processor[NJ_BENCH_NAME_BYTES];
    nj_bench_processor(processor);
    FILE *out = open_memstream(text, length_bytes);
    if (out == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "bench: no memory for the report");
    }
    nj_bench_report_print(out, report, processor, nj_bench_record_of(processor, report->level));
    if (fclose(out) != 0) {
        free(*text);
        *text = NULL;
        return nj_fail(err, NJ_E_MEMORY, "bench: no memory for the report");
    }
    return NJ_OK;
}

/* The writer's memory goes to the caller. */
static enum nj_status as_json(const struct nj_bench_report *report, char **text,
                              size_t *length_bytes, struct nj_error *err)
{
    char processor[NJ_BENCH_NAME_BYTES];
    struct nj_json_writer writer;
    struct nj_text written;
    nj_bench_processor(processor);
    nj_json_writer_init(&writer);
    nj_bench_report_write(&writer, report, processor,
                          nj_bench_record_of(processor, report->level));
    enum nj_status status = nj_json_finish(&writer, &written, err);
    if (status != NJ_OK) {
        nj_json_writer_deinit(&writer);
        return status;
    }
    *text = writer.data;
    *length_bytes = written.length_bytes;
    return NJ_OK;
}

enum nj_status nj_bench_kernels(const struct nj_bench_options *options, char **text,
                                size_t *length_bytes, struct nj_error *err)
{
    const struct nj_kernels *kernels = NULL;
    enum nj_status status = nj_kernels_choose(options->cpu_level, &kernels, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_bench_plan plan = nj_bench_plan_for(kernels->level, options->is_quick);
    struct nj_bench_report report;
    status = nj_bench_measure(kernels, &plan, &report, err);
    if (status != NJ_OK) {
        return status;
    }
    return options->wants_json ? as_json(&report, text, length_bytes, err)
                               : as_text(&report, text, length_bytes, err);
}
