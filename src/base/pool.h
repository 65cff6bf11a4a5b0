/* Runs a range of independent pieces on worker threads.
 *
 * Pieces never share a sum, so which thread runs which piece changes no bit. Each thread sets
 * rounding to nearest and denormals on before it computes anything (determinism: a library that
 * turned on flush-to-zero in the caller must not change our output). The calling thread works
 * along, and gets its own mode back afterwards.
 *
 * Threads: one caller at a time.
 */
#ifndef NJ_BASE_POOL_H
#define NJ_BASE_POOL_H

#include <stdint.h>

#include "base/status.h"

struct nj_pool;

/* `piece` in [0, n_pieces); `thread_index` in [0, n_threads), for per-thread scratch. */
typedef void nj_pool_function(void *context, uint32_t piece, uint32_t thread_index);

/* `n_threads` includes the caller; 0 means one per online CPU. Caller owns `*pool`. */
enum nj_status nj_pool_create(uint32_t n_threads, struct nj_pool **pool, struct nj_error *err);
void nj_pool_destroy(struct nj_pool *pool);
uint32_t nj_pool_n_threads(const struct nj_pool *pool);

/* Returns when all pieces are done. With 1 thread or 1 piece it runs in the caller. */
void nj_pool_run(struct nj_pool *pool, uint32_t n_pieces, nj_pool_function *function,
                 void *context);

#endif
