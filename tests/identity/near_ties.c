/* Searches for near ties, and asks what a build chooses after them.
 *
 *     near_ties find MODEL N_SWEEPS     prints the prompts with the smallest gaps, closest
 * first near_ties differing MODEL LIST    prints those after which this build chooses another
 * token near_ties check MODEL LIST        tests that this build chooses what the list calls
 * reordered
 *
 * `find` belongs to the engine as it is, the others to the one whose fold is swapped, which
 * runs at level scalar. record_near_ties.sh joins them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identity/near_tie_list.h"
#include "identity/subject.h"
#include "model/state.h"
#include "model/sweep.h"
#include "support/check.h"

enum { PROMPTS_PER_SWEEP = 8 };

static struct {
    struct nj_model *model;
    struct near_tie_list list;
    float *logits; /* (SUBJECT_MOST_ROWS, vocabulary) */
} search;

static void open_subject(const char *name, const char *level)
{
    search.model = subject_open(subject_directory(name), level, 1);
    search.logits = calloc((size_t)SUBJECT_MOST_ROWS * nj_model_n_vocabulary(search.model),
                           sizeof *search.logits);
    if (search.logits == NULL) {
        subject_die("memory", "none left");
    }
}

static struct nj_state *make_state(void)
{
    struct nj_state *state = NULL;
    struct nj_error error;
    if (nj_state_create(nj_model_dims(search.model), NULL, &state, &error) != NJ_OK) {
        subject_die("create state", error.text);
    }
    return state;
}

static void sweep(const struct nj_row *rows, uint32_t n_rows)
{
    struct nj_error error;
    if (nj_sweep_run(search.model, rows, n_rows, NULL, search.logits, &error) != NJ_OK) {
        subject_die("sweep", error.text);
    }
}

/* Best and gap from the logits after the tie's ids; returns the runner-up. */
static nj_token judge(struct near_tie *tie, const float *logits)
{
    nj_token second = 0;
    tie->best = subject_best(logits, nj_model_n_vocabulary(search.model), &second);
    tie->gap = (double)logits[tie->best] - (double)logits[second];
    return second;
}

/* Keeps the closest; the list is sorted by gap. */
static void offer(const struct near_tie *tie)
{
    struct near_tie_list *list = &search.list;
    uint32_t at = list->n;
    if (list->n == NEAR_TIE_LIST_LIMIT) {
        if (tie->gap >= list->ties[list->n - 1].gap) {
            return;
        }
        at = list->n - 1;
    } else {
        list->n += 1;
    }
    while (at > 0 && tie->gap < list->ties[at - 1].gap) {
        list->ties[at] = list->ties[at - 1];
        at--;
    }
    list->ties[at] = *tie;
}

static void search_sweep(uint64_t seed, struct nj_state *const *states)
{
    struct nj_row rows[SUBJECT_MOST_ROWS];
    uint32_t n_rows = 0;
    for (uint32_t p = 0; p < PROMPTS_PER_SWEEP; p++) {
        nj_state_reset(states[p]);
        for (uint32_t i = 0; i < NEAR_TIE_MOST_IDS; i++) {
            rows[n_rows] =
                (struct nj_row){.state = states[p],
                                .position = i,
                                .token = subject_random_token(search.model, seed, n_rows),
                                .wants_logits = true};
            n_rows += 1;
        }
    }
    sweep(rows, n_rows);
    for (uint32_t row = 0; row < n_rows; row++) {
        struct near_tie tie = {.n_ids = row % NEAR_TIE_MOST_IDS + 1};
        for (uint32_t i = 0; i < tie.n_ids; i++) {
            tie.ids[i] = rows[row + 1 - tie.n_ids + i].token;
        }
        tie.reordered =
            judge(&tie, search.logits + (size_t)row * nj_model_n_vocabulary(search.model));
        offer(&tie);
    }
}

static void find(uint64_t n_sweeps)
{
    struct nj_state *states[PROMPTS_PER_SWEEP];
    for (uint32_t p = 0; p < PROMPTS_PER_SWEEP; p++) {
        states[p] = make_state();
    }
    for (uint64_t seed = 0; seed < n_sweeps; seed++) {
        search_sweep(seed, states);
    }
    for (uint32_t p = 0; p < PROMPTS_PER_SWEEP; p++) {
        nj_state_destroy(states[p]);
    }
    for (uint32_t i = 0; i < search.list.n; i++) {
        near_tie_print(&search.list.ties[i]);
    }
}

/* What this build chooses after a tie's ids. */
static nj_token choice_after(const struct near_tie *tie)
{
    struct nj_row rows[NEAR_TIE_MOST_IDS];
    struct nj_state *state = make_state();
    for (uint32_t i = 0; i < tie->n_ids; i++) {
        rows[i] = (struct nj_row){.state = state,
                                  .position = i,
                                  .token = tie->ids[i],
                                  .wants_logits = i + 1 == tie->n_ids};
    }
    sweep(rows, tie->n_ids);
    nj_state_destroy(state);
    struct near_tie found = *tie;
    (void)judge(&found, search.logits);
    return found.best;
}

static void print_differing(void)
{
    for (uint32_t i = 0; i < search.list.n; i++) {
        struct near_tie tie = search.list.ties[i];
        tie.reordered = choice_after(&tie);
        if (tie.reordered != tie.best) {
            near_tie_print(&tie);
        }
    }
}

static void after_every_near_tie_a_reordered_sum_chooses_the_other_token(void)
{
    CHECK(search.list.n > 0);
    for (uint32_t i = 0; i < search.list.n; i++) {
        const struct near_tie *tie = &search.list.ties[i];
        CHECK(tie->best != tie->reordered);
        CHECK_EQ(choice_after(tie), tie->reordered);
    }
}

int main(int argc, char **argv)
{
    int result = 0;
    if (argc != 4) {
        subject_die("usage", "near_ties find|differing|check MODEL N_SWEEPS|LIST");
    }
    bool is_search = strcmp(argv[1], "find") == 0;
    open_subject(argv[2], is_search ? "auto" : "scalar");
    if (is_search) {
        find(strtoull(argv[3], NULL, 10));
    } else {
        near_tie_list_read(&search.list, argv[3]);
        if (strcmp(argv[1], "check") == 0) {
            RUN(after_every_near_tie_a_reordered_sum_chooses_the_other_token);
            result = test_result();
        } else {
            print_differing();
        }
    }
    free(search.logits);
    nj_model_close(search.model);
    return result;
}
