/* Which records of a model are read, kept and given up together when weights stream.
 *
 * A routed expert is one group: its six records mostly touch in the file. The embedding has one
 * group a row, so that only the rows of a sweep's tokens are read. Everything else is packed,
 * in the order of its use and without crossing from one layer into the next, into groups about
 * as large as an expert, so that frames of one size waste little.
 */
#ifndef NJ_MODEL_WEIGHT_GROUPS_H
#define NJ_MODEL_WEIGHT_GROUPS_H

#include <stdint.h>

#include "base/status.h"
#include "model/dims.h"
#include "model/weights.h"
#include "stream/stream.h"

/* A run of groups. */
struct nj_group_run {
    uint32_t first;
    uint32_t n;
};

/* Records and tables of weights that stream. Released with the weights' arena. */
struct nj_weight_groups {
    struct nj_record_group *groups;
    uint32_t n_groups;
    struct nj_group_run head;
    struct nj_group_run *trunks; /* (n_layers) */
};

/* How to cut a model for streaming, from the same model bound in any other way: records as
 * large as its largest expert, or what must stay together, or for tiny ones a fraction of it
 * all. */
struct nj_record_cut nj_weight_groups_cut(const struct nj_weights *weights);

/* `cut` is what the weights were bound with. All groups pass but the experts', which are
 * cached. NJ_E_MEMORY. */
enum nj_status nj_weight_groups_init(struct nj_weight_groups *groups,
                                     struct nj_weights *weights, const struct nj_dims *dims,
                                     struct nj_record_cut cut, struct nj_error *err);

/* Sets all groups of the run to stay in memory, or not. */
void nj_weight_groups_keep(struct nj_weight_groups *groups, struct nj_group_run run,
                           enum nj_group_keep keep);

/* At least what the run takes in memory when it is resident. */
uint64_t nj_weight_groups_resident_bytes(const struct nj_weight_groups *groups,
                                         const struct nj_weights *weights,
                                         struct nj_group_run run);

#endif
