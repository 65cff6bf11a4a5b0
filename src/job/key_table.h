/* The keys of a map as a table of name and reader, so that supporting one more key is one more
 * reader. A key that is not in the table is an error that says what may have been meant.
 */
#ifndef NJ_JOB_KEY_TABLE_H
#define NJ_JOB_KEY_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "job/yaml_tree.h"

struct nj_schema; /* job/schema.h */

/* Reads the pair's value into `target`, whose type the table's owner knows. */
typedef void nj_key_reader(struct nj_schema *schema, const struct nj_node_pair *pair,
                           void *target);

struct nj_key_rule {
    const char *name; /* in snake_case; camelCase is read with a notice */
    nj_key_reader *read;
};

struct nj_key_table {
    const char *within; /* "sampling"; NULL for the file itself */
    const struct nj_key_rule *rules;
    size_t n_rules;
    const struct nj_key_table *const *inner; /* where a key that is unknown here may belong */
    size_t n_inner;
};

/* The name that is meant, by its letters; NULL when none is near. */
const char *nj_key_table_nearest(const struct nj_key_table *table, struct nj_text name);

/* Calls the reader of each key of `map`. Unknown keys are errors; keys that begin with `x-`
 * are left alone. */
void nj_key_table_read(struct nj_schema *schema, const struct nj_node *map,
                       const struct nj_key_table *table, void *target);

const struct nj_key_rule *nj_key_table_find(const struct nj_key_table *table,
                                            struct nj_text name);

/* Both are written for the same key: `max_tokens`, `maxTokens`, `max_completion_tokens`. */
bool nj_keys_are_one(struct nj_text a, struct nj_text b);

#endif
