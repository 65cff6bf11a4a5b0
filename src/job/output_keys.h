/* The `output` key: where results go, in which forms, and what an item's own file is called. */
#ifndef NJ_JOB_OUTPUT_KEYS_H
#define NJ_JOB_OUTPUT_KEYS_H

#include "job/schema.h"
#include "job/spec.h"

/* Of the map. */
extern const struct nj_key_table nj_output_keys;

/* A key reader; the target is the `struct nj_job_spec`. */
void nj_output_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);

#endif
