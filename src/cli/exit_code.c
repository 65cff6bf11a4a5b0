#include "cli/exit_code.h"

int nj_exit_code_of(enum nj_status status)
{
    switch (status) {
    case NJ_OK:
        return NJ_EXIT_OK;
    case NJ_E_USAGE:
    case NJ_E_UNSUPPORTED:
        return NJ_EXIT_USAGE;
    case NJ_E_INPUT:
        return NJ_EXIT_INPUT;
    case NJ_E_STATE:
        return NJ_EXIT_STATE;
    case NJ_E_PERMISSION:
        return NJ_EXIT_PERMISSION;
    case NJ_E_BUDGET:
    case NJ_E_MEMORY:
        return NJ_EXIT_DOES_NOT_FIT;
    case NJ_E_NOT_FOUND: /* what a run looks for and does not find is its model */
    case NJ_E_WEIGHTS:
        return NJ_EXIT_WEIGHTS;
    case NJ_E_STORAGE:
    case NJ_E_IO:
        return NJ_EXIT_STORAGE;
    case NJ_E_STOPPED:
        return NJ_EXIT_STOPPED;
    case NJ_E_NUMBERS:
    case NJ_E_LIMIT:
        return NJ_EXIT_FAILED;
    case NJ_E_INTERNAL:
        break;
    }
    return NJ_EXIT_INTERNAL;
}
