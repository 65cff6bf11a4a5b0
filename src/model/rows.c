#include "model/rows.h"

static enum nj_status check_row(const struct nj_row *row, uint32_t index,
                                uint32_t expected_position, const struct nj_dims *dims,
                                struct nj_error *err)
{
    if (row->token < 0 || (uint32_t)row->token >= dims->n_vocabulary) {
        return nj_fail(err, NJ_E_INPUT, "row %u: token %d is not in the vocabulary of %u",
                       index, row->token, dims->n_vocabulary);
    }
    if (row->position != expected_position) {
        return nj_fail(err, NJ_E_USAGE, "row %u: position %u does not follow, %u does", index,
                       row->position, expected_position);
    }
    return NJ_OK;
}

static enum nj_status begin_run(struct nj_runs *runs, struct nj_state *state, uint32_t row,
                                struct nj_error *err)
{
    for (uint32_t i = 0; i < runs->n_runs; i++) {
        if (runs->runs[i].state == state) {
            return nj_fail(err, NJ_E_USAGE, "row %u: rows of one state must stand together",
                           row);
        }
    }
    if (nj_state_is_broken(state)) {
        return nj_fail(err, NJ_E_STATE,
                       "row %u: a broken-off sweep left this state unusable; reset it", row);
    }
    if (runs->n_runs > 0 && nj_state_home(state) != nj_state_home(runs->runs[0].state)) {
        return nj_fail(err, NJ_E_USAGE, "row %u: states of one sweep have one home", row);
    }
    runs->runs[runs->n_runs++] = (struct nj_run){
        .state = state, .first_row = row, .first_position = nj_state_length(state)};
    return NJ_OK;
}

enum nj_status nj_rows_group(const struct nj_row *rows, uint32_t n_rows,
                             const struct nj_dims *dims, struct nj_runs *runs,
                             struct nj_error *err)
{
    runs->n_runs = 0;
    for (uint32_t i = 0; i < n_rows; i++) {
        if (i == 0 || rows[i].state != rows[i - 1].state) {
            enum nj_status status = begin_run(runs, rows[i].state, i, err);
            if (status != NJ_OK) {
                return status;
            }
        }
        struct nj_run *run = &runs->runs[runs->n_runs - 1];
        enum nj_status status =
            check_row(&rows[i], i, run->first_position + run->n_rows, dims, err);
        if (status != NJ_OK) {
            return status;
        }
        run->n_rows += 1;
    }
    return NJ_OK;
}
