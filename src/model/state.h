/* One sequence's memory of what it has read: per layer, flat and pointer-free inside.
 *
 * Its values are in memory, or in a home elsewhere (model/state_home.h) that brings those of a
 * layer into memory while it runs. Which of the two changes no bit.
 *
 * A KDA layer holds a recurrent part of fixed size that every token replaces: S (n_delta_heads,
 * n_delta keys, n_delta values), then the convolution history (n_taps - 1, 3 * n_delta_heads *
 * n_delta: q, k and v channels, oldest first). An MLA layer holds per position kv_rank + n_rope
 * values (the normed latent, then k_r), in pages of 64 positions, the attention block; pages
 * are counted by reference, so that a shared prefix can be forked without copying.
 *
 * Invariant: every layer holds exactly `length` positions, except while a sweep runs. A sweep
 * that is broken off leaves the states it touched unusable (`is_broken`): reset and feed again.
 * Only a home keeps what they were before.
 *
 * Threads: the engine thread; during a sweep, one compute piece per (sequence, layer) writes.
 */
#ifndef NJ_MODEL_STATE_H
#define NJ_MODEL_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byte_budget.h"
#include "base/status.h"
#include "model/dims.h"
#include "model/state_home.h"

enum { NJ_PAGE_POSITIONS = 64 };

struct nj_state;

/* Bytes of the recurrent parts of all layers, and of one page of all MLA layers. */
uint64_t nj_state_recurrent_bytes(const struct nj_dims *dims);
uint64_t nj_state_page_bytes(const struct nj_dims *dims);

/* An empty state (length 0, all zero). `dims` and `budget` are borrowed for its life and for
 * that of its forks. Pages are paid from `budget` (NULL: not counted) as they
 * are needed. Caller owns `*state`. */
enum nj_status nj_state_create(const struct nj_dims *dims, struct nj_byte_budget *budget,
                               struct nj_state **state, struct nj_error *err);
/* The same in a home (borrowed likewise; NULL: in memory), which pays for its own memory.
 * NJ_E_BUDGET when there is no seat left. */
enum nj_status nj_state_create_in(const struct nj_state_home *home, const struct nj_dims *dims,
                                  struct nj_byte_budget *budget, struct nj_state **state,
                                  struct nj_error *err);
void nj_state_destroy(struct nj_state *state);

/* NULL: its values are in memory. */
const struct nj_state_home *nj_state_home(const struct nj_state *state);
uint32_t nj_state_seat(const struct nj_state *state);

/* Back to empty: recurrent part, convolution history and pages together. */
void nj_state_reset(struct nj_state *state);

uint32_t nj_state_length(const struct nj_state *state);
bool nj_state_is_broken(const struct nj_state *state);

/* A state that continues from the same prefix: recurrent parts copied, full pages shared, the
 * last partial page copied. */
enum nj_status nj_state_fork(const struct nj_state *state, struct nj_state **fork,
                             struct nj_error *err);

/* The same into a state that is there already, of the same model and budget, whose recurrent
 * part is paid for: what it held is forgotten. NJ_E_STATE when `source` is broken: `state` is
 * as it was; NJ_E_BUDGET or NJ_E_MEMORY for pages: it is empty. */
enum nj_status nj_state_fork_into(struct nj_state *state, const struct nj_state *source,
                                  struct nj_error *err);

/* For the sweep: makes room for `n_positions` more, so that nothing allocates inside it. */
enum nj_status nj_state_reserve(struct nj_state *state, uint32_t n_positions,
                                struct nj_error *err);

/* The recurrent part of a KDA layer and its size in values; NULL and 0 for an MLA layer. Of a
 * state in a home only while a window shows it (model/state_window.h); so the next two. */
float *nj_state_recurrent(struct nj_state *state, uint32_t layer, uint64_t *n_values);
float *nj_state_conv_history(struct nj_state *state, uint32_t layer);
/* Page `page` of an MLA layer: (64, kv_rank + n_rope). */
float *nj_state_page(struct nj_state *state, uint32_t layer, uint32_t page);

/* --- taking a state away and bringing it back, layer by layer (src/snapshot) --- */

/* Values of one position of an MLA layer: kv_rank + n_rope. */
uint32_t nj_state_position_values(const struct nj_dims *dims);
/* Values of the recurrent part of a KDA layer, convolution history included. */
uint64_t nj_state_layer_values(const struct nj_dims *dims);

/* The length once the sweep that is running has ended; outside one, the length. */
uint32_t nj_state_next_length(const struct nj_state *state);

/* Positions [first, first + n_positions) of an MLA layer, to or from (n_positions, kv_rank +
 * n_rope). Pages must cover them; a layer that is final in this sweep has its new positions
 * too. Only positions of pages that no fork shares may be set. The state is in memory. */
void nj_state_get_positions(const struct nj_state *state, uint32_t layer, uint32_t first,
                            uint32_t n_positions, float *values);
void nj_state_set_positions(struct nj_state *state, uint32_t layer, uint32_t first,
                            uint32_t n_positions, const float *values);

/* For the sweep, and for whoever fills an empty state: reserve, mark broken, fill every layer,
 * advance. */
void nj_state_mark_broken(struct nj_state *state);
void nj_state_advance(struct nj_state *state, uint32_t n_positions); /* clears broken */

/* The sweep broke off. A state in a home is again what it was before, if the home still has
 * that; any other stays broken. */
void nj_state_go_back(struct nj_state *state);

/* Between sweeps, wherever the values are: part of the recurrent part of a KDA layer, or whole
 * positions of an MLA layer, counted in values from its first. A fill is into reserved room of
 * a state that is marked broken, and may come from several threads for a state in memory.
 * NJ_E_STORAGE, NJ_E_IO from a home. */
enum nj_status nj_state_fill(struct nj_state *state, uint32_t layer, uint64_t first_value,
                             uint64_t n_values, const float *values, struct nj_error *err);
enum nj_status nj_state_copy_out(const struct nj_state *state, uint32_t layer,
                                 uint64_t first_value, uint64_t n_values, float *values,
                                 struct nj_error *err);

/* For the window: the layer's values lie there until it closes (NULL). */
void nj_state_show(struct nj_state *state, float *values);

#endif
