#include "job/schema.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "job/json_walk.h"
#include "job/quantity.h"

enum { NUMBER_LIMIT_BYTES = 64, SENTENCE_BYTES = 512 };

void nj_schema_error(struct nj_schema *schema, struct nj_place place, const char *hint,
                     const char *format, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    nj_diagnose(schema->diagnostics, NJ_SEVERITY_ERROR, place, hint, "%s", sentence);
}

void *nj_schema_take(struct nj_schema *schema, size_t count, size_t item_bytes)
{
    void *memory = nj_arena_take_array(schema->arena, count, item_bytes);
    if (memory == NULL) {
        schema->out_of_memory = true;
    }
    return memory;
}

static bool is_missing(const struct nj_node *value)
{
    return value->kind == NJ_NODE_SCALAR && value->is_plain && value->text.length_bytes == 0;
}

/* How what is wanted is written. */
static const char *kind_hint(const struct nj_schema *schema, enum nj_node_kind wanted,
                             const struct nj_node *value)
{
    if (wanted == NJ_NODE_LIST) {
        return "write [one, two], or lines that begin with '- '";
    }
    if (wanted == NJ_NODE_MAP) {
        return "write {key: value}, or such lines below it, indented";
    }
    char begin = '\0';
    if (value->begin_byte > 0 && value->begin_byte < schema->source.length_bytes) {
        begin = schema->source.data[value->begin_byte];
    }
    bool is_flow = value->kind != NJ_NODE_SCALAR && (begin == '[' || begin == '{');
    return is_flow ? "quote it if it is a text" : NULL;
}

static bool expect_kind(struct nj_schema *schema, const struct nj_node_pair *pair,
                        enum nj_node_kind kind, const char *wanted)
{
    const struct nj_node *value = pair->value;
    if (value->is_reported) {
        schema->n_passed++;
        return false;
    }
    if (is_missing(value)) {
        nj_schema_error(schema, value->place, kind_hint(schema, kind, value),
                        "'%s' has no value", pair->key->text.data);
        return false;
    }
    if (value->kind != kind) {
        nj_schema_error(schema, value->place, kind_hint(schema, kind, value),
                        "'%s' must be %s, not %s", pair->key->text.data, wanted,
                        nj_node_kind_name(value));
        return false;
    }
    return true;
}

bool nj_expect_list(struct nj_schema *schema, const struct nj_node_pair *pair)
{
    return expect_kind(schema, pair, NJ_NODE_LIST, "a list");
}

bool nj_expect_map(struct nj_schema *schema, const struct nj_node_pair *pair)
{
    return expect_kind(schema, pair, NJ_NODE_MAP, "a map");
}

bool nj_expect_text(struct nj_schema *schema, const struct nj_node_pair *pair,
                    struct nj_text *text)
{
    if (!expect_kind(schema, pair, NJ_NODE_SCALAR, "text")) {
        return false;
    }
    *text = pair->value->text;
    return true;
}

static bool is_filled(struct nj_schema *schema, const struct nj_node_pair *pair)
{
    if (pair->value->text.length_bytes == 0) {
        nj_schema_error(schema, pair->value->place, NULL, "'%s' is empty",
                        pair->key->text.data);
        return false;
    }
    return true;
}

bool nj_expect_filled_text(struct nj_schema *schema, const struct nj_node_pair *pair,
                           struct nj_text *text)
{
    struct nj_text found;
    if (!nj_expect_text(schema, pair, &found) || !is_filled(schema, pair)) {
        return false;
    }
    *text = found;
    return true;
}

static void warn_of_comment(struct nj_schema *schema, const struct nj_node_pair *pair)
{
    if (pair->value->has_comment) {
        nj_diagnose(schema->diagnostics, NJ_SEVERITY_WARNING, pair->value->place,
                    "quote the text if it belongs to it",
                    "what follows ' #' is a comment and not part of '%s'",
                    pair->key->text.data);
    }
}

bool nj_expect_prose(struct nj_schema *schema, const struct nj_node_pair *pair,
                     struct nj_text *text)
{
    if (!nj_expect_text(schema, pair, text)) {
        return false;
    }
    warn_of_comment(schema, pair);
    return true;
}

bool nj_expect_template(struct nj_schema *schema, const struct nj_node_pair *pair,
                        struct nj_text *text, struct nj_template *compiled)
{
    if (!nj_expect_prose(schema, pair, text) || !is_filled(schema, pair)) {
        return false;
    }
    const struct nj_node *value = pair->value;
    struct nj_text_origin origin = {schema->source, value->begin_byte, value->end_byte,
                                    value->place};
    if (!nj_template_compile(*text, &origin, schema->arena, schema->diagnostics, compiled)) {
        schema->out_of_memory = true;
        return false;
    }
    return true;
}

