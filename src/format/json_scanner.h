/* Pulls tokens out of a JSON text that is too large for a parser that builds a tree.
 *
 * The header of a safetensors file and the index of a sharded model are flat lists of up to
 * half a million entries. This scanner walks them in one pass over the bytes: no recursion, no
 * allocation, no copy. It accepts exactly JSON (RFC 8259) in UTF-8, and says at which byte the
 * text stops being that.
 *
 * A caller walks an object so:
 *
 *     struct nj_json_walk walk;
 *     status = nj_json_scan_open_object(&scanner, &walk, err);
 *     while (status == NJ_OK) {
 *         status = nj_json_scan_member(&scanner, &walk, &key, err);
 *         if (status != NJ_OK || walk.is_done) { break; }
 *         ... scan the value ...
 *     }
 *
 * Errors are NJ_E_WEIGHTS: everything read here describes weights.
 *
 * Threads: one owner.
 */
#ifndef NJ_FORMAT_JSON_SCANNER_H
#define NJ_FORMAT_JSON_SCANNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

enum { NJ_JSON_SCAN_DEPTH_LIMIT = 64 };

struct nj_json_scanner {
    struct nj_text text;
    size_t offset; /* of the next unread byte */
    uint64_t
        origin_bytes; /* where the text begins in its file, so that errors name file offsets */
};

/* The state of a walk over one object or array. */
struct nj_json_walk {
    bool is_first;
    bool is_done; /* the closing bracket was read */
};

/* A string as it stands in the text, without its quotes: valid UTF-8, valid escapes. */
struct nj_json_raw_string {
    struct nj_text raw;
    bool has_escapes;
};

void nj_json_scanner_init(struct nj_json_scanner *scanner, struct nj_text text,
                          uint64_t origin_bytes);

/* Offset in the file of the next unread byte. */
uint64_t nj_json_scan_position(const struct nj_json_scanner *scanner);

/* Skips white space and gives the byte behind it without consuming it; -1 at the end. */
int nj_json_scan_peek(struct nj_json_scanner *scanner);

enum nj_status nj_json_scan_open_object(struct nj_json_scanner *scanner,
                                        struct nj_json_walk *walk, struct nj_error *err);
/* The next key, up to and with its colon; or `walk->is_done`. */
enum nj_status nj_json_scan_member(struct nj_json_scanner *scanner, struct nj_json_walk *walk,
                                   struct nj_json_raw_string *key, struct nj_error *err);

enum nj_status nj_json_scan_open_array(struct nj_json_scanner *scanner,
                                       struct nj_json_walk *walk, struct nj_error *err);
/* Stands before the next item afterwards; or `walk->is_done`. */
enum nj_status nj_json_scan_item(struct nj_json_scanner *scanner, struct nj_json_walk *walk,
                                 struct nj_error *err);

enum nj_status nj_json_scan_string(struct nj_json_scanner *scanner,
                                   struct nj_json_raw_string *string, struct nj_error *err);

/* A whole number from 0 to UINT64_MAX without sign, fraction, exponent or leading zero. */
enum nj_status nj_json_scan_unsigned(struct nj_json_scanner *scanner, uint64_t *value,
                                     struct nj_error *err);

/* Passes over one value of any kind, at most NJ_JSON_SCAN_DEPTH_LIMIT levels deep. */
enum nj_status nj_json_scan_skip(struct nj_json_scanner *scanner, struct nj_error *err);

/* Only white space may be left. */
enum nj_status nj_json_scan_end(struct nj_json_scanner *scanner, struct nj_error *err);

/* The string's own text: the raw view where nothing is escaped, else a copy in the arena.
 * U+0000 and unpaired surrogates are refused: names are C strings in UTF-8. */
enum nj_status nj_json_unescape(const struct nj_json_raw_string *string, struct nj_arena *arena,
                                struct nj_text *text, struct nj_error *err);

/* Is the string `terminated` (which needs no escaping) spelt without escapes? */
bool nj_json_raw_equals(const struct nj_json_raw_string *string, const char *terminated);

#endif
