/* The exit codes that scripts may rely on. */
#ifndef NJ_CLI_EXIT_CODE_H
#define NJ_CLI_EXIT_CODE_H

#include "base/status.h"

enum nj_exit_code {
    NJ_EXIT_OK = 0,
    NJ_EXIT_FAILED = 1, /* the job ended, but not well */
    NJ_EXIT_USAGE = 2,
    NJ_EXIT_INPUT = 3, /* a job file or its rows are wrong, or absent */
    NJ_EXIT_STATE = 6, /* changed job, model or numerics; folder in use */
    NJ_EXIT_SOME_FAILED = 7,
    NJ_EXIT_PERMISSION = 9,
    NJ_EXIT_DOES_NOT_FIT = 11,
    NJ_EXIT_WEIGHTS = 12,
    NJ_EXIT_STORAGE = 13,
    NJ_EXIT_INTERNAL = 70,
    NJ_EXIT_STOPPED = 75 /* the same command continues */
};

/* An enum nj_exit_code, as the int that a program returns. */
int nj_exit_code_of(enum nj_status status);

#endif
