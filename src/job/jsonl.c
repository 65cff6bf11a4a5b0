#include "job/jsonl.h"

#include <string.h>

#include "job/json_walk.h"
#include "job/sampling_keys.h"

void nj_jsonl_begin(struct nj_jsonl *jsonl, struct nj_row_input *input)
{
    *jsonl = (struct nj_jsonl){.input = input};
}

static void complain(struct nj_jsonl *jsonl, struct nj_diagnostics *diagnostics, size_t offset,
                     const char *what, const char *hint)
{
    nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, nj_row_input_place(jsonl->input, offset), hint,
                "%s", what);
}

/* The next line with its break; empty at the end. */
static enum nj_status find_line(struct nj_jsonl *jsonl, struct nj_diagnostics *diagnostics,
                                struct nj_text *line, struct nj_error *err)
{
    nj_row_input_take(jsonl->input, jsonl->row_bytes);
    jsonl->row_bytes = 0;
    size_t searched = 0;
    for (;;) {
        struct nj_text window = nj_row_input_window(jsonl->input);
        const char *end = memchr(window.data + searched, '\n', window.length_bytes - searched);
        bool is_full = false;
        if (end != NULL || jsonl->input->is_at_end) {
            jsonl->row_bytes =
                end == NULL ? window.length_bytes : (size_t)(end - window.data) + 1;
            *line = (struct nj_text){window.data, jsonl->row_bytes};
            return NJ_OK;
        }
        searched = window.length_bytes;
        enum nj_status status = nj_row_input_more(jsonl->input, &is_full, err);
        if (status != NJ_OK) {
            return status;
        }
        if (is_full) {
            complain(jsonl, diagnostics, 0, "a row of more than 16 MiB", NULL);
            *line = (struct nj_text){"", 0};
            return NJ_OK;
        }
    }
}

static bool is_blank(struct nj_text line)
{
    static const char blanks[] = {' ', '\t', '\r', '\n'};
    for (size_t i = 0; i < line.length_bytes; i++) {
        if (memchr(blanks, line.data[i], sizeof blanks) == NULL) {
            return false;
        }
    }
    return true;
}

/* A mistake at the line's end must not be told as one of the next line. */
static struct nj_text without_break(struct nj_text line)
{
    if (line.length_bytes > 0 && line.data[line.length_bytes - 1] == '\n') {
        line.length_bytes--;
    }
    if (line.length_bytes > 0 && line.data[line.length_bytes - 1] == '\r') {
        line.length_bytes--;
    }
    return line;
}

/* A line being taken apart. */
struct members {
    struct nj_jsonl *jsonl;
    struct nj_json_walk scan;
    struct nj_arena *arena;
    struct nj_diagnostics *diagnostics;
    struct nj_variable *columns;
    size_t n_columns;
    size_t capacity;
    bool out_of_memory;
};

/* The arena has no resize; doubling leaves at most as much behind as is used. */
static bool reserve(struct members *members)
{
    if (members->n_columns < members->capacity) {
        return true;
    }
    size_t capacity = members->capacity == 0 ? 8 : 2 * members->capacity;
    struct nj_variable *grown = nj_arena_take_array(members->arena, capacity, sizeof grown[0]);
    if (grown == NULL) {
        members->out_of_memory = true;
        return false;
    }
    if (members->n_columns > 0) {
        memcpy(grown, members->columns, members->n_columns * sizeof grown[0]);
    }
    members->columns = grown;
    members->capacity = capacity;
    return true;
}

static bool check_name(struct members *members, struct nj_text name, struct nj_text raw_name)
{
    size_t offset = (size_t)(raw_name.data - members->scan.text.data);
    size_t n_errors = members->diagnostics->n_errors;
    if (name.length_bytes == 0) {
        complain(members->jsonl, members->diagnostics, offset, "member without a name", NULL);
    } else if (nj_variable_is_built_in(name)) {
        complain(members->jsonl, members->diagnostics, offset,
                 "member with the name of a built-in variable", "rename it");
    }
    struct nj_schema schema = {.arena = members->arena, .diagnostics = members->diagnostics};
    nj_sampling_check_column(&schema, name, nj_row_input_place(members->jsonl->input, offset));
    return members->diagnostics->n_errors == n_errors;
}

static bool keep_member(struct members *members, struct nj_text raw_name,
                        enum nj_json_walk_kind kind, struct nj_text raw)
{
    if (!reserve(members)) {
        return false;
    }
    struct nj_variable *column = &members->columns[members->n_columns];
    column->name = nj_json_walk_decode(raw_name, members->arena);
    column->value = nj_json_walk_printed(kind, raw, members->arena);
    column->is_json = kind == NJ_JSON_WALK_OBJECT || kind == NJ_JSON_WALK_LIST;
    if (column->name.data == NULL || column->value.data == NULL) {
        members->out_of_memory = true;
        return false;
    }
    members->n_columns++;
    return check_name(members, column->name, raw_name);
}

