#include "job/csv.h"

#include <string.h>

#include "job/sampling_keys.h"

/* Where the search for a record's end stands. A quote opens only at a field's begin. */
enum scan_state { AT_FIELD, IN_PLAIN, IN_QUOTES, BEHIND_QUOTE };

struct scan {
    enum scan_state state;
    size_t offset;
    size_t quote_offset; /* of the quote that opened last */
    bool found_end;      /* `offset` stands behind the line break */
};

static enum scan_state next_state(enum scan_state state, char character, char delimiter)
{
    if (state == IN_QUOTES) {
        return character == '"' ? BEHIND_QUOTE : IN_QUOTES;
    }
    if (character == delimiter) {
        return AT_FIELD;
    }
    if (character == '"' && (state == AT_FIELD || state == BEHIND_QUOTE)) {
        return IN_QUOTES;
    }
    return IN_PLAIN;
}

static void scan_window(struct scan *scan, struct nj_text window, char delimiter)
{
    while (scan->offset < window.length_bytes && !scan->found_end) {
        char character = window.data[scan->offset];
        if (scan->state == AT_FIELD && character == '"') {
            scan->quote_offset = scan->offset;
        }
        scan->found_end = character == '\n' && scan->state != IN_QUOTES;
        scan->state = next_state(scan->state, character, delimiter);
        scan->offset++;
    }
}

static void complain(struct nj_csv *csv, struct nj_diagnostics *diagnostics, size_t offset,
                     const char *what, const char *hint)
{
    nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, nj_row_input_place(csv->input, offset), hint,
                "%s", what);
}

/* Finds the next record, its line break included. `*length_bytes` 0: nothing more to read. */
static enum nj_status find_record(struct nj_csv *csv, struct nj_diagnostics *diagnostics,
                                  size_t *length_bytes, struct nj_error *err)
{
    nj_row_input_take(csv->input, csv->row_bytes);
    csv->row_bytes = 0;
    *length_bytes = 0;
    struct scan scan = {.state = AT_FIELD};
    for (;;) {
        scan_window(&scan, nj_row_input_window(csv->input), csv->delimiter);
        if (scan.found_end || csv->input->is_at_end) {
            break;
        }
        bool is_full = false;
        enum nj_status status = nj_row_input_more(csv->input, &is_full, err);
        if (status != NJ_OK) {
            return status;
        }
        if (is_full) {
            complain(csv, diagnostics, scan.state == IN_QUOTES ? scan.quote_offset : 0,
                     scan.state == IN_QUOTES ? "the quote that opens here is not closed within "
                                               "16 MiB"
                                             : "a row of more than 16 MiB",
                     NULL);
            return NJ_OK;
        }
    }
    if (scan.state == IN_QUOTES) {
        complain(csv, diagnostics, scan.quote_offset,
                 "the quote that opens here is never closed",
                 "write a quote inside quotes as \"\"");
        return NJ_OK;
    }
    *length_bytes = scan.offset;
    return NJ_OK;
}

static struct nj_text without_break(struct nj_text record)
{
    if (record.length_bytes > 0 && record.data[record.length_bytes - 1] == '\n') {
        record.length_bytes--;
        if (record.length_bytes > 0 && record.data[record.length_bytes - 1] == '\r') {
            record.length_bytes--;
        }
    }
    return record;
}

/* Bytes that no text may have. */
static bool check_bytes(struct nj_csv *csv, struct nj_text record,
                        struct nj_diagnostics *diagnostics)
{
    const char *nul = memchr(record.data, '\0', record.length_bytes);
    if (nul != NULL) {
        complain(csv, diagnostics, (size_t)(nul - record.data), "NUL byte in a row",
                 "save the file as UTF-8 text");
        return false;
    }
    size_t valid = nj_text_valid_prefix(record);
    if (valid < record.length_bytes) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, nj_row_input_place(csv->input, valid),
                    "save the file as UTF-8", "byte 0x%02X is not UTF-8 text",
                    (unsigned)(unsigned char)record.data[valid]);
        return false;
    }
    return true;
}

