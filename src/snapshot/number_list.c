#include "snapshot/number_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

enum nj_status nj_number_list_add(struct nj_number_list *list, uint64_t number,
                                  struct nj_error *err)
{
    enum nj_status status = nj_vector_reserve(&list->numbers, &list->capacity,
                                              sizeof *list->numbers, list->n_numbers + 1, err);
    if (status == NJ_OK) {
        list->numbers[list->n_numbers++] = number;
    }
    return status;
}

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;
    return (*a > *b) - (*a < *b);
}

void nj_number_list_sort(struct nj_number_list *list)
{
    if (list->n_numbers > 0) {
        qsort(list->numbers, list->n_numbers, sizeof *list->numbers, compare);
    }
}

void nj_number_list_deinit(struct nj_number_list *list)
{
    free(list->numbers);
    memset(list, 0, sizeof *list);
}
