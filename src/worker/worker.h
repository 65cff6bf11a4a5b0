/* `nightjar worker`: the runner at the other end of the daemon's pipes. Started by the daemon,
 * not by people.
 *
 *     nightjar worker JOB_ID FOLDER [--model PATH] [--memory BYTES] [--batch N] [--threads N]
 *                     [--cpu-level LEVEL]
 *
 * FOLDER is the job's own: `spec.yaml` and what it names are in it. Logs and results come into
 * the run folder `run` in it, whose lock is held while the worker works. Standard input and
 * output are the pipes, of which nothing else gets hold: what a library prints goes to standard
 * error.
 *
 * It ends at once when the daemon's end of the pipe is closed, in the middle of a sweep too:
 * what it knows is in its logs.
 */
#ifndef NJ_WORKER_WORKER_H
#define NJ_WORKER_WORKER_H

#include "base/status.h"

/* `argv[0]` is "worker". Told on standard error and to the daemon what fails. NJ_OK when every
 * item is done, NJ_E_STOPPED when the daemon asked to end or has no more items for it. */
enum nj_status nj_worker_main(int argc, char **argv);

#endif