/* What people write who think of other notations. */
static const char *scan_hint(const struct nj_json_walk *scan)
{
    char at = '\0';
    if (scan->offset < scan->text.length_bytes) {
        at = scan->text.data[scan->offset];
    }
    bool is_value = strcmp(scan->problem, "value expected") == 0;
    if (at == '\'') {
        return "JSON has double quotes only";
    }
    if (is_value && at != '\0' && strchr("NTFI", at) != NULL) {
        return "JSON has true, false, null and numbers, and no NaN";
    }
    if (strcmp(scan->problem, "name in double quotes expected") == 0) {
        return at == '}'    ? "remove the comma before it"
               : at == '\0' ? "write the whole object on one line"
                            : NULL;
    }
    if (strcmp(scan->problem, "text behind the object") == 0) {
        return at == ',' ? "lines are not parted by commas" : "write one object on each line";
    }
    return scan->offset == 0 && at == '[' ? "write one object on each line, without a list"
                                          : NULL;
}

static bool complain_about_scan(struct members *members)
{
    complain(members->jsonl, members->diagnostics, members->scan.offset, members->scan.problem,
             scan_hint(&members->scan));
    return false;
}

static bool read_members(struct members *members)
{
    if (!nj_json_walk_take(&members->scan, '{')) {
        (void)nj_json_walk_fail(&members->scan, "a row must be a JSON object");
        return complain_about_scan(members);
    }
    for (bool is_first = true;; is_first = false) {
        bool has_member = false;
        struct nj_text raw_name;
        struct nj_text raw;
        enum nj_json_walk_kind kind;
        if (!nj_json_walk_member(&members->scan, is_first, &has_member, &raw_name, &kind,
                                 &raw)) {
            return complain_about_scan(members);
        }
        if (!has_member) {
            break;
        }
        if (!keep_member(members, raw_name, kind, raw)) {
            return false;
        }
    }
    nj_json_walk_space(&members->scan);
    if (members->scan.offset < members->scan.text.length_bytes) {
        (void)nj_json_walk_fail(&members->scan, "text behind the object");
        return complain_about_scan(members);
    }
    return true;
}

static bool check_unique(struct members *members)
{
    for (size_t i = 1; i < members->n_columns; i++) {
        struct nj_text name = members->columns[i].name;
        if (nj_text_equal(name, members->columns[i - 1].name)) {
            nj_diagnose(members->diagnostics, NJ_SEVERITY_ERROR,
                        nj_row_input_place(members->jsonl->input, 0), NULL,
                        "name '%.*s' stands twice in the object",
                        (int)(name.length_bytes < 64 ? name.length_bytes : 64), name.data);
            return false;
        }
    }
    return true;
}

static bool check_text(struct members *members)
{
    struct nj_text line = members->scan.text;
    size_t valid = nj_text_valid_prefix(line);
    if (valid == line.length_bytes) {
        return true;
    }
    nj_diagnose(members->diagnostics, NJ_SEVERITY_ERROR,
                nj_row_input_place(members->jsonl->input, valid), "save the file as UTF-8",
                "byte 0x%02X is not UTF-8 text", (unsigned)(unsigned char)line.data[valid]);
    return false;
}

static bool read_row(struct members *members, struct nj_row *row)
{
    if (!check_text(members) || !read_members(members)) {
        return false;
    }
    nj_variables_sort(members->columns, members->n_columns);
    row->columns = (struct nj_variable_list){members->columns, members->n_columns};
    return check_unique(members);
}

void nj_jsonl_tell(const struct nj_jsonl *jsonl, uint64_t *offset, uint32_t *line)
{
    *offset = nj_row_input_offset(jsonl->input);
    *line = jsonl->input->line;
}

void nj_jsonl_seek(struct nj_jsonl *jsonl, uint64_t offset, uint32_t line, size_t length_bytes)
{
    jsonl->row_bytes = 0;
    nj_row_input_seek(jsonl->input, offset, line, length_bytes);
}

enum nj_status nj_jsonl_next(struct nj_jsonl *jsonl, bool wants_values,
                             struct nj_arena *row_arena, struct nj_diagnostics *diagnostics,
                             struct nj_row *row, enum nj_row_outcome *outcome,
                             struct nj_error *err)
{
    struct nj_text line;
    do {
        enum nj_status status = find_line(jsonl, diagnostics, &line, err);
        if (status != NJ_OK) {
            return status;
        }
    } while (line.length_bytes > 0 && is_blank(line));
    *outcome = line.length_bytes == 0 ? NJ_ROW_NONE : NJ_ROW_FOUND;
    if (*outcome == NJ_ROW_NONE || !wants_values) {
        return NJ_OK;
    }
    row->place = nj_row_input_place(jsonl->input, 0);
    struct members members = {.jsonl = jsonl, .arena = row_arena, .diagnostics = diagnostics};
    nj_json_walk_init(&members.scan, without_break(line));
    if (!read_row(&members, row)) {
        *outcome = NJ_ROW_BAD;
    }
    return members.out_of_memory ? nj_arena_fail(row_arena, jsonl->input->path, err) : NJ_OK;
}
