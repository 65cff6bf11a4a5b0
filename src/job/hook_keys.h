/* The keys `on_done`, `on_failed`, `on_item_failed`, `on_paused`: whom to tell. */
#ifndef NJ_JOB_HOOK_KEYS_H
#define NJ_JOB_HOOK_KEYS_H

#include "job/orders.h"
#include "job/schema.h"

/* A list of a program and its arguments; a map says more. */
void nj_hook_read(struct nj_schema *schema, const struct nj_node_pair *pair,
                  struct nj_job_hook *hook);

#endif
