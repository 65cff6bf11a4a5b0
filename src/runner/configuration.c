#include "runner/configuration.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/yaml_tree.h"

static void write_unsigned(struct nj_json_writer *writer, const char *key, uint64_t value)
{
    nj_json_key(writer, key);
    nj_json_write_unsigned(writer, value);
}

static void write_number(struct nj_json_writer *writer, const char *key, double value)
{
    nj_json_key(writer, key);
    nj_json_write_number(writer, value);
}

/* 0 is not said. */
static void write_limit(struct nj_json_writer *writer, const char *key, uint64_t value)
{
    nj_json_key(writer, key);
    if (value > 0) {
        nj_json_write_unsigned(writer, value);
    } else {
        nj_json_write_null(writer);
    }
}

static void write_seconds(struct nj_json_writer *writer, const char *key, uint64_t value_ns)
{
    nj_json_key(writer, key);
    if (value_ns > 0) {
        nj_json_write_number(writer, (double)value_ns / 1e9);
    } else {
        nj_json_write_null(writer);
    }
}

static void write_text(struct nj_json_writer *writer, const char *key, struct nj_text text)
{
    nj_json_key(writer, key);
    if (text.length_bytes > 0) {
        nj_json_write_text(writer, text);
    } else {
        nj_json_write_null(writer);
    }
}

/* --- sampling --- */

static bool have_equal_lists(const struct nj_sampling *a, const struct nj_sampling *b)
{
    if (a->n_stop != b->n_stop || a->n_stop_tokens != b->n_stop_tokens ||
        a->n_logit_biases != b->n_logit_biases) {
        return false;
    }
    bool are_equal = true;
    for (size_t i = 0; i < a->n_stop && are_equal; i++) {
        are_equal = nj_text_equal(a->stop[i], b->stop[i]);
    }
    for (size_t i = 0; i < a->n_stop_tokens && are_equal; i++) {
        are_equal = a->stop_tokens[i] == b->stop_tokens[i];
    }
    for (size_t i = 0; i < a->n_logit_biases && are_equal; i++) {
        are_equal = a->logit_biases[i].token == b->logit_biases[i].token &&
                    a->logit_biases[i].bias == b->logit_biases[i].bias;
    }
    return are_equal;
}

static bool are_equal(const struct nj_sampling *a, const struct nj_sampling *b)
{
    return a->temperature == b->temperature && a->top_p == b->top_p && a->min_p == b->min_p &&
           a->top_k == b->top_k && a->presence_penalty == b->presence_penalty &&
           a->frequency_penalty == b->frequency_penalty &&
           a->repeat_penalty == b->repeat_penalty && a->max_tokens == b->max_tokens &&
           a->n == b->n && a->has_seed == b->has_seed && a->seed == b->seed &&
           a->wants_logprobs == b->wants_logprobs && a->n_top_logprobs == b->n_top_logprobs &&
           have_equal_lists(a, b);
}

static void write_lists(const struct nj_sampling *sampling, struct nj_json_writer *writer)
{
    nj_json_key(writer, "stop");
    nj_json_begin_array(writer);
    for (size_t i = 0; i < sampling->n_stop; i++) {
        nj_json_write_text(writer, sampling->stop[i]);
    }
    nj_json_end_array(writer);
    nj_json_key(writer, "stop_token_ids");
    nj_json_begin_array(writer);
    for (size_t i = 0; i < sampling->n_stop_tokens; i++) {
        nj_json_write_unsigned(writer, (uint64_t)sampling->stop_tokens[i]);
    }
    nj_json_end_array(writer);
    nj_json_key(writer, "logit_bias");
    nj_json_begin_array(writer);
    for (size_t i = 0; i < sampling->n_logit_biases; i++) {
        nj_json_begin_array(writer);
        nj_json_write_unsigned(writer, (uint64_t)sampling->logit_biases[i].token);
        nj_json_write_number(writer, sampling->logit_biases[i].bias);
        nj_json_end_array(writer);
    }
    nj_json_end_array(writer);
}

