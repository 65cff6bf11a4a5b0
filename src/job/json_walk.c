#include "job/json_walk.h"

#include <string.h>

void nj_json_walk_init(struct nj_json_walk *walk, struct nj_text text)
{
    *walk = (struct nj_json_walk){.text = text};
}

bool nj_json_walk_fail(struct nj_json_walk *walk, const char *problem)
{
    if (walk->problem == NULL) {
        walk->problem = problem;
    }
    return false;
}

static bool is_space(char character)
{
    return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* NUL past the end: JSON has it nowhere. */
static char character_at(struct nj_text text, size_t offset)
{
    if (offset < text.length_bytes) {
        return text.data[offset];
    }
    return '\0';
}

static char peek(const struct nj_json_walk *walk)
{
    return character_at(walk->text, walk->offset);
}

void nj_json_walk_space(struct nj_json_walk *walk)
{
    while (is_space(peek(walk))) {
        walk->offset++;
    }
}

bool nj_json_walk_take(struct nj_json_walk *walk, char character)
{
    if (walk->problem != NULL) {
        return false;
    }
    nj_json_walk_space(walk);
    if (peek(walk) != character) {
        return false;
    }
    walk->offset++;
    return true;
}

static size_t digits_at(struct nj_text text, size_t offset)
{
    size_t n_digits = 0;
    while (offset + n_digits < text.length_bytes && is_digit(text.data[offset + n_digits])) {
        n_digits++;
    }
    return n_digits;
}

static bool stands_at(struct nj_text text, size_t offset, char character)
{
    return offset < text.length_bytes && text.data[offset] == character;
}

static size_t fraction_length(struct nj_text text, size_t offset)
{
    if (!stands_at(text, offset, '.')) {
        return 0;
    }
    size_t n_digits = digits_at(text, offset + 1);
    return n_digits == 0 ? 0 : n_digits + 1;
}

static size_t exponent_length(struct nj_text text, size_t offset)
{
    if (!stands_at(text, offset, 'e') && !stands_at(text, offset, 'E')) {
        return 0;
    }
    size_t sign = stands_at(text, offset + 1, '+') || stands_at(text, offset + 1, '-') ? 1 : 0;
    size_t n_digits = digits_at(text, offset + 1 + sign);
    return n_digits == 0 ? 0 : n_digits + 1 + sign;
}

size_t nj_json_walk_number_length(struct nj_text text)
{
    size_t length = stands_at(text, 0, '-') ? 1 : 0;
    size_t n_digits = stands_at(text, length, '0') ? 1 : digits_at(text, length);
    if (n_digits == 0) {
        return 0;
    }
    length += n_digits;
    length += fraction_length(text, length);
    return length + exponent_length(text, length);
}

static struct nj_text rest(const struct nj_json_walk *walk)
{
    return (struct nj_text){walk->text.data + walk->offset,
                            walk->text.length_bytes - walk->offset};
}

/* The value of four hex digits; UINT32_MAX when they are not. */
static uint32_t hex_value(struct nj_text text, size_t offset)
{
    uint32_t value = 0;
    for (size_t i = offset; i < offset + 4; i++) {
        char character = character_at(text, i);
        uint32_t digit = 0;
        if (is_digit(character)) {
            digit = (uint32_t)(character - '0');
        } else if (character >= 'a' && character <= 'f') {
            digit = (uint32_t)(character - 'a') + 10;
        } else if (character >= 'A' && character <= 'F') {
            digit = (uint32_t)(character - 'A') + 10;
        } else {
            return UINT32_MAX;
        }
        value = value * 16 + digit;
    }
    return value;
}

static bool is_high_half(uint32_t value)
{
    return value >= 0xD800 && value < 0xDC00;
}

static bool is_low_half(uint32_t value)
{
    return value >= 0xDC00 && value < 0xE000;
}

/* Decodes the escape at `offset`, its backslash. Returns its length; 0 when it is none. */
static size_t escape_length(struct nj_text text, size_t offset, uint32_t *code_point)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    char name = character_at(text, offset + 1);
    const char *found = name == '\0' ? NULL : strchr(names, name);
    if (found != NULL) {
        *code_point = (unsigned char)values[found - names];
        return 2;
    }
    uint32_t value = name == 'u' ? hex_value(text, offset + 2) : UINT32_MAX;
    if (value == UINT32_MAX || value == 0 || is_low_half(value)) {
        return 0;
    }
    if (!is_high_half(value)) {
        *code_point = value;
        return 6;
    }
    bool has_pair = stands_at(text, offset + 6, '\\') && stands_at(text, offset + 7, 'u');
    uint32_t low = has_pair ? hex_value(text, offset + 8) : UINT32_MAX;
    if (low == UINT32_MAX || !is_low_half(low)) {
        return 0;
    }
    *code_point = 0x10000u + ((value - 0xD800u) << 10) + (low - 0xDC00u);
    return 12;
}

