/* Growth of an array inside one owner.
 *
 *     struct nj_thing *things; size_t n_things; size_t things_capacity;
 *     status = nj_vector_reserve(&things, &things_capacity, sizeof *things, n_things + 1, err);
 *
 * The array is the owner's to free(). Capacity doubles, so appending is linear overall.
 */
#ifndef NJ_BASE_VECTOR_H
#define NJ_BASE_VECTOR_H

#include <stddef.h>

#include "base/status.h"

/* `items` is the address of the owner's typed pointer (void *, so no cast is needed there).
 * NJ_E_MEMORY leaves array and capacity unchanged. */
enum nj_status nj_vector_reserve(void *items, size_t *capacity, size_t item_bytes,
                                 size_t wanted, struct nj_error *err);

#endif
