/* The rows of a sweep, checked and grouped into runs: consecutive rows of one sequence. */
#ifndef NJ_MODEL_ROWS_H
#define NJ_MODEL_ROWS_H

#include <stdint.h>

#include "base/status.h"
#include "model/dims.h"
#include "model/state.h"
#include "model/sweep.h"

struct nj_run {
    struct nj_state *state;
    uint32_t first_row;
    uint32_t n_rows;
    uint32_t first_position;
};

/* The arrays have room for one per row. */
struct nj_runs {
    struct nj_run *runs;
    uint32_t n_runs;
    struct nj_state_passage *passages; /* for a home (model/state_window.h) */
    float **values;                    /* ditto */
};

/* Fills `runs->runs`. NJ_E_INPUT a token outside the vocabulary, NJ_E_STATE a broken state,
 * NJ_E_USAGE rows that do not continue their state, a state that comes up twice or states of
 * different homes. */
enum nj_status nj_rows_group(const struct nj_row *rows, uint32_t n_rows,
                             const struct nj_dims *dims, struct nj_runs *runs,
                             struct nj_error *err);

#endif
