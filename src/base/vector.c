#include "base/vector.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 8 };

enum nj_status nj_vector_reserve(void *items, size_t *capacity, size_t item_bytes,
                                 size_t wanted, struct nj_error *err)
{
    if (wanted <= *capacity) {
        return NJ_OK;
    }
    size_t grown = *capacity > SIZE_MAX / 2 ? wanted : 2 * *capacity;
    if (grown < FIRST_CAPACITY) {
        grown = FIRST_CAPACITY;
    }
    if (grown < wanted) {
        grown = wanted;
    }
    if (grown > SIZE_MAX / item_bytes) {
        return nj_fail(err, NJ_E_MEMORY, "grow an array to %zu items of %zu bytes: too large",
                       grown, item_bytes);
    }
    /* Copied, not dereferenced as void **: the owner's pointer has another type. */
    void *array = NULL;
    memcpy(&array, items, sizeof array);
    array = realloc(array, grown * item_bytes);
    if (array == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "grow an array to %zu items of %zu bytes: no memory",
                       grown, item_bytes);
    }
    memcpy(items, &array, sizeof array);
    *capacity = grown;
    return NJ_OK;
}
