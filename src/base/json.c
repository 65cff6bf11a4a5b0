#include "base/json.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/vector.h"

struct member {
    struct nj_text key;
    struct nj_json_value *value;
};

/* Our own tree, copied from jansson's: its objects cannot be indexed, and a document that
 * somebody sends may have a million members. */
struct nj_json_value {
    enum nj_json_type type;
    union {
        bool boolean;
        int64_t integer;
        double real;
        struct nj_text text;
        struct {
            struct nj_json_value *items;
            size_t count;
        } array;
        struct {
            struct member *members;
            size_t count;
        } object;
    };
};

struct nj_json {
    struct nj_arena arena;
    struct nj_json_value root;
};

/* --- reading --- */

struct place {
    size_t line;
    size_t column;
};

static struct place place_of(struct nj_text text, size_t offset)
{
    struct place place = {1, 1};
    for (size_t i = 0; i < offset; i++) {
        place.column++;
        if (text.data[i] == '\n') {
            place.line++;
            place.column = 1;
        }
    }
    return place;
}

/* Offset of the bracket that opens one level too many; the length when there is none. Only
 * brackets outside strings count; whether they match is the parser's business. */
static size_t find_too_deep(struct nj_text text)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.length_bytes; i++) {
        char c = text.data[i];
        if (in_string) {
            if (c == '\\') {
                i++;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > NJ_JSON_DEPTH_LIMIT) {
                return i;
            }
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return text.length_bytes;
}

static enum nj_status check_limits(struct nj_text text, const char *name, struct nj_error *err)
{
    if (text.length_bytes > NJ_JSON_LIMIT_BYTES) {
        return nj_fail(err, NJ_E_INPUT, "%s: %zu bytes of JSON, at most %d are read", name,
                       text.length_bytes, (int)NJ_JSON_LIMIT_BYTES);
    }
    size_t too_deep = find_too_deep(text);
    if (too_deep < text.length_bytes) {
        struct place place = place_of(text, too_deep);
        return nj_fail(err, NJ_E_INPUT, "%s:%zu:%zu: nested more than %d levels deep", name,
                       place.line, place.column, (int)NJ_JSON_DEPTH_LIMIT);
    }
    return NJ_OK;
}

static bool copy_value(struct nj_arena *arena, json_t *from, struct nj_json_value *to);

static bool copy_text(struct nj_arena *arena, const char *data, size_t length_bytes,
                      struct nj_text *to)
{
    to->data = nj_arena_copy_text(arena, data, length_bytes);
    to->length_bytes = length_bytes;
    return to->data != NULL;
}

static bool copy_array(struct nj_arena *arena, const json_t *from, struct nj_json_value *to)
{
    size_t count = json_array_size(from);
    to->type = NJ_JSON_ARRAY;
    to->array.count = count;
    to->array.items = nj_arena_take_array(arena, count, sizeof *to->array.items);
    if (to->array.items == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!copy_value(arena, json_array_get(from, i), &to->array.items[i])) {
            return false;
        }
    }
    return true;
}

static bool copy_object(struct nj_arena *arena, json_t *from, struct nj_json_value *to)
{
    size_t count = json_object_size(from);
    struct member *members = nj_arena_take_array(arena, count, sizeof *members);
    struct nj_json_value *values = nj_arena_take_array(arena, count, sizeof *values);
    to->type = NJ_JSON_OBJECT;
    to->object.count = count;
    to->object.members = members;
    if (members == NULL || values == NULL) {
        return false;
    }
    size_t i = 0;
    for (void *at = json_object_iter(from); at != NULL; at = json_object_iter_next(from, at)) {
        const char *key = json_object_iter_key(at);
        members[i].value = &values[i];
        if (!copy_text(arena, key, strlen(key), &members[i].key) ||
            !copy_value(arena, json_object_iter_value(at), &values[i])) {
            return false;
        }
        i++;
    }
    return true;
}