static void write_setting(const struct nj_sampling *sampling, uint64_t first_prompt,
                          struct nj_json_writer *writer)
{
    nj_json_begin_object(writer);
    write_unsigned(writer, "first_prompt", first_prompt);
    write_number(writer, "temperature", sampling->temperature);
    write_unsigned(writer, "top_k", sampling->top_k);
    write_number(writer, "top_p", sampling->top_p);
    write_number(writer, "min_p", sampling->min_p);
    write_number(writer, "presence_penalty", sampling->presence_penalty);
    write_number(writer, "frequency_penalty", sampling->frequency_penalty);
    write_number(writer, "repeat_penalty", sampling->repeat_penalty);
    write_unsigned(writer, "max_tokens", sampling->max_tokens);
    write_unsigned(writer, "n", sampling->n);
    nj_json_key(writer, "seed");
    if (sampling->has_seed) {
        nj_json_write_unsigned(writer, sampling->seed);
    } else {
        nj_json_write_null(writer);
    }
    nj_json_key(writer, "logprobs");
    nj_json_write_boolean(writer, sampling->wants_logprobs);
    write_unsigned(writer, "top_logprobs", sampling->n_top_logprobs);
    write_lists(sampling, writer);
    nj_json_end_object(writer);
}

/* Once for neighbours that have the same: 10,000 prompts seldom differ in it. */
static void write_sampling(const struct nj_job_spec *spec, struct nj_json_writer *writer)
{
    nj_json_key(writer, "sampling");
    nj_json_begin_array(writer);
    for (size_t i = 0; i < spec->n_prompts; i++) {
        const struct nj_sampling *sampling = &spec->prompts[i].sampling;
        if (i == 0 || !are_equal(sampling, &spec->prompts[i - 1].sampling)) {
            write_setting(sampling, i, writer);
        }
    }
    nj_json_end_array(writer);
}

/* --- what items are made from --- */

static void write_vars(const struct nj_job_spec *spec, struct nj_json_writer *writer)
{
    nj_json_key(writer, "vars");
    nj_json_begin_array(writer);
    for (size_t i = 0; i < spec->n_vars; i++) {
        nj_json_begin_array(writer);
        nj_json_write_text(writer, spec->vars[i].name);
        nj_json_write_text(writer, spec->vars[i].value);
        nj_json_end_array(writer);
    }
    nj_json_end_array(writer);
}

static const char *row_format_name(enum nj_row_format format)
{
    switch (format) {
    case NJ_ROWS_INLINE:
        return "inline";
    case NJ_ROWS_CSV:
        return "csv";
    case NJ_ROWS_TSV:
        return "tsv";
    default:
        return "jsonl";
    }
}

static void write_rows(const struct nj_row_source *rows, struct nj_json_writer *writer)
{
    const struct nj_text delimiter = {.data = &rows->delimiter, .length_bytes = 1};
    nj_json_key(writer, "rows");
    if (rows->format == NJ_ROWS_NONE) {
        nj_json_write_null(writer);
        return;
    }
    nj_json_begin_object(writer);
    nj_json_key(writer, "format");
    nj_json_write_string(writer, row_format_name(rows->format));
    nj_json_key(writer, "delimiter");
    if (rows->format == NJ_ROWS_CSV || rows->format == NJ_ROWS_TSV) {
        nj_json_write_text(writer, delimiter);
    } else {
        nj_json_write_null(writer);
    }
    write_unsigned(writer, "offset", rows->offset);
    write_limit(writer, "limit", rows->limit);
    nj_json_key(writer, "shuffle_seed");
    if (rows->has_shuffle_seed) {
        nj_json_write_unsigned(writer, rows->shuffle_seed);
    } else {
        nj_json_write_null(writer);
    }
    nj_json_end_object(writer);
}

/* A value as it was written: texts, lists of them, and maps as lists of pairs. No deeper than
 * NJ_YAML_DEPTH_LIMIT. */
