/* `{name}` in a prompt, as other languages write what is `{{name}}` here: it is text and stays
 * so, but where there is a variable of that name it was hardly meant. */
#ifndef NJ_JOB_SINGLE_BRACES_H
#define NJ_JOB_SINGLE_BRACES_H

#include "job/diagnostics.h"
#include "job/spec.h"
#include "job/variables.h"

/* One warning for each text of the prompt that has them. */
void nj_single_braces_warn(const struct nj_scope *scope,
                           const struct nj_prompt_template *prompt,
                           struct nj_diagnostics *diagnostics);

#endif
