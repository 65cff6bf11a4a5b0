/* What a name in {{braces}} stands for: the matrix's value, else the row's column, else the
 * prompt's variable, else the job's, else a built-in. */
#ifndef NJ_JOB_VARIABLES_H
#define NJ_JOB_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "job/diagnostics.h"
#include "job/spec.h"

/* By the bytes of the name, as all lists of variables here are sorted. */
void nj_variables_sort(struct nj_variable *variables, size_t n_variables);

/* True for the names that the program itself gives a value. */
bool nj_variable_is_built_in(struct nj_text name);

struct nj_variable_list {
    const struct nj_variable *items; /* sorted */
    size_t n_items;
};

/* Built-ins without data are unknown, as `_id` is inside the id itself. */
struct nj_scope {
    struct nj_variable_list matrix, row, prompt, job;
    struct nj_text index_text;        /* {{_index}} */
    struct nj_text id_text;           /* {{_id}} */
    const struct nj_place *row_place; /* named in complaints; NULL when it adds nothing */
    struct nj_arena *arena;           /* for values that must be decoded */
    bool out_of_memory;
};

/* For templates; `context` is a struct nj_scope. */
bool nj_scope_find(void *context, struct nj_text name, struct nj_text *value);

/* All variables in force, each name once, sorted. NULL when memory ran out. */
struct nj_variable *nj_scope_flatten(struct nj_scope *scope, size_t *n_variables);

#endif
