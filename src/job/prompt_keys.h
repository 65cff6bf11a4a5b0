/* The entries of `prompts`, and the single forms `prompt`, `messages` and `ids`. */
#ifndef NJ_JOB_PROMPT_KEYS_H
#define NJ_JOB_PROMPT_KEYS_H

#include "job/schema.h"
#include "job/spec.h"

/* What one prompt may say, before it is decided which of it go together. Pairs are NULL where
 * the key is absent. */
struct nj_prompt_draft {
    const struct nj_node_pair *id, *prompt, *messages, *ids, *file;
    const struct nj_node_pair *system, *vars, *sampling, *chat, *model;
};

/* What the job says for all its prompts. */
struct nj_prompt_defaults {
    const struct nj_node_pair *system; /* NULL: none */
    struct nj_text system_text;
    struct nj_template system_compiled;
    bool uses_chat;
    struct nj_sampling sampling;
};

/* Reads a map of variables; the result is sorted by name. */
void nj_vars_read(struct nj_schema *schema, const struct nj_node_pair *pair,
                  const struct nj_variable **vars, size_t *n_vars);

/* The job's own single form. `system` and `chat` stand beside it in the file. */
void nj_prompt_read_single(struct nj_schema *schema, const struct nj_prompt_defaults *defaults,
                           const struct nj_prompt_draft *draft,
                           struct nj_prompt_template *prompt);

/* One entry of `prompts`. */
void nj_prompt_read_entry(struct nj_schema *schema, const struct nj_prompt_defaults *defaults,
                          const struct nj_node_pair *item, struct nj_prompt_template *prompt);

/* The list under `prompts`. */
void nj_prompts_read(struct nj_schema *schema, const struct nj_prompt_defaults *defaults,
                     const struct nj_node_pair *pair, struct nj_job_spec *spec);

/* `value` as a path: relative ones begin at the folder of the job file. NULL after a complaint
 * or without memory. */
const char *nj_expect_path(struct nj_schema *schema, const struct nj_node_pair *pair);

/* What may be wrong with a path that is not there; NULL: nothing to see. */
const char *nj_path_hint(const char *path);

/* Complains of a path that begins with `~` or `$HOME`: shells write those out, nothing else. */
void nj_refuse_shell_path(struct nj_schema *schema, const struct nj_node_pair *pair);

#endif
