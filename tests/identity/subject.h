/* The models on which identity is proven, and their settings of a machine.
 *
 * Threads: one model, one thread.
 */
#ifndef NJ_TESTS_IDENTITY_SUBJECT_H
#define NJ_TESTS_IDENTITY_SUBJECT_H

#include <stdint.h>

#include "base/value_types.h"
#include "model/model.h"

enum { SUBJECT_MOST_ROWS = 256 };

/* The directory of "t13", which is written to the test's folder, or of "fledgling". Ends the
 * program when there is no such model. Valid until exit. */
const char *subject_directory(const char *name);

/* Ends the program with the error's text on failure. Zero and NULL as in nj_model_options. */
struct nj_model *subject_open(const char *directory, const char *level, uint32_t n_threads);

/* The n-th of endless ids without a pattern, none of them special. */
nj_token subject_random_token(const struct nj_model *model, uint64_t seed, uint64_t n);

/* The lowest id of the largest logits, and the best of the others. */
nj_token subject_best(const float *logits, uint32_t n_vocabulary, nj_token *second);

/* Prints the reason and ends the program with 1. */
void subject_die(const char *what, const char *why) __attribute__((noreturn));

#endif
