/* Sequences that begin with the same ids read them once.
 *
 * Before each sweep it is settled who reads what: the first of those that share a beginning
 * reads it, up to exactly the id behind which they part (`fork_at`), and the others wait. When
 * it has got there its state is forked into theirs, and one more fork goes on a shelf if others
 * are still to come; they take it from there. A chunk of a prompt may end anywhere, so none of
 * this changes a bit; what is lost (a leader that is taken away, a shelf entry, a broken sweep)
 * is read again.
 *
 * A fork is made where it pays: for prefixes of at least `least_ids`, and if those who share
 * one are spared `least_rows` rows together. A fork may cost a sweep more, and while weights
 * are read again in every sweep that is as dear as the rows that fill one.
 *
 * Threads: the generator's.
 */
#ifndef NJ_GENERATE_PREFIX_SHARING_H
#define NJ_GENERATE_PREFIX_SHARING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/status.h"
#include "generate/prefix_shelf.h"
#include "generate/prefix_tree.h"
#include "generate/sequence.h"

/* Where states of prefixes outlive a run (runner/prefix_store). Zeroed: nowhere. */
struct nj_prefix_storage {
    void *context;
    /* Makes the state of `sequence` that of a longer prefix of its ids, of at most all but the
     * last. False: nothing was found, or it was of no use; the state may then be empty. Asked
     * once for each sequence. */
    bool (*load)(void *context, struct nj_sequence *sequence);
    /* Where it took longer than this to read it, a prefix stays on the shelf to be stored at
     * the end, even if nobody is to come. */
    uint64_t least_store_ns;
};

/* Zeroed: nothing is shared. */
struct nj_prefix_options {
    struct nj_prefix_tree *tree; /* borrowed; NULL: nothing is shared */
    uint32_t least_ids;          /* at least 1 */
    uint64_t least_rows;         /* that a fork spares */
    uint64_t shelf_bytes;        /* for states of prefixes besides those of the sequences */
    struct nj_clock clock;       /* zeroed: costs are not measured */
    struct nj_prefix_storage storage;
};

struct nj_prefix_counts {
    uint64_t n_read_once;    /* ids that one sequence read for others too */
    uint64_t n_forks;        /* states that others took over */
    uint64_t n_spared;       /* ids that these did not have to read */
    uint64_t n_from_storage; /* ids that no sequence had to read */
};

/* Zeroed is off. */
struct nj_prefix_sharing {
    struct nj_prefix_options options;
    struct nj_prefix_shelf shelf;
    struct nj_prefix_counts counts;
};

/* `dims` is borrowed. */
void nj_prefix_sharing_init(struct nj_prefix_sharing *sharing,
                            const struct nj_prefix_options *options,
                            const struct nj_dims *dims);
void nj_prefix_sharing_deinit(struct nj_prefix_sharing *sharing);

/* A sequence joins. Never fails: without memory it shares less. */
void nj_prefix_sharing_begin(struct nj_prefix_sharing *sharing,
                             const struct nj_sequence *sequence);

/* Before a sweep, when no state is broken: forks what can be forked and sets `fork_at` and
 * `waits` of each sequence. As long as some sequence is not finished, one of them does not
 * wait. Called twice it does no more than once. */
void nj_prefix_sharing_prepare(struct nj_prefix_sharing *sharing,
                               struct nj_sequence *const *sequences, uint32_t n_sequences);

#endif