static bool is_one_of(struct nj_text text, const char *const *words, size_t n_words)
{
    for (size_t i = 0; i < n_words; i++) {
        if (strlen(words[i]) == text.length_bytes &&
            strncasecmp(words[i], text.data, text.length_bytes) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_word(struct nj_text text, const char *word)
{
    return is_one_of(text, &word, 1);
}

static const char *boolean_hint(struct nj_text text)
{
    static const char *const yes[] = {"yes", "y", "on", "1"};
    static const char *const no[] = {"no", "n", "off", "0"};
    if (is_one_of(text, yes, sizeof yes / sizeof yes[0])) {
        return "write true";
    }
    return is_one_of(text, no, sizeof no / sizeof no[0]) ? "write false" : NULL;
}

static bool is_number(struct nj_text text)
{
    return text.length_bytes > 0 && text.length_bytes <= NUMBER_LIMIT_BYTES &&
           nj_json_walk_number_length(text) == text.length_bytes;
}

static bool is_boolean(struct nj_text text)
{
    return is_word(text, "true") || is_word(text, "false");
}

/* Quotes mean text; a number or boolean in them is a slip or another tool's habit. Other texts
 * are left to the caller, who refuses them with quotes or without. */
static bool expect_unquoted(struct nj_schema *schema, const struct nj_node_pair *pair,
                            const char *wanted, bool (*is_meant)(struct nj_text),
                            struct nj_text *text)
{
    if (!expect_kind(schema, pair, NJ_NODE_SCALAR, wanted)) {
        return false;
    }
    if (!pair->value->is_plain && is_meant(pair->value->text)) {
        nj_schema_error(schema, pair->value->place, "remove the quotes",
                        "'%s' must be %s, not quoted text", pair->key->text.data, wanted);
        return false;
    }
    *text = pair->value->text;
    return true;
}

bool nj_expect_boolean(struct nj_schema *schema, const struct nj_node_pair *pair, bool *value)
{
    struct nj_text text;
    if (!expect_unquoted(schema, pair, "true or false", is_boolean, &text)) {
        return false;
    }
    bool is_true = is_word(text, "true");
    if (!is_true && !is_word(text, "false")) {
        nj_schema_error(schema, pair->value->place, boolean_hint(text),
                        "'%s' must be true or false, not '%s'", pair->key->text.data,
                        text.data);
        return false;
    }
    *value = is_true;
    return true;
}

static const char *number_hint(struct nj_text text)
{
    if (memchr(text.data, '_', text.length_bytes) != NULL) {
        return "write it without '_'";
    }
    if (memchr(text.data, ',', text.length_bytes) != NULL) {
        return "the decimal sign is a point";
    }
    if (text.length_bytes > 1 && text.data[0] == '0' && text.data[1] >= '0' &&
        text.data[1] <= '9') {
        return "write it without leading zeros";
    }
    return "numbers are written as in JSON, such as 0.7 or 200";
}

static bool expect_number_text(struct nj_schema *schema, const struct nj_node_pair *pair,
                               struct nj_text *text)
{
    struct nj_text found;
    if (!expect_unquoted(schema, pair, "a number", is_number, &found)) {
        return false;
    }
    if (!is_number(found)) {
        nj_schema_error(schema, pair->value->place, number_hint(found),
                        "'%s' must be a number, not '%s'", pair->key->text.data, found.data);
        return false;
    }
    *text = found;
    return true;
}

/* Decimal digits only. False when they do not fit. */
static bool parse_unsigned(struct nj_text digits, uint64_t *value)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < digits.length_bytes; i++) {
        unsigned digit = (unsigned)(digits.data[i] - '0');
        if (sum > (UINT64_MAX - digit) / 10) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    *value = sum;
    return true;
}

static bool is_whole(struct nj_text number)
{
    for (size_t i = 0; i < number.length_bytes; i++) {
        char character = number.data[i];
        if ((character < '0' || character > '9') && !(i == 0 && character == '-')) {
            return false;
        }
    }
    return true;
}

bool nj_expect_unsigned(struct nj_schema *schema, const struct nj_node_pair *pair,
                        uint64_t least, uint64_t most, uint64_t *value)
{
    struct nj_text text;
    if (!expect_number_text(schema, pair, &text)) {
        return false;
    }
    if (!is_whole(text)) {
        nj_schema_error(schema, pair->value->place,
                        "write its digits, without point and exponent",
                        "'%s' must be a whole number, not %s", pair->key->text.data, text.data);
        return false;
    }
    uint64_t found = 0;
    bool fits = text.data[0] != '-' && parse_unsigned(text, &found);
    bool is_small = text.data[0] == '-' || (fits && found < least);
    if (most >= INT64_MAX && is_small) {
        nj_schema_error(schema, pair->value->place, NULL,
                        "'%s' must be at least %" PRIu64 ", not %s", pair->key->text.data,
                        least, text.data);
        return false;
    }
    if (!fits || found < least || found > most) {
        nj_schema_error(schema, pair->value->place, NULL,
                        "'%s' must be from %" PRIu64 " to %" PRIu64 ", not %s",
                        pair->key->text.data, least, most, text.data);
        return false;
    }
    *value = found;
    return true;
}

bool nj_expect_unsigned32(struct nj_schema *schema, const struct nj_node_pair *pair,
                          uint32_t least, uint32_t most, uint32_t *value)
{
    uint64_t found = 0;
    if (!nj_expect_unsigned(schema, pair, least, most, &found)) {
        return false;
    }
    *value = (uint32_t)found;
    return true;
}

/* The C library's strtod follows the process's locale; the JSON reader does not. Digits that
 * are JSON and yet refused are too large to hold: NJ_E_INPUT. */
static enum nj_status parse_double(struct nj_text number, double *value)
{
    char list[NUMBER_LIMIT_BYTES + 3];
    int length = snprintf(list, sizeof list, "[%.*s]", (int)number.length_bytes, number.data);
    struct nj_json *document = NULL;
    struct nj_text text = {list, (size_t)length};
    enum nj_status status = nj_json_parse(text, "number", &document, NULL);
    if (status == NJ_OK) {
        (void)nj_json_as_number(nj_json_at(nj_json_root(document), 0), value); /* it is one */
        nj_json_destroy(document);
    }
    return status;
}

bool nj_expect_number(struct nj_schema *schema, const struct nj_node_pair *pair, double least,
                      bool is_open, double most, double *value)
{
    struct nj_text text;
    if (!expect_number_text(schema, pair, &text)) {
        return false;
    }
    double found = 0;
    enum nj_status status = parse_double(text, &found);
    if (status == NJ_E_MEMORY) {
        schema->out_of_memory = true;
        return false;
    }
    bool fits = status == NJ_OK && found <= most && (is_open ? found > least : found >= least);
    if (!fits) {
        nj_schema_error(schema, pair->value->place, NULL, "'%s' must be %s %g %s %g, not %s",
                        pair->key->text.data, is_open ? "above" : "from", least,
                        is_open ? "and at most" : "to", most, text.data);
        return false;
    }
    *value = found;
    return true;
}

static bool expect_quantity(struct nj_schema *schema, const struct nj_node_pair *pair,
                            bool (*parse)(struct nj_text, uint64_t *), const char *wanted,
                            const char *hint, uint64_t *value)
{
    struct nj_text text;
    uint64_t found = 0;
    if (!nj_expect_filled_text(schema, pair, &text)) {
        return false;
    }
    if (!parse(text, &found) || found == 0) {
        nj_schema_error(schema, pair->value->place, hint, "'%s' must be %s, not '%s'",
                        pair->key->text.data, wanted, text.data);
        return false;
    }
    *value = found;
    return true;
}

bool nj_expect_size(struct nj_schema *schema, const struct nj_node_pair *pair, uint64_t *bytes)
{
    char guess[NJ_SIZE_GUESS_BYTES];
    char hint[NJ_SIZE_GUESS_BYTES + 16];
    bool has_guess = nj_size_guess(pair->value->text, guess);
    if (has_guess) {
        (void)snprintf(hint, sizeof hint, "did you mean %s?", guess);
    }
    return expect_quantity(schema, pair, nj_size_parse, "a size",
                           has_guess ? hint : nj_size_hint, bytes);
}

bool nj_expect_duration(struct nj_schema *schema, const struct nj_node_pair *pair,
                        uint64_t *duration_ns)
{
    return expect_quantity(schema, pair, nj_duration_parse, "a duration", nj_duration_hint,
                           duration_ns);
}

static void list_names(const char *const *names, size_t n_names, char *text, size_t text_bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < n_names && used < text_bytes; i++) {
        const char *between = i == 0 ? "" : i + 1 == n_names ? " or " : ", ";
        int length = snprintf(text + used, text_bytes - used, "%s%s", between, names[i]);
        used += length < 0 ? 0 : (size_t)length;
    }
}

bool nj_expect_choice(struct nj_schema *schema, const struct nj_node_pair *pair,
                      const char *const *names, size_t n_names, size_t *index)
{
    struct nj_text text;
    if (!nj_expect_text(schema, pair, &text)) {
        return false;
    }
    for (size_t i = 0; i < n_names; i++) {
        if (nj_text_equals(text, names[i])) {
            *index = i;
            return true;
        }
    }
    char wanted[128] = "";
    list_names(names, n_names, wanted, sizeof wanted);
    nj_schema_error(schema, pair->value->place, NULL, "'%s' must be %s, not '%s'",
                    pair->key->text.data, wanted, text.data);
    return false;
}
