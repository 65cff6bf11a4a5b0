/* Texts with {{variables}} in place, taken apart once and filled in for every item.
 *
 *     {{name}}       the value of `name`, verbatim, once; spaces inside the braces are allowed
 *     {{user.city}}  a member of the object `user` of a JSONL row
 *     {{{{           two literal braces
 *
 * Nothing is escaped and nothing expanded twice: a row that contains {{x}} stays as it is.
 */
#ifndef NJ_JOB_TEMPLATE_H
#define NJ_JOB_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/text.h"
#include "job/diagnostics.h"

struct nj_template_part {
    bool is_variable;
    struct nj_text text;   /* literal text, or the variable's name */
    struct nj_place place; /* of the variable's braces */
};

struct nj_template {
    const struct nj_template_part *parts;
    size_t n_parts;
};

/* Where a text stands in its file, so that a variable in the middle of a long prompt can be
 * pointed at. */
struct nj_text_origin {
    struct nj_text source;
    size_t begin_byte;
    size_t end_byte;
    struct nj_place place;
};

/* Parts point into `text`. False when memory ran out; complaints go to `diagnostics`. */
bool nj_template_compile(struct nj_text text, const struct nj_text_origin *origin,
                         struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                         struct nj_template *compiled);

/* What variables stand for. `find` returns false for an unknown name. */
struct nj_template_values {
    void *context;
    bool (*find)(void *context, struct nj_text name, struct nj_text *value);
};

/* NJ_E_NOT_FOUND with `*unknown` set for an unknown variable, NJ_E_MEMORY. */
enum nj_status nj_template_render(const struct nj_template *compiled,
                                  const struct nj_template_values *values,
                                  struct nj_arena *arena, struct nj_text *rendered,
                                  const struct nj_template_part **unknown);

#endif
