/* The level under test and the groups of tests that kernels_test runs on it. */
#ifndef NJ_TESTS_KERNELS_LEVEL_H
#define NJ_TESTS_KERNELS_LEVEL_H

#include "kernels/kernels.h"

const struct nj_kernels *level_under_test(void);

/* The scalar definition, or NULL when that is itself under test: then only the recorded hashes,
 * the guards and the definition's own tests judge it. */
const struct nj_kernels *definition(void);

void run_multiply_tests(void);
void run_vector_tests(void);
void run_chain_tests(void);
void run_definition_tests(void);

#endif
