/* Messages from one thread to another through memory of fixed size, in order.
 *
 * The giving side writes a message in place and publishes it; the taking side looks at it in
 * place and releases it. Who gives waits while there is no room, who takes while there is
 * nothing: the memory is the bound on how far one may run ahead of the other.
 *
 * Threads: one gives, one takes.
 */
#ifndef NJ_SNAPSHOT_HANDOVER_H
#define NJ_SNAPSHOT_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct nj_handover;

/* What one message takes besides its bytes, at most. */
enum { NJ_HANDOVER_OVERHEAD_BYTES = 32 };

/* NJ_E_MEMORY. Caller owns `*handover`. */
enum nj_status nj_handover_create(size_t capacity_bytes, struct nj_handover **handover,
                                  struct nj_error *err);
/* Neither side may be inside a call. NULL is allowed. */
void nj_handover_destroy(struct nj_handover *handover);

/* Room for a message of `n_bytes`, which with the overhead must not exceed the capacity;
 * aligned to 32. `*waited` says whether there was none at first. */
void *nj_handover_reserve(struct nj_handover *handover, size_t n_bytes, bool *waited);
void nj_handover_publish(struct nj_handover *handover);

/* The oldest message, or NULL when the other side closed and all are taken. Valid until
 * released. */
const void *nj_handover_take(struct nj_handover *handover, size_t *n_bytes);
void nj_handover_release(struct nj_handover *handover);

/* No more messages will come. */
void nj_handover_close(struct nj_handover *handover);

/* Everything published has been released: what the taking side did is seen by who asked. */
bool nj_handover_is_empty(struct nj_handover *handover);
void nj_handover_wait_until_empty(struct nj_handover *handover);

#endif
