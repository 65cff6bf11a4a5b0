/* Every key of a job, and what no single key can tell. */
#ifndef NJ_JOB_JOB_KEYS_H
#define NJ_JOB_JOB_KEYS_H

#include "job/schema.h"
#include "job/spec.h"

/* Reads the map `root` into a zeroed spec; complaints go to the schema's diagnostics. */
void nj_job_read(struct nj_schema *schema, const struct nj_node *root,
                 struct nj_job_spec *spec);

#endif
