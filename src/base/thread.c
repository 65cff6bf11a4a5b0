#include "base/thread.h"

#include <signal.h>

/* Frames are held below 20 KiB each by a warning, and no thread calls itself again; the
 * sanitizers make them several times as large. Only what is touched is taken. */
enum { STACK_BYTES = 1024 * 1024 };

int nj_thread_start(pthread_t *thread, nj_thread_function *function, void *argument)
{
    pthread_attr_t attributes;
    sigset_t every_signal;
    sigset_t before;
    int error_number = pthread_attr_init(&attributes);
    if (error_number != 0) {
        return error_number;
    }
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES); /* else the default */
    (void)sigfillset(&every_signal);
    (void)pthread_sigmask(SIG_SETMASK, &every_signal, &before);
    error_number = pthread_create(thread, &attributes, function, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return error_number;
}
