/* Every key of a job, and what no single key can tell. */
#ifndef NJ_JOB_JOB_KEYS_H
#define NJ_JOB_JOB_KEYS_H

#include "job/prompt_keys.h"
#include "job/schema.h"
#include "job/spec.h"

/* Reads prompts that do not stand in the job's tree. */
typedef void nj_prompts_reader(struct nj_schema *schema,
                               const struct nj_prompt_defaults *defaults,
                               struct nj_job_spec *spec);

/* Reads the map `root` into a zeroed spec; complaints go to the schema's diagnostics. `prompts`
 * is NULL for a job that has its own. */
void nj_job_read(struct nj_schema *schema, const struct nj_node *root,
                 nj_prompts_reader *prompts, struct nj_job_spec *spec);

#endif
