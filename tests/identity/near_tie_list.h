/* Prompts after which two tokens are so close that summing in another order picks the other
 * one.
 *
 * A list is a text file (tests/golden/identity_near_ties_<model>.txt), made by
 * record_near_ties.sh:
 *
 *     # comment
 *     BEST REORDERED GAP : ID ID ...
 *
 * BEST is the greedy choice after the ids, REORDERED that of a build that folds the lanes of a
 * sum in another order, GAP the distance of the two largest logits in the contract's order.
 */
#ifndef NJ_TESTS_IDENTITY_NEAR_TIE_LIST_H
#define NJ_TESTS_IDENTITY_NEAR_TIE_LIST_H

#include <stdint.h>

#include "base/value_types.h"

enum { NEAR_TIE_MOST_IDS = 32, NEAR_TIE_LIST_LIMIT = 64 };

struct near_tie {
    nj_token best;
    nj_token reordered;
    double gap;
    uint32_t n_ids;
    nj_token ids[NEAR_TIE_MOST_IDS];
};

struct near_tie_list {
    uint32_t n;
    struct near_tie ties[NEAR_TIE_LIST_LIMIT];
};

/* Ends the program when the file cannot be read or a line is not of this form. */
void near_tie_list_read(struct near_tie_list *list, const char *path);

void near_tie_print(const struct near_tie *tie);

#endif
