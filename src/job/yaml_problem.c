#include "job/yaml_problem.h"

#include <ctype.h>
#include <string.h>

#include "job/source_text.h"

enum { KEY_LIMIT = 1024 }; /* libyaml gives up a simple key after so many characters */

/* What an explanation may look at. */
struct problem {
    const char *text; /* libyaml's sentence */
    const char *path;
    struct nj_text source;
    struct nj_place place;   /* where libyaml noticed */
    struct nj_place context; /* where the construct began that it was reading */
    size_t offset;           /* of `place` */
    struct nj_text line;     /* of `place` */
    size_t line_offset;
    struct nj_diagnostics *diagnostics;
};

static void complain(const struct problem *problem, struct nj_place place, const char *what,
                     const char *hint)
{
    nj_diagnose(problem->diagnostics, NJ_SEVERITY_ERROR, place, hint, "%s", what);
}

static struct nj_place place_of(const struct problem *problem, size_t offset)
{
    struct nj_place first = {problem->path, 1, 1};
    return nj_source_place(problem->source, nj_source_mark_at(problem->source, 0), first,
                           offset);
}

static bool says(const struct problem *problem, const char *words)
{
    return strstr(problem->text, words) != NULL;
}

static bool is_blank(struct nj_text text)
{
    for (size_t i = 0; i < text.length_bytes; i++) {
        if (text.data[i] != ' ' && text.data[i] != '\t') {
            return false;
        }
    }
    return true;
}

/* The line up to where libyaml noticed. */
static struct nj_text line_before(const struct problem *problem)
{
    return (struct nj_text){problem->line.data, problem->offset - problem->line_offset};
}

static uint32_t character_at(const struct problem *problem, size_t offset)
{
    return offset < problem->source.length_bytes ? nj_text_next(problem->source, &offset) : 0;
}

/* Editors show a tab as spaces, so the plain sentence helps more than libyaml's. */
static bool explain_tab(const struct problem *problem)
{
    if (character_at(problem, problem->offset) != '\t' || !is_blank(line_before(problem)) ||
        !(says(problem, "cannot start any token") || says(problem, "tab character"))) {
        return false;
    }
    complain(problem, problem->place, "tab used for indentation", "use spaces");
    return true;
}

static bool explain_inner_mark(const struct problem *problem)
{
    if (nj_source_mark_at(problem->source, problem->line_offset) == 0 ||
        problem->line_offset == 0) {
        return false;
    }
    complain(problem, place_of(problem, problem->line_offset),
             "byte order mark (U+FEFF) inside the file",
             "remove it; it is left over where files were joined");
    return true;
}

static bool is_unusual_break(uint32_t code_point)
{
    return code_point == 0x85 || code_point == 0x2028 || code_point == 0x2029;
}

/* Searches the line of the problem and the one before it, as an editor counts lines. */
static bool explain_unusual_break(const struct problem *problem)
{
    size_t begin = problem->offset;
    for (unsigned n_lines = 0; begin > 0 && n_lines < 2; begin--) {
        n_lines += problem->source.data[begin - 1] == '\n' ? 1u : 0u;
    }
    for (size_t at = begin; at < problem->offset;) {
        size_t here = at;
        uint32_t code_point = nj_text_next(problem->source, &at);
        if (is_unusual_break(code_point)) {
            nj_diagnose(problem->diagnostics, NJ_SEVERITY_ERROR, place_of(problem, here),
                        "remove it, or write it as an escape in double quotes",
                        "U+%04X acts as a line break in YAML", code_point);
            return true;
        }
    }
    return false;
}

/* Offset of a `{{` that begins a value (after ": ", "- " or at the line's start). */
static size_t braces_that_begin_a_value(struct nj_text line)
{
    size_t braces = nj_source_find(line, "{{");
    if (braces == SIZE_MAX) {
        return SIZE_MAX;
    }
    size_t before = braces;
    while (before > 0 && (line.data[before - 1] == ' ' || line.data[before - 1] == '\t')) {
        before--;
    }
    bool begins_value =
        before == 0 || line.data[before - 1] == ':' || line.data[before - 1] == '-';
    return begins_value ? braces : SIZE_MAX;
}

static bool is_known(const struct problem *problem, struct nj_place place)
{
    for (size_t i = 0; i < problem->diagnostics->n_items; i++) {
        struct nj_place other = problem->diagnostics->items[i].place;
        if (other.line == place.line && other.column == place.column) {
            return true;
        }
    }
    return false;
}

/* In `prompt: Answer: {{x}}` the text begins before the braces. */
static bool is_second_colon_before(const struct problem *problem, size_t offset)
{
    return says(problem, "mapping values are not allowed") && problem->offset < offset &&
           nj_source_find(line_before(problem), ": ") != SIZE_MAX;
}

