#include "tools/bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "tools/bench_kernels.h"
#include "tools/bench_machine.h"
#include "tools/bench_model.h"
#include "tools/bench_model_report.h"
#include "tools/bench_report.h"

/* What is reported, in either form. */
struct subject {
    const struct nj_bench_report *kernels; /* or */
    const struct nj_bench_model_report *model;
    const char *path; /* of the model */
};

static void print(const struct subject *subject, FILE *out)
{
    char processor[NJ_BENCH_NAME_BYTES];
    nj_bench_processor(processor);
    if (subject->model != NULL) {
        nj_bench_model_print(out, subject->model, subject->path, processor);
    } else {
        nj_bench_report_print(out, subject->kernels, processor,
                              nj_bench_record_of(processor, subject->kernels->level));
    }
}

static void write(const struct subject *subject, struct nj_json_writer *writer)
{
    char processor[NJ_BENCH_NAME_BYTES];
    nj_bench_processor(processor);
    if (subject->model != NULL) {
        nj_bench_model_write(writer, subject->model, subject->path, processor);
    } else {
        nj_bench_report_write(writer, subject->kernels, processor,
                              nj_bench_record_of(processor, subject->kernels->level));
    }
}

static enum nj_status as_text(const struct subject *subject, char **text, size_t *length_bytes,
                              struct nj_error *err)
{
    FILE *out = open_memstream(text, length_bytes);
    if (out == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "bench: no memory for the report");
    }
    print(subject, out);
    if (fclose(out) != 0) {
        free(*text);
        *text = NULL;
        return nj_fail(err, NJ_E_MEMORY, "bench: no memory for the report");
    }
    return NJ_OK;
}

/* The writer's memory goes to the caller. */
static enum nj_status as_json(const struct subject *subject, char **text, size_t *length_bytes,
                              struct nj_error *err)
{
    struct nj_json_writer writer;
    struct nj_text written;
    nj_json_writer_init(&writer);
    write(subject, &writer);
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
    struct subject subject = {.kernels = &report};
    return options->wants_json ? as_json(&subject, text, length_bytes, err)
                               : as_text(&subject, text, length_bytes, err);
}

enum nj_status nj_bench_model(const struct nj_bench_options *options, char **text,
                              size_t *length_bytes, struct nj_error *err)
{
    struct nj_bench_model_plan plan = nj_bench_model_plan_for(options->is_quick);
    struct nj_bench_model_report report;
    enum nj_status status = nj_bench_model_measure(options->model, options->cpu_level,
                                                   options->n_threads, &plan, &report, err);
    if (status != NJ_OK) {
        return status;
    }
    struct subject subject = {.model = &report, .path = options->model};
    return options->wants_json ? as_json(&subject, text, length_bytes, err)
                               : as_text(&subject, text, length_bytes, err);
}
