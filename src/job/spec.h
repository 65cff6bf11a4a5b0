/* The validated job: what a person asked for, with every default filled in. Immutable once
 * read.
 *
 * A spec and everything it points to live in one arena, released whole. Reading it from YAML is
 * job/spec_yaml; turning it into single prompts is job/items.
 */
#ifndef NJ_JOB_SPEC_H
#define NJ_JOB_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/value_types.h"
#include "job/diagnostics.h"
#include "job/template.h"

enum {
    NJ_JOB_FORMAT_VERSION = 1,
    NJ_JOB_FILE_LIMIT_BYTES = 16 * 1024 * 1024,
    NJ_STOP_STRINGS_LIMIT = 16,
    NJ_STOP_STRING_LIMIT_BYTES = 256
};

/* How tokens are chosen. Values are resolved: nothing here means "default". */
struct nj_sampling {
    double temperature; /* 0: greedy */
    double top_p;       /* 1: off */
    uint32_t top_k;     /* 0: off */
    uint32_t max_tokens;
    bool has_seed; /* else derived per item from job_seed */
    uint64_t seed;
    const struct nj_text *stop;
    size_t n_stop;
};

enum nj_job_thinking {
    NJ_JOB_THINKING_OFF,
    NJ_JOB_THINKING_LOW,
    NJ_JOB_THINKING_HIGH,
    NJ_JOB_THINKING_MAX
};

enum nj_job_role { NJ_JOB_ROLE_SYSTEM, NJ_JOB_ROLE_USER, NJ_JOB_ROLE_ASSISTANT };

/* Texts with {{variables}} in place. */
struct nj_message_template {
    enum nj_job_role role;
    struct nj_text content;
    struct nj_template compiled; /* `content` taken apart */
    struct nj_place place;
};

/* A name and its value: the text as written in the source. Dotted paths lead into values that
 * are JSON objects. */
struct nj_variable {
    struct nj_text name;
    struct nj_text value;
    bool is_json; /* an object or list of a JSONL row, compact */
};

/* One entry of `prompts` (or the single `prompt` / `messages` / `ids` form). Exactly one of
 * prompt text (in the job file, or in a file of its own), messages and ids is given. */
struct nj_prompt_template {
    struct nj_place place;
    struct nj_text id; /* empty: none */
    struct nj_template id_compiled;
    bool has_prompt;
    struct nj_text prompt; /* empty when it is in `prompt_path` */
    struct nj_template prompt_compiled;
    const char *prompt_path; /* read when the items are opened; NULL: none */
    struct nj_place prompt_path_place;
    const struct nj_message_template *messages;
    size_t n_messages;
    const nj_token *ids;
    size_t n_ids;
    bool has_system;
    struct nj_text system; /* prompt's own, else the job's */
    struct nj_template system_compiled;
    bool uses_chat; /* false: the prompt text is fed as it is, without a chat frame */
    const struct nj_variable *vars; /* its own, sorted by name; they win over the job's */
    size_t n_vars;
    struct nj_sampling sampling;
};

enum nj_row_format { NJ_ROWS_NONE, NJ_ROWS_INLINE, NJ_ROWS_CSV, NJ_ROWS_TSV, NJ_ROWS_JSONL };

struct nj_row_source {
    enum nj_row_format format;
    const char *path;      /* absolute or relative to the process; as resolved */
    struct nj_place place; /* of the `rows` key */
    char delimiter;
    uint64_t offset, limit;                       /* limit 0: all */
    const struct nj_variable *const *inline_rows; /* NJ_ROWS_INLINE; each sorted by name */
    const size_t *inline_counts;
    const struct nj_place *inline_places;
    size_t n_inline_rows;
};

struct nj_job_spec {
    struct nj_text name;
    struct nj_text description;
    const struct nj_text *tags;
    size_t n_tags;
    const char *source_path;    /* the YAML file */
    struct nj_text model;       /* as written; empty when absent */
    struct nj_text id_template; /* empty: none */
    struct nj_template id_compiled;
    struct nj_place id_place;
    const struct nj_variable *vars; /* sorted by name */
    size_t n_vars;
    const struct nj_prompt_template *prompts;
    size_t n_prompts;
    struct nj_row_source rows;
    enum nj_job_thinking thinking;
    bool has_latent_norm_eps;
    double latent_norm_eps;
    bool has_job_seed;
    uint64_t job_seed;
    const char *output_directory; /* resolved against the YAML file; NULL when absent */
};

#endif
