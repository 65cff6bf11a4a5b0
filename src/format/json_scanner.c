#include "format/json_scanner.h"

#include <inttypes.h>
#include <string.h>

void nj_json_scanner_init(struct nj_json_scanner *scanner, struct nj_text text,
                          uint64_t origin_bytes)
{
    *scanner = (struct nj_json_scanner){.text = text, .origin_bytes = origin_bytes};
}

uint64_t nj_json_scan_position(const struct nj_json_scanner *scanner)
{
    return scanner->origin_bytes + scanner->offset;
}

/* The unread byte `ahead` places further on, or -1. */
static int byte_at(const struct nj_json_scanner *scanner, size_t ahead)
{
    if (ahead >= scanner->text.length_bytes - scanner->offset) {
        return -1;
    }
    return (unsigned char)scanner->text.data[scanner->offset + ahead];
}

static enum nj_status fail_here(const struct nj_json_scanner *scanner, const char *wanted,
                                struct nj_error *err)
{
    int found = byte_at(scanner, 0);
    uint64_t position = nj_json_scan_position(scanner);
    if (found < 0) {
        return nj_fail(err, NJ_E_WEIGHTS, "byte %" PRIu64 ": wanted %s, the text ends",
                       position, wanted);
    }
    return nj_fail(err, NJ_E_WEIGHTS, "byte %" PRIu64 ": wanted %s, found byte 0x%02x",
                   position, wanted, (unsigned)found);
}

int nj_json_scan_peek(struct nj_json_scanner *scanner)
{
    int next = byte_at(scanner, 0);
    while (next == ' ' || next == '\n' || next == '\r' || next == '\t') {
        scanner->offset++;
        next = byte_at(scanner, 0);
    }
    return next;
}

static enum nj_status expect(struct nj_json_scanner *scanner, int wanted,
                             const char *description, struct nj_error *err)
{
    if (nj_json_scan_peek(scanner) != wanted) {
        return fail_here(scanner, description, err);
    }
    scanner->offset++;
    return NJ_OK;
}

/* --- objects and arrays --- */

static const struct nj_json_walk walk_at_the_beginning = {.is_first = true, .is_done = false};

enum nj_status nj_json_scan_open_object(struct nj_json_scanner *scanner,
                                        struct nj_json_walk *walk, struct nj_error *err)
{
    *walk = walk_at_the_beginning;
    return expect(scanner, '{', "an object", err);
}

enum nj_status nj_json_scan_open_array(struct nj_json_scanner *scanner,
                                       struct nj_json_walk *walk, struct nj_error *err)
{
    *walk = walk_at_the_beginning;
    return expect(scanner, '[', "an array", err);
}

/* Passes the comma between two members, or the closing bracket. */
static enum nj_status step(struct nj_json_scanner *scanner, struct nj_json_walk *walk,
                           int closing, const char *description, struct nj_error *err)
{
    if (nj_json_scan_peek(scanner) == closing) {
        scanner->offset++;
        walk->is_done = true;
        return NJ_OK;
    }
    if (walk->is_first) {
        walk->is_first = false;
        return NJ_OK;
    }
    return expect(scanner, ',', description, err);
}

enum nj_status nj_json_scan_member(struct nj_json_scanner *scanner, struct nj_json_walk *walk,
                                   struct nj_json_raw_string *key, struct nj_error *err)
{
    enum nj_status status = step(scanner, walk, '}', "',' or '}'", err);
    if (status != NJ_OK || walk->is_done) {
        return status;
    }
    status = nj_json_scan_string(scanner, key, err);
    if (status != NJ_OK) {
        return status;
    }
    return expect(scanner, ':', "':'", err);
}

enum nj_status nj_json_scan_item(struct nj_json_scanner *scanner, struct nj_json_walk *walk,
                                 struct nj_error *err)
{
    return step(scanner, walk, ']', "',' or ']'", err);
}

/* --- strings --- */

static int hex_value(int byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    if (byte >= 'a' && byte <= 'f') {
        return byte - 'a' + 10;
    }
    if (byte >= 'A' && byte <= 'F') {
        return byte - 'A' + 10;
    }
    return -1;
}

/* Bytes of the escape at the backslash where the scanner stands; 0 when it is none. */
static size_t escape_bytes(const struct nj_json_scanner *scanner)
{
    int kind = byte_at(scanner, 1);
    if (kind > 0 && strchr("\"\\/bfnrt", kind) != NULL) {
        return 2;
    }
    if (kind != 'u') {
        return 0;
    }
    for (size_t i = 2; i < 6; i++) {
        if (hex_value(byte_at(scanner, i)) < 0) {
            return 0;
        }
    }
    return 6;
}

/* Moves over characters that stand for themselves, the common case. */
static void pass_plain_ascii(struct nj_json_scanner *scanner)
{
    const unsigned char *data = (const unsigned char *)scanner->text.data;
    size_t offset = scanner->offset;
    while (offset < scanner->text.length_bytes && data[offset] >= 0x20 && data[offset] < 0x80 &&
           data[offset] != '"' && data[offset] != '\\') {
        offset++;
    }
    scanner->offset = offset;
}

