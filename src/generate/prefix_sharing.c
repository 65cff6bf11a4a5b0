#include "generate/prefix_sharing.h"

#include <string.h>

/* More points than that on one way are not looked at. */
enum { POINTS_LIMIT = 64 };

/* The sequences of one sweep. */
struct company {
    struct nj_prefix_sharing *sharing;
    struct nj_sequence *const *sequences;
    uint32_t n_sequences;
};

void nj_prefix_sharing_init(struct nj_prefix_sharing *sharing,
                            const struct nj_prefix_options *options, const struct nj_dims *dims)
{
    *sharing = (struct nj_prefix_sharing){
        .options = *options,
        .shelf = {.dims = dims, .tree = options->tree, .limit_bytes = options->shelf_bytes}};
}

void nj_prefix_sharing_deinit(struct nj_prefix_sharing *sharing)
{
    nj_prefix_shelf_deinit(&sharing->shelf);
    memset(sharing, 0, sizeof *sharing);
}

/* Ids that another sequence may have read for this one: all but the last, whose logits it
 * needs. */
static uint32_t n_shareable(const struct nj_sequence *sequence)
{
    return (uint32_t)sequence->n_tokens - 1;
}

static uint32_t n_read(const struct nj_sequence *sequence)
{
    return nj_state_length(sequence->state);
}

void nj_prefix_sharing_begin(struct nj_prefix_sharing *sharing,
                             const struct nj_sequence *sequence)
{
    struct nj_prefix_tree *tree = sharing->options.tree;
    if (tree != NULL && sequence->n_prompt > 1) {
        (void)nj_prefix_tree_begin(tree, sequence->tokens, sequence->n_prompt - 1, NULL);
    }
}

static bool is_prefilling(const struct nj_sequence *sequence)
{
    return sequence->finish == NJ_FINISH_NONE && nj_sequence_n_pending(sequence) > 1;
}

static bool begin_alike(const struct nj_sequence *a, const struct nj_sequence *b,
                        uint32_t n_ids)
{
    return n_ids <= n_shareable(a) && n_ids <= n_shareable(b) &&
           memcmp(a->tokens, b->tokens, n_ids * sizeof *a->tokens) == 0;
}

/* Whether a fork at `n_ids` spares this sequence enough. */
static bool would_gain(const struct company *company, const struct nj_sequence *sequence,
                       uint32_t n_ids)
{
    return n_ids > n_read(sequence) &&
           n_ids - n_read(sequence) >= company->sharing->options.least_ids;
}

/* --- forking --- */

/* Without memory for pages the sequence has read nothing, and reads it itself. */
static void fork_into(struct nj_prefix_sharing *sharing, struct nj_sequence *sequence,
                      const struct nj_state *source, uint64_t cost_ns)
{
    uint32_t before = n_read(sequence);
    if (nj_state_fork_into(sequence->state, source, NULL) == NJ_OK) {
        sequence->prefill_ns = cost_ns;
        sharing->counts.n_forks += 1;
        sharing->counts.n_spared += nj_state_length(source) - before;
    }
}

static bool is_worth_storing(const struct nj_prefix_sharing *sharing,
                             const struct nj_sequence *leader)
{
    const struct nj_prefix_storage *storage = &sharing->options.storage;
    return storage->load != NULL && leader->prefill_ns >= storage->least_store_ns;
}

/* Puts what the leader has read on the shelf, for those who are still to come. */
static void keep(struct nj_prefix_sharing *sharing, const struct nj_sequence *leader,
                 bool is_from_storage)
{
    uint32_t n_ids = n_read(leader);
    const struct nj_prefix_entry *before =
        nj_prefix_shelf_find(&sharing->shelf, leader->tokens, n_ids);
    uint32_t n_before = before != NULL ? before->n_ids : 0;
    if (n_before == n_ids) {
        return;
    }
    sharing->counts.n_read_once += is_from_storage ? 0 : n_ids - n_before;
    uint64_t n_to_come = nj_prefix_tree_to_come(sharing->options.tree, leader->tokens, n_ids);
    if (n_to_come == 0 && !is_from_storage && is_worth_storing(sharing, leader)) {
        n_to_come = 1;
    }
    struct nj_prefix_entry *entry =
        nj_prefix_shelf_put(&sharing->shelf, leader->tokens, leader->state, n_to_come);
    if (entry != NULL) {
        entry->cost_ns = leader->prefill_ns;
        entry->is_from_storage = is_from_storage;
    }
}

/* The leader has read what others can take over now. */
static void hand_over(const struct company *company, struct nj_sequence *leader,
                      bool is_from_storage)
{
    uint32_t n_ids = n_read(leader);
    keep(company->sharing, leader, is_from_storage);
    for (uint32_t i = 0; i < company->n_sequences; i++) {
        struct nj_sequence *other = company->sequences[i];
        if (other != leader && is_prefilling(other) && would_gain(company, other, n_ids) &&
            begin_alike(leader, other, n_ids)) {
            fork_into(company->sharing, other, leader->state, leader->prefill_ns);
        }
    }
}

