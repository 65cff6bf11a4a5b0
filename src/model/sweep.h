/* The sweep: one walk over all layers in which every row advances.
 *
 * A row is one position of one sequence. A prompt chunk is many rows of one sequence, a decode
 * step one row each; both are only row lists. A layer's weights are asked for once and serve
 * every row. Rows never influence each other's bits.
 */
#ifndef NJ_MODEL_SWEEP_H
#define NJ_MODEL_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/value_types.h"
#include "model/model.h"
#include "model/state.h"

/* Rows of one state stand together, with rising positions that continue its length. */
struct nj_row {
    struct nj_state *state;
    uint32_t position;
    nj_token token;
    bool wants_logits;
};

/* All optional (NULL). Called on the engine thread. */
struct nj_sweep_hooks {
    void *context;
    /* `layer` is final for this sweep: its states may be taken away. */
    void (*on_layer_final)(void *context, uint32_t layer);
    /* The router's choice of one row: n_chosen ids in slot order and their weights. */
    void (*on_routing)(void *context, uint32_t layer, uint32_t row, const uint32_t *experts,
                       const float *weights, uint32_t n_chosen);
    /* May rearrange the ids of the experts that have rows, which come as they lie in the files,
     * into the order in which they are asked for and run. No order changes a bit; tests shuffle
     * with it. */
    void (*arrange_experts)(void *context, uint32_t layer, uint32_t *experts,
                            uint32_t n_experts);
    /* Polled between layers; true breaks the sweep off with NJ_E_STOPPED. */
    bool (*should_stop)(void *context);
};

/* Runs the rows (1 .. max_rows of the model). `logits` receives (rows that want them,
 * n_vocabulary) in row order; may be NULL when none does. `hooks` may be NULL.
 *
 * Nothing is touched after NJ_E_INPUT (a token outside the vocabulary), NJ_E_USAGE (too many
 * rows, rows that do not continue their state or do not stand together), NJ_E_STATE (a broken
 * state) and NJ_E_BUDGET (no room for pages). NJ_E_WEIGHTS or NJ_E_IO for a failed read and
 * NJ_E_STOPPED by the hook come from inside the walk: then every state in `rows` is broken,
 * unless its home kept it (then it is what it was). NJ_E_STORAGE comes from a home only.
 * NJ_E_WEIGHTS also when a shard was written to or replaced meanwhile, which is asked before
 * anything of the sweep is believed; the next sweep begins with the model's fingerprint then
 * (reexamine.h), and touches nothing if that is another one.
 *
 * Values that are not finite do not fail the sweep: `nj_sweep_first_bad_layer` tells them per
 * row. */
enum nj_status nj_sweep_run(struct nj_model *model, const struct nj_row *rows, uint32_t n_rows,
                            const struct nj_sweep_hooks *hooks, float *logits,
                            struct nj_error *err);

/* The layer after which the row's hidden values were first not finite, n_layers for the logits
 * themselves, or -1 when all are finite. Of the last sweep. */
int32_t nj_sweep_first_bad_layer(const struct nj_model *model, uint32_t row);

#endif
