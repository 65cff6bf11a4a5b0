#include "queue/death.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Exit codes of the program (nightjar(1)) with which it says that it cannot do what it was
 * asked. */
static bool is_refusal(int code)
{
    static const int codes[] = {2, 3, 6, 9, 11, 12, 13};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i] == code) {
            return true;
        }
    }
    return false;
}

static bool is_crash(int signal_number)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL, SIGABRT,
                                  SIGTRAP, SIGSYS, SIGXCPU, SIGXFSZ};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (signals[i] == signal_number) {
            return true;
        }
    }
    return false;
}

static enum nj_death_kind kind_of_signal(const struct nj_worker_end *end)
{
    if (end->code == SIGKILL && end->oom_kills_after > end->oom_kills_before) {
        return NJ_DEATH_MEMORY;
    }
    return is_crash(end->code) ? NJ_DEATH_CRASH : NJ_DEATH_KILLED;
}

static enum nj_death_kind kind_of_exit(int code)
{
    enum { EXIT_STOPPED = 75, EXIT_ITEMS_FAILED = 7, EXIT_JOB_FAILED = 1 };
    switch (code) {
    case 0:
    case EXIT_JOB_FAILED:
    case EXIT_ITEMS_FAILED:
        return NJ_DEATH_DONE;
    case EXIT_STOPPED:
        return NJ_DEATH_KILLED; /* somebody else's SIGTERM, obeyed */
    default:
        return is_refusal(code) ? NJ_DEATH_REFUSED : NJ_DEATH_BUG;
    }
}

struct nj_death nj_death_of(const struct nj_worker_end *end)
{
    struct nj_death death = {.code = end->code};
    if (end->was_hung) {
        death.kind = NJ_DEATH_HANG;
    } else if (end->is_signalled) {
        death.kind = kind_of_signal(end);
    } else {
        death.kind = kind_of_exit(end->code);
    }
    bool is_harmless = death.kind == NJ_DEATH_KILLED || death.kind == NJ_DEATH_DONE;
    if (end->was_asked && is_harmless) {
        death.kind = NJ_DEATH_ASKED;
    }
    return death;
}

bool nj_death_is_own_fault(enum nj_death_kind kind)
{
    return kind >= NJ_DEATH_BUG;
}

const char *nj_death_format(const struct nj_death *death, char text[NJ_DEATH_TEXT_BYTES])
{
    const char *name = sigabbrev_np(death->code);
    const char *prefix = name == NULL ? "signal" : "SIG";
    switch (death->kind) {
    case NJ_DEATH_DONE:
        (void)snprintf(text, NJ_DEATH_TEXT_BYTES, "ended");
        break;
    case NJ_DEATH_ASKED:
        (void)snprintf(text, NJ_DEATH_TEXT_BYTES, "ended when asked to");
        break;
    case NJ_DEATH_KILLED:
        (void)snprintf(text, NJ_DEATH_TEXT_BYTES, "was killed from outside");
        break;
    case NJ_DEATH_REFUSED:
        (void)snprintf(text, NJ_DEATH_TEXT_BYTES, "could not run (exit code %d)", death->code);
        break;
    case NJ_DEATH_BUG:
        (void)snprintf(text, NJ_DEATH_TEXT_BYTES, "found an error in itself (exit code %d)",
                       death->code);
        break;
    case NJ_DEATH_CRASH:
        (void)snprintf(text, NJ_DEATH_TEXT_BYTES, "crashed (signal %d, %s%s)", death->code,
                       prefix, name == NULL ? "" : name);
        break;
    case NJ_DEATH_MEMORY:
        (void)snprintf(text, NJ_DEATH_TEXT_BYTES,
                       "was killed by the kernel at its memory limit");
        break;
    case NJ_DEATH_HANG:
        (void)snprintf(text, NJ_DEATH_TEXT_BYTES, "gave no sign of life and was killed");
        break;
    }
    return text;
}
