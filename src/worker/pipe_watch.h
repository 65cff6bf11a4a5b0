/* Ends the process when the daemon is gone, whatever the engine thread is doing: a sweep lasts
 * minutes, and nobody would take what it computes.
 */
#ifndef NJ_WORKER_PIPE_WATCH_H
#define NJ_WORKER_PIPE_WATCH_H

#include "base/status.h"

/* From now on a thread waits for the other end of `from_daemon` to be closed, and then ends the
 * process with `exit_code`. It reads nothing. */
enum nj_status nj_pipe_watch_begin(int from_daemon, int exit_code, struct nj_error *err);

#endif
