#include "model/state_window.h"

#include <assert.h>

/* All runs have the same home: nj_rows_group sees to it. */
static const struct nj_state_home *home_of(const struct nj_runs *runs)
{
    assert(runs->n_runs > 0);
    return nj_state_home(runs->runs[0].state);
}

enum nj_status nj_state_window_open(const struct nj_runs *runs, uint32_t layer, uint32_t first,
                                    struct nj_runs *window, struct nj_error *err)
{
    const struct nj_state_home *home = home_of(runs);
    *window = (struct nj_runs){.runs = runs->runs + first,
                               .n_runs = runs->n_runs - first,
                               .passages = runs->passages + first,
                               .values = runs->values + first};
    if (home == NULL) {
        return NJ_OK;
    }
    enum nj_status status =
        home->enter(home->context, layer, first, &window->n_runs, window->values, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "states of layer %u", layer);
    }
    for (uint32_t i = 0; i < window->n_runs; i++) {
        nj_state_show(window->runs[i].state, window->values[i]);
    }
    return NJ_OK;
}

void nj_state_window_close(const struct nj_runs *window)
{
    const struct nj_state_home *home = home_of(window);
    if (home == NULL) {
        return;
    }
    for (uint32_t i = 0; i < window->n_runs; i++) {
        nj_state_show(window->runs[i].state, NULL);
    }
    home->leave(home->context);
}

uint32_t nj_state_window_n_rows(const struct nj_runs *window)
{
    const struct nj_run *last = &window->runs[window->n_runs - 1];
    return last->first_row + last->n_rows - window->runs[0].first_row;
}

enum nj_status nj_state_passage_begin(const struct nj_runs *runs, struct nj_error *err)
{
    const struct nj_state_home *home = home_of(runs);
    if (home == NULL) {
        return NJ_OK;
    }
    for (uint32_t i = 0; i < runs->n_runs; i++) {
        const struct nj_run *run = &runs->runs[i];
        runs->passages[i] =
            (struct nj_state_passage){.seat = nj_state_seat(run->state),
                                      .length = run->first_position,
                                      .next_length = run->first_position + run->n_rows};
    }
    return home->begin(home->context, runs->passages, runs->n_runs, err);
}

enum nj_status nj_state_passage_end(const struct nj_runs *runs, struct nj_error *err)
{
    const struct nj_state_home *home = home_of(runs);
    return home == NULL ? NJ_OK : home->end(home->context, err);
}

void nj_state_passage_abandon(const struct nj_runs *runs)
{
    const struct nj_state_home *home = home_of(runs);
    if (home == NULL) {
        return;
    }
    home->abandon(home->context);
    for (uint32_t i = 0; i < runs->n_runs; i++) {
        nj_state_show(runs->runs[i].state, NULL); /* a window may have been open */
        nj_state_go_back(runs->runs[i].state);
    }
}
