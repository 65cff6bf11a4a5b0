/* What the command line changes in a job: `--set`, `--var`, `--limit`.
 *
 * A setting is put into the tree of the file before it is read, so it is checked like anything
 * else, and complaints name it in the place of the file.
 */
#ifndef NJ_JOB_OVERRIDES_H
#define NJ_JOB_OVERRIDES_H

#include <stddef.h>
#include <stdint.h>

#include "job/schema.h"

struct nj_job_overrides {
    const char *const *sets; /* "path=value": `sampling.temperature=0.2`, `prompts.0.id=x`; the
                              * value is YAML */
    size_t n_sets;
    const char *const *vars; /* "name=text": sets the job's variable, the text as it is */
    size_t n_vars;
    uint64_t limit; /* only the first so many items; 0: all */
};

/* The root with all of it; NULL after complaints or without memory, of which the schema tells.
 */
const struct nj_node *nj_overrides_apply(const struct nj_job_overrides *overrides,
                                         struct nj_schema *schema, const struct nj_node *root);

#endif
