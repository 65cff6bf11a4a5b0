/* Job files of other tools, read and never written.
 *
 * Each is turned into the tree of a job of ours and then read like one, so that the same rules
 * and complaints hold. What cannot be represented is an error; what only concerns other
 * programs (which of their models, how answers are judged) is left aside with a warning.
 */
#ifndef NJ_JOB_IMPORT_H
#define NJ_JOB_IMPORT_H

#include "job/prompt_keys.h"
#include "job/schema.h"
#include "job/spec.h"

enum nj_import {
    NJ_IMPORT_NONE,         /* a job of ours, or nothing that is known */
    NJ_IMPORT_OPENAI_BATCH, /* *.jsonl, *.ndjson */
    NJ_IMPORT_GITHUB,       /* *.prompt.yml: messages, modelParameters, testData */
    NJ_IMPORT_PROMPTFOO,    /* prompts, providers, tests */
    NJ_IMPORT_LLM           /* a template with $variables */
};

/* By the ending of the name, which decides about files that are not YAML. */
bool nj_import_is_openai_batch(const char *path);

/* By name and keys. A map with `nightjar` is always ours. */
enum nj_import nj_import_detect(const char *path, const struct nj_node *root);

/* The tree of a job. NULL without memory. What cannot be imported has been complained of, and
 * is left out or stands there as reported, so that nobody complains of it again. */
const struct nj_node *nj_import_github(struct nj_schema *schema, const struct nj_node *root);
const struct nj_node *nj_import_promptfoo(struct nj_schema *schema, const struct nj_node *root);
const struct nj_node *nj_import_llm(struct nj_schema *schema, const struct nj_node *root);

/* The job without its prompts, which are read line by line from the schema's source. */
const struct nj_node *nj_import_openai(struct nj_schema *schema);
void nj_import_openai_prompts(struct nj_schema *schema,
                              const struct nj_prompt_defaults *defaults,
                              struct nj_job_spec *spec);

/* --- for the importers --- */

/* A job with nothing but its version. */
struct nj_node *nj_import_begin(struct nj_schema *schema, struct nj_place place);

/* `map` with the value under `name`; NULL when one of them is. */
struct nj_node *nj_import_put(struct nj_schema *schema, struct nj_node *map, const char *name,
                              const struct nj_node *value);

/* Empty ones, a list with room for `n_items`. */
struct nj_node *nj_import_map(struct nj_schema *schema, struct nj_place place);
struct nj_node *nj_import_list(struct nj_schema *schema, struct nj_place place, size_t n_items);

/* In the place of what has been complained of. */
struct nj_node *nj_import_reported(struct nj_schema *schema, struct nj_place place);

/* The text with its braces doubled where a template would take them for its own. NULL data
 * when memory ran out. */
struct nj_text nj_import_literal(struct nj_schema *schema, struct nj_text text);

void nj_import_warn(struct nj_schema *schema, struct nj_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void nj_import_refuse(struct nj_schema *schema, const struct nj_node *key);

#endif
