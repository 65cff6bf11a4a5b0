#include "queue/supervision.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

enum {
    GROUPS_LIMIT = 72,  /* halving adds one a step, leaving out what was not tried another */
    RELAPSE_SWEEPS = 16 /* after so many without a death a new one is a new story */
};

struct suspect {
    struct nj_suspect item;
    uint32_t n_sweeps; /* with durable progress, since it was last under suspicion */
};

/* A stretch of the suspects, to be tried together. */
struct group {
    size_t begin;
    size_t end;
};

/* Invariants: groups are disjoint stretches; the last is tried now. Without groups there are no
 * suspects. */
struct nj_supervision {
    struct nj_supervision_limits limits;
    struct suspect *suspects;
    struct nj_suspect *trial; /* a copy of the last group, to hand out */
    size_t n_suspects;
    size_t capacity;
    size_t trial_capacity;
    struct group groups[GROUPS_LIMIT];
    size_t n_groups;
    uint32_t n_deaths;      /* since the last progress */
    uint32_t n_open_deaths; /* of them, before any item had begun */
    uint32_t most_places;
    size_t n_first;          /* how many it began with */
    bool has_found;          /* since suspicion arose, an item was parked */
    uint32_t relapse_sweeps; /* sweeps left in which a death of all is nobody's; 0: none */
};

struct nj_supervision_limits nj_supervision_limits_default(void)
{
    return (struct nj_supervision_limits){.first_pause_ms = 1000,
                                          .most_pause_ms = INT64_C(300) * 1000,
                                          .open_attempts = 5,
                                          .clear_sweeps = 2};
}

enum nj_status nj_supervision_create(const struct nj_supervision_limits *limits,
                                     struct nj_supervision **supervision, struct nj_error *err)
{
    struct nj_supervision *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "supervise workers: out of memory");
    }
    created->limits = *limits;
    created->most_places = UINT32_MAX;
    *supervision = created;
    return NJ_OK;
}

void nj_supervision_destroy(struct nj_supervision *supervision)
{
    if (supervision != NULL) {
        free(supervision->suspects);
        free(supervision->trial);
        free(supervision);
    }
}

static void drop_suspects(struct nj_supervision *supervision)
{
    supervision->n_groups = 0;
    supervision->n_suspects = 0;
}

void nj_supervision_forget(struct nj_supervision *supervision)
{
    drop_suspects(supervision);
    supervision->n_deaths = 0;
    supervision->n_open_deaths = 0;
    supervision->most_places = UINT32_MAX;
    supervision->has_found = false;
    supervision->relapse_sweeps = 0;
}

/* --- groups --- */

static struct group *last_group(struct nj_supervision *supervision)
{
    return supervision->n_groups == 0 ? NULL : &supervision->groups[supervision->n_groups - 1];
}

static void push_group(struct nj_supervision *supervision, size_t begin, size_t end)
{
    if (begin < end) {
        assert(supervision->n_groups < GROUPS_LIMIT);
        supervision->groups[supervision->n_groups++] = (struct group){begin, end};
    }
}

/* Two halves, of which the first is tried first. */
static void push_halves(struct nj_supervision *supervision, size_t begin, size_t end)
{
    size_t middle = begin + (end - begin + 1) / 2;
    push_group(supervision, middle, end);
    push_group(supervision, begin, middle);
}

/* The last group is done with, and those before it that have nobody left. */
static void pop_group(struct nj_supervision *supervision)
{
    supervision->n_groups--;
    while (supervision->n_groups > 0 &&
           last_group(supervision)->begin == last_group(supervision)->end) {
        supervision->n_groups--;
    }
    if (supervision->n_groups == 0) {
        supervision->n_suspects = 0;
    }
}

static bool is_same(const struct nj_suspect *a, const struct nj_suspect *b)
{
    return a->job_id == b->job_id && a->item_index == b->item_index;
}

/* Its place in the stretch, or the stretch's end. */
static size_t find(const struct nj_supervision *supervision, const struct group *group,
                   const struct nj_suspect *item)
{
    size_t at = group->begin;
    while (at < group->end && !is_same(&supervision->suspects[at].item, item)) {
        at++;
    }
    return at;
}

