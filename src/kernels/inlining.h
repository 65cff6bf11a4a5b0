/* Two hints that vector code cannot do without; they change speed, never bits.
 *
 * Threads: macros only.
 */
#ifndef NJ_KERNELS_INLINING_H
#define NJ_KERNELS_INLINING_H

/* Every constant argument must reach the loops it bounds. */
#define WIDE_INLINE static inline __attribute__((always_inline, unused))

/* Unrolls a loop over an array of registers. Left to itself gcc -O2 keeps such an array in
 * memory, at a third of the speed. */
#if defined(__clang__)
#define WIDE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define WIDE_UNROLL _Pragma("GCC unroll 16")
#endif

#endif
