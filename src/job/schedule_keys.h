/* The `schedule` key: when a job may run. Only the daemon obeys it; it is read by everyone, so
 * that a mistake is found before the night.
 *
 * Whether a time zone exists is a question to the machine that runs the job, not to its file.
 */
#ifndef NJ_JOB_SCHEDULE_KEYS_H
#define NJ_JOB_SCHEDULE_KEYS_H

#include "job/orders.h"
#include "job/schema.h"

/* "22:00-07:00", "always". Start and end in minutes of the day; an end at or before the start
 * belongs to the next day; `always` is 0 to 1440. False for anything else, and where start and
 * end are the same. */
bool nj_window_parse(struct nj_text text, unsigned *start_minute, unsigned *end_minute);

/* Of the map. */
extern const struct nj_key_table nj_schedule_keys;

/* A key reader; the target is the `struct nj_job_orders`. */
void nj_schedule_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);

#endif
