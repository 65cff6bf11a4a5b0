#include "stream/resident.h"

#include <stdbool.h>
#include <stdlib.h>

enum { LOADS_AT_ONCE = 64 };

/* Groups are numbered in the order of use, which is nearly that of the files; the loads in
 * flight level out the rest, so the numbers' order will do. */
uint64_t nj_resident_lay_out(const struct nj_group_table *table, uint64_t *places)
{
    uint64_t end_bytes = 0;
    for (uint32_t i = 0; i < table->n_groups; i++) {
        if (table->groups[i].keep == NJ_GROUP_RESIDENT) {
            places[i] = end_bytes;
            end_bytes += table->groups[i].memory_bytes;
        }
    }
    return end_bytes;
}

enum nj_status nj_check_group(const struct nj_group_table *table, uint32_t group,
                              const uint8_t *memory, nj_record_check *check, void *context,
                              struct nj_error *err)
{
    if (check == NULL) {
        return NJ_OK;
    }
    uint32_t first = table->groups[group].first_record;
    enum nj_status status = NJ_OK;
    for (uint32_t i = 0; i < table->groups[group].n_records && status == NJ_OK; i++) {
        const struct nj_record_place *place = &table->records[first + i];
        status =
            check(context, first + i, memory + place->offset_bytes, place->length_bytes, err);
    }
    return status;
}

struct resident {
    const struct nj_group_table *table;
    const uint64_t *places;
    uint8_t *block;
    struct nj_loader *loader;
    const struct nj_stream_options *options;
    uint32_t next_group;
};

static void skip_others(struct resident *resident)
{
    while (resident->next_group < resident->table->n_groups &&
           resident->table->groups[resident->next_group].keep != NJ_GROUP_RESIDENT) {
        resident->next_group++;
    }
}

/* Starts the next resident group, if there is one left. */
static bool start_next(struct resident *resident, struct nj_load *load)
{
    skip_others(resident);
    if (resident->next_group == resident->table->n_groups) {
        return false;
    }
    uint32_t group = resident->next_group++;
    load->group = group;
    load->buffer = NJ_NO_BUFFER;
    load->target = resident->block + resident->places[group];
    nj_loader_start(resident->loader, load, false);
    return true;
}

static enum nj_status take_in(struct resident *resident, const struct nj_load *load,
                              struct nj_error *err)
{
    if (load->has_failed) {
        return nj_loader_explain(resident->loader, &load->failure, err);
    }
    return nj_check_group(resident->table, load->group, load->target, resident->options->check,
                          resident->options->check_context, err);
}

static enum nj_status read_all(struct resident *resident, struct nj_load *loads,
                               struct nj_error *err)
{
    for (uint32_t i = 0; i < LOADS_AT_ONCE; i++) {
        (void)start_next(resident, &loads[i]); /* there may be fewer */
    }
    while (!nj_loader_is_idle(resident->loader)) {
        nj_loader_wait(resident->loader);
        struct nj_load *load = nj_loader_take_done(resident->loader);
        for (; load != NULL; load = nj_loader_take_done(resident->loader)) {
            enum nj_status status = take_in(resident, load, err);
            if (status != NJ_OK) {
                return status;
            }
            (void)start_next(resident, load);
        }
    }
    return NJ_OK;
}

enum nj_status nj_resident_read(const struct nj_group_table *table, const uint64_t *places,
                                const struct nj_weight_block *block, struct nj_loader *loader,
                                const struct nj_stream_options *options, struct nj_error *err)
{
    struct nj_load *loads = calloc(LOADS_AT_ONCE, sizeof *loads);
    if (loads == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "read what stays in memory: no memory");
    }
    struct resident resident = {table, places, block->bytes, loader, options, 0};
    enum nj_status status = read_all(&resident, loads, err);
    if (status != NJ_OK) {
        nj_loader_abandon(loader); /* what is in flight still points at the loads */
    }
    free(loads);
    return status;
}
