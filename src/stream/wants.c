#include "stream/wants.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum nj_status nj_wants_init(struct nj_wants *wants, const struct nj_group_table *table,
                             struct nj_error *err)
{
    struct nj_wants made = {.table = table};
    size_t n_groups = table->n_groups;
    made.is_wanted = calloc((size_t)table->n_records + 1, sizeof *made.is_wanted);
    made.groups = calloc(n_groups + 1, sizeof *made.groups);
    made.queue = calloc(n_groups + 1, sizeof *made.queue);
    if (made.is_wanted == NULL || made.groups == NULL || made.queue == NULL) {
        nj_wants_deinit(&made);
        return nj_fail(err, NJ_E_MEMORY, "list %zu groups of records: no memory", n_groups);
    }
    *wants = made;
    return NJ_OK;
}

void nj_wants_deinit(struct nj_wants *wants)
{
    free(wants->is_wanted);
    free(wants->groups);
    free(wants->queue);
    *wants = (struct nj_wants){.groups = NULL};
}

void nj_wants_add(struct nj_wants *wants, uint32_t record)
{
    struct nj_wanted_group *group = &wants->groups[wants->table->records[record].group];
    if (!wants->is_wanted[record]) {
        wants->is_wanted[record] = true;
        group->n_wanted++;
        group->wanted_at = wants->n_announced++;
    }
}

void nj_wants_remove(struct nj_wants *wants, uint32_t record)
{
    if (wants->is_wanted[record]) {
        wants->is_wanted[record] = false;
        wants->groups[wants->table->records[record].group].n_wanted--;
    }
}

bool nj_wants_has(const struct nj_wants *wants, uint32_t group)
{
    return wants->groups[group].n_wanted > 0;
}

void nj_wants_queue(struct nj_wants *wants, uint32_t group)
{
    if (wants->groups[group].is_queued) {
        return;
    }
    uint64_t place = (uint64_t)wants->first + wants->n_queued;
    wants->queue[place % wants->table->n_groups] = group;
    wants->groups[group].is_queued = true;
    wants->n_queued++;
}

uint32_t nj_wants_first(const struct nj_wants *wants)
{
    assert(wants->n_queued > 0);
    return wants->queue[wants->first];
}

void nj_wants_drop_first(struct nj_wants *wants)
{
    wants->groups[nj_wants_first(wants)].is_queued = false;
    wants->first = (wants->first + 1) % wants->table->n_groups;
    wants->n_queued--;
}

void nj_wants_clear(struct nj_wants *wants)
{
    while (wants->n_queued > 0) {
        nj_wants_drop_first(wants);
    }
    memset(wants->is_wanted, 0, wants->table->n_records * sizeof *wants->is_wanted);
    for (uint32_t i = 0; i < wants->table->n_groups; i++) {
        wants->groups[i].n_wanted = 0;
    }
}
