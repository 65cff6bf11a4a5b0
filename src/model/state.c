#include "model/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

enum { FORK_PIECE_VALUES = 1 << 18 }; /* 1 MiB */

/* 64 positions of all MLA layers, layer after layer; shared by forks once it is full. */
struct page {
    uint32_t n_owners;
    float *values; /* (MLA layers, 64, kv_rank + n_rope) */
};

/* Invariant: pages cover `length`; only the state itself owns a page that it still fills. With
 * a home there is no memory of its own. */
struct nj_state {
    const struct nj_dims *dims;
    struct nj_byte_budget *budget;
    const struct nj_state_home *home; /* NULL: the values are here */
    uint32_t seat;
    float *shown; /* by the window that is open: a layer's values */
    uint32_t length;
    uint32_t next_length; /* that was reserved for last */
    bool is_broken;
    float *recurrent; /* all KDA layers, one after another */
    struct page **pages;
    uint32_t n_pages;
    size_t pages_capacity;
};

static uint64_t recurrent_values_of_layer(const struct nj_dims *dims)
{
    return (uint64_t)dims->n_delta_heads * dims->n_delta * dims->n_delta;
}

static uint64_t history_values_of_layer(const struct nj_dims *dims)
{
    return (uint64_t)(dims->n_taps - 1) * 3 * dims->n_delta_heads * dims->n_delta;
}

static uint64_t page_values_of_layer(const struct nj_dims *dims)
{
    return (uint64_t)NJ_PAGE_POSITIONS * nj_state_position_values(dims);
}

/* Layers below `layer` that have this mixer: its place among them. */
static uint32_t ordinal(const struct nj_dims *dims, uint32_t layer, enum nj_mixer mixer)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < layer; i++) {
        n += dims->mixers[i] == mixer;
    }
    return n;
}

uint32_t nj_state_position_values(const struct nj_dims *dims)
{
    return dims->kv_rank + dims->n_rope;
}

uint64_t nj_state_layer_values(const struct nj_dims *dims)
{
    return recurrent_values_of_layer(dims) + history_values_of_layer(dims);
}

uint64_t nj_state_recurrent_bytes(const struct nj_dims *dims)
{
    return ordinal(dims, dims->n_layers, NJ_MIXER_DELTA) * nj_state_layer_values(dims) *
           sizeof(float);
}

uint64_t nj_state_page_bytes(const struct nj_dims *dims)
{
    return ordinal(dims, dims->n_layers, NJ_MIXER_LATENT) * page_values_of_layer(dims) *
           sizeof(float);
}

static enum nj_status pay(struct nj_byte_budget *budget, uint64_t bytes, struct nj_error *err)
{
    return budget == NULL ? NJ_OK : nj_byte_budget_take(budget, bytes, err);
}

static void give_back(struct nj_byte_budget *budget, uint64_t bytes)
{
    if (budget != NULL) {
        nj_byte_budget_give_back(budget, bytes);
    }
}

/* Zeroed memory paid from the budget; at least one byte, so that NULL means failure. */
static void *take_zeroed(struct nj_byte_budget *budget, uint64_t bytes, enum nj_status *status,
                         struct nj_error *err)
{
    *status = pay(budget, bytes, err);
    if (*status != NJ_OK) {
        return NULL;
    }
    void *memory = calloc(1, bytes == 0 ? 1 : bytes);
    if (memory == NULL) {
        give_back(budget, bytes);
        *status = nj_fail(err, NJ_E_MEMORY, "out of memory");
    }
    return memory;
}

static enum nj_status find_place(struct nj_state *state, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    if (state->home != NULL) {
        return state->home->admit(state->home->context, &state->seat, err);
    }
    state->recurrent =
        take_zeroed(state->budget, nj_state_recurrent_bytes(state->dims), &status, err);
    return status;
}

enum nj_status nj_state_create_in(const struct nj_state_home *home, const struct nj_dims *dims,
                                  struct nj_byte_budget *budget, struct nj_state **state,
                                  struct nj_error *err)
{
    struct nj_state *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "create a sequence's state: out of memory");
    }
    made->dims = dims;
    made->budget = budget;
    made->home = home;
    enum nj_status status = find_place(made, err);
    if (status != NJ_OK) {
        free(made);
        return nj_prefix(err, status, "create a sequence's recurrent state");
    }
    *state = made;
    return NJ_OK;
}

enum nj_status nj_state_create(const struct nj_dims *dims, struct nj_byte_budget *budget,
                               struct nj_state **state, struct nj_error *err)
{
    return nj_state_create_in(NULL, dims, budget, state, err);
}