/* Stands on the opening quote. */
static bool pass_text(struct nj_json_walk *walk)
{
    size_t opening = walk->offset++;
    while (walk->offset < walk->text.length_bytes) {
        unsigned char character = (unsigned char)peek(walk);
        uint32_t code_point = 0;
        if (character == '"') {
            walk->offset++;
            return true;
        }
        if (character < 0x20) {
            return nj_json_walk_fail(walk, "control character in a string");
        }
        size_t length =
            character == '\\' ? escape_length(walk->text, walk->offset, &code_point) : 1;
        if (length == 0) {
            return nj_json_walk_fail(walk, "escape that names no character");
        }
        walk->offset += length;
    }
    walk->offset = opening;
    return nj_json_walk_fail(walk, "string that never ends");
}

static bool pass_number(struct nj_json_walk *walk)
{
    size_t length = nj_json_walk_number_length(rest(walk));
    if (length == 0) {
        return nj_json_walk_fail(walk, "value expected");
    }
    walk->offset += length;
    return true;
}

static bool pass_word(struct nj_json_walk *walk)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i]);
        if (rest(walk).length_bytes >= length &&
            memcmp(rest(walk).data, words[i], length) == 0) {
            walk->offset += length;
            return true;
        }
    }
    return nj_json_walk_fail(walk, "value expected");
}

static bool pass_scalar(struct nj_json_walk *walk)
{
    char character = peek(walk);
    if (character == '"') {
        return pass_text(walk);
    }
    if (character == '-' || is_digit(character)) {
        return pass_number(walk);
    }
    return pass_word(walk);
}

static bool pass_name(struct nj_json_walk *walk)
{
    nj_json_walk_space(walk);
    if (peek(walk) != '"') {
        return nj_json_walk_fail(walk, "name in double quotes expected");
    }
    if (!pass_text(walk)) {
        return false;
    }
    return nj_json_walk_take(walk, ':') || nj_json_walk_fail(walk, "':' expected");
}

/* Open brackets, outermost first. */
struct brackets {
    char closing[NJ_JSON_WALK_DEPTH_LIMIT];
    size_t depth;
};

static bool open_bracket(struct nj_json_walk *walk, struct brackets *brackets)
{
    if (brackets->depth == NJ_JSON_WALK_DEPTH_LIMIT) {
        return nj_json_walk_fail(walk, "nested deeper than 64 levels");
    }
    brackets->closing[brackets->depth++] = peek(walk) == '{' ? '}' : ']';
    walk->offset++;
    return true;
}

/* Behind a value: closes what ends here, or passes the comma to the next value. */
static bool close_brackets(struct nj_json_walk *walk, struct brackets *brackets)
{
    while (brackets->depth > 0) {
        char closing = brackets->closing[brackets->depth - 1];
        if (nj_json_walk_take(walk, closing)) {
            brackets->depth--;
            continue;
        }
        if (!nj_json_walk_take(walk, ',')) {
            return nj_json_walk_fail(walk, closing == '}' ? "',' or '}' expected"
                                                          : "',' or ']' expected");
        }
        return closing == ']' || pass_name(walk);
    }
    return true;
}

/* Iterative: hostile text must not decide how deep our stack goes. */
static bool pass_value(struct nj_json_walk *walk)
{
    struct brackets brackets = {.depth = 0};
    do {
        nj_json_walk_space(walk);
        char character = peek(walk);
        if (character == '{' || character == '[') {
            if (!open_bracket(walk, &brackets)) {
                return false;
            }
            if (nj_json_walk_take(walk, character == '{' ? '}' : ']')) {
                brackets.depth--;
            } else if (character == '[' || pass_name(walk)) {
                continue;
            }
        } else if (!pass_scalar(walk)) {
            return false;
        }
        if (walk->problem != NULL || !close_brackets(walk, &brackets)) {
            return false;
        }
    } while (brackets.depth > 0);
    return true;
}

