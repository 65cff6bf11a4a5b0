#include "runner/csv_export.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/vector.h"
#include "runner/export.h"

/* Of the variables of all lines, "vars.NAME", each once, ascending. */
struct columns {
    struct nj_arena arena;
    struct nj_text *names;
    size_t n_names;
    size_t names_capacity;
};

/* One line after the other, parsed. */
struct walk {
    const struct nj_export *export;
    uint64_t next_index;
    struct nj_json *document; /* of the line that is looked at */
};

static void leave_line(struct walk *walk)
{
    nj_json_destroy(walk->document);
    walk->document = NULL;
}

/* `*line` NULL at the end. It is valid until the next call. */
static enum nj_status next_line(struct walk *walk, const struct nj_json_value **line,
                                struct nj_error *err)
{
    const struct nj_ledger *ledger = walk->export->ledger;
    leave_line(walk);
    *line = NULL;
    while (walk->next_index < ledger->n_items &&
           ledger->items[walk->next_index].state == NJ_ITEM_OPEN) {
        walk->next_index++;
    }
    if (walk->next_index == ledger->n_items) {
        return NJ_OK;
    }
    struct nj_log_spot spot = nj_ledger_line(&ledger->items[walk->next_index++]);
    struct nj_text text = {.length_bytes = spot.n_bytes};
    enum nj_status status = nj_line_reader_read(walk->export->reader, spot, &text.data, err);
    if (status == NJ_OK) {
        status = nj_json_parse(text, "results.log", &walk->document, err);
    }
    if (status == NJ_OK) {
        *line = nj_json_root(walk->document);
    }
    return status == NJ_E_INPUT ? NJ_E_STORAGE : status;
}

static int compare_texts(struct nj_text a, struct nj_text b)
{
    size_t n = a.length_bytes < b.length_bytes ? a.length_bytes : b.length_bytes;
    int order = n == 0 ? 0 : memcmp(a.data, b.data, n);
    return order != 0 ? order
                      : (a.length_bytes > b.length_bytes) - (a.length_bytes < b.length_bytes);
}

enum { PREFIX_BYTES = 5 }; /* "vars." */

static struct nj_text variable_of(struct nj_text column)
{
    return (struct nj_text){column.data + PREFIX_BYTES, column.length_bytes - PREFIX_BYTES};
}

static enum nj_status insert_column(struct columns *columns, size_t at, struct nj_text name,
                                    struct nj_error *err)
{
    enum nj_status status =
        nj_vector_reserve(&columns->names, &columns->names_capacity, sizeof *columns->names,
                          columns->n_names + 1, err);
    if (status != NJ_OK) {
        return status;
    }
    char *copy = nj_arena_take_array(&columns->arena, PREFIX_BYTES + name.length_bytes, 1);
    if (copy == NULL) {
        return nj_arena_fail(&columns->arena, "keep a column's name", err);
    }
    memcpy(copy, "vars.", PREFIX_BYTES);
    memcpy(copy + PREFIX_BYTES, name.data, name.length_bytes);
    memmove(columns->names + at + 1, columns->names + at,
            (columns->n_names - at) * sizeof *columns->names);
    columns->names[at] = (struct nj_text){copy, PREFIX_BYTES + name.length_bytes};
    columns->n_names++;
    return NJ_OK;
}

static enum nj_status add_column(struct columns *columns, struct nj_text name,
                                 struct nj_error *err)
{
    size_t at = 0;
    while (at < columns->n_names && compare_texts(variable_of(columns->names[at]), name) < 0) {
        at++;
    }
    bool is_there =
        at < columns->n_names && nj_text_equal(variable_of(columns->names[at]), name);
    return is_there ? NJ_OK : insert_column(columns, at, name, err);
}