const struct nj_suspect *nj_supervision_trial(const struct nj_supervision *supervision,
                                              size_t *n_items)
{
    if (supervision->n_groups == 0) {
        *n_items = 0;
        return NULL;
    }
    const struct group *group = &supervision->groups[supervision->n_groups - 1];
    *n_items = group->end - group->begin;
    for (size_t i = 0; i < *n_items; i++) {
        supervision->trial[i] = supervision->suspects[group->begin + i].item;
    }
    return supervision->trial;
}

uint32_t nj_supervision_most_places(const struct nj_supervision *supervision)
{
    return supervision->most_places;
}

/* --- progress --- */

static void end_of_suspicion(struct nj_supervision *supervision)
{
    if (supervision->n_groups == 0 && !supervision->has_found && supervision->n_first > 1) {
        supervision->relapse_sweeps = RELAPSE_SWEEPS;
    }
}

static bool is_cleared(const struct nj_supervision *supervision, const struct group *group)
{
    for (size_t i = group->begin; i < group->end; i++) {
        if (supervision->suspects[i].n_sweeps < supervision->limits.clear_sweeps) {
            return false;
        }
    }
    return true;
}

void nj_supervision_swept(struct nj_supervision *supervision, const struct nj_suspect *items,
                          size_t n_items)
{
    struct group *group = last_group(supervision);
    if (n_items > 0) {
        supervision->n_deaths = 0;
        supervision->n_open_deaths = 0;
    }
    if (group == NULL) {
        supervision->relapse_sweeps -= supervision->relapse_sweeps > 0 ? 1 : 0;
        return;
    }
    for (size_t i = 0; i < n_items; i++) {
        size_t at = find(supervision, group, &items[i]);
        if (at < group->end) {
            supervision->suspects[at].n_sweeps++;
        }
    }
    if (is_cleared(supervision, group)) {
        pop_group(supervision);
        end_of_suspicion(supervision);
    }
}

static void remove_suspect(struct nj_supervision *supervision, size_t at)
{
    memmove(&supervision->suspects[at], &supervision->suspects[at + 1],
            (supervision->n_suspects - at - 1) * sizeof supervision->suspects[0]);
    supervision->n_suspects--;
    for (size_t i = 0; i < supervision->n_groups; i++) {
        struct group *group = &supervision->groups[i];
        group->begin -= group->begin > at ? 1 : 0;
        group->end -= group->end > at ? 1 : 0;
    }
}

void nj_supervision_ended(struct nj_supervision *supervision, uint64_t job_id,
                          uint64_t item_index)
{
    struct nj_suspect item = {.job_id = job_id, .item_index = item_index};
    struct group all = {0, supervision->n_suspects};
    size_t at = find(supervision, &all, &item);
    if (at == all.end) {
        return;
    }
    remove_suspect(supervision, at);
    struct group *group = last_group(supervision);
    if (is_cleared(supervision, group)) { /* an empty one too */
        pop_group(supervision);
        end_of_suspicion(supervision);
    }
}

/* --- deaths --- */

static void suspect_all(struct nj_supervision *supervision, const struct nj_suspect *batch,
                        size_t n_batch)
{
    drop_suspects(supervision);
    supervision->has_found = false;
    for (size_t i = 0; i < n_batch; i++) {
        supervision->suspects[i] = (struct suspect){.item = batch[i]};
    }
    supervision->n_suspects = n_batch;
    supervision->n_first = n_batch;
}

static bool is_all_on_trial(struct nj_supervision *supervision, const struct nj_suspect *batch,
                            size_t n_batch)
{
    struct group *group = last_group(supervision);
    bool is_all = group != NULL;
    for (size_t i = 0; i < n_batch && is_all; i++) {
        is_all = find(supervision, group, &batch[i]) < group->end;
    }
    return is_all;
}

/* Those that died together come first in their group, the rest of it stays for later. */
static void split_last_group(struct nj_supervision *supervision, const struct nj_suspect *batch,
                             size_t n_batch)
{
    struct group group = *last_group(supervision);
    for (size_t i = 0; i < n_batch; i++) {
        struct group rest = {group.begin + i, group.end};
        size_t at = find(supervision, &rest, &batch[i]);
        assert(at < rest.end);
        struct suspect moved = supervision->suspects[at];
        supervision->suspects[at] = supervision->suspects[rest.begin];
        supervision->suspects[rest.begin] =
            (struct suspect){.item = moved.item}; /* what it survived counts no more */
    }
    supervision->n_groups--;
    push_group(supervision, group.begin + n_batch, group.end);
    push_halves(supervision, group.begin, group.begin + n_batch);
}