static enum nj_json_walk_kind kind_of(char first)
{
    switch (first) {
    case '"':
        return NJ_JSON_WALK_TEXT;
    case '{':
        return NJ_JSON_WALK_OBJECT;
    case '[':
        return NJ_JSON_WALK_LIST;
    case 't':
    case 'f':
    case 'n':
        return NJ_JSON_WALK_WORD;
    default:
        return NJ_JSON_WALK_NUMBER;
    }
}

bool nj_json_walk_value(struct nj_json_walk *walk, enum nj_json_walk_kind *kind,
                        struct nj_text *raw)
{
    if (walk->problem != NULL) {
        return false;
    }
    nj_json_walk_space(walk);
    size_t begin = walk->offset;
    *kind = kind_of(peek(walk));
    if (!pass_value(walk)) {
        return false;
    }
    *raw = (struct nj_text){walk->text.data + begin, walk->offset - begin};
    return true;
}

bool nj_json_walk_member(struct nj_json_walk *walk, bool is_first, bool *has_member,
                         struct nj_text *raw_name, enum nj_json_walk_kind *kind,
                         struct nj_text *raw)
{
    *has_member = false;
    if (nj_json_walk_take(walk, '}')) {
        return true;
    }
    if (!is_first && !nj_json_walk_take(walk, ',')) {
        return nj_json_walk_fail(walk, "',' or '}' expected");
    }
    nj_json_walk_space(walk);
    size_t begin = walk->offset;
    if (walk->problem != NULL || peek(walk) != '"') {
        return nj_json_walk_fail(walk, "name in double quotes expected");
    }
    if (!pass_text(walk)) {
        return false;
    }
    *raw_name = (struct nj_text){walk->text.data + begin, walk->offset - begin};
    if (!nj_json_walk_take(walk, ':')) {
        return nj_json_walk_fail(walk, "':' expected");
    }
    *has_member = true;
    return nj_json_walk_value(walk, kind, raw);
}

struct nj_text nj_json_walk_decode(struct nj_text raw, struct nj_arena *arena)
{
    struct nj_text inner = {raw.data + 1, raw.length_bytes - 2};
    if (inner.length_bytes == 0 || memchr(inner.data, '\\', inner.length_bytes) == NULL) {
        return inner;
    }
    char *decoded = nj_arena_take(arena, inner.length_bytes); /* no escape is shorter */
    size_t length = 0;
    for (size_t at = 0; decoded != NULL && at < inner.length_bytes;) {
        uint32_t code_point = 0;
        if (inner.data[at] != '\\') {
            decoded[length++] = inner.data[at++];
            continue;
        }
        at += escape_length(inner, at, &code_point);
        length += nj_text_put(code_point, decoded + length);
    }
    return (struct nj_text){decoded, length};
}

struct nj_text nj_json_walk_compact(struct nj_text raw, struct nj_arena *arena)
{
    char *compact = nj_arena_take(arena, raw.length_bytes);
    size_t length = 0;
    bool in_text = false;
    for (size_t at = 0; compact != NULL && at < raw.length_bytes; at++) {
        char character = raw.data[at];
        if (!in_text && is_space(character)) {
            continue;
        }
        compact[length++] = character;
        if (in_text && character == '\\') {
            compact[length++] = raw.data[++at];
        } else if (character == '"') {
            in_text = !in_text;
        }
    }
    return (struct nj_text){compact, length};
}

struct nj_text nj_json_walk_printed(enum nj_json_walk_kind kind, struct nj_text raw,
                                    struct nj_arena *arena)
{
    switch (kind) {
    case NJ_JSON_WALK_TEXT:
        return nj_json_walk_decode(raw, arena);
    case NJ_JSON_WALK_OBJECT:
    case NJ_JSON_WALK_LIST:
        return nj_json_walk_compact(raw, arena);
    case NJ_JSON_WALK_NUMBER:
    case NJ_JSON_WALK_WORD:
        break;
    }
    return raw;
}