/* Recursion is bounded: the depth was checked before. False when memory ran out. */
static bool copy_value(struct nj_arena *arena, json_t *from, struct nj_json_value *to)
{
    switch (json_typeof(from)) {
    case JSON_OBJECT:
        return copy_object(arena, from, to);
    case JSON_ARRAY:
        return copy_array(arena, from, to);
    case JSON_STRING:
        to->type = NJ_JSON_STRING;
        return copy_text(arena, json_string_value(from), json_string_length(from), &to->text);
    case JSON_INTEGER:
        to->type = NJ_JSON_INTEGER;
        to->integer = json_integer_value(from);
        return true;
    case JSON_REAL:
        to->type = NJ_JSON_REAL;
        to->real = json_real_value(from);
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        to->type = NJ_JSON_BOOLEAN;
        to->boolean = json_is_true(from);
        return true;
    case JSON_NULL:
        break;
    }
    to->type = NJ_JSON_NULL;
    return true;
}

static enum nj_status copy_document(json_t *parsed, const char *name, struct nj_json **document,
                                    struct nj_error *err)
{
    struct nj_json *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "%s: out of memory", name);
    }
    if (!copy_value(&created->arena, parsed, &created->root)) {
        nj_json_destroy(created);
        return nj_fail(err, NJ_E_MEMORY, "%s: out of memory", name);
    }
    *document = created;
    return NJ_OK;
}

