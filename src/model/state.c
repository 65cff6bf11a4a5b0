#include "model/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

/* 64 positions of all MLA layers, layer after layer; shared by forks once it is full. */
struct page {
    uint32_t n_owners;
    float *values; /* (MLA layers, 64, kv_rank + n_rope) */
};

/* Invariant: pages cover `length`; only the state itself owns a page that it still fills. */
struct nj_state {
    const struct nj_dims *dims;
    struct nj_byte_budget *budget;
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

enum nj_status nj_state_create(const struct nj_dims *dims, struct nj_byte_budget *budget,
                               struct nj_state **state, struct nj_error *err)
{
    struct nj_state *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "create a sequence's state: out of memory");
    }
    made->dims = dims;
    made->budget = budget;
    enum nj_status status = NJ_OK;
    made->recurrent = take_zeroed(budget, nj_state_recurrent_bytes(dims), &status, err);
    if (made->recurrent == NULL) {
        free(made);
        return nj_prefix(err, status, "create a sequence's recurrent state");
    }
    *state = made;
    return NJ_OK;
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
    let_pages_go(state);
    free(state->pages);
    free(state->recurrent);
    give_back(state->budget, nj_state_recurrent_bytes(state->dims));
    free(state);
}

void nj_state_reset(struct nj_state *state)
{
    let_pages_go(state);
    memset(state->recurrent, 0, nj_state_recurrent_bytes(state->dims));
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
    while ((uint64_t)state->n_pages * NJ_PAGE_POSITIONS < wanted) {
        enum nj_status status = add_page(state, err);
        if (status != NJ_OK) {
            return status;
        }
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
    enum nj_status status = refuse_broken(source, err);
    if (status != NJ_OK) {
        return status;
    }
    let_pages_go(state);
    memcpy(state->recurrent, source->recurrent, nj_state_recurrent_bytes(source->dims));
    state->length = source->length;
    state->is_broken = false;
    status = fork_pages(source, state, err);
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
        status = nj_state_create(state->dims, state->budget, &made, err);
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
    assert(dims->mixers[layer] == NJ_MIXER_LATENT && page < state->n_pages);
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

void nj_state_mark_broken(struct nj_state *state)
{
    state->is_broken = true;
}

void nj_state_advance(struct nj_state *state, uint32_t n_positions)
{
    state->length += n_positions;
    state->is_broken = false;
}