/* Removes the doubling of quotes; without any it is the text itself. NULL data: no memory. */
static struct nj_text unquoted(struct nj_text inner, struct nj_arena *arena)
{
    if (inner.length_bytes == 0 || memchr(inner.data, '"', inner.length_bytes) == NULL) {
        return inner;
    }
    char *copy = nj_arena_take(arena, inner.length_bytes);
    size_t length = 0;
    for (size_t i = 0; copy != NULL && i < inner.length_bytes; i++) {
        copy[length++] = inner.data[i];
        i += inner.data[i] == '"' ? 1 : 0;
    }
    return (struct nj_text){copy, length};
}

/* The offset of the quote that closes the field whose text begins at `begin`. */
static size_t closing_quote(struct nj_text record, size_t begin)
{
    size_t at = begin;
    while (at < record.length_bytes) {
        if (record.data[at] != '"') {
            at++;
        } else if (at + 1 < record.length_bytes && record.data[at + 1] == '"') {
            at += 2;
        } else {
            break;
        }
    }
    return at;
}

/* A record being taken apart. */
struct fields {
    struct nj_csv *csv;
    struct nj_text record;
    size_t offset;
    struct nj_arena *arena;
    struct nj_diagnostics *diagnostics;
    bool out_of_memory;
};

static bool take_quoted(struct fields *fields, struct nj_text *value)
{
    size_t begin = fields->offset + 1;
    size_t closing = closing_quote(fields->record, begin);
    struct nj_text inner = {fields->record.data + begin, closing - begin};
    *value = unquoted(inner, fields->arena);
    fields->out_of_memory |= value->data == NULL;
    fields->offset = closing + 1;
    if (fields->offset < fields->record.length_bytes &&
        fields->record.data[fields->offset] != fields->csv->delimiter) {
        complain(fields->csv, fields->diagnostics, fields->offset,
                 "text behind a closing quote", "write a quote inside quotes as \"\"");
        return false;
    }
    return true;
}

static bool take_plain(struct fields *fields, struct nj_text *value)
{
    size_t begin = fields->offset;
    size_t end = begin;
    for (; end < fields->record.length_bytes; end++) {
        char character = fields->record.data[end];
        if (character == fields->csv->delimiter) {
            break;
        }
        if (character == '"') {
            complain(fields->csv, fields->diagnostics, end, "quote inside an unquoted value",
                     "quote the whole value and write its quotes as \"\"");
            return false;
        }
        if (character == '\r') {
            complain(fields->csv, fields->diagnostics, end, "carriage return without line feed",
                     "end lines with LF or CRLF");
            return false;
        }
    }
    *value = (struct nj_text){fields->record.data + begin, end - begin};
    fields->offset = end;
    return true;
}

static size_t most_fields(struct nj_text record, char delimiter)
{
    size_t n_fields = 1;
    for (size_t i = 0; i < record.length_bytes; i++) {
        n_fields += record.data[i] == delimiter ? 1 : 0;
    }
    return n_fields;
}

/* Takes the record apart. False after a complaint or without memory. */
static bool split(struct fields *fields, struct nj_text **values, size_t *n_values)
{
    size_t most = most_fields(fields->record, fields->csv->delimiter);
    struct nj_text *found = nj_arena_take_array(fields->arena, most, sizeof found[0]);
    if (found == NULL) {
        fields->out_of_memory = true;
        return false;
    }
    size_t n_found = 0;
    for (;;) {
        bool is_quoted = fields->offset < fields->record.length_bytes &&
                         fields->record.data[fields->offset] == '"';
        if (!(is_quoted ? take_quoted(fields, &found[n_found])
                        : take_plain(fields, &found[n_found]))) {
            return false;
        }
        n_found++;
        if (fields->offset >= fields->record.length_bytes) {
            break;
        }
        fields->offset++; /* the delimiter */
    }
    *values = found;
    *n_values = n_found;
    return !fields->out_of_memory;
}

/* Passes lines that are entirely empty: they hold no row. `*record` is empty at the end. */
static enum nj_status next_record(struct nj_csv *csv, struct nj_diagnostics *diagnostics,
                                  struct nj_text *record, struct nj_error *err)
{
    do {
        size_t length = 0;
        enum nj_status status = find_record(csv, diagnostics, &length, err);
        if (status != NJ_OK) {
            return status;
        }
        csv->row_bytes = length;
        *record = (struct nj_text){nj_row_input_window(csv->input).data, length};
    } while (csv->row_bytes > 0 && without_break(*record).length_bytes == 0);
    *record = without_break(*record);
    return NJ_OK;
}