static enum nj_status collect_columns(const struct nj_export *export, struct columns *columns,
                                      struct nj_error *err)
{
    struct walk walk = {.export = export};
    const struct nj_json_value *line = NULL;
    enum nj_status status = next_line(&walk, &line, err);
    while (status == NJ_OK && line != NULL) {
        const struct nj_json_value *vars = nj_json_get(line, "vars");
        struct nj_text name;
        for (size_t i = 0; status == NJ_OK && nj_json_member(vars, i, &name) != NULL; i++) {
            status = add_column(columns, name, err);
        }
        if (status == NJ_OK) {
            status = next_line(&walk, &line, err);
        }
    }
    leave_line(&walk);
    return status;
}

static bool needs_quotes(struct nj_text text)
{
    if (text.length_bytes == 0) {
        return true; /* an empty text is told from none */
    }
    if (text.data[0] == ' ' || text.data[text.length_bytes - 1] == ' ') {
        return true;
    }
    for (size_t i = 0; i < text.length_bytes; i++) {
        if (strchr(",\"\r\n\t", text.data[i]) != NULL) { /* NUL too */
            return true;
        }
    }
    return false;
}

/* RFC 4180: in quotes where it must be, quotes doubled. */
static enum nj_status give_text(const struct nj_sink *sink, struct nj_text text,
                                struct nj_error *err)
{
    if (!needs_quotes(text)) {
        return nj_sink_give(sink, text, err);
    }
    enum nj_status status = nj_sink_give_string(sink, "\"", err);
    while (status == NJ_OK && text.length_bytes > 0) {
        const char *quote = memchr(text.data, '"', text.length_bytes);
        size_t n_bytes = quote != NULL ? (size_t)(quote - text.data) + 1 : text.length_bytes;
        status = nj_sink_give(sink, (struct nj_text){text.data, n_bytes}, err);
        if (status == NJ_OK && quote != NULL) {
            status = nj_sink_give_string(sink, "\"", err);
        }
        text = (struct nj_text){text.data + n_bytes, text.length_bytes - n_bytes};
    }
    return status == NJ_OK ? nj_sink_give_string(sink, "\"", err) : status;
}

/* Null and absent are nothing at all; what is no text is as in JSON. */
static enum nj_status give_value(const struct nj_sink *sink, const struct nj_json_value *value,
                                 struct nj_error *err)
{
    struct nj_text text;
    enum nj_json_type type = nj_json_type_of(value);
    if (type == NJ_JSON_ABSENT || type == NJ_JSON_NULL) {
        return NJ_OK;
    }
    if (nj_json_as_text(value, &text)) {
        return give_text(sink, text, err);
    }
    struct nj_json_writer writer;
    nj_json_writer_init(&writer);
    nj_json_write_value(&writer, value);
    enum nj_status status = nj_json_finish(&writer, &text, err);
    if (status == NJ_OK) {
        status = give_text(sink, text, err);
    }
    nj_json_writer_deinit(&writer);
    return status;
}

static const char *const before_vars[] = {"index", "id", "sample", "status"};
static const char *const behind_vars[] = {"reasoning",     "response",    "ids",
                                          "finish_reason", "stop_reason", "seed"};
static const char *const of_usage[] = {"prompt_tokens", "completion_tokens",
                                       "reasoning_tokens"};
static const char *const of_error[] = {"error_code", "error_message"};

enum {
    N_BEFORE_VARS = sizeof before_vars / sizeof before_vars[0],
    N_BEHIND_VARS = sizeof behind_vars / sizeof behind_vars[0],
    N_OF_USAGE = sizeof of_usage / sizeof of_usage[0],
    N_OF_ERROR = sizeof of_error / sizeof of_error[0]
};

static enum nj_status give_names(const struct nj_sink *sink, const char *const *names,
                                 size_t n_names, const char *before, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (size_t i = 0; i < n_names && status == NJ_OK; i++) {
        status = nj_sink_give_string(sink, i == 0 ? before : ",", err);
        if (status == NJ_OK) {
            status = nj_sink_give_string(sink, names[i], err);
        }
    }
    return status;
}