/* What follows the braces is often no YAML, after the braces themselves were complained of. */
static bool explain_braces(const struct problem *problem)
{
    for (uint32_t back = 0; back < 2 && problem->place.line > back; back++) {
        struct nj_text line = nj_source_line(problem->source, problem->place.line - back);
        size_t braces = braces_that_begin_a_value(line);
        if (braces == SIZE_MAX) {
            continue;
        }
        size_t offset = (size_t)(line.data - problem->source.data) + braces;
        if (is_second_colon_before(problem, offset)) {
            return false;
        }
        struct nj_place place = place_of(problem, offset);
        if (!is_known(problem, place)) {
            complain(problem, place, "a value starting with {{ must be quoted",
                     "write \"{{name}} ...\"");
        }
        return true;
    }
    return false;
}

/* A simple key ends on its own line, so its length is the distance within the line. */
static bool explain_long_key(const struct problem *problem)
{
    if (!(says(problem, "mapping values") || says(problem, "expected ':'")) ||
        line_before(problem).length_bytes <= KEY_LIMIT) {
        return false;
    }
    struct nj_place place = {problem->path, problem->place.line, 1};
    complain(problem, place, "key longer than 1024 characters", "keys are short names");
    return true;
}

/* Offset of the colon in a line such as `prompt:Hello`; SIZE_MAX when it has none. */
static size_t tight_colon(struct nj_text line)
{
    size_t at = 0;
    while (at < line.length_bytes && (line.data[at] == ' ' || line.data[at] == '-')) {
        at++;
    }
    size_t begin = at;
    while (at < line.length_bytes && (isalnum((unsigned char)line.data[at]) ||
                                      line.data[at] == '_' || line.data[at] == '.')) {
        at++;
    }
    bool is_tight = at > begin && at + 1 < line.length_bytes && line.data[at] == ':' &&
                    line.data[at + 1] != ' ' && line.data[at + 1] != '/';
    return is_tight ? at : SIZE_MAX;
}

/* Without a space it is no key but the beginning of a text, which goes on in the next line,
 * where libyaml notices; so do line and column that it names. */
static bool explain_tight_colon(const struct problem *problem)
{
    if (!says(problem, "mapping values are not allowed") && !says(problem, "expected ':'")) {
        return false;
    }
    for (uint32_t back = 0; back < 2 && problem->place.line > back; back++) {
        struct nj_text line = nj_source_line(problem->source, problem->place.line - back);
        size_t colon = tight_colon(line);
        if (colon != SIZE_MAX) {
            complain(problem,
                     place_of(problem, (size_t)(line.data - problem->source.data) + colon),
                     "no space behind the ':' of a key", "write 'key: value'");
            return true;
        }
    }
    return false;
}

static bool explain_second_colon(const struct problem *problem)
{
    if (!says(problem, "mapping values are not allowed")) {
        return false;
    }
    if (nj_source_find(line_before(problem), ": ") == SIZE_MAX) {
        complain(problem, problem->place,
                 "this key is indented as if it belonged to the line above",
                 "begin all keys of a map in the same column");
        return true;
    }
    complain(problem, problem->place, "a second ': ' in one value",
             "quote the text, or write it below the key after |");
    return true;
}

