/* The `rows` key: a list of maps, a path, or a map that says how to read a file. */
#ifndef NJ_JOB_ROWS_KEYS_H
#define NJ_JOB_ROWS_KEYS_H

#include "job/schema.h"
#include "job/spec.h"

/* Of the map. */
extern const struct nj_key_table nj_rows_keys;

/* A key reader; the target is a `struct nj_row_source`. */
void nj_rows_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);

#endif
