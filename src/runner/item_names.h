/* Names of files that belong to single items: safe on every file system, and no two alike.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_ITEM_NAMES_H
#define NJ_RUNNER_ITEM_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "job/items.h"

enum {
    NJ_ITEM_NAME_STEM_BYTES = 60, /* before a suffix that tells equal ones apart */
    NJ_ITEM_NAME_BYTES = 80       /* with suffix, ".md" and a NUL */
};

/* A name that was given, without regard to case. */
struct nj_given_name {
    uint64_t hash;        /* 0: free */
    uint64_t next_number; /* to try for the next item with this name */
};

/* Names given so far. Zeroed is valid and empty. */
struct nj_item_names {
    struct nj_given_name *slots; /* a power of two of them */
    size_t n_slots;
    size_t n_names;
};

void nj_item_names_deinit(struct nj_item_names *names);

/* The name of the item's Markdown file: of its rendered `output.filename`, else of index and
 * id. Asked for all items in input order, it gives the same names every time; an item whose
 * name was given before gets "-2", "-3", ... behind it. */
enum nj_status nj_item_names_give(struct nj_item_names *names, const struct nj_item *item,
                                  char name[NJ_ITEM_NAME_BYTES], struct nj_error *err);

/* Whether the name was given. */
bool nj_item_names_has(const struct nj_item_names *names, const char *name);

#endif