enum nj_status nj_json_parse(struct nj_text text, const char *name, struct nj_json **document,
                             struct nj_error *err)
{
    enum nj_status status = check_limits(text, name, err);
    if (status != NJ_OK) {
        return status;
    }
    json_error_t error = {0};
    json_t *parsed =
        json_loadb(text.data == NULL ? "" : text.data, text.length_bytes,
                   JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (parsed == NULL) {
        if (json_error_code(&error) == json_error_out_of_memory) {
            return nj_fail(err, NJ_E_MEMORY, "%s: out of memory", name);
        }
        return nj_fail(err, NJ_E_INPUT, "%s:%d:%d: %s", name, error.line, error.column,
                       error.text);
    }
    status = copy_document(parsed, name, document, err);
    json_decref(parsed);
    return status;
}

void nj_json_destroy(struct nj_json *document)
{
    if (document != NULL) {
        nj_arena_deinit(&document->arena);
        free(document);
    }
}

const struct nj_json_value *nj_json_root(const struct nj_json *document)
{
    return document == NULL ? NULL : &document->root;
}

enum nj_json_type nj_json_type_of(const struct nj_json_value *value)
{
    return value == NULL ? NJ_JSON_ABSENT : value->type;
}

const struct nj_json_value *nj_json_get(const struct nj_json_value *object, const char *key)
{
    if (nj_json_type_of(object) != NJ_JSON_OBJECT) {
        return NULL;
    }
    for (size_t i = 0; i < object->object.count; i++) {
        if (nj_text_equals(object->object.members[i].key, key)) {
            return object->object.members[i].value;
        }
    }
    return NULL;
}

size_t nj_json_count(const struct nj_json_value *array_or_object)
{
    switch (nj_json_type_of(array_or_object)) {
    case NJ_JSON_ARRAY:
        return array_or_object->array.count;
    case NJ_JSON_OBJECT:
        return array_or_object->object.count;
    default:
        return 0;
    }
}

const struct nj_json_value *nj_json_at(const struct nj_json_value *array, size_t index)
{
    if (nj_json_type_of(array) != NJ_JSON_ARRAY || index >= array->array.count) {
        return NULL;
    }
    return &array->array.items[index];
}

const struct nj_json_value *nj_json_member(const struct nj_json_value *object, size_t index,
                                           struct nj_text *key)
{
    if (nj_json_type_of(object) != NJ_JSON_OBJECT || index >= object->object.count) {
        return NULL;
    }
    *key = object->object.members[index].key;
    return object->object.members[index].value;
}

bool nj_json_as_integer(const struct nj_json_value *value, int64_t *out)
{
    if (nj_json_type_of(value) != NJ_JSON_INTEGER) {
        return false;
    }
    *out = value->integer;
    return true;
}

bool nj_json_as_number(const struct nj_json_value *value, double *out)
{
    switch (nj_json_type_of(value)) {
    case NJ_JSON_INTEGER:
        *out = (double)value->integer;
        return true;
    case NJ_JSON_REAL:
        *out = value->real;
        return true;
    default:
        return false;
    }
}

bool nj_json_as_boolean(const struct nj_json_value *value, bool *out)
{
    if (nj_json_type_of(value) != NJ_JSON_BOOLEAN) {
        return false;
    }
    *out = value->boolean;
    return true;
}

bool nj_json_as_text(const struct nj_json_value *value, struct nj_text *out)
{
    if (nj_json_type_of(value) != NJ_JSON_STRING) {
        return false;
    }
    *out = value->text;
    return true;
}

/* --- writing --- */

void nj_json_writer_init(struct nj_json_writer *writer)
{
    *writer = (struct nj_json_writer){.data = NULL};
}

void nj_json_writer_deinit(struct nj_json_writer *writer)
{
    free(writer->data);
    nj_json_writer_init(writer);
}

void nj_json_writer_reset(struct nj_json_writer *writer)
{
    writer->length_bytes = 0;
    writer->depth = 0;
    writer->needs_comma = false;
    writer->failed = false;
}

static void put(struct nj_json_writer *writer, const char *data, size_t length_bytes)
{
    if (writer->failed || length_bytes > SIZE_MAX - writer->length_bytes ||
        nj_vector_reserve(&writer->data, &writer->capacity_bytes, 1,
                          writer->length_bytes + length_bytes, NULL) != NJ_OK) {
        writer->failed = true;
        return;
    }
    if (length_bytes > 0) {
        memcpy(writer->data + writer->length_bytes, data, length_bytes);
        writer->length_bytes += length_bytes;
    }
}

static void put_terminated(struct nj_json_writer *writer, const char *text)
{
    put(writer, text, strlen(text));
}

static void begin_value(struct nj_json_writer *writer)
{
    if (writer->needs_comma) {
        put(writer, ",", 1);
    }
    writer->needs_comma = true;
}

static void put_escape(struct nj_json_writer *writer, uint32_t code_point)
{
    char escape[8];
    switch (code_point) {
    case '"':
        put(writer, "\\\"", 2);
        return;
    case '\\':
        put(writer, "\\\\", 2);
        return;
    case '\n':
        put(writer, "\\n", 2);
        return;
    case '\r':
        put(writer, "\\r", 2);
        return;
    case '\t':
        put(writer, "\\t", 2);
        return;
    default:
        (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(code_point & 0xFFFFu));
        put(writer, escape, 6);
        return;
    }
}

static bool wants_escape(uint32_t code_point)
{
    return code_point < 0x20 || code_point == '"' || code_point == '\\';
}

static void put_quoted(struct nj_json_writer *writer, struct nj_text text)
{
    put(writer, "\"", 1);
    size_t offset = 0;
    while (offset < text.length_bytes) {
        uint32_t code_point = nj_text_next(text, &offset);
        if (wants_escape(code_point)) {
            put_escape(writer, code_point);
            continue;
        }
        char encoded[4];
        put(writer, encoded, nj_text_put(code_point, encoded));
    }
    put(writer, "\"", 1);
}

static void begin_nested(struct nj_json_writer *writer, const char *bracket)
{
    begin_value(writer);
    put(writer, bracket, 1);
    writer->depth++;
    writer->needs_comma = false;
}

static void end_nested(struct nj_json_writer *writer, const char *bracket)
{
    put(writer, bracket, 1);
    writer->depth--;
    writer->needs_comma = true;
}

void nj_json_begin_object(struct nj_json_writer *writer)
{
    begin_nested(writer, "{");
}

void nj_json_end_object(struct nj_json_writer *writer)
{
    end_nested(writer, "}");
}

void nj_json_begin_array(struct nj_json_writer *writer)
{
    begin_nested(writer, "[");
}

void nj_json_end_array(struct nj_json_writer *writer)
{
    end_nested(writer, "]");
}

void nj_json_write_key(struct nj_json_writer *writer, struct nj_text key)
{
    begin_value(writer);
    put_quoted(writer, key);
    put(writer, ":", 1);
    writer->needs_comma = false;
}

void nj_json_key(struct nj_json_writer *writer, const char *key)
{
    nj_json_write_key(writer, nj_text_from(key));
}

void nj_json_write_null(struct nj_json_writer *writer)
{
    begin_value(writer);
    put_terminated(writer, "null");
}

void nj_json_write_boolean(struct nj_json_writer *writer, bool value)
{
    begin_value(writer);
    put_terminated(writer, value ? "true" : "false");
}

void nj_json_write_integer(struct nj_json_writer *writer, int64_t value)
{
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%" PRId64, value);
    begin_value(writer);
    put_terminated(writer, digits);
}

void nj_json_write_unsigned(struct nj_json_writer *writer, uint64_t value)
{
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%" PRIu64, value);
    begin_value(writer);
    put_terminated(writer, digits);
}

enum { NUMBER_TEXT_BYTES = 48 };

/* The fewest significant digits that read back as `value`. Up to 15 digits always survive the
 * way through a normal double, so no number needs fewer than %.15g prints (which drops zeros at
 * the end). Denormals have less precision and begin at one digit. */
static void print_shortest(double value, char text[NUMBER_TEXT_BYTES])
{
    int precision = fabs(value) < DBL_MIN ? 1 : 15;
    for (; precision <= 17; precision++) {
        (void)snprintf(text, NUMBER_TEXT_BYTES, "%.*g", precision, value);
        if (strtod(text, NULL) == value) {
            return;
        }
    }
}

/* The host program may have chosen a locale with another decimal point. */
static void restore_decimal_point(char text[NUMBER_TEXT_BYTES])
{
    const char *point = localeconv()->decimal_point;
    char *found = strstr(text, point);
    if (found != NULL && strcmp(point, ".") != 0) {
        size_t point_bytes = strlen(point);
        *found = '.';
        memmove(found + 1, found + point_bytes, strlen(found + point_bytes) + 1);
    }
}

void nj_json_write_number(struct nj_json_writer *writer, double value)
{
    if (!isfinite(value)) {
        nj_json_write_null(writer);
        return;
    }
    char text[NUMBER_TEXT_BYTES];
    print_shortest(value, text);
    restore_decimal_point(text);
    begin_value(writer);
    put_terminated(writer, text);
    if (strpbrk(text, ".e") == NULL) {
        put_terminated(writer, ".0"); /* so that it reads back as a real */
    }
}

void nj_json_write_text(struct nj_json_writer *writer, struct nj_text value)
{
    begin_value(writer);
    put_quoted(writer, value);
}

void nj_json_write_string(struct nj_json_writer *writer, const char *value)
{
    nj_json_write_text(writer, nj_text_from(value));
}

static void write_members(struct nj_json_writer *writer, const struct nj_json_value *object)
{
    nj_json_begin_object(writer);
    for (size_t i = 0; i < object->object.count; i++) {
        nj_json_write_key(writer, object->object.members[i].key);
        nj_json_write_value(writer, object->object.members[i].value);
    }
    nj_json_end_object(writer);
}

static void write_items(struct nj_json_writer *writer, const struct nj_json_value *array)
{
    nj_json_begin_array(writer);
    for (size_t i = 0; i < array->array.count; i++) {
        nj_json_write_value(writer, &array->array.items[i]);
    }
    nj_json_end_array(writer);
}

void nj_json_write_value(struct nj_json_writer *writer, const struct nj_json_value *value)
{
    switch (nj_json_type_of(value)) {
    case NJ_JSON_ABSENT:
    case NJ_JSON_NULL:
        nj_json_write_null(writer);
        return;
    case NJ_JSON_BOOLEAN:
        nj_json_write_boolean(writer, value->boolean);
        return;
    case NJ_JSON_INTEGER:
        nj_json_write_integer(writer, value->integer);
        return;
    case NJ_JSON_REAL:
        nj_json_write_number(writer, value->real);
        return;
    case NJ_JSON_STRING:
        nj_json_write_text(writer, value->text);
        return;
    case NJ_JSON_ARRAY:
        write_items(writer, value);
        return;
    case NJ_JSON_OBJECT:
        write_members(writer, value);
        return;
    }
}

void nj_json_write_newline(struct nj_json_writer *writer)
{
    put(writer, "\n", 1);
    writer->needs_comma = false;
}

enum nj_status nj_json_finish(const struct nj_json_writer *writer, struct nj_text *text,
                              struct nj_error *err)
{
    if (writer->failed) {
        return nj_fail(err, NJ_E_MEMORY, "write JSON: out of memory after %zu bytes",
                       writer->length_bytes);
    }
    text->data = writer->data;
    text->length_bytes = writer->length_bytes;
    return NJ_OK;
}