static enum nj_status pass_escape(struct nj_json_scanner *scanner, struct nj_error *err)
{
    size_t length = escape_bytes(scanner);
    if (length == 0) {
        return fail_here(scanner, "a valid escape", err);
    }
    scanner->offset += length;
    return NJ_OK;
}

/* At a byte that is not plain ASCII: the lead of a character, or something that may not be. */
static enum nj_status pass_character(struct nj_json_scanner *scanner, struct nj_error *err)
{
    struct nj_text rest = {scanner->text.data + scanner->offset,
                           scanner->text.length_bytes - scanner->offset};
    if (rest.length_bytes > 4) {
        rest.length_bytes = 4;
    }
    bool is_control = rest.length_bytes > 0 && (unsigned char)rest.data[0] < 0x20;
    size_t begin = 0;
    if (rest.length_bytes == 0 || is_control || nj_text_valid_prefix(rest) == 0) {
        return fail_here(scanner, "a string in UTF-8", err);
    }
    (void)nj_text_next(rest, &begin);
    scanner->offset += begin;
    return NJ_OK;
}

enum nj_status nj_json_scan_string(struct nj_json_scanner *scanner,
                                   struct nj_json_raw_string *string, struct nj_error *err)
{
    enum nj_status status = expect(scanner, '"', "a string", err);
    size_t begin = scanner->offset;
    bool has_escapes = false;
    while (status == NJ_OK) {
        pass_plain_ascii(scanner);
        int next = byte_at(scanner, 0);
        if (next == '"') {
            break;
        }
        if (next == '\\') {
            has_escapes = true;
            status = pass_escape(scanner, err);
        } else {
            status = pass_character(scanner, err);
        }
    }
    if (status != NJ_OK) {
        return status;
    }
    string->raw.data = scanner->text.data + begin;
    string->raw.length_bytes = scanner->offset - begin;
    string->has_escapes = has_escapes;
    scanner->offset++;
    return NJ_OK;
}

bool nj_json_raw_equals(const struct nj_json_raw_string *string, const char *terminated)
{
    return !string->has_escapes && nj_text_equals(string->raw, terminated);
}

static uint32_t hex_unit(const char *digits)
{
    uint32_t unit = 0;
    for (size_t i = 0; i < 4; i++) {
        unit = unit << 4 | (uint32_t)hex_value((unsigned char)digits[i]);
    }
    return unit;
}

/* Decodes the \u escape at `raw` (whose form was checked), with its second half where it is a
 * pair. Gives the bytes consumed, 0 for a surrogate without its other half. */
static size_t decode_unicode_escape(const char *raw, size_t left_bytes, uint32_t *code_point)
{
    uint32_t unit = hex_unit(raw + 2);
    if (unit < 0xD800 || unit > 0xDFFF) {
        *code_point = unit;
        return 6;
    }
    if (unit > 0xDBFF || left_bytes < 12 || raw[6] != '\\' || raw[7] != 'u') {
        return 0;
    }
    uint32_t low = hex_unit(raw + 8);
    if (low < 0xDC00 || low > 0xDFFF) {
        return 0;
    }
    *code_point = 0x10000 + ((unit - 0xD800) << 10 | (low - 0xDC00));
    return 12;
}