static enum nj_status give_header(const struct columns *columns, const struct nj_sink *sink,
                                  struct nj_error *err)
{
    enum nj_status status = give_names(sink, before_vars, N_BEFORE_VARS, "", err);
    for (size_t i = 0; i < columns->n_names && status == NJ_OK; i++) {
        status = nj_sink_give_string(sink, ",", err);
        if (status == NJ_OK) {
            status = give_text(sink, columns->names[i], err);
        }
    }
    if (status == NJ_OK) {
        status = give_names(sink, behind_vars, N_BEHIND_VARS, ",", err);
    }
    if (status == NJ_OK) {
        status = give_names(sink, of_usage, N_OF_USAGE, ",", err);
    }
    if (status == NJ_OK) {
        status = give_names(sink, of_error, N_OF_ERROR, ",", err);
    }
    return status == NJ_OK ? nj_sink_give_string(sink, "\r\n", err) : status;
}

/* The value of `key` with the comma in front of it. */
static enum nj_status give_member(const struct nj_sink *sink,
                                  const struct nj_json_value *object, const char *key,
                                  struct nj_error *err)
{
    enum nj_status status = nj_sink_give_string(sink, ",", err);
    return status == NJ_OK ? give_value(sink, nj_json_get(object, key), err) : status;
}

static const struct nj_json_value *find_variable(const struct nj_json_value *vars,
                                                 struct nj_text wanted)
{
    struct nj_text name;
    const struct nj_json_value *value = NULL;
    for (size_t i = 0; (value = nj_json_member(vars, i, &name)) != NULL; i++) {
        if (nj_text_equal(name, wanted)) {
            return value;
        }
    }
    return NULL;
}

static enum nj_status give_variables(const struct columns *columns, const struct nj_sink *sink,
                                     const struct nj_json_value *vars, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (size_t i = 0; i < columns->n_names && status == NJ_OK; i++) {
        status = nj_sink_give_string(sink, ",", err);
        if (status == NJ_OK) {
            status = give_value(sink, find_variable(vars, variable_of(columns->names[i])), err);
        }
    }
    return status;
}

static enum nj_status give_row(const struct columns *columns, const struct nj_sink *sink,
                               const struct nj_json_value *line, struct nj_error *err)
{
    const struct nj_json_value *error = nj_json_get(line, "error");
    enum nj_status status = give_value(sink, nj_json_get(line, before_vars[0]), err);
    for (size_t i = 1; i < N_BEFORE_VARS && status == NJ_OK; i++) {
        status = give_member(sink, line, before_vars[i], err);
    }
    if (status == NJ_OK) {
        status = give_variables(columns, sink, nj_json_get(line, "vars"), err);
    }
    for (size_t i = 0; i < N_BEHIND_VARS && status == NJ_OK; i++) {
        status = give_member(sink, line, behind_vars[i], err);
    }
    for (size_t i = 0; i < N_OF_USAGE && status == NJ_OK; i++) {
        status = give_member(sink, nj_json_get(line, "usage"), of_usage[i], err);
    }
    if (status == NJ_OK) {
        status = give_member(sink, error, "code", err);
    }
    if (status == NJ_OK) {
        status = give_member(sink, error, "message", err);
    }
    return status == NJ_OK ? nj_sink_give_string(sink, "\r\n", err) : status;
}

static enum nj_status give_rows(const struct nj_export *export, const struct columns *columns,
                                const struct nj_sink *sink, struct nj_error *err)
{
    struct walk walk = {.export = export};
    const struct nj_json_value *line = NULL;
    enum nj_status status = next_line(&walk, &line, err);
    while (status == NJ_OK && line != NULL) {
        status = give_row(columns, sink, line, err);
        if (status == NJ_OK) {
            status = next_line(&walk, &line, err);
        }
    }
    leave_line(&walk);
    return status;
}

enum nj_status nj_csv_export(void *context, const struct nj_sink *sink, struct nj_error *err)
{
    const struct nj_export *export = context;
    struct columns columns = {0};
    enum nj_status status = collect_columns(export, &columns, err);
    if (status == NJ_OK) {
        status = give_header(&columns, sink, err);
    }
    if (status == NJ_OK) {
        status = give_rows(export, &columns, sink, err);
    }
    free(columns.names);
    nj_arena_deinit(&columns.arena);
    return status;
}
