#include "cli/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "cli/exit_code.h"

struct nj_signals {
    pthread_t watcher;
    sigset_t watched;
    sigset_t mask_before;
    atomic_int received;     /* written by the watcher, read by anyone */
    atomic_bool is_draining; /* the first signal is a question */
    atomic_bool is_closing;  /* SIGUSR1 is then our own: the watcher ends */
};

static void *watch(void *context)
{
    static const char goodbye[] = "\nnightjar: stopped at once; the same command continues\n";
    struct nj_signals *signals = context;
    for (;;) {
        int number = 0;
        if (sigwait(&signals->watched, &number) != 0) {
            continue;
        }
        if (number == SIGUSR1) {
            if (atomic_load(&signals->is_closing)) {
                return NULL;
            }
            continue;
        }
        bool was_asked = atomic_load(&signals->received) != 0;
        if (was_asked || !atomic_load(&signals->is_draining)) {
            ssize_t n_written = write(STDERR_FILENO, goodbye, sizeof goodbye - 1);
            (void)n_written; /* nobody is left to be told */
            _exit(NJ_EXIT_STOPPED);
        }
        atomic_store(&signals->received, number);
    }
}

/* Whoever started us with a signal ignored does not want us to end by it. */
static void watch_unless_ignored(struct nj_signals *signals, int number)
{
    struct sigaction action;
    if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
        (void)sigaddset(&signals->watched, number);
    }
}

enum nj_status nj_signals_create(struct nj_signals **signals, struct nj_error *err)
{
    struct nj_signals *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "watch for signals: out of memory");
    }
    (void)sigemptyset(&created->watched);
    watch_unless_ignored(created, SIGINT);
    watch_unless_ignored(created, SIGTERM);
    watch_unless_ignored(created, SIGHUP);
    (void)sigaddset(&created->watched, SIGUSR1);
    (void)pthread_sigmask(SIG_BLOCK, &created->watched, &created->mask_before);
    int failure = nj_thread_start(&created->watcher, watch, created);
    if (failure != 0) {
        (void)pthread_sigmask(SIG_SETMASK, &created->mask_before, NULL);
        free(created);
        return nj_fail(err, NJ_E_MEMORY, "watch for signals: %s", strerror(failure));
    }
    *signals = created;
    return NJ_OK;
}

void nj_signals_destroy(struct nj_signals *signals)
{
    if (signals == NULL) {
        return;
    }
    atomic_store(&signals->is_closing, true);
    (void)pthread_kill(signals->watcher, SIGUSR1); /* it exists until it is joined */
    (void)pthread_join(signals->watcher, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &signals->mask_before, NULL);
    free(signals);
}

void nj_signals_begin_draining(struct nj_signals *signals)
{
    atomic_store(&signals->is_draining, true);
}

int nj_signals_received(const struct nj_signals *signals)
{
    return atomic_load(&signals->received);
}
