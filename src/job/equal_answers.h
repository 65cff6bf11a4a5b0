/* Several answers to one prompt where no chance is in them: `n` or `repeat` with temperature 0
 * gives the same answer again and again. */
#ifndef NJ_JOB_EQUAL_ANSWERS_H
#define NJ_JOB_EQUAL_ANSWERS_H

#include "job/schema.h"
#include "job/spec.h"

/* One warning for the job. None where it cannot be told: the matrix sets sampling, or a
 * template has the item's number or id, which repeats do not share. `root` is the job's tree.
 */
void nj_equal_answers_warn(struct nj_schema *schema, const struct nj_node *root,
                           const struct nj_job_spec *spec);

#endif
