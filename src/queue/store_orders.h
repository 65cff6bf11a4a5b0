/* A job's orders as columns of its row, and back. Included by store*.c alone. */
#ifndef NJ_QUEUE_STORE_ORDERS_H
#define NJ_QUEUE_STORE_ORDERS_H

#include <sqlite3.h>

#include "base/arena.h"
#include "job/orders.h"
#include "queue/store_jobs.h"

/* "22:30-06:30 13:00-13:45" in the arena; empty for none. NULL data when memory ran out. */
struct nj_text nj_store_windows_write(const struct nj_job_hours *hours, struct nj_arena *arena);

/* False when memory ran out or the text is none of ours. */
bool nj_store_windows_read(struct nj_text text, struct nj_arena *arena,
                           struct nj_job_hours *hours);

#endif
