/* The keys `retry`, `priority` and `after`: a job's place among others. */
#ifndef NJ_JOB_ORDER_KEYS_H
#define NJ_JOB_ORDER_KEYS_H

#include "job/orders.h"
#include "job/schema.h"

/* Key readers; the target is the `struct nj_job_orders`. */
void nj_retry_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);
void nj_priority_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);
void nj_after_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);

#endif
