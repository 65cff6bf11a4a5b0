/* A file system that fails where a test says: every call goes to the real one, except the n-th.
 *
 *     struct faulty_files faulty;
 *     faulty_files_init(&faulty, nj_file_system_real());
 *     faulty_files_fail(&faulty, FAULTY_WRITE, 3, ENOSPC);
 *     ... code under test with &faulty.table ...
 *     CHECK(faulty_files_fired(&faulty));
 *
 * So a loop over n = 1, 2, 3 ... until nothing fired has failed every call once. For crash
 * tests the process can be killed at a call instead: SIGKILL, which nothing can catch.
 *
 * Threads: one at a time sets rules; calls may come from several, and are counted one by one.
 */
#ifndef NJ_TESTS_SUPPORT_FAULTY_FILES_H
#define NJ_TESTS_SUPPORT_FAULTY_FILES_H

#include <pthread.h>
#include <stdbool.h>

#include "base/file.h"

enum faulty_call {
    FAULTY_OPEN,
    FAULTY_CLOSE,
    FAULTY_READ,
    FAULTY_WRITE, /* at the end or in place */
    FAULTY_DATA_SYNC,
    FAULTY_SYNC,
    FAULTY_TRUNCATE,
    FAULTY_RESERVE,
    FAULTY_RENAME,
    FAULTY_UNLINK,
    FAULTY_MAKE_DIRECTORY,
    FAULTY_STATUS,
    FAULTY_N_CALLS
};

enum faulty_effect {
    FAULTY_NONE,
    FAULTY_FAIL, /* does nothing, returns -1 with the error number */
    FAULTY_CUT,  /* reads or writes half (at least one byte) and returns that */
    FAULTY_KILL  /* SIGKILL to this process before the call; a write does half of it first */
};

/* What happens at the `at`-th call of one kind (1 is the next). */
struct faulty_rule {
    enum faulty_effect effect;
    unsigned long at;
    bool for_ever; /* and at every later one */
    int error_number;
};

enum { FAULTY_N_DESCRIPTORS = 64, FAULTY_NAME_BYTES = 64 };

struct faulty_files {
    struct nj_file_system
        table; /* hand this to the code under test; its context is this struct */
    const struct nj_file_system *below;
    pthread_mutex_t lock; /* guards counts, names and `fired` */
    unsigned long n_calls[FAULTY_N_CALLS];
    unsigned long n_durable_steps; /* calls of data_sync, sync and rename together */
    struct faulty_rule rules[FAULTY_N_CALLS];
    unsigned long kill_at_step; /* 0: never */
    bool fired;
    /* Hears of every durable step before it is taken: the name that is synced (as it was
     * opened) or renamed to. NULL: nobody does. */
    void (*hear_step)(void *context, const char *name);
    void *hear_context;
    char names[FAULTY_N_DESCRIPTORS][FAULTY_NAME_BYTES]; /* by descriptor */
    /* Calls are counted on names that end so, and not on names that end so; NULL: on all. */
    const char *only_suffix;
    const char *spared_suffix;
};

/* The struct must stay where it is while the table is in use. */
void faulty_files_init(struct faulty_files *faulty, const struct nj_file_system *below);

/* Forgets counts, rules and whether one fired. */
void faulty_files_reset(struct faulty_files *faulty);

/* Each sets the one rule of its kind of call; counting begins now. */
void faulty_files_fail(struct faulty_files *faulty, enum faulty_call call, unsigned long at,
                       int error_number);
void faulty_files_fail_for_ever(struct faulty_files *faulty, enum faulty_call call,
                                unsigned long at, int error_number);
void faulty_files_cut(struct faulty_files *faulty, enum faulty_call call, unsigned long at);
void faulty_files_kill_at_call(struct faulty_files *faulty, enum faulty_call call,
                               unsigned long at);

/* Kills just before the `at`-th durable step (data_sync, sync, rename), counted from now. */
void faulty_files_kill_at_step(struct faulty_files *faulty, unsigned long at);

/* A rule was applied since init or reset. */
bool faulty_files_fired(const struct faulty_files *faulty);

#endif
