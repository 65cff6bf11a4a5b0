#include "worker/pipe_watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"

struct watch {
    int from_daemon;
    int exit_code;
};

static void *wait_for_end(void *context)
{
    struct watch watch = *(struct watch *)context;
    free(context);
    struct pollfd end = {.fd = watch.from_daemon, .events = 0};
    for (;;) {
        int n_ready = poll(&end, 1, -1);
        if (n_ready > 0 || (n_ready < 0 && errno != EINTR)) {
            _exit(watch.exit_code); /* nothing is flushed: what counts is in the logs */
        }
    }
}

enum nj_status nj_pipe_watch_begin(int from_daemon, int exit_code, struct nj_error *err)
{
    struct watch *watch = malloc(sizeof *watch);
    if (watch == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "watch the daemon: out of memory");
    }
    *watch = (struct watch){from_daemon, exit_code};
    pthread_t thread;
    int error_number = nj_thread_start(&thread, wait_for_end, watch);
    if (error_number != 0) {
        free(watch);
        return nj_fail(err, NJ_E_MEMORY, "watch the daemon: %s", strerror(error_number));
    }
    (void)pthread_detach(thread); /* it ends with the process */
    return NJ_OK;
}
