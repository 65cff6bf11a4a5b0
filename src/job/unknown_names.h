/* Complaints about names in templates that stand for nothing.
 *
 * "unknown variable 'x'", with the nearest and all known names. Where rows may differ, a name
 * is looked for in each of them, and a place in a template is told once with how many rows it
 * is unknown for.
 */
#ifndef NJ_JOB_UNKNOWN_NAMES_H
#define NJ_JOB_UNKNOWN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "job/diagnostics.h"
#include "job/spec.h"
#include "job/template.h"
#include "job/variables.h"

/* At once, naming the scope's row. */
void nj_unknown_names_complain(struct nj_scope *scope, const struct nj_template_part *unknown,
                               struct nj_diagnostics *diagnostics);

struct nj_unknown_name {
    const struct nj_template_part *part;
    const char *hint; /* as for the first row */
    struct nj_place first_row, last_row;
    uint64_t n_rows; /* 0: there are none, or what every row has was looked at */
};

/* With an arena that outlives them and nothing else set they are empty. */
struct nj_unknown_names {
    struct nj_arena *arena;
    struct nj_unknown_name items[NJ_DIAGNOSTICS_LIMIT];
    size_t n_items;
    size_t n_more;     /* did not fit: only counted */
    bool may_be_given; /* without rows the hint says how: the data is not in the file */
    bool out_of_memory;
};

/* Gathers what is unknown in the prompt's texts, the job's id and file name for the scope's
 * row.
 */
void nj_unknown_names_look(struct nj_unknown_names *names, const struct nj_scope *scope,
                           const struct nj_job_spec *spec,
                           const struct nj_prompt_template *prompt);

/* `n_rows` were looked at; what is unknown for all of them is told without naming one. */
void nj_unknown_names_tell(const struct nj_unknown_names *names, uint64_t n_rows,
                           struct nj_diagnostics *diagnostics);

#endif