static void write_node(const struct nj_node *node, struct nj_json_writer *writer)
{
    if (node->kind == NJ_NODE_SCALAR) {
        nj_json_write_text(writer, node->text);
        return;
    }
    nj_json_begin_array(writer);
    for (size_t i = 0; i < node->n_items; i++) {
        write_node(node->items[i], writer);
    }
    for (size_t i = 0; i < node->n_pairs; i++) {
        nj_json_begin_array(writer);
        write_node(node->pairs[i].key, writer);
        write_node(node->pairs[i].value, writer);
        nj_json_end_array(writer);
    }
    nj_json_end_array(writer);
}

static void write_matrix(const struct nj_matrix *matrix, struct nj_json_writer *writer)
{
    nj_json_key(writer, "matrix");
    if (matrix->n_cells == 0) {
        nj_json_write_null(writer);
        return;
    }
    nj_json_begin_object(writer);
    nj_json_key(writer, "axes");
    nj_json_begin_array(writer);
    for (size_t i = 0; i < matrix->n_axes; i++) {
        const struct nj_matrix_axis *axis = &matrix->axes[i];
        nj_json_begin_array(writer);
        write_node(axis->key, writer);
        nj_json_begin_array(writer);
        for (size_t k = 0; k < axis->n_values; k++) {
            write_node(axis->values[k], writer);
        }
        nj_json_end_array(writer);
        nj_json_end_array(writer);
    }
    nj_json_end_array(writer);
    write_unsigned(writer, "cells", matrix->n_cells);
    nj_json_end_object(writer);
}

/* --- what a run obeys --- */

/* Without `max_runtime`: like `stop_on_failures` it ends a run early, and one that comes to its
 * end has the same results with any. */
static void write_budget(const struct nj_job_budget *budget, struct nj_json_writer *writer)
{
    nj_json_key(writer, "budget");
    nj_json_begin_object(writer);
    write_limit(writer, "max_items", budget->max_items);
    write_limit(writer, "max_output_tokens", budget->max_output_tokens);
    write_seconds(writer, "item_timeout", budget->item_timeout_ns);
    nj_json_end_object(writer);
}

static void write_formats(const struct nj_job_spec *spec, struct nj_json_writer *writer)
{
    nj_json_key(writer, "formats");
    nj_json_begin_array(writer);
    nj_json_write_string(writer, "jsonl");
    if ((spec->output_formats & NJ_OUTPUT_MARKDOWN) != 0) {
        nj_json_write_string(writer, "markdown");
    }
    if ((spec->output_formats & NJ_OUTPUT_CSV) != 0) {
        nj_json_write_string(writer, "csv");
    }
    nj_json_end_array(writer);
}

static const char *thinking_name(enum nj_job_thinking thinking)
{
    switch (thinking) {
    case NJ_JOB_THINKING_LOW:
        return "low";
    case NJ_JOB_THINKING_HIGH:
        return "high";
    case NJ_JOB_THINKING_MAX:
        return "max";
    default:
        return "off";
    }
}

void nj_configuration_write(const struct nj_job_spec *spec, struct nj_json_writer *writer)
{
    nj_json_begin_object(writer);
    write_unsigned(writer, "prompts", spec->n_prompts);
    write_sampling(spec, writer);
    write_vars(spec, writer);
    write_rows(&spec->rows, writer);
    write_matrix(&spec->matrix, writer);
    write_unsigned(writer, "repeat", spec->repeat);
    write_text(writer, "id", spec->id_template);
    write_limit(writer, "limit", spec->item_limit);
    nj_json_key(writer, "thinking");
    nj_json_write_string(writer, thinking_name(spec->thinking));
    write_limit(writer, "context", spec->context);
    write_budget(&spec->budget, writer);
    write_formats(spec, writer);
    write_text(writer, "filename", spec->filename_template);
    nj_json_end_object(writer);
}