const struct nj_state_home *nj_state_home(const struct nj_state *state)
{
    return state->home;
}

uint32_t nj_state_seat(const struct nj_state *state)
{
    return state->seat;
}

static void page_let_go(struct nj_state *state, struct page *page)
{
    page->n_owners -= 1;
    if (page->n_owners == 0) {
        free(page->values);
        free(page);
        give_back(state->budget, nj_state_page_bytes(state->dims));
    }
}

static void let_pages_go(struct nj_state *state)
{
    for (uint32_t i = 0; i < state->n_pages; i++) {
        page_let_go(state, state->pages[i]);
    }
    state->n_pages = 0;
}

void nj_state_destroy(struct nj_state *state)
{
    if (state == NULL) {
        return;
    }
    if (state->home != NULL) {
        state->home->dismiss(state->home->context, state->seat);
        free(state);
        return;
    }
    let_pages_go(state);
    free(state->pages);
    free(state->recurrent);
    give_back(state->budget, nj_state_recurrent_bytes(state->dims));
    free(state);
}

void nj_state_reset(struct nj_state *state)
{
    if (state->home != NULL) {
        state->home->clear(state->home->context, state->seat);
    } else {
        let_pages_go(state);
        memset(state->recurrent, 0, nj_state_recurrent_bytes(state->dims));
    }
    state->length = 0;
    state->is_broken = false;
}

uint32_t nj_state_length(const struct nj_state *state)
{
    return state->length;
}

uint32_t nj_state_next_length(const struct nj_state *state)
{
    return state->is_broken ? state->next_length : state->length;
}

bool nj_state_is_broken(const struct nj_state *state)
{
    return state->is_broken;
}

static enum nj_status append_page(struct nj_state *state, struct page *page,
                                  struct nj_error *err)
{
    enum nj_status status = nj_vector_reserve(&state->pages, &state->pages_capacity,
                                              sizeof(struct page *), state->n_pages + 1, err);
    if (status == NJ_OK) {
        state->pages[state->n_pages++] = page;
    }
    return status;
}

static enum nj_status add_page(struct nj_state *state, struct nj_error *err)
{
    struct page *page = calloc(1, sizeof *page);
    if (page == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "add a page to a sequence's state: out of memory");
    }
    enum nj_status status = NJ_OK;
    page->n_owners = 1;
    page->values = take_zeroed(state->budget, nj_state_page_bytes(state->dims), &status, err);
    if (page->values == NULL) {
        free(page);
        return nj_prefix(err, status, "add a page to a sequence's state");
    }
    status = append_page(state, page, err);
    if (status != NJ_OK) {
        page_let_go(state, page);
    }
    return status;
}

