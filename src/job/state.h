/* What can happen to a queued job and to its items: states and legal moves. The queue's store
 * refuses every other move, whoever asks.
 *
 * Jobs. Queued and running differ only in whether an item runs now; the store moves between
 * them by itself.
 *
 *     queued <-> running          first item claimed, last one put down
 *     either <-> paused           by a person
 *     either, paused -> parked    needs a person, who retries it: its model changed or crashes
 *     queued, running, paused, parked
 *             -> done             every item ended, one at least well
 *             -> failed           every item failed, or too many
 *     queued <-> skipped          the job it waits for ended the wrong way; later the right one
 *     each that has not ended -> cancelled, expired
 *     done, failed -> queued      retry of what failed
 *
 * Items.
 *
 *     queued, interrupted -> running     claimed, attempt counted
 *     running -> interrupted             put down, or its worker died: it goes on where it was
 *     running -> waiting -> queued       failed for now; tried again after a pause
 *     running -> done, failed            its results are durable
 *     running, queued, ... -> parked     crashed its worker alone too often
 *     each that has not ended -> cancelled
 *     queued, interrupted, waiting, cancelled -> done, failed
 *                                        a result was durable before its mark, or before the
 * end failed, parked -> queued           retry done -> queued                     a mark
 * without a result
 */
#ifndef NJ_JOB_STATE_H
#define NJ_JOB_STATE_H

#include <stdbool.h>

/* Numbers are in the database (docs/formats/queue.md). */
enum nj_job_state {
    NJ_JOB_QUEUED = 1,
    NJ_JOB_RUNNING = 2,
    NJ_JOB_PAUSED = 3,
    NJ_JOB_PARKED = 4,
    NJ_JOB_SKIPPED = 5,
    NJ_JOB_DONE = 6,
    NJ_JOB_FAILED = 7,
    NJ_JOB_CANCELLED = 8,
    NJ_JOB_EXPIRED = 9
};

enum nj_work_state {
    NJ_WORK_QUEUED = 1,
    NJ_WORK_RUNNING = 2,
    NJ_WORK_INTERRUPTED = 3,
    NJ_WORK_WAITING = 4,
    NJ_WORK_DONE = 5,
    NJ_WORK_FAILED = 6,
    NJ_WORK_PARKED = 7,
    NJ_WORK_CANCELLED = 8
};

enum { NJ_JOB_STATES_END = 10, NJ_WORK_STATES_END = 9 }; /* one behind the last */

bool nj_job_may_move(enum nj_job_state from, enum nj_job_state to);
bool nj_work_may_move(enum nj_work_state from, enum nj_work_state to);

/* Ended: only a person or the end of another job brings it back. Skipped counts, parked not. */
bool nj_job_has_ended(enum nj_job_state state);
/* Nothing more is done for it without a person. */
bool nj_work_has_ended(enum nj_work_state state);

/* "queued", as people and JSON read it. */
const char *nj_job_state_name(enum nj_job_state state);
const char *nj_work_state_name(enum nj_work_state state);

#endif
