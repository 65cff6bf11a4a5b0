/* How a worker ended, and what that says. */
#ifndef NJ_QUEUE_DEATH_H
#define NJ_QUEUE_DEATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nj_death_kind {
    NJ_DEATH_DONE,    /* exit 0: nothing left to do */
    NJ_DEATH_ASKED,   /* it was told to drain or to stop, and did, one way or the other */
    NJ_DEATH_KILLED,  /* by somebody else: says nothing about the items */
    NJ_DEATH_REFUSED, /* it said so itself: model, memory, input, storage (its exit code) */
    NJ_DEATH_BUG,     /* exit 70, or a code that it never uses */
    NJ_DEATH_CRASH,   /* a signal that a program gives itself */
    NJ_DEATH_MEMORY,  /* the kernel killed it at its memory limit */
    NJ_DEATH_HANG     /* no sign of life; the supervisor killed it */
};

struct nj_death {
    enum nj_death_kind kind;
    int code; /* exit code or signal */
};

/* What was seen of an end. */
struct nj_worker_end {
    bool is_signalled;         /* else it exited */
    int code;                  /* the signal or the exit code */
    bool was_asked;            /* to drain or to stop */
    bool was_hung;             /* killed by the supervisor for silence */
    uint64_t oom_kills_before; /* of its cgroup, when it started ... */
    uint64_t oom_kills_after;  /* ... and now */
};

struct nj_death nj_death_of(const struct nj_worker_end *end);

/* Whether it may be held against the items. */
bool nj_death_is_own_fault(enum nj_death_kind kind);

enum { NJ_DEATH_TEXT_BYTES = 128 };

/* "crashed (signal 11, SIGSEGV)": for reasons and logs, without a final point. Returns `text`.
 */
const char *nj_death_format(const struct nj_death *death, char text[NJ_DEATH_TEXT_BYTES]);

#endif
