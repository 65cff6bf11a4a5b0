#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "tokenizer/tokenizer.h"

void nj_token_list_deinit(struct nj_token_list *list)
{
    free(list->ids);
    *list = (struct nj_token_list){0};
}

enum nj_status nj_token_list_append(struct nj_token_list *list, const nj_token *ids,
                                    size_t n_ids, struct nj_error *err)
{
    if (n_ids == 0) {
        return NJ_OK;
    }
    enum nj_status status = nj_vector_reserve(&list->ids, &list->capacity, sizeof *list->ids,
                                              list->n_ids + n_ids, err);
    if (status != NJ_OK) {
        return status;
    }
    memcpy(list->ids + list->n_ids, ids, n_ids * sizeof *ids);
    list->n_ids += n_ids;
    return NJ_OK;
}