static void blame_many(struct nj_supervision *supervision, const struct nj_suspect *batch,
                       size_t n_batch)
{
    if (is_all_on_trial(supervision, batch, n_batch)) {
        split_last_group(supervision, batch, n_batch);
    } else if (supervision->relapse_sweeps > 0) { /* nobody alone: all of them together */
        supervision->most_places = (uint32_t)(n_batch / 2);
        supervision->relapse_sweeps = 0;
        drop_suspects(supervision);
    } else {
        suspect_all(supervision, batch, n_batch);
        push_halves(supervision, 0, n_batch);
    }
}

static void blame_one(struct nj_supervision *supervision, const struct nj_suspect *item,
                      uint32_t n_attempts, struct nj_supervision_answer *answer)
{
    answer->counts = true;
    if (!is_all_on_trial(supervision, item, 1)) {
        suspect_all(supervision, item, 1);
        push_group(supervision, 0, 1);
    } else {
        split_last_group(supervision, item, 1);
    }
    if (n_attempts >= item->max_attempts) {
        answer->verdict = NJ_VERDICT_PARK_ITEM;
        answer->parked = *item;
        supervision->has_found = true;
        nj_supervision_ended(supervision, item->job_id, item->item_index);
    }
}

static void blame_model(struct nj_supervision *supervision,
                        struct nj_supervision_answer *answer)
{
    supervision->n_open_deaths++;
    if (supervision->n_open_deaths >= supervision->limits.open_attempts) {
        answer->verdict = NJ_VERDICT_PARK_MODEL;
    }
}

static int64_t pause_ms(const struct nj_supervision *supervision)
{
    int64_t pause = supervision->limits.first_pause_ms;
    for (uint32_t i = 1; i < supervision->n_deaths && pause < supervision->limits.most_pause_ms;
         i++) {
        pause *= 2;
    }
    return pause < supervision->limits.most_pause_ms ? pause
                                                     : supervision->limits.most_pause_ms;
}

static enum nj_status make_room(struct nj_supervision *supervision, size_t n_batch,
                                struct nj_error *err)
{
    enum nj_status status = nj_vector_reserve(&supervision->suspects, &supervision->capacity,
                                              sizeof supervision->suspects[0], n_batch, err);
    return status == NJ_OK
               ? nj_vector_reserve(&supervision->trial, &supervision->trial_capacity,
                                   sizeof supervision->trial[0], n_batch, err)
               : status;
}

enum nj_status nj_supervision_died(struct nj_supervision *supervision,
                                   const struct nj_death *death, const struct nj_suspect *batch,
                                   size_t n_batch, uint32_t n_attempts, int64_t now_ms,
                                   struct nj_supervision_answer *answer, struct nj_error *err)
{
    enum nj_status status = make_room(supervision, n_batch, err);
    if (status != NJ_OK) {
        return status;
    }
    *answer = (struct nj_supervision_answer){.verdict = NJ_VERDICT_RESTART,
                                             .restart_at_ms = INT64_MAX};
    bool ended_well = death->kind == NJ_DEATH_DONE && n_batch == 0;
    if (ended_well || death->kind == NJ_DEATH_ASKED) {
        answer->verdict = NJ_VERDICT_STAY;
        return NJ_OK;
    }
    if (death->kind == NJ_DEATH_REFUSED) {
        answer->verdict = NJ_VERDICT_PARK_REFUSED;
        return NJ_OK;
    }
    supervision->n_deaths++;
    if (nj_death_is_own_fault(death->kind) && n_batch == 0) {
        blame_model(supervision, answer);
    } else if (nj_death_is_own_fault(death->kind) && n_batch == 1) {
        blame_one(supervision, batch, n_attempts, answer);
    } else if (nj_death_is_own_fault(death->kind)) {
        blame_many(supervision, batch, n_batch);
    }
    answer->n_deaths = supervision->n_deaths;
    if (answer->verdict != NJ_VERDICT_PARK_MODEL) {
        answer->restart_at_ms = now_ms + pause_ms(supervision);
    }
    return NJ_OK;
}
