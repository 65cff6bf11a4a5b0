#include "model/weight_groups.h"

/* Below this a read costs a drive more for being one than for its bytes. */
static const uint64_t least_group_bytes = 1 << 20;
/* Models too small for that are cut so fine that even a fraction of them is many groups. */
enum { PIECES_OF_TINY_MODELS = 256, LEAST_TINY_BYTES = 16 * 1024 };
/* Reads are widened to whole pages at both ends. */
enum { PAGE_BYTES = 4096, SLACK_BYTES = 2 * PAGE_BYTES };

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a < b ? b : a;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct nj_record_cut nj_weight_groups_cut(const struct nj_weights *weights)
{
    uint64_t tiny = larger(weights->record_bytes / PIECES_OF_TINY_MODELS, LEAST_TINY_BYTES);
    uint64_t limit = larger(larger(weights->expert_bytes, weights->unit_bytes),
                            smaller(tiny, least_group_bytes));
    return (struct nj_record_cut){.limit_bytes = smaller(limit, NJ_RECORD_LIMIT_BYTES),
                                  .is_table_by_row = true};
}

/* One making of groups. */
struct packer {
    struct nj_weight_groups *groups;
    const struct nj_weights *weights;
    uint64_t limit_bytes;
};

/* The next record in a group of its own; returns the group. */
static struct nj_record_group *add_group(struct packer *packer, uint32_t record,
                                         enum nj_group_keep keep)
{
    struct nj_record_group *group = &packer->groups->groups[packer->groups->n_groups++];
    *group = (struct nj_record_group){.first_record = record, .n_records = 1, .keep = keep};
    return group;
}

/* Records [first, end), as many a group as the limit takes. */
static void pack(struct packer *packer, uint32_t first, uint32_t end)
{
    struct nj_record_group *group = NULL;
    uint64_t group_bytes = 0;
    for (uint32_t record = first; record < end; record++) {
        uint64_t bytes = packer->weights->extents[record].length_bytes;
        if (group != NULL && bytes <= packer->limit_bytes - group_bytes) {
            group->n_records += 1;
            group_bytes += bytes;
        } else {
            group = add_group(packer, record, NJ_GROUP_PASSING);
            group_bytes = smaller(bytes, packer->limit_bytes);
        }
    }
}

static struct nj_group_run run_since(const struct nj_weight_groups *groups, uint32_t first)
{
    return (struct nj_group_run){.first = first, .n = groups->n_groups - first};
}

static void group_globals(struct packer *packer)
{
    struct nj_weight_groups *groups = packer->groups;
    const struct nj_global_weights *global = &packer->weights->global;
    uint32_t first_head = global->head.first_record;
    for (uint32_t record = 0; record < first_head; record++) {
        (void)add_group(packer, record, NJ_GROUP_PASSING);
    }
    uint32_t first = groups->n_groups;
    pack(packer, first_head, first_head + nj_bound_matrix_n_records(&global->head));
    groups->head = run_since(groups, first);
}

/* What is used after the experts begins a group, or their whole time would be held up by it. */
static void group_trunk(struct packer *packer, uint32_t layer)
{
    struct nj_weight_groups *groups = packer->groups;
    const struct nj_layer_weights *fields = &packer->weights->layers[layer];
    uint32_t end = fields->first_trunk_record + fields->n_trunk_records;
    uint32_t first = groups->n_groups;
    pack(packer, fields->first_trunk_record, end - fields->n_late_records);
    pack(packer, end - fields->n_late_records, end);
    groups->trunks[layer] = run_since(groups, first);
}

static uint32_t n_records_of(const struct nj_feed_forward_weights *expert)
{
    return nj_bound_matrix_n_records(&expert->gate) + nj_bound_matrix_n_records(&expert->up) +
           nj_bound_matrix_n_records(&expert->down);
}

static void group_experts(struct packer *packer, const struct nj_dims *dims, uint32_t layer)
{
    const struct nj_moe_weights *moe = &packer->weights->layers[layer].moe;
    for (uint32_t expert = 0; expert < dims->n_experts; expert++) {
        const struct nj_feed_forward_weights *fields = &moe->experts[expert];
        add_group(packer, fields->gate.first_record, NJ_GROUP_CACHED)->n_records =
            n_records_of(fields);
    }
}

enum nj_status nj_weight_groups_init(struct nj_weight_groups *groups,
                                     struct nj_weights *weights, const struct nj_dims *dims,
                                     struct nj_record_cut cut, struct nj_error *err)
{
    struct packer packer = {
        .groups = groups, .weights = weights, .limit_bytes = cut.limit_bytes};
    *groups = (struct nj_weight_groups){.n_groups = 0};
    groups->groups =
        nj_arena_take_array(&weights->arena, weights->n_records, sizeof *groups->groups);
    groups->trunks =
        nj_arena_take_array(&weights->arena, dims->n_layers, sizeof *groups->trunks);
    if (groups->groups == NULL || groups->trunks == NULL) {
        return nj_arena_fail(&weights->arena, "groups of records", err);
    }
    group_globals(&packer);
    for (uint32_t layer = 0; layer < dims->n_layers; layer++) {
        group_trunk(&packer, layer);
        if (nj_dims_layer_is_moe(dims, layer)) {
            group_experts(&packer, dims, layer);
        }
    }
    return NJ_OK;
}

void nj_weight_groups_keep(struct nj_weight_groups *groups, struct nj_group_run run,
                           enum nj_group_keep keep)
{
    for (uint32_t i = run.first; i < run.first + run.n; i++) {
        groups->groups[i].keep = keep;
    }
}

uint64_t nj_weight_groups_resident_bytes(const struct nj_weight_groups *groups,
                                         const struct nj_weights *weights,
                                         struct nj_group_run run)
{
    uint64_t bytes = 0;
    for (uint32_t i = run.first; i < run.first + run.n; i++) {
        const struct nj_record_group *group = &groups->groups[i];
        for (uint32_t j = 0; j < group->n_records; j++) {
            bytes += weights->extents[group->first_record + j].length_bytes + SLACK_BYTES;
        }
    }
    return bytes;
}
