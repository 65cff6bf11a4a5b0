/* Walks JSON text without building a document, so that numbers keep the text they were written
 * with (a library gives 1.10 back as 1.1) and a long row costs no more memory than its text.
 *
 * Strict RFC 8259, at most 64 levels deep. Escaped halves of surrogate pairs and \u0000 are
 * refused: no text of ours may contain them.
 */
#ifndef NJ_JOB_JSON_WALK_H
#define NJ_JOB_JSON_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/text.h"

enum { NJ_JSON_WALK_DEPTH_LIMIT = 64 };

enum nj_json_walk_kind {
    NJ_JSON_WALK_TEXT,
    NJ_JSON_WALK_NUMBER,
    NJ_JSON_WALK_WORD, /* true, false, null */
    NJ_JSON_WALK_OBJECT,
    NJ_JSON_WALK_LIST
};

/* `problem` is NULL until something is wrong at `offset`; then every call fails. */
struct nj_json_walk {
    struct nj_text text;
    size_t offset;
    const char *problem;
};

void nj_json_walk_init(struct nj_json_walk *walk, struct nj_text text);

/* Passes white space. */
void nj_json_walk_space(struct nj_json_walk *walk);

/* Passes `character` behind white space; false, and nothing passed, when another stands there.
 */
bool nj_json_walk_take(struct nj_json_walk *walk, char character);

/* Fails at the present place unless something failed before. Returns false. */
bool nj_json_walk_fail(struct nj_json_walk *walk, const char *problem);

/* Passes one value behind white space. `raw` is its source text. */
bool nj_json_walk_value(struct nj_json_walk *walk, enum nj_json_walk_kind *kind,
                        struct nj_text *raw);

/* Passes one member of an object, whose `{` has been taken: name and value. `*has_member` is
 * false when the object ended instead. `is_first` for the first call. */
bool nj_json_walk_member(struct nj_json_walk *walk, bool is_first, bool *has_member,
                         struct nj_text *raw_name, enum nj_json_walk_kind *kind,
                         struct nj_text *raw);

/* The text that a walked string stands for. NULL data when memory ran out. */
struct nj_text nj_json_walk_decode(struct nj_text raw, struct nj_arena *arena);

/* The walked value without white space between its parts. */
struct nj_text nj_json_walk_compact(struct nj_text raw, struct nj_arena *arena);

/* What a template inserts for a value: strings decoded, numbers and words as written, objects
 * and lists compact. NULL data when memory ran out. */
struct nj_text nj_json_walk_printed(enum nj_json_walk_kind kind, struct nj_text raw,
                                    struct nj_arena *arena);

/* The length of the JSON number that `text` begins with; 0 when it begins with none. */
size_t nj_json_walk_number_length(struct nj_text text);

#endif
