/* In which field two items differ, in words for the person who changed it. */
#ifndef NJ_RUNNER_ITEM_CHANGE_H
#define NJ_RUNNER_ITEM_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "job/items.h"
#include "job/spec.h"

enum { NJ_ITEM_CHANGE_BYTES = 240 };

/* An item and the job that it is of. Borrowed. */
struct nj_item_of_job {
    const struct nj_item *item;
    const struct nj_job_spec *spec;
};

/* Writes the first difference, "`sampling.top_k` was 5 and is 6"; false when there is none. */
bool nj_item_change_describe(const struct nj_item_of_job *before,
                             const struct nj_item_of_job *now, char text[NJ_ITEM_CHANGE_BYTES]);

/* The same for two texts under one name: with their values if both are short. */
bool nj_text_change_describe(const char *field, struct nj_text before, struct nj_text now,
                             char text[NJ_ITEM_CHANGE_BYTES]);

#endif
