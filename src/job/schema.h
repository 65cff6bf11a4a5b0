/* From untyped nodes to values: a key's schema decides what its text means.
 *
 * YAML's own guesses (no is false, 0644 is octal, 22:00 is 1320) are never made: text keys take
 * text, numbers follow JSON, booleans are true and false.
 *
 * Readers complain into the diagnostics and go on, so that all mistakes come out at once.
 */
#ifndef NJ_JOB_SCHEMA_H
#define NJ_JOB_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "job/diagnostics.h"
#include "job/key_table.h"
#include "job/template.h"
#include "job/yaml_tree.h"

struct nj_schema {
    const char *path;
    struct nj_text source;
    struct nj_arena *arena;
    struct nj_diagnostics *diagnostics;
    const struct nj_key_table *job_keys; /* of the file itself; NULL while none is read */
    bool is_import;  /* of another tool, whose data may have come from elsewhere */
    size_t n_passed; /* values that were passed over, as a complaint was made already */
    bool out_of_memory;
};

/* Like nj_arena_take_array, and remembers a failure in the schema. */
void *nj_schema_take(struct nj_schema *schema, size_t count, size_t item_bytes);

void nj_schema_error(struct nj_schema *schema, struct nj_place place, const char *hint,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The calls below return false after a complaint; the out-parameter is then untouched. */

bool nj_expect_list(struct nj_schema *schema, const struct nj_node_pair *pair);
bool nj_expect_map(struct nj_schema *schema, const struct nj_node_pair *pair);

/* Any scalar that is there; `key:` with nothing behind it is an error, `key: ""` is not. */
bool nj_expect_text(struct nj_schema *schema, const struct nj_node_pair *pair,
                    struct nj_text *text);
/* As above, and not empty. */
bool nj_expect_filled_text(struct nj_schema *schema, const struct nj_node_pair *pair,
                           struct nj_text *text);
/* Text for prompts and variables; warns of a comment behind it, which people mean as text. */
bool nj_expect_prose(struct nj_schema *schema, const struct nj_node_pair *pair,
                     struct nj_text *text);
/* Prose with variables, taken apart. */
bool nj_expect_template(struct nj_schema *schema, const struct nj_node_pair *pair,
                        struct nj_text *text, struct nj_template *compiled);
bool nj_expect_boolean(struct nj_schema *schema, const struct nj_node_pair *pair, bool *value);
bool nj_expect_unsigned(struct nj_schema *schema, const struct nj_node_pair *pair,
                        uint64_t least, uint64_t most, uint64_t *value);
/* As above, for what fits in 32 bits. */
bool nj_expect_unsigned32(struct nj_schema *schema, const struct nj_node_pair *pair,
                          uint32_t least, uint32_t most, uint32_t *value);
/* `least` itself is allowed unless `is_open`. */
bool nj_expect_number(struct nj_schema *schema, const struct nj_node_pair *pair, double least,
                      bool is_open, double most, double *value);
/* Text such as 8GiB or 1h30m, at least 1 (job/quantity). */
bool nj_expect_size(struct nj_schema *schema, const struct nj_node_pair *pair, uint64_t *bytes);
bool nj_expect_duration(struct nj_schema *schema, const struct nj_node_pair *pair,
                        uint64_t *duration_ns);
/* One of `n_names` words; `*index` says which. */
bool nj_expect_choice(struct nj_schema *schema, const struct nj_node_pair *pair,
                      const char *const *names, size_t n_names, size_t *index);

#endif
