/* The keys that bound a run and say what it may use: `context`, `budget`, `stop_on_failures`,
 * `memory`, `states`, `batch`, `threads`, `prefix_cache`, `nice`, `snapshot`. */
#ifndef NJ_JOB_RUNNING_KEYS_H
#define NJ_JOB_RUNNING_KEYS_H

#include "job/schema.h"
#include "job/spec.h"

/* Of the maps. */
extern const struct nj_key_table nj_budget_keys;
extern const struct nj_key_table nj_snapshot_keys;

/* Key readers; the target is the `struct nj_job_spec`. */
void nj_context_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);
void nj_budget_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);
void nj_stop_on_failures_read(struct nj_schema *schema, const struct nj_node_pair *pair,
                              void *target);
void nj_memory_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);
void nj_batch_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);
void nj_prefix_cache_read(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target);
void nj_threads_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);
void nj_nice_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);
void nj_states_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);
void nj_snapshot_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);

#endif
