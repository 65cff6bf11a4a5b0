/* The running sequences of one model and the step that moves all of them on (the calls are
 * public: nightjar/generate.h). */
#ifndef NJ_GENERATE_GENERATOR_H
#define NJ_GENERATE_GENERATOR_H

#include "generate/sequence.h"
#include "model/sweep.h"
#include "nightjar/generate.h"

enum { NJ_DEFAULT_SEQUENCES = 16 };

/* Hooks for the sweeps of every step; NULL for none. Borrowed. */
void nj_generator_set_hooks(struct nj_generator *generator, const struct nj_sweep_hooks *hooks);

/* Rows of all sweeps so far, for reports. */
uint64_t nj_generator_n_rows(const struct nj_generator *generator);

#endif
