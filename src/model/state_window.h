/* The runs of a sweep whose states of a layer are in memory at once: all of them, or as many as
 * their home shows.
 *
 *     for (uint32_t first = 0; first < runs->n_runs; first += window.n_runs) {
 *         nj_state_window_open(runs, layer, first, &window, err);
 *         ... the states of window.runs ...
 *         nj_state_window_close(&window);
 *     }
 *
 * Threads: the engine thread.
 */
#ifndef NJ_MODEL_STATE_WINDOW_H
#define NJ_MODEL_STATE_WINDOW_H

#include <stdint.h>

#include "base/status.h"
#include "model/rows.h"

/* `*window` gets runs `first` and following. Each layer passes all runs, once. A failure comes
 * from the home. */
enum nj_status nj_state_window_open(const struct nj_runs *runs, uint32_t layer, uint32_t first,
                                    struct nj_runs *window, struct nj_error *err);
void nj_state_window_close(const struct nj_runs *window);

/* Rows of the window: they stand together. */
uint32_t nj_state_window_n_rows(const struct nj_runs *window);

/* Around the layers of a sweep over these runs, whose rooms have been reserved; nothing to do
 * for states in memory. After a failure of anything in between: abandon. */
enum nj_status nj_state_passage_begin(const struct nj_runs *runs, struct nj_error *err);
enum nj_status nj_state_passage_end(const struct nj_runs *runs, struct nj_error *err);
void nj_state_passage_abandon(const struct nj_runs *runs);

#endif