static void take_from_shelf(const struct company *company, struct nj_sequence *sequence)
{
    struct nj_prefix_sharing *sharing = company->sharing;
    const struct nj_prefix_entry *entry =
        nj_prefix_shelf_find(&sharing->shelf, sequence->tokens, n_shareable(sequence));
    if (entry != NULL && would_gain(company, sequence, entry->n_ids)) {
        nj_prefix_shelf_use(&sharing->shelf, entry);
        fork_into(sharing, sequence, entry->state, entry->cost_ns);
    }
}

/* What was stored may be more than anybody here has read. */
static void take_from_storage(const struct company *company, struct nj_sequence *sequence)
{
    struct nj_prefix_sharing *sharing = company->sharing;
    const struct nj_prefix_storage *storage = &sharing->options.storage;
    uint32_t before = n_read(sequence);
    if (storage->load == NULL || sequence->has_asked_storage ||
        !would_gain(company, sequence, n_shareable(sequence))) {
        return;
    }
    sequence->has_asked_storage = true;
    if (storage->load(storage->context, sequence)) {
        sharing->counts.n_from_storage += n_read(sequence) - before;
        hand_over(company, sequence, true);
    }
}

/* --- planning --- */

/* Who is spared reading up to `n_ids` when this sequence has done it. */
static uint64_t n_others(const struct company *company, const struct nj_sequence *sequence,
                         const struct nj_prefix_point *point)
{
    const struct nj_prefix_shelf *shelf = &company->sharing->shelf;
    uint64_t n =
        nj_prefix_shelf_has_room(shelf, point->n_ids, point->n_to_come) ? point->n_to_come : 0;
    for (uint32_t i = 0; i < company->n_sequences; i++) {
        const struct nj_sequence *other = company->sequences[i];
        n += other != sequence && is_prefilling(other) &&
             would_gain(company, other, point->n_ids) &&
             begin_alike(sequence, other, point->n_ids);
    }
    return n;
}

/* Whether a fork at the point pays. What is on the shelf is shared already. */
static bool pays(const struct company *company, const struct nj_sequence *sequence,
                 const struct nj_prefix_point *point)
{
    const struct nj_prefix_options *options = &company->sharing->options;
    const struct nj_prefix_entry *entry =
        nj_prefix_shelf_find(&company->sharing->shelf, sequence->tokens, point->n_ids);
    uint32_t n_new = point->n_ids - (entry != NULL ? entry->n_ids : 0);
    if (point->n_ids <= n_read(sequence) || n_new < options->least_ids) {
        return false;
    }
    uint64_t n = n_others(company, sequence, point);
    return n > 0 && n * n_new >= options->least_rows;
}

/* The next point at which a fork pays; 0: none. */
static uint32_t next_fork(const struct company *company, const struct nj_sequence *sequence)
{
    struct nj_prefix_point points[POINTS_LIMIT];
    size_t n = nj_prefix_tree_points(company->sharing->options.tree, sequence->tokens,
                                     n_shareable(sequence), points, POINTS_LIMIT);
    for (size_t i = 0; i < n; i++) {
        if (pays(company, sequence, &points[i])) {
            return points[i].n_ids;
        }
    }
    return 0;
}

/* Whether somebody who is further reads for this sequence too. */
static bool is_led(const struct company *company, const struct nj_sequence *sequence)
{
    for (uint32_t i = 0; i < company->n_sequences; i++) {
        const struct nj_sequence *leader = company->sequences[i];
        if (leader != sequence && leader->fork_at > 0 && n_read(leader) >= n_read(sequence) &&
            would_gain(company, sequence, leader->fork_at) &&
            begin_alike(leader, sequence, leader->fork_at)) {
            return true;
        }
    }
    return false;
}

/* Who has begun to read goes before who has not: the others would wait for it to catch up. */
static void plan(const struct company *company, bool has_begun)
{
    for (uint32_t i = 0; i < company->n_sequences; i++) {
        struct nj_sequence *sequence = company->sequences[i];
        if (is_prefilling(sequence) && (n_read(sequence) > 0) == has_begun) {
            sequence->waits = is_led(company, sequence);
            sequence->fork_at = sequence->waits ? 0 : next_fork(company, sequence);
        }
    }
}

/* Whoever was to read up to a fork, and has. Its last id may be all that it has left to read.
 */
static void hand_over_all(const struct company *company)
{
    for (uint32_t i = 0; i < company->n_sequences; i++) {
        struct nj_sequence *leader = company->sequences[i];
        if (leader->finish == NJ_FINISH_NONE && leader->fork_at > 0 &&
            leader->fork_at == n_read(leader)) {
            hand_over(company, leader, false);
        }
    }
    for (uint32_t i = 0; i < company->n_sequences; i++) {
        company->sequences[i]->waits = false;
        company->sequences[i]->fork_at = 0;
    }
}

void nj_prefix_sharing_prepare(struct nj_prefix_sharing *sharing,
                               struct nj_sequence *const *sequences, uint32_t n_sequences)
{
    const struct company company = {sharing, sequences, n_sequences};
    if (sharing->options.tree == NULL) {
        return;
    }
    hand_over_all(&company);
    for (uint32_t i = 0; i < n_sequences; i++) {
        if (is_prefilling(sequences[i])) {
            take_from_shelf(&company, sequences[i]);
            take_from_storage(&company, sequences[i]);
        }
    }
    plan(&company, true);
    plan(&company, false);
}