static struct nj_place column_place(const struct nj_csv *csv)
{
    return (struct nj_place){csv->input->path, csv->input->line, 0};
}

static void check_name(struct nj_csv *csv, struct nj_text name, size_t position,
                       struct nj_diagnostics *diagnostics)
{
    if (name.length_bytes == 0) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, column_place(csv),
                    "name it, or remove what parts it from the others",
                    "column %zu of the header has no name", position + 1);
    } else if (nj_variable_is_built_in(name)) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, column_place(csv), "rename the column",
                    "column '%.*s' has the name of a built-in variable", (int)name.length_bytes,
                    name.data);
    }
    bool is_padded = name.length_bytes > 0 &&
                     (name.data[0] == ' ' || name.data[name.length_bytes - 1] == ' ');
    if (is_padded) {
        nj_diagnose(diagnostics, NJ_SEVERITY_WARNING, column_place(csv),
                    "remove it: columns are not trimmed",
                    "the name of column '%.*s' begins or ends with a space",
                    (int)(name.length_bytes < 64 ? name.length_bytes : 64), name.data);
    }
    struct nj_schema schema = {.arena = csv->arena, .diagnostics = diagnostics};
    nj_sampling_check_column(&schema, name, column_place(csv));
}

static void check_unique(const struct nj_csv *csv, struct nj_diagnostics *diagnostics)
{
    for (size_t i = 1; i < csv->n_columns; i++) {
        struct nj_text name = csv->columns[i].name;
        if (name.length_bytes > 0 && nj_text_equal(name, csv->columns[i - 1].name)) {
            nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, column_place(csv), "rename one of them",
                        "column '%.*s' stands twice in the header",
                        (int)(name.length_bytes < 64 ? name.length_bytes : 64), name.data);
        }
    }
}

/* Sorts the names once, so that no row needs sorting. Until then `is_json` is false and the
 * value's length carries the position. */
static enum nj_status keep_header(struct nj_csv *csv, const struct nj_text *names,
                                  size_t n_names, struct nj_error *err)
{
    csv->columns = nj_arena_take_array(csv->arena, n_names, sizeof csv->columns[0]);
    csv->positions = nj_arena_take_array(csv->arena, n_names, sizeof csv->positions[0]);
    if (csv->columns == NULL || csv->positions == NULL) {
        return nj_arena_fail(csv->arena, csv->input->path, err);
    }
    for (size_t i = 0; i < n_names; i++) {
        const char *name = nj_arena_copy_text(csv->arena, names[i].data, names[i].length_bytes);
        if (name == NULL) {
            return nj_arena_fail(csv->arena, csv->input->path, err);
        }
        csv->columns[i].name = (struct nj_text){name, names[i].length_bytes};
        csv->columns[i].value = (struct nj_text){"", i};
    }
    nj_variables_sort(csv->columns, n_names);
    for (size_t i = 0; i < n_names; i++) {
        csv->positions[i] = csv->columns[i].value.length_bytes;
        csv->columns[i].value.length_bytes = 0;
    }
    csv->n_columns = n_names;
    return NJ_OK;
}

/* People save tables with other delimiters, and then every name is unknown. */
static void warn_of_delimiter(const struct nj_csv *csv, struct nj_text record,
                              struct nj_diagnostics *diagnostics)
{
    static const struct {
        char delimiter;
        const char *name, *hint;
    } others[] = {
        {';', "';'", "if it parts columns, write rows: {file: ..., delimiter: \";\"}"},
        {'\t', "a tab", "if it parts columns, write rows: {file: ..., format: tsv}"},
        {',', "','", "if it parts columns, write rows: {file: ..., format: csv}"}};
    bool is_meant = record.length_bytes > 0 && record.data[0] == '"';
    for (size_t i = 0; !is_meant && i < sizeof others / sizeof others[0]; i++) {
        if (memchr(record.data, others[i].delimiter, record.length_bytes) != NULL) {
            nj_diagnose(diagnostics, NJ_SEVERITY_WARNING, column_place(csv), others[i].hint,
                        "the header has %s and only one column", others[i].name);
            return;
        }
    }
}

