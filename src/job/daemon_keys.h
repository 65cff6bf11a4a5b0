/* Keys that only the daemon obeys: `schedule`, `power`, `guards`, `retry`, `priority`, `after`,
 * `preempt`, `group_by_prefix` and the hooks `on_*`. They are read whoever reads the file (into
 * job/orders.h), and listed, so that a run in the foreground can say what it leaves aside. */
#ifndef NJ_JOB_DAEMON_KEYS_H
#define NJ_JOB_DAEMON_KEYS_H

#include "job/schema.h"
#include "job/spec.h"

/* A key reader for each of them; the target is the `struct nj_job_spec`. */
void nj_daemon_key_read(struct nj_schema *schema, const struct nj_node_pair *pair,
                        void *target);

#endif
