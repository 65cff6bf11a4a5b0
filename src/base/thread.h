/* Starts threads of ours.
 *
 * With a stack of their own size, because the system's default is the shell's `ulimit -s`: too
 * little for a thread in one place, eight megabytes to no use in another. And without signals:
 * those belong to the threads of the program around us.
 *
 * Threads: no state.
 */
#ifndef NJ_BASE_THREAD_H
#define NJ_BASE_THREAD_H

#include <pthread.h>

typedef void *nj_thread_function(void *argument);

/* 0 or an errno. The caller joins `*thread`. */
int nj_thread_start(pthread_t *thread, nj_thread_function *function, void *argument);

#endif
