/* jansson behind our spans and errors; no other file includes it.
 *
 * Reading: a document is parsed whole, with a size and a depth limit, duplicate keys refused.
 * Values are borrowed from the document. Writing: a small appender that cannot produce invalid
 * JSON text (strings are escaped, invalid UTF-8 is replaced by U+FFFD) and whose key order is
 * the order of calls, so that equal inputs give equal bytes.
 *
 * Threads: one owner.
 */
#ifndef NJ_BASE_JSON_H
#define NJ_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

enum {
    NJ_JSON_LIMIT_BYTES = 64 * 1024 * 1024, /* one document; larger ones are refused */
    NJ_JSON_DEPTH_LIMIT = 64
};

struct nj_json;       /* a parsed document (owns its values) */
struct nj_json_value; /* one value inside it: borrowed, valid until the document is destroyed */

enum nj_json_type {
    NJ_JSON_ABSENT, /* what looking up a missing key gives */
    NJ_JSON_NULL,
    NJ_JSON_BOOLEAN,
    NJ_JSON_INTEGER,
    NJ_JSON_REAL,
    NJ_JSON_STRING,
    NJ_JSON_ARRAY,
    NJ_JSON_OBJECT
};

/* Parses `text`; `name` appears in errors ("config.json:12:3: ..."). NJ_E_INPUT for bad JSON, a
 * duplicate key, a limit passed, or an integer that int64_t cannot hold. Strings may hold NUL
 * bytes. On success the caller owns `*document`. */
enum nj_status nj_json_parse(struct nj_text text, const char *name, struct nj_json **document,
                             struct nj_error *err);
void nj_json_destroy(struct nj_json *document);
const struct nj_json_value *nj_json_root(const struct nj_json *document);

/* All take NULL as "absent", so that look-ups chain. `get` walks the members. */
enum nj_json_type nj_json_type_of(const struct nj_json_value *value);
const struct nj_json_value *nj_json_get(const struct nj_json_value *object, const char *key);
size_t nj_json_count(const struct nj_json_value *array_or_object);
const struct nj_json_value *nj_json_at(const struct nj_json_value *array, size_t index);
/* The `index`-th member in file order; key is borrowed. NULL past the end. */
const struct nj_json_value *nj_json_member(const struct nj_json_value *object, size_t index,
                                           struct nj_text *key);

/* False (and the out-parameter untouched) when the value has another type. */
bool nj_json_as_integer(const struct nj_json_value *value, int64_t *out);
bool nj_json_as_number(const struct nj_json_value *value, double *out); /* integer or real */
bool nj_json_as_boolean(const struct nj_json_value *value, bool *out);
bool nj_json_as_text(const struct nj_json_value *value, struct nj_text *out);

/* A growing JSON text. After a failed allocation every call does nothing and finish reports it.
 */
struct nj_json_writer {
    char *data;
    size_t length_bytes;
    size_t capacity_bytes;
    unsigned depth;
    bool needs_comma;
    bool failed;
};

void nj_json_writer_init(struct nj_json_writer *writer);
void nj_json_writer_deinit(struct nj_json_writer *writer);
void nj_json_writer_reset(struct nj_json_writer *writer); /* keeps the memory */

void nj_json_begin_object(struct nj_json_writer *writer);
void nj_json_end_object(struct nj_json_writer *writer);
void nj_json_begin_array(struct nj_json_writer *writer);
void nj_json_end_array(struct nj_json_writer *writer);
void nj_json_key(struct nj_json_writer *writer, const char *key);
void nj_json_write_key(struct nj_json_writer *writer, struct nj_text key);
void nj_json_write_null(struct nj_json_writer *writer);
void nj_json_write_boolean(struct nj_json_writer *writer, bool value);
void nj_json_write_integer(struct nj_json_writer *writer, int64_t value);
void nj_json_write_unsigned(struct nj_json_writer *writer, uint64_t value);
/* The shortest decimal that reads back as the same real ("0.7", "1.0"); not finite becomes
 * null.
 */
void nj_json_write_number(struct nj_json_writer *writer, double value);
void nj_json_write_text(struct nj_json_writer *writer, struct nj_text value);
void nj_json_write_string(struct nj_json_writer *writer, const char *value);
/* A copy of a parsed value, members in file order. */
void nj_json_write_value(struct nj_json_writer *writer, const struct nj_json_value *value);
/* For files of one document per line. */
void nj_json_write_newline(struct nj_json_writer *writer);

/* The text so far, valid until the next call; NJ_E_MEMORY if any call before ran out. */
enum nj_status nj_json_finish(const struct nj_json_writer *writer, struct nj_text *text,
                              struct nj_error *err);

#endif
