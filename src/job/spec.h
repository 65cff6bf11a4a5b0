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
#include "job/orders.h"
#include "job/template.h"

enum {
    NJ_JOB_FORMAT_VERSION = 1,
    NJ_JOB_FILE_LIMIT_BYTES = 16 * 1024 * 1024,
    NJ_STOP_STRINGS_LIMIT = 16,
    NJ_STOP_STRING_LIMIT_BYTES = 256,
    NJ_STOP_TOKENS_LIMIT = 64,
    NJ_LOGIT_BIASES_LIMIT = 1024,
    NJ_TOP_LOGPROBS_LIMIT = 20,
    NJ_SAMPLES_LIMIT = 128,
    NJ_BATCH_LIMIT = 65536, /* items under way at once */
    NJ_THREADS_LIMIT = 1024
};

/* Added to the logit of one token. */
struct nj_logit_bias {
    nj_token token;
    double bias; /* -100 to 100 */
};

/* How tokens are chosen. Values are resolved: nothing here means "default". */
struct nj_sampling {
    double temperature;       /* 0: greedy */
    double top_p;             /* 1: off */
    double min_p;             /* 0: off */
    double presence_penalty;  /* 0: off; -2 to 2 */
    double frequency_penalty; /* 0: off; -2 to 2 */
    double repeat_penalty;    /* 1: off; above 0 to 10 */
    uint32_t top_k;           /* 0: off */
    uint32_t max_tokens;
    uint32_t n;    /* answers to each item; 1 to NJ_SAMPLES_LIMIT */
    bool has_seed; /* else derived per item from job_seed */
    uint64_t seed;
    bool wants_logprobs;     /* of the chosen token */
    uint32_t n_top_logprobs; /* and of so many of the likeliest; 0 to NJ_TOP_LOGPROBS_LIMIT */
    const struct nj_text *stop;
    size_t n_stop;
    const nj_token *stop_tokens; /* ascending, each once */
    size_t n_stop_tokens;
    const struct nj_logit_bias *logit_biases; /* ascending by token, each once */
    size_t n_logit_biases;
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
    struct nj_text model; /* its own; empty: the job's */
    struct nj_place model_place;
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
    uint64_t offset, limit; /* limit 0: all */
    bool has_shuffle_seed;  /* rows are drawn in another order before offset and limit */
    uint64_t shuffle_seed;
    const struct nj_variable *const *inline_rows; /* NJ_ROWS_INLINE; each sorted by name */
    const size_t *inline_counts;
    const struct nj_place *inline_places;
    size_t n_inline_rows;
};

struct nj_node; /* job/yaml_tree.h */

enum nj_axis_kind { NJ_AXIS_VARIABLE, NJ_AXIS_MODEL, NJ_AXIS_SAMPLING };

/* One name of the matrix and its values, those that only `include` has behind the others. */
struct nj_matrix_axis {
    enum nj_axis_kind kind;
    bool is_variable;          /* all values are texts, so that templates can name it */
    const struct nj_node *key; /* its text is a variable, `model` or `sampling.KEY` */
    const struct nj_node **values;
    size_t n_values;
};

/* Read by job/matrix. */
struct nj_matrix {
    const struct nj_matrix_axis *axes;
    size_t n_axes;
    const uint32_t *choices; /* (n_cells, n_axes): which value */
    const uint32_t *indices; /* of each cell in the whole product, excluded ones counted;
                              * included ones behind */
    size_t n_cells;          /* 0: the job has no matrix */
};

/* A model that is named in the file. */
struct nj_job_model {
    struct nj_text path;
    struct nj_place place;
};

/* How much a job may do. 0: no limit. */
struct nj_job_budget {
    struct nj_place place;      /* of the key; line 0 when absent, here and below */
    uint64_t max_items;         /* only so many of its items, the first */
    uint64_t max_output_tokens; /* reserved in input order by max_tokens times n */
    struct nj_place max_output_tokens_place;
    uint64_t max_runtime_ns;
    uint64_t item_timeout_ns;
};

/* The job ends early once `count` items have failed, or `percent` of all its items. Both 0:
 * never. */
struct nj_job_failure_limit {
    struct nj_place place;
    uint64_t count;
    double percent;
};

/* Where the states of items under way lie. */
enum nj_job_states {
    NJ_JOB_STATES_UNSAID,
    NJ_JOB_STATES_AUTO,
    NJ_JOB_STATES_MEMORY,
    NJ_JOB_STATES_DISK
};

/* What running may use. It changes time and no byte of the results; flags win. 0: not said. */
struct nj_job_resources {
    uint64_t memory_bytes;
    uint32_t batch;
    uint32_t threads;
    enum nj_job_states states;
    uint64_t prefix_cache_bytes; /* UINT64_MAX: off */
    uint32_t nice;               /* 0 to 19 */
    struct nj_place nice_place;
};

enum { NJ_COMPRESS_AUTO = 0, NJ_COMPRESS_OFF = -1 }; /* else zlib's level, 1 to 9 */

/* How snapshots are written. 0: not said. At most one of `every_ns` and `every_sweeps`. */
struct nj_job_snapshot {
    struct nj_place place;
    uint64_t every_ns;
    uint32_t every_sweeps;
    uint64_t write_budget_bytes; /* an hour */
    int compress;
};

/* Bits of nj_job_spec.output_formats. */
enum nj_output_format { NJ_OUTPUT_JSONL = 1, NJ_OUTPUT_MARKDOWN = 2, NJ_OUTPUT_CSV = 4 };

/* A key that only the daemon obeys: what it says is in `orders`, and of `power` and `guards`
 * nothing is kept. */
struct nj_daemon_key {
    const char *name;
    struct nj_place place;
};

enum { NJ_DAEMON_KEYS_LIMIT = 16 };

struct nj_job_spec {
    struct nj_text name;
    struct nj_text description;
    const struct nj_text *tags;
    size_t n_tags;
    const char *source_path;           /* the YAML file */
    struct nj_text model;              /* as written; empty when absent */
    const struct nj_job_model *models; /* every model that a prompt would use, each once */
    size_t n_models;                   /* 0: the file names none */
    struct nj_text id_template;        /* empty: none */
    struct nj_template id_compiled;
    struct nj_place id_place;
    const struct nj_variable *vars; /* sorted by name */
    size_t n_vars;
    const struct nj_prompt_template *prompts;
    size_t n_prompts;
    struct nj_row_source rows;
    struct nj_matrix matrix;
    uint64_t repeat;     /* each item so many times; at least 1 */
    uint64_t item_limit; /* only the first so many items; 0: all */
    enum nj_job_thinking thinking;
    bool has_latent_norm_eps;
    double latent_norm_eps;
    bool has_job_seed;
    uint64_t job_seed;
    const char *output_directory; /* resolved against the YAML file; NULL when absent */
    unsigned output_formats;      /* of enum nj_output_format; NJ_OUTPUT_JSONL always */
    struct nj_place formats_place;
    struct nj_text filename_template; /* of an item's own file; empty: none */
    struct nj_template filename_compiled;
    uint32_t context; /* longest prompt and output together, in tokens; 0: not said */
    struct nj_job_budget budget;
    struct nj_job_failure_limit stop_on_failures;
    struct nj_job_resources resources;
    struct nj_job_snapshot snapshot;
    struct nj_job_orders orders;
    struct nj_daemon_key daemon_keys[NJ_DAEMON_KEYS_LIMIT]; /* in file order */
    size_t n_daemon_keys;
};

#endif
