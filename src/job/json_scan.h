/* Walks JSON text without building a document, so that numbers keep the text they were written
 * with (a library gives 1.10 back as 1.1) and a long row costs no more memory than its text.
 *
 * Strict RFC 8259, at most 64 levels deep. Escaped halves of surrogate pairs and \u0000 are
 * refused: no text of ours may contain them.
 */
#ifndef NJ_JOB_JSON_SCAN_H
#define NJ_JOB_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/text.h"

enum { NJ_JSON_SCAN_DEPTH_LIMIT = 64 };

enum nj_json_scan_kind {
    NJ_JSON_SCAN_TEXT,
    NJ_JSON_SCAN_NUMBER,
    NJ_JSON_SCAN_WORD, /* true, false, null */
    NJ_JSON_SCAN_OBJECT,
    NJ_JSON_SCAN_LIST
};

/* `problem` is NULL until something is wrong at `offset`; then every call fails. */
struct nj_json_scan {
    struct nj_text text;
    size_t offset;
    const char *problem;
};

void nj_json_scan_init(struct nj_json_scan *scan, struct nj_text text);

/* Passes white space. */
void nj_json_scan_space(struct nj_json_scan *scan);

/* Passes `character` behind white space; false, and nothing passed, when another stands there.
 */
bool nj_json_scan_take(struct nj_json_scan *scan, char character);

/* Fails at the present place unless something failed before. Returns false. */
bool nj_json_scan_fail(struct nj_json_scan *scan, const char *problem);

/* Passes one value behind white space. `raw` is its source text. */
bool nj_json_scan_value(struct nj_json_scan *scan, enum nj_json_scan_kind *kind,
                        struct nj_text *raw);

/* Passes one member of an object, whose `{` has been taken: name and value. `*has_member` is
 * false when the object ended instead. `is_first` for the first call. */
bool nj_json_scan_member(struct nj_json_scan *scan, bool is_first, bool *has_member,
                         struct nj_text *raw_name, enum nj_json_scan_kind *kind,
                         struct nj_text *raw);

/* The text that a scanned string stands for. NULL data when memory ran out. */
struct nj_text nj_json_scan_decode(struct nj_text raw, struct nj_arena *arena);

/* The scanned value without white space between its parts. */
struct nj_text nj_json_scan_compact(struct nj_text raw, struct nj_arena *arena);

/* What a template inserts for a value: strings decoded, numbers and words as written, objects
 * and lists compact. NULL data when memory ran out. */
struct nj_text nj_json_scan_printed(enum nj_json_scan_kind kind, struct nj_text raw,
                                    struct nj_arena *arena);

/* The length of the JSON number that `text` begins with; 0 when it begins with none. */
size_t nj_json_scan_number_length(struct nj_text text);

#endif
