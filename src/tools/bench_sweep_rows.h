/* A model and sequences of it, swept over with random tokens, and what each sweep took.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_TOOLS_BENCH_SWEEP_ROWS_H
#define NJ_TOOLS_BENCH_SWEEP_ROWS_H

#include <stdint.h>

#include "base/clock.h"
#include "base/status.h"
#include "model/model.h"
#include "model/state.h"

enum { NJ_SWEPT_MOST_ROWS = 512, NJ_SWEPT_MOST_STATES = 128 };

/* Zeroed is empty. */
struct nj_swept {
    struct nj_model *model;
    struct nj_clock clock;
    struct nj_state *states[NJ_SWEPT_MOST_STATES];
    uint32_t n_states;
    float *logits;    /* (n_states, n_vocabulary) */
    uint64_t n_drawn; /* tokens so far; the same number draws the same ones */
};

struct nj_swept_time {
    uint64_t wall_ns;
    uint64_t waited_ns; /* of it, for bytes */
    double engine_s;    /* processor time of the engine thread, which takes part in all work */
    double processor_s; /* of all threads */
};

/* Takes the model, also on failure. At most `n_states` sequences, fewer where the model has
 * room for fewer. The caller deinits it also after failure. */
enum nj_status nj_swept_init(struct nj_swept *swept, struct nj_model *model, uint32_t n_states,
                             struct nj_error *err);
void nj_swept_deinit(struct nj_swept *swept);

/* One token more for the first `n_rows` sequences; all that nj_sweep_run returns. */
enum nj_status nj_swept_batch(struct nj_swept *swept, uint32_t n_rows,
                              struct nj_swept_time *took, struct nj_error *err);

/* A prompt of `n_rows`, at most NJ_SWEPT_MOST_ROWS, in one chunk, of the first sequence. */
enum nj_status nj_swept_prompt(struct nj_swept *swept, uint32_t n_rows,
                               struct nj_swept_time *took, struct nj_error *err);

#endif