enum nj_status nj_csv_begin(struct nj_csv *csv, struct nj_row_input *input,
                            struct nj_arena *arena, char delimiter,
                            struct nj_diagnostics *diagnostics, bool *is_usable,
                            struct nj_error *err)
{
    *csv = (struct nj_csv){.input = input, .arena = arena, .delimiter = delimiter};
    *is_usable = false;
    size_t n_errors = diagnostics->n_errors;
    struct nj_text record;
    enum nj_status status = next_record(csv, diagnostics, &record, err);
    if (status != NJ_OK || diagnostics->n_errors > n_errors) {
        return status;
    }
    if (csv->row_bytes == 0) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, (struct nj_place){input->path, 0, 0},
                    "its first line must name the columns", "the row file is empty");
        return NJ_OK;
    }
    struct fields fields = {csv, record, 0, arena, diagnostics, false};
    struct nj_text *names = NULL;
    size_t n_names = 0;
    if (!check_bytes(csv, record, diagnostics) || !split(&fields, &names, &n_names)) {
        return fields.out_of_memory ? nj_arena_fail(arena, input->path, err) : NJ_OK;
    }
    for (size_t i = 0; i < n_names; i++) {
        check_name(csv, names[i], i, diagnostics);
    }
    if (n_names == 1) {
        warn_of_delimiter(csv, record, diagnostics);
    }
    status = keep_header(csv, names, n_names, err);
    if (status == NJ_OK) {
        check_unique(csv, diagnostics);
        *is_usable = diagnostics->n_errors == n_errors;
    }
    return status;
}

static void complain_about_width(struct nj_csv *csv, size_t n_values,
                                 struct nj_diagnostics *diagnostics)
{
    nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, nj_row_input_place(csv->input, 0),
                "quote values that contain the delimiter",
                "the row has %zu value%s, the header has %zu", n_values,
                n_values == 1 ? "" : "s", csv->n_columns);
}

/* Puts the values into the order of the sorted columns. */
static bool fill_columns(struct nj_csv *csv, const struct nj_text *values,
                         struct nj_arena *row_arena, struct nj_row *row)
{
    struct nj_variable *columns =
        nj_arena_take_array(row_arena, csv->n_columns, sizeof columns[0]);
    if (columns == NULL) {
        return false;
    }
    for (size_t i = 0; i < csv->n_columns; i++) {
        columns[i].name = csv->columns[i].name;
        columns[i].value = values[csv->positions[i]];
    }
    row->columns = (struct nj_variable_list){columns, csv->n_columns};
    return true;
}

void nj_csv_tell(const struct nj_csv *csv, uint64_t *offset, uint32_t *line)
{
    *offset = nj_row_input_offset(csv->input);
    *line = csv->input->line;
}

void nj_csv_seek(struct nj_csv *csv, uint64_t offset, uint32_t line, size_t length_bytes)
{
    csv->row_bytes = 0;
    nj_row_input_seek(csv->input, offset, line, length_bytes);
}

enum nj_status nj_csv_next(struct nj_csv *csv, bool wants_values, struct nj_arena *row_arena,
                           struct nj_diagnostics *diagnostics, struct nj_row *row,
                           enum nj_row_outcome *outcome, struct nj_error *err)
{
    struct nj_text record;
    enum nj_status status = next_record(csv, diagnostics, &record, err);
    if (status != NJ_OK) {
        return status;
    }
    *outcome = csv->row_bytes == 0 ? NJ_ROW_NONE : NJ_ROW_FOUND;
    if (*outcome == NJ_ROW_NONE || !wants_values) {
        return NJ_OK;
    }
    row->place = nj_row_input_place(csv->input, 0);
    struct fields fields = {csv, record, 0, row_arena, diagnostics, false};
    struct nj_text *values = NULL;
    size_t n_values = 0;
    *outcome = NJ_ROW_BAD;
    if (!check_bytes(csv, record, diagnostics) || !split(&fields, &values, &n_values)) {
        return fields.out_of_memory ? nj_arena_fail(row_arena, csv->input->path, err) : NJ_OK;
    }
    if (n_values != csv->n_columns) {
        complain_about_width(csv, n_values, diagnostics);
        return NJ_OK;
    }
    if (!fill_columns(csv, values, row_arena, row)) {
        return nj_arena_fail(row_arena, csv->input->path, err);
    }
    *outcome = NJ_ROW_FOUND;
    return NJ_OK;
}
