/* The levels that this build holds. What may be called here is decided by nj_kernels_choose:
 * the vector tables point at code that lesser processors cannot run.
 *
 * Threads: constants.
 */
#ifndef NJ_KERNELS_LEVELS_H
#define NJ_KERNELS_LEVELS_H

#include "kernels/kernels.h"

extern const struct nj_kernels nj_kernels_scalar_table;
#if defined(NJ_KERNELS_X86)
extern const struct nj_kernels nj_kernels_avx2_table;
extern const struct nj_kernels nj_kernels_avx512_table;
#endif

#endif