enum nj_status nj_state_reserve(struct nj_state *state, uint32_t n_positions,
                                struct nj_error *err)
{
    uint64_t wanted = (uint64_t)state->length + n_positions;
    if (wanted > UINT32_MAX) {
        return nj_fail(err, NJ_E_USAGE, "a sequence cannot have %llu positions",
                       (unsigned long long)wanted);
    }
    enum nj_status status = NJ_OK;
    if (state->home != NULL) {
        status = state->home->reserve(state->home->context, state->seat, (uint32_t)wanted, err);
    }
    while (state->home == NULL && status == NJ_OK &&
           (uint64_t)state->n_pages * NJ_PAGE_POSITIONS < wanted) {
        status = add_page(state, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    state->next_length = (uint32_t)wanted;
    return NJ_OK;
}

/* Shares the full pages and copies the one that the state still fills. */
static enum nj_status fork_pages(const struct nj_state *state, struct nj_state *fork,
                                 struct nj_error *err)
{
    uint32_t n_full = state->length / NJ_PAGE_POSITIONS;
    for (uint32_t i = 0; i < n_full; i++) {
        enum nj_status status = append_page(fork, state->pages[i], err);
        if (status != NJ_OK) {
            return status;
        }
        state->pages[i]->n_owners += 1;
    }
    if (state->length % NJ_PAGE_POSITIONS == 0) {
        return NJ_OK;
    }
    enum nj_status status = add_page(fork, err);
    if (status == NJ_OK) {
        assert(fork->pages != NULL && fork->n_pages == n_full + 1);
        memcpy(fork->pages[n_full]->values, state->pages[n_full]->values,
               nj_state_page_bytes(state->dims));
    }
    return status;
}

/* Part of a layer, from seat to seat. */
static enum nj_status copy_layer(const struct nj_state *state, struct nj_state *fork,
                                 uint32_t layer, uint64_t n_values, float *piece,
                                 struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (uint64_t done = 0; done < n_values && status == NJ_OK; done += FORK_PIECE_VALUES) {
        uint64_t left = n_values - done;
        uint64_t n = left < FORK_PIECE_VALUES ? left : FORK_PIECE_VALUES;
        status = nj_state_copy_out(state, layer, done, n, piece, err);
        if (status == NJ_OK) {
            status = nj_state_fill(fork, layer, done, n, piece, err);
        }
    }
    return status;
}

static enum nj_status fork_in_home(const struct nj_state *state, struct nj_state *fork,
                                   struct nj_error *err)
{
    const struct nj_dims *dims = state->dims;
    float *piece = malloc(FORK_PIECE_VALUES * sizeof *piece);
    if (piece == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "fork a sequence's state: out of memory");
    }
    enum nj_status status = nj_state_reserve(fork, state->length, err);
    nj_state_mark_broken(fork);
    for (uint32_t layer = 0; layer < dims->n_layers && status == NJ_OK; layer++) {
        uint64_t n_values = dims->mixers[layer] == NJ_MIXER_DELTA
                                ? nj_state_layer_values(dims)
                                : (uint64_t)state->length * nj_state_position_values(dims);
        status = copy_layer(state, fork, layer, n_values, piece, err);
    }
    free(piece);
    if (status == NJ_OK) {
        nj_state_advance(fork, state->length);
    }
    return status;
}

static enum nj_status fork_in_memory(const struct nj_state *state, struct nj_state *fork,
                                     struct nj_error *err)
{
    memcpy(fork->recurrent, state->recurrent, nj_state_recurrent_bytes(state->dims));
    fork->length = state->length;
    return fork_pages(state, fork, err);
}

static enum nj_status refuse_broken(const struct nj_state *state, struct nj_error *err)
{
    return state->is_broken
               ? nj_fail(err, NJ_E_STATE, "fork a state that a broken-off sweep left unusable")
               : NJ_OK;
}

enum nj_status nj_state_fork_into(struct nj_state *state, const struct nj_state *source,
                                  struct nj_error *err)
{
    assert(state->dims == source->dims && state->budget == source->budget && state != source);
    assert(state->home == source->home);
    enum nj_status status = refuse_broken(source, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_state_reset(state);
    status = state->home == NULL ? fork_in_memory(source, state, err)
                                 : fork_in_home(source, state, err);
    if (status != NJ_OK) {
        nj_state_reset(state);
    }
    return status;
}

enum nj_status nj_state_fork(const struct nj_state *state, struct nj_state **fork,
                             struct nj_error *err)
{
    struct nj_state *made = NULL;
    enum nj_status status = refuse_broken(state, err);
    if (status == NJ_OK) {
        status = nj_state_create_in(state->home, state->dims, state->budget, &made, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    assert(made != NULL);
    status = nj_state_fork_into(made, state, err);
    if (status != NJ_OK) {
        nj_state_destroy(made);
        return status;
    }
    *fork = made;
    return NJ_OK;
}

float *nj_state_recurrent(struct nj_state *state, uint32_t layer, uint64_t *n_values)
{
    const struct nj_dims *dims = state->dims;
    if (dims->mixers[layer] != NJ_MIXER_DELTA) {
        *n_values = 0;
        return NULL;
    }
    *n_values = nj_state_layer_values(dims);
    if (state->home != NULL) {
        assert(state->shown != NULL);
        return state->shown;
    }
    return state->recurrent + ordinal(dims, layer, NJ_MIXER_DELTA) * *n_values;
}

float *nj_state_conv_history(struct nj_state *state, uint32_t layer)
{
    uint64_t n_values = 0;
    float *recurrent = nj_state_recurrent(state, layer, &n_values);
    return recurrent == NULL ? NULL : recurrent + recurrent_values_of_layer(state->dims);
}

float *nj_state_page(struct nj_state *state, uint32_t layer, uint32_t page)
{
    const struct nj_dims *dims = state->dims;
    assert(dims->mixers[layer] == NJ_MIXER_LATENT);
    if (state->home != NULL) {
        assert(state->shown != NULL);
        return state->shown + page * page_values_of_layer(dims);
    }
    assert(page < state->n_pages);
    return state->pages[page]->values +
           ordinal(dims, layer, NJ_MIXER_LATENT) * page_values_of_layer(dims);
}

/* A run of positions that lie in one page. */
struct page_run {
    float *values;
    uint32_t n_positions;
};

static struct page_run run_at(const struct nj_state *state, uint32_t layer, uint32_t position,
                              uint32_t n_wanted)
{
    const struct nj_dims *dims = state->dims;
    uint32_t page = position / NJ_PAGE_POSITIONS;
    uint32_t within = position % NJ_PAGE_POSITIONS;
    uint32_t n_left = NJ_PAGE_POSITIONS - within;
    assert(dims->mixers[layer] == NJ_MIXER_LATENT && page < state->n_pages);
    return (struct page_run){.values = state->pages[page]->values +
                                       ordinal(dims, layer, NJ_MIXER_LATENT) *
                                           page_values_of_layer(dims) +
                                       (size_t)within * nj_state_position_values(dims),
                             .n_positions = n_wanted < n_left ? n_wanted : n_left};
}

void nj_state_get_positions(const struct nj_state *state, uint32_t layer, uint32_t first,
                            uint32_t n_positions, float *values)
{
    size_t n_values = nj_state_position_values(state->dims);
    for (uint32_t done = 0; done < n_positions;) {
        struct page_run run = run_at(state, layer, first + done, n_positions - done);
        memcpy(values + done * n_values, run.values,
               run.n_positions * n_values * sizeof *values);
        done += run.n_positions;
    }
}

void nj_state_set_positions(struct nj_state *state, uint32_t layer, uint32_t first,
                            uint32_t n_positions, const float *values)
{
    size_t n_values = nj_state_position_values(state->dims);
    for (uint32_t done = 0; done < n_positions;) {
        struct page_run run = run_at(state, layer, first + done, n_positions - done);
        assert(state->pages[(first + done) / NJ_PAGE_POSITIONS]->n_owners == 1);
        memcpy(run.values, values + done * n_values,
               run.n_positions * n_values * sizeof *values);
        done += run.n_positions;
    }
}

/* Whole positions, by the number of their first value. */
static void check_positions(const struct nj_state *state, uint64_t first_value,
                            uint64_t n_values)
{
    assert(first_value % nj_state_position_values(state->dims) == 0 &&
           n_values % nj_state_position_values(state->dims) == 0);
    (void)state;
    (void)first_value;
    (void)n_values;
}

enum nj_status nj_state_fill(struct nj_state *state, uint32_t layer, uint64_t first_value,
                             uint64_t n_values, const float *values, struct nj_error *err)
{
    const struct nj_state_home *home = state->home;
    uint32_t position_values = nj_state_position_values(state->dims);
    uint64_t n_layer_values = 0;
    assert(state->is_broken);
    if (home != NULL) {
        return home->store(home->context, state->seat, layer, first_value, n_values, values,
                           err);
    }
    if (state->dims->mixers[layer] == NJ_MIXER_LATENT) {
        check_positions(state, first_value, n_values);
        nj_state_set_positions(state, layer, (uint32_t)(first_value / position_values),
                               (uint32_t)(n_values / position_values), values);
        return NJ_OK;
    }
    float *recurrent = nj_state_recurrent(state, layer, &n_layer_values);
    assert(first_value + n_values <= n_layer_values);
    memcpy(recurrent + first_value, values, n_values * sizeof *values);
    return NJ_OK;
}

enum nj_status nj_state_copy_out(const struct nj_state *state, uint32_t layer,
                                 uint64_t first_value, uint64_t n_values, float *values,
                                 struct nj_error *err)
{
    const struct nj_state_home *home = state->home;
    const struct nj_dims *dims = state->dims;
    uint32_t position_values = nj_state_position_values(dims);
    if (home != NULL) {
        return home->load(home->context, state->seat, layer, first_value, n_values, values,
                          err);
    }
    if (dims->mixers[layer] == NJ_MIXER_LATENT) {
        check_positions(state, first_value, n_values);
        nj_state_get_positions(state, layer, (uint32_t)(first_value / position_values),
                               (uint32_t)(n_values / position_values), values);
        return NJ_OK;
    }
    uint64_t first_of_layer =
        ordinal(dims, layer, NJ_MIXER_DELTA) * nj_state_layer_values(dims);
    memcpy(values, state->recurrent + first_of_layer + first_value, n_values * sizeof *values);
    return NJ_OK;
}

void nj_state_show(struct nj_state *state, float *values)
{
    state->shown = values;
}

void nj_state_go_back(struct nj_state *state)
{
    const struct nj_state_home *home = state->home;
    state->is_broken = home == NULL || !home->is_whole(home->context, state->seat);
}

void nj_state_mark_broken(struct nj_state *state)
{
    state->is_broken = true;
}

void nj_state_advance(struct nj_state *state, uint32_t n_positions)
{
    state->length += n_positions;
    state->is_broken = false;
}
