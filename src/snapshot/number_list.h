/* The numbers in the names of a folder's files, as a listing finds them.
 *
 * Threads: none of its own; each call uses its arguments only.
 */
#ifndef NJ_SNAPSHOT_NUMBER_LIST_H
#define NJ_SNAPSHOT_NUMBER_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Zeroed is empty; the owner's to deinit. */
struct nj_number_list {
    uint64_t *numbers;
    size_t n_numbers;
    size_t capacity;
};

/* NJ_E_MEMORY. */
enum nj_status nj_number_list_add(struct nj_number_list *list, uint64_t number,
                                  struct nj_error *err);
/* Into rising order. */
void nj_number_list_sort(struct nj_number_list *list);
void nj_number_list_deinit(struct nj_number_list *list);

#endif
