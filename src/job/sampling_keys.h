/* The `sampling` keys: in the file, in a prompt, and as `sampling.*` columns of a row. */
#ifndef NJ_JOB_SAMPLING_KEYS_H
#define NJ_JOB_SAMPLING_KEYS_H

#include "job/schema.h"
#include "job/spec.h"

/* What holds where a job says nothing. */
struct nj_sampling nj_sampling_default(void);

extern const struct nj_key_table nj_sampling_keys;

/* A key reader for `sampling`: changes what the map names in the `struct nj_sampling` target.
 */
void nj_sampling_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target);

/* Sets the key that the pair's key names as `sampling.KEY`, which must exist. */
void nj_sampling_set(struct nj_schema *schema, const struct nj_node_pair *pair,
                     struct nj_sampling *sampling);

/* The key that a column `sampling.temperature` sets; empty for other columns. */
struct nj_text nj_sampling_column_key(struct nj_text column);

/* Complains when `column` is named like a setting but sets none. */
void nj_sampling_check_column(struct nj_schema *schema, struct nj_text column,
                              struct nj_place place);

/* Sets what the column names from its text; other columns change nothing, and an empty value
 * leaves the setting as it is. */
void nj_sampling_set_from_column(struct nj_schema *schema, const struct nj_variable *column,
                                 struct nj_place place, struct nj_sampling *sampling);

enum { NJ_SETTING_HINT_BYTES = 64 };

/* What may be meant by a name behind `sampling.` that is none; the text is in `hint`, or a
 * constant. */
const char *nj_sampling_setting_hint(struct nj_text key, char hint[NJ_SETTING_HINT_BYTES]);

/* A key reader: a run that cannot hold the model to a form must not look as if it did. */
void nj_response_format_refuse(struct nj_schema *schema, const struct nj_node_pair *pair,
                               void *target);

#endif
