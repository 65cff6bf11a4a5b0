/* The running sequences of one model and the step that moves all of them on (the calls are
 * public: nightjar/generate.h). */
#ifndef NJ_GENERATE_GENERATOR_H
#define NJ_GENERATE_GENERATOR_H

#include "generate/prefix_sharing.h"
#include "generate/sequence.h"
#include "model/sweep.h"
#include "nightjar/generate.h"

enum { NJ_DEFAULT_SEQUENCES = 16 };

/* Hooks for the sweeps of every step; NULL for none. Borrowed. */
void nj_generator_set_hooks(struct nj_generator *generator, const struct nj_sweep_hooks *hooks);

/* Sequences that are added from now on share their prefixes as `options` say; before, and with
 * zeroed options, each reads its own. Forgets what was shared. */
void nj_generator_share_prefixes(struct nj_generator *generator,
                                 const struct nj_prefix_options *options);

/* What the next step would do first: rebuilds broken states, and settles who reads what. For
 * callers who look at states between sweeps, and are to see them as the sweep will. */
void nj_generator_prepare(struct nj_generator *generator);

struct nj_prefix_counts nj_generator_prefix_counts(const struct nj_generator *generator);
/* What is kept for sequences to come; valid until the next step or preparation. */
const struct nj_prefix_shelf *nj_generator_prefix_shelf(const struct nj_generator *generator);

/* Rows of all sweeps so far, for reports. */
uint64_t nj_generator_n_rows(const struct nj_generator *generator);

#endif