/* The value of `\uXXXX` at the beginning of `text`; 0 when it does not begin so. */
static uint32_t escape_value(struct nj_text text)
{
    static const char digits[16] = {'0', '1', '2', '3', '4', '5', '6', '7',
                                    '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
    if (text.length_bytes < 6 || memcmp(text.data, "\\u", 2) != 0) {
        return 0;
    }
    uint32_t value = 0;
    for (size_t i = 2; i < 6; i++) {
        const char *digit = memchr(digits, tolower((unsigned char)text.data[i]), sizeof digits);
        if (digit == NULL) {
            return 0;
        }
        value = value * 16 + (uint32_t)(digit - digits);
    }
    return value;
}

static struct nj_text rest_from(struct nj_text text, size_t offset)
{
    if (offset >= text.length_bytes) {
        return (struct nj_text){0};
    }
    return (struct nj_text){text.data + offset, text.length_bytes - offset};
}

/* libyaml stands behind the escape's `\u`, at its first digit. */
static bool explain_surrogate(const struct problem *problem)
{
    if (!says(problem, "invalid Unicode character escape code") || problem->offset < 2) {
        return false;
    }
    struct nj_text at = rest_from(problem->source, problem->offset - 2);
    uint32_t high = escape_value(at);
    uint32_t low = escape_value(rest_from(at, 6));
    struct nj_place place = place_of(problem, problem->offset - 2);
    if (high >= 0xD800 && high < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
        char hint[96];
        (void)snprintf(hint, sizeof hint, "write \\U%08X or the character itself",
                       0x10000u + ((high - 0xD800u) << 10) + (low - 0xDC00u));
        nj_diagnose(problem->diagnostics, NJ_SEVERITY_ERROR, place, hint,
                    "\\u%04x\\u%04x is a JSON surrogate pair, which YAML does not have", high,
                    low);
        return true;
    }
    complain(problem, place, "this escape names no character",
             "write the character itself, or \\U and eight hex digits");
    return true;
}

/* `\U` and `\x` want hex digits, which a path such as C:\Users does not give them. */
static bool explain_unknown_escape(const struct problem *problem)
{
    if (!says(problem, "unknown escape character") && !says(problem, "expected hexdecimal")) {
        return false;
    }
    complain(problem, problem->place, "unknown escape in double quotes",
             "write \\\\ for a backslash, or use single quotes");
    return true;
}

static bool explain_first_character(const struct problem *problem)
{
    if (!says(problem, "cannot start any token")) {
        return false;
    }
    char character[5] = {0};
    (void)nj_text_put(character_at(problem, problem->offset), character);
    nj_diagnose(problem->diagnostics, NJ_SEVERITY_ERROR, problem->place, "quote the value",
                "a value cannot begin with '%s'", character);
    return true;
}

/* The scanner wants an alias or an anchor where a person begins an emphasis. */
static bool explain_star(const struct problem *problem)
{
    if (!says(problem, "expected alphabetic or numeric")) {
        return false;
    }
    complain(problem, problem->context, "a value that begins with '*' or '&' must be quoted",
             "write \"*...\"");
    return true;
}

static bool explain_open_quote(const struct problem *problem)
{
    if (!says(problem, "unexpected end of stream") && !says(problem, "unexpected document")) {
        return false;
    }
    complain(problem, problem->context, "the quote that opens here is never closed",
             "close it; inside single quotes write ' as ''");
    return true;
}

static bool explain_missing_colon(const struct problem *problem)
{
    if (!says(problem, "expected ':'")) {
        return false;
    }
    complain(problem, problem->context, "a key without ': ' behind it",
             "write 'key: value', or quote a text of several lines");
    return true;
}

static bool explain_open_bracket(const struct problem *problem)
{
    if (!says(problem, "expected ',' or")) {
        return false;
    }
    bool is_list = says(problem, "']'");
    nj_diagnose(problem->diagnostics, NJ_SEVERITY_ERROR, problem->place,
                is_list ? "close it with ], or quote the text"
                        : "close it with }, or quote the text",
                "the '%c' of line %u is not closed before this", is_list ? '[' : '{',
                problem->context.line);
    return true;
}

static bool explain_question_mark(const struct problem *problem)
{
    if (!says(problem, "mapping keys are not allowed")) {
        return false;
    }
    complain(problem, problem->place, "a value cannot begin with '? '", "quote the value");
    return true;
}

static bool explain_text_behind_block(const struct problem *problem)
{
    if (!says(problem, "expected comment or line break")) {
        return false;
    }
    complain(problem, problem->place, "text on the line of a | or >",
             "begin it on the next line, indented; quote a text that begins with | or >");
    return true;
}

static bool explain_missing_value(const struct problem *problem)
{
    if (!says(problem, "expected node content")) {
        return false;
    }
    complain(problem, problem->place, "a value is missing before this",
             "write \"\" for an empty text, or quote the text");
    return true;
}

static bool explain_text_outside(const struct problem *problem)
{
    if (!says(problem, "<document start>")) {
        return false;
    }
    complain(problem, problem->place, "this does not belong to what stands above it",
             "a job is a map: write 'key: value' in every line");
    return true;
}

static bool explain_list_behind_key(const struct problem *problem)
{
    if (!says(problem, "block sequence entries are not allowed")) {
        return false;
    }
    complain(problem, problem->place, "a list cannot begin here", "put '- ' on the next line");
    return true;
}

/* What stands behind a closing quote belongs to nothing. */
static bool explain_early_quote(const struct problem *problem)
{
    struct nj_text before = line_before(problem);
    while (before.length_bytes > 0 && before.data[before.length_bytes - 1] == ' ') {
        before.length_bytes--;
    }
    char last = '\0';
    if (before.length_bytes > 0) {
        last = before.data[before.length_bytes - 1];
    }
    if (!says(problem, "did not find expected key") || last == '\0' ||
        strchr("'\"]}", last) == NULL) {
        return false;
    }
    if (last == ']' || last == '}') {
        nj_diagnose(problem->diagnostics, NJ_SEVERITY_ERROR, problem->place,
                    last == ']' ? "quote a text that begins with ["
                                : "quote a text that begins with {",
                    "text behind a closing '%c'", last);
        return true;
    }
    complain(problem, problem->place, "text behind a closing quote",
             last == '"' ? "write a quote inside double quotes as \\\""
                         : "write a quote inside single quotes as ''");
    return true;
}

static bool explain_no_key(const struct problem *problem)
{
    if (!says(problem, "did not find expected key") && !says(problem, "'-' indicator")) {
        return false;
    }
    bool is_list = says(problem, "'-' indicator");
    nj_diagnose(problem->diagnostics, NJ_SEVERITY_ERROR, problem->place,
                "check indentation and quotes", "this does not belong to the %s of line %u",
                is_list ? "list" : "map", problem->context.line);
    return true;
}

/* The first that knows the problem speaks; the likeliest slips of people come first. */
static bool (*const explanations[])(const struct problem *) = {
    explain_tab,
    explain_inner_mark,
    explain_unusual_break,
    explain_long_key,
    explain_surrogate,
    explain_unknown_escape,
    explain_braces,
    explain_tight_colon,
    explain_second_colon,
    explain_open_quote,
    explain_missing_colon,
    explain_open_bracket,
    explain_first_character,
    explain_star,
    explain_question_mark,
    explain_text_behind_block,
    explain_missing_value,
    explain_text_outside,
    explain_list_behind_key,
    explain_early_quote,
    explain_no_key,
};

/* What stands behind a text that was taken for an alias, an anchor or a tag is often no YAML.
 */
static bool is_told_on_its_line(const struct problem *problem)
{
    const struct nj_diagnostics *told = problem->diagnostics;
    for (size_t i = 0; i < told->n_items; i++) {
        const struct nj_diagnostic *item = &told->items[i];
        if (item->severity == NJ_SEVERITY_ERROR && item->place.line == problem->place.line &&
            item->place.column < problem->place.column && item->place.file != NULL &&
            strcmp(item->place.file, problem->path) == 0) {
            return true;
        }
    }
    return false;
}

static struct problem problem_of(const yaml_parser_t *parser, const char *path,
                                 struct nj_text source, struct nj_diagnostics *diagnostics)
{
    struct problem problem = {.text = parser->problem == NULL ? "" : parser->problem,
                              .path = path,
                              .source = source,
                              .diagnostics = diagnostics};
    yaml_mark_t mark = parser->problem_mark;
    yaml_mark_t context = parser->context == NULL ? mark : parser->context_mark;
    problem.place = (struct nj_place){path, (uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
    problem.context =
        (struct nj_place){path, (uint32_t)context.line + 1, (uint32_t)context.column + 1};
    struct nj_source_cursor cursor;
    nj_source_cursor_init(&cursor, source);
    problem.offset = nj_source_cursor_seek(&cursor, mark.index);
    problem.line = nj_source_line(source, problem.place.line);
    problem.line_offset = (size_t)(problem.line.data - source.data);
    return problem;
}

/* The offset is right where the mark is not: libyaml reads far ahead of what it parses. Of a
 * broken character it may name a later byte; ours is the first. */
static void explain_bytes(const yaml_parser_t *parser, const char *path, struct nj_text source,
                          struct nj_diagnostics *diagnostics)
{
    size_t offset = nj_text_valid_prefix(source);
    bool is_text = parser->problem_offset < offset;
    if (is_text) {
        offset = parser->problem_offset;
    }
    struct nj_place first = {path, 1, 1};
    struct nj_place place =
        nj_source_place(source, nj_source_mark_at(source, 0), first, offset);
    unsigned byte = offset < source.length_bytes ? (unsigned char)source.data[offset] : 0;
    if (is_text) {
        size_t at = offset;
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, place,
                    "remove it, or write it as an escape in double quotes",
                    "control character U+%04X is not allowed", nj_text_next(source, &at));
        return;
    }
    nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, place, "save the file as UTF-8",
                "byte 0x%02X is not UTF-8 text", byte);
}

void nj_yaml_problem_explain(const yaml_parser_t *parser, const char *path,
                             struct nj_text source, struct nj_diagnostics *diagnostics)
{
    if (parser->error == YAML_MEMORY_ERROR) {
        diagnostics->out_of_memory = true;
        return;
    }
    if (parser->error == YAML_READER_ERROR) {
        explain_bytes(parser, path, source, diagnostics);
        return;
    }
    struct problem problem = problem_of(parser, path, source, diagnostics);
    if (is_told_on_its_line(&problem)) {
        return;
    }
    for (size_t i = 0; i < sizeof explanations / sizeof explanations[0]; i++) {
        if (explanations[i](&problem)) {
            return;
        }
    }
    nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, problem.place, NULL, "not YAML: %s",
                problem.text);
}
