/* What went wrong: a code for the program, a sentence for a person.
 *
 * Every call that can fail returns `enum nj_status` and takes a `struct nj_error *` last. The
 * status decides what a caller does next; the text says what was tried, on what, and why it
 * failed. Passing NULL for the error is always allowed.
 *
 * Threads: plain values, no shared state.
 */
#ifndef NIGHTJAR_STATUS_H
#define NIGHTJAR_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum nj_status {
    NJ_OK = 0,
    NJ_E_USAGE,       /* the call or command line makes no sense */
    NJ_E_INPUT,       /* a file that a person wrote is wrong: job, rows, prompt */
    NJ_E_NOT_FOUND,   /* the thing asked for does not exist */
    NJ_E_STATE,       /* right request, wrong moment: locked, finished, changed job or model */
    NJ_E_PERMISSION,  /* the system refused access */
    NJ_E_BUDGET,      /* does not fit the memory or disk that was promised */
    NJ_E_WEIGHTS,     /* a model file is damaged, missing, contradictory or unreadable */
    NJ_E_STORAGE,     /* a write or sync failed under us */
    NJ_E_IO,          /* another read or system call failed */
    NJ_E_MEMORY,      /* the allocator had nothing left */
    NJ_E_UNSUPPORTED, /* understood, but this build or model cannot do it */
    NJ_E_NUMBERS,     /* a value that must be finite is not */
    NJ_E_STOPPED,     /* asked to stop; what was done so far is safe */
    NJ_E_LIMIT,       /* a limit that the job sets itself ended it; ditto */
    NJ_E_INTERNAL     /* a bug in nightjar */
};

enum { NJ_ERROR_TEXT_BYTES = 2048 };

/* Invariant: text is NUL-terminated UTF-8 without a final newline; empty when status is NJ_OK.
 * A text that would not fit ends in "...". */
struct nj_error {
    enum nj_status status;
    char text[NJ_ERROR_TEXT_BYTES];
};

/* A short stable word for the code ("weights", "budget"), for JSON and logs. Never NULL. */
const char *nj_status_name(enum nj_status status);

#ifdef __cplusplus
}
#endif

#endif