static size_t decode_escape(const char *raw, size_t left_bytes, uint32_t *code_point)
{
    static const char kinds[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (raw[1] == 'u') {
        return decode_unicode_escape(raw, left_bytes, code_point);
    }
    *code_point = (unsigned char)meanings[strchr(kinds, raw[1]) - kinds];
    return 2;
}

enum nj_status nj_json_unescape(const struct nj_json_raw_string *string, struct nj_arena *arena,
                                struct nj_text *text, struct nj_error *err)
{
    if (!string->has_escapes) {
        *text = string->raw;
        return NJ_OK;
    }
    const char *raw = string->raw.data;
    size_t length = string->raw.length_bytes;
    char *copy =
        nj_arena_take(arena, length); /* an escape is never shorter than its character */
    if (copy == NULL) {
        return nj_arena_fail(arena, "copy a name", err);
    }
    size_t written = 0;
    for (size_t i = 0; i < length;) {
        if (raw[i] != '\\') {
            copy[written++] = raw[i++];
            continue;
        }
        uint32_t code_point = 0;
        size_t consumed = decode_escape(raw + i, length - i, &code_point);
        if (consumed == 0 || code_point == 0) {
            return nj_fail(err, NJ_E_WEIGHTS, "a name holds %s",
                           consumed == 0 ? "half a surrogate pair" : "U+0000");
        }
        char encoded[4];
        size_t encoded_bytes = nj_text_put(code_point, encoded);
        memcpy(copy + written, encoded, encoded_bytes);
        written += encoded_bytes;
        i += consumed;
    }
    text->data = copy;
    text->length_bytes = written;
    return NJ_OK;
}

/* --- numbers --- */

static bool is_digit(int byte)
{
    return byte >= '0' && byte <= '9';
}

enum nj_status nj_json_scan_unsigned(struct nj_json_scanner *scanner, uint64_t *value,
                                     struct nj_error *err)
{
    static const char wanted[] = "a whole number below 2^64";
    int next = nj_json_scan_peek(scanner);
    if (!is_digit(next) || (next == '0' && is_digit(byte_at(scanner, 1)))) {
        return fail_here(scanner, wanted, err);
    }
    uint64_t result = 0;
    for (; is_digit(next); next = byte_at(scanner, 0)) {
        uint64_t digit = (uint64_t)(next - '0');
        if (result > (UINT64_MAX - digit) / 10) {
            return fail_here(scanner, wanted, err);
        }
        result = 10 * result + digit;
        scanner->offset++;
    }
    if (next == '.' || next == 'e' || next == 'E') {
        return fail_here(scanner, wanted, err);
    }
    *value = result;
    return NJ_OK;
}

static enum nj_status skip_digits(struct nj_json_scanner *scanner, struct nj_error *err)
{
    if (!is_digit(byte_at(scanner, 0))) {
        return fail_here(scanner, "a digit", err);
    }
    while (is_digit(byte_at(scanner, 0))) {
        scanner->offset++;
    }
    return NJ_OK;
}

static enum nj_status skip_number(struct nj_json_scanner *scanner, struct nj_error *err)
{
    if (byte_at(scanner, 0) == '-') {
        scanner->offset++;
    }
    if (byte_at(scanner, 0) == '0' && is_digit(byte_at(scanner, 1))) {
        return fail_here(scanner, "a number without leading zeros", err);
    }
    enum nj_status status = skip_digits(scanner, err);
    if (status == NJ_OK && byte_at(scanner, 0) == '.') {
        scanner->offset++;
        status = skip_digits(scanner, err);
    }
    if (status == NJ_OK && (byte_at(scanner, 0) == 'e' || byte_at(scanner, 0) == 'E')) {
        scanner->offset++;
        if (byte_at(scanner, 0) == '+' || byte_at(scanner, 0) == '-') {
            scanner->offset++;
        }
        status = skip_digits(scanner, err);
    }
    return status;
}

/* --- any value --- */

static enum nj_status skip_word(struct nj_json_scanner *scanner, struct nj_error *err)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i]);
        if (scanner->text.length_bytes - scanner->offset >= length &&
            memcmp(scanner->text.data + scanner->offset, words[i], length) == 0) {
            scanner->offset += length;
            return NJ_OK;
        }
    }
    return fail_here(scanner, "a value", err);
}

static enum nj_status skip_scalar(struct nj_json_scanner *scanner, struct nj_error *err)
{
    struct nj_json_raw_string string;
    int next = nj_json_scan_peek(scanner);
    if (next == '"') {
        return nj_json_scan_string(scanner, &string, err);
    }
    if (next == '-' || is_digit(next)) {
        return skip_number(scanner, err);
    }
    return skip_word(scanner, err);
}

/* The objects and arrays that are open, outermost first. */
struct open_walks {
    struct nj_json_walk walks[NJ_JSON_SCAN_DEPTH_LIMIT];
    bool is_object[NJ_JSON_SCAN_DEPTH_LIMIT];
    unsigned depth;
};

/* Passes a scalar, or opens one more level. */
static enum nj_status skip_or_open(struct nj_json_scanner *scanner, struct open_walks *open,
                                   struct nj_error *err)
{
    int next = nj_json_scan_peek(scanner);
    if (next != '{' && next != '[') {
        return skip_scalar(scanner, err);
    }
    if (open->depth == NJ_JSON_SCAN_DEPTH_LIMIT) {
        return fail_here(scanner, "at most 64 levels", err);
    }
    open->is_object[open->depth] = next == '{';
    struct nj_json_walk *walk = &open->walks[open->depth++];
    return next == '{' ? nj_json_scan_open_object(scanner, walk, err)
                       : nj_json_scan_open_array(scanner, walk, err);
}

enum nj_status nj_json_scan_skip(struct nj_json_scanner *scanner, struct nj_error *err)
{
    struct open_walks open = {.depth = 0};
    enum nj_status status = skip_or_open(scanner, &open, err);
    while (status == NJ_OK && open.depth > 0) {
        struct nj_json_walk *walk = &open.walks[open.depth - 1];
        struct nj_json_raw_string key;
        status = open.is_object[open.depth - 1] ? nj_json_scan_member(scanner, walk, &key, err)
                                                : nj_json_scan_item(scanner, walk, err);
        if (status == NJ_OK && walk->is_done) {
            open.depth--;
        } else if (status == NJ_OK) {
            status = skip_or_open(scanner, &open, err);
        }
    }
    return status;
}

enum nj_status nj_json_scan_end(struct nj_json_scanner *scanner, struct nj_error *err)
{
    if (nj_json_scan_peek(scanner) >= 0) {
        return fail_here(scanner, "the end of the text", err);
    }
    return NJ_OK;
}
