#include "job/job_keys.h"

#include <float.h>
#include <string.h>

#include "job/daemon_keys.h"
#include "job/item_seed.h"
#include "job/matrix.h"
#include "job/output_keys.h"
#include "job/prompt_keys.h"
#include "job/rows_keys.h"
#include "job/running_keys.h"
#include "job/sampling_keys.h"
#include "job/schedule_keys.h"
#include "job/schema.h"
#include "job/unknown_names.h"
#include "job/variables.h"
#include "job/yaml_tree.h"

enum {
    NAME_LIMIT_BYTES = 100, /* leaves room for suffixes in a folder name */
    REPEAT_LIMIT = 1000000
};

/* The file as read so far. What depends on other keys is kept until all are known. */
struct job_draft {
    struct nj_job_spec *spec;
    struct nj_prompt_defaults defaults;
    struct nj_prompt_draft single;
    bool has_name;
    const struct nj_node_pair *version;
    const struct nj_node_pair *model;
    const struct nj_node_pair *prompts;
    const struct nj_node_pair *thinking;
    bool has_broken_names; /* what gives variables their names was not read whole */
};

/* Complaints about values, those included that were made when the tree was built. */
static size_t n_complaints(const struct nj_schema *schema)
{
    return schema->diagnostics->n_errors + schema->n_passed;
}

/* Notes whether there are more complaints than `n_before`: a name that stands in what could not
 * be read is not unknown. */
static void note_names(struct job_draft *draft, const struct nj_schema *schema, size_t n_before)
{
    draft->has_broken_names |= n_complaints(schema) > n_before;
}

static void read_version(struct nj_schema *schema, const struct nj_node_pair *pair,
                         void *target)
{
    struct job_draft *draft = target;
    uint64_t version = 0;
    draft->version = pair;
    if (nj_expect_unsigned(schema, pair, 0, UINT32_MAX, &version) &&
        version != NJ_JOB_FORMAT_VERSION) {
        nj_schema_error(schema, pair->value->place, "write 'nightjar: 1'",
                        "format version %s is not known", pair->value->text.data);
    }
}

static bool is_plain_letter(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9');
}

/* A name is a folder's name: on every file system, and without surprises in a shell. */
static bool is_folder_name(struct nj_text name)
{
    static const char others[] = {'.', '_', '-', ' '};
    if (name.length_bytes == 0 || name.length_bytes > NAME_LIMIT_BYTES ||
        !is_plain_letter(name.data[0])) {
        return false;
    }
    char last = name.data[name.length_bytes - 1];
    for (size_t i = 0; i < name.length_bytes; i++) {
        if (!is_plain_letter(name.data[i]) &&
            memchr(others, name.data[i], sizeof others) == NULL) {
            return false;
        }
    }
    return last != ' ' && last != '.';
}

static const char name_hint[] = "use at most 100 of A-Z a-z 0-9 . _ - and spaces, begin with a "
                                "letter or digit, do not end with a point or space";

static void read_name(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct job_draft *draft = target;
    draft->has_name = true;
    if (!nj_expect_filled_text(schema, pair, &draft->spec->name)) {
        return;
    }
    if (!is_folder_name(draft->spec->name)) {
        nj_schema_error(schema, pair->value->place, name_hint,
                        "job name '%.120s' cannot be a folder name", pair->value->text.data);
    }
}

static void read_description(struct nj_schema *schema, const struct nj_node_pair *pair,
                             void *target)
{
    struct job_draft *draft = target;
    (void)nj_expect_prose(schema, pair, &draft->spec->description);
}

static void read_tags(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct job_draft *draft = target;
    if (!nj_expect_list(schema, pair)) {
        return;
    }
    size_t n_items = pair->value->n_items;
    struct nj_text *tags = nj_schema_take(schema, n_items, sizeof tags[0]);
    size_t n_tags = 0;
    for (size_t i = 0; tags != NULL && i < n_items; i++) {
        struct nj_node_pair item = {pair->key, pair->value->items[i]};
        n_tags += nj_expect_filled_text(schema, &item, &tags[n_tags]) ? 1 : 0;
    }
    draft->spec->tags = tags;
    draft->spec->n_tags = n_tags;
}

static void read_matrix(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct job_draft *draft = target;
    size_t n_before = n_complaints(schema);
    nj_matrix_read(schema, pair, &draft->spec->matrix);
    note_names(draft, schema, n_before);
}

static void read_repeat(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct job_draft *draft = target;
    (void)nj_expect_unsigned(schema, pair, 1, REPEAT_LIMIT, &draft->spec->repeat);
}

static void read_model(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct job_draft *draft = target;
    draft->model = pair;
    if (nj_expect_filled_text(schema, pair, &draft->spec->model)) {
        nj_refuse_shell_path(schema, pair);
    }
}

static void read_system(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)schema;
    ((struct job_draft *)target)->defaults.system = pair;
}

static void read_vars(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct job_draft *draft = target;
    size_t n_before = n_complaints(schema);
    nj_vars_read(schema, pair, &draft->spec->vars, &draft->spec->n_vars);
    note_names(draft, schema, n_before);
}

static void read_prompts(struct nj_schema *schema, const struct nj_node_pair *pair,
                         void *target)
{
    (void)schema;
    ((struct job_draft *)target)->prompts = pair;
}

static void read_prompt(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)schema;
    ((struct job_draft *)target)->single.prompt = pair;
}

static void read_messages(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    (void)schema;
    ((struct job_draft *)target)->single.messages = pair;
}

static void read_ids(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)schema;
    ((struct job_draft *)target)->single.ids = pair;
}

static void read_chat(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)schema;
    ((struct job_draft *)target)->single.chat = pair;
}

static void read_rows(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct job_draft *draft = target;
    size_t n_before = n_complaints(schema);
    nj_rows_read(schema, pair, &draft->spec->rows);
    note_names(draft, schema, n_before);
}

static void read_id(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct job_draft *draft = target;
    draft->spec->id_place = pair->value->place;
    (void)nj_expect_template(schema, pair, &draft->spec->id_template,
                             &draft->spec->id_compiled);
}

static void read_sampling(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    struct job_draft *draft = target;
    nj_sampling_read(schema, pair, &draft->defaults.sampling);
}

static void read_thinking(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    static const char *const names[] = {"off", "low", "high", "max"};
    struct job_draft *draft = target;
    size_t index = 0;
    if (nj_expect_choice(schema, pair, names, sizeof names / sizeof names[0], &index)) {
        draft->thinking = pair;
        draft->spec->thinking = (enum nj_job_thinking)index; /* in the order of the enum */
    }
}

static void read_latent_norm_eps(struct nj_schema *schema, const struct nj_node_pair *pair,
                                 void *target)
{
    struct job_draft *draft = target;
    /* It becomes a float: a smaller number would be zero there, or lose bits. */
    draft->spec->has_latent_norm_eps = nj_expect_number(schema, pair, (double)FLT_MIN, false, 1,
                                                        &draft->spec->latent_norm_eps);
}

static void read_job_seed(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    struct job_draft *draft = target;
    draft->spec->has_job_seed =
        nj_expect_unsigned(schema, pair, 0, NJ_SEED_MOST, &draft->spec->job_seed);
}

/* For readers in other files, whose target is the spec. */
#define READ_WITH(NAME, READER)                                                                \
    static void NAME(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)  \
    {                                                                                          \
        READER(schema, pair, ((struct job_draft *)target)->spec);                              \
    }
READ_WITH(read_output, nj_output_read)
READ_WITH(read_context, nj_context_read)
READ_WITH(read_budget, nj_budget_read)
READ_WITH(read_stop_on_failures, nj_stop_on_failures_read)
READ_WITH(read_memory, nj_memory_read)
READ_WITH(read_states, nj_states_read)
READ_WITH(read_batch, nj_batch_read)
READ_WITH(read_prefix_cache, nj_prefix_cache_read)
READ_WITH(read_threads, nj_threads_read)
READ_WITH(read_nice, nj_nice_read)
READ_WITH(read_snapshot, nj_snapshot_read)
READ_WITH(read_daemon_key, nj_daemon_key_read)

/* Every key of format version 1. */
static const struct nj_key_rule job_rules[] = {
    {"nightjar", read_version},
    {"name", read_name},
    {"description", read_description},
    {"tags", read_tags},
    {"model", read_model},
    {"system", read_system},
    {"sampling", read_sampling},
    {"response_format", nj_response_format_refuse},
    {"vars", read_vars},
    {"prompts", read_prompts},
    {"prompt", read_prompt},
    {"messages", read_messages},
    {"ids", read_ids},
    {"chat", read_chat},
    {"rows", read_rows},
    {"id", read_id},
    {"job_seed", read_job_seed},
    {"thinking", read_thinking},
    {"latent_norm_eps", read_latent_norm_eps},
    {"output", read_output},
    {"matrix", read_matrix},
    {"repeat", read_repeat},
    {"schedule", read_daemon_key},
    {"power", read_daemon_key},
    {"budget", read_budget},
    {"context", read_context},
    {"snapshot", read_snapshot},
    {"memory", read_memory},
    {"states", read_states},
    {"batch", read_batch},
    {"threads", read_threads},
    {"prefix_cache", read_prefix_cache},
    {"nice", read_nice},
    {"guards", read_daemon_key},
    {"preempt", read_daemon_key},
    {"group_by_prefix", read_daemon_key},
    {"retry", read_daemon_key},
    {"stop_on_failures", read_stop_on_failures},
    {"priority", read_daemon_key},
    {"after", read_daemon_key},
    {"on_done", read_daemon_key},
    {"on_failed", read_daemon_key},
    {"on_item_failed", read_daemon_key},
    {"on_paused", read_daemon_key},
};

static const struct nj_key_table *const inner_keys[] = {
    &nj_sampling_keys, &nj_rows_keys,     &nj_budget_keys,
    &nj_output_keys,   &nj_schedule_keys, &nj_snapshot_keys,
};

static const struct nj_key_table job_keys = {.rules = job_rules,
                                             .n_rules = sizeof job_rules / sizeof job_rules[0],
                                             .inner = inner_keys,
                                             .n_inner =
                                                 sizeof inner_keys / sizeof inner_keys[0]};

/* --- what no single key can tell --- */

static struct nj_text stem_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *point = strrchr(name, '.');
    size_t length = point == NULL || point == name ? strlen(name) : (size_t)(point - name);
    return (struct nj_text){name, length};
}

static void choose_name(struct nj_schema *schema, struct nj_job_spec *spec, bool has_name)
{
    if (has_name) {
        return;
    }
    struct nj_text stem = stem_of(schema->path);
    spec->name.data = nj_arena_copy_text(schema->arena, stem.data, stem.length_bytes);
    spec->name.length_bytes = stem.length_bytes;
    if (spec->name.data == NULL) {
        schema->out_of_memory = true;
    } else if (!is_folder_name(stem)) {
        nj_schema_error(schema, (struct nj_place){schema->path, 0, 0}, "add a 'name'",
                        "the file's name cannot be the job's name");
    }
}

static void check_version(struct nj_schema *schema, const struct job_draft *draft,
                          const struct nj_node *root)
{
    if (draft->version == NULL) {
        nj_schema_error(schema, root->place, "begin the file with 'nightjar: 1'",
                        "the format version is missing");
    }
}

/* The list reads the job's system text and frame once for all; the single form reads them as
 * its own. */
static void read_prompt_list(struct nj_schema *schema, struct job_draft *draft)
{
    struct nj_prompt_defaults *defaults = &draft->defaults;
    if (draft->single.chat != NULL) {
        (void)nj_expect_boolean(schema, draft->single.chat, &defaults->uses_chat);
    }
    if (defaults->system != NULL) {
        (void)nj_expect_template(schema, defaults->system, &defaults->system_text,
                                 &defaults->system_compiled);
        if (!defaults->uses_chat) {
            nj_schema_error(schema, defaults->system->key->place, "remove one of them",
                            "'system' cannot be combined with 'chat: false'");
        }
    }
    nj_prompts_read(schema, defaults, draft->prompts, draft->spec);
}

static void read_single(struct nj_schema *schema, struct job_draft *draft)
{
    struct nj_prompt_template *prompt = nj_schema_take(schema, 1, sizeof *prompt);
    if (prompt == NULL) {
        return;
    }
    draft->single.system = draft->defaults.system;
    draft->defaults.system = NULL;
    nj_prompt_read_single(schema, &draft->defaults, &draft->single, prompt);
    draft->spec->prompts = prompt;
    draft->spec->n_prompts = 1;
}

static bool has_single(const struct job_draft *draft)
{
    return draft->single.prompt != NULL || draft->single.messages != NULL ||
           draft->single.ids != NULL;
}

/* `promt` has been told as an unknown key already. */
static bool has_misspelt_prompt(const struct nj_node *root)
{
    static const char *const forms[] = {"prompt", "prompts", "messages", "ids"};
    for (size_t i = 0; i < root->n_pairs; i++) {
        struct nj_text key = root->pairs[i].key->text;
        const char *nearest = nj_key_table_find(&job_keys, key) != NULL
                                  ? NULL
                                  : nj_key_table_nearest(&job_keys, key);
        for (size_t k = 0; nearest != NULL && k < sizeof forms / sizeof forms[0]; k++) {
            if (strcmp(nearest, forms[k]) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void read_all_prompts(struct nj_schema *schema, struct job_draft *draft,
                             const struct nj_node *root)
{
    if (draft->prompts == NULL && !has_single(draft)) {
        if (!has_misspelt_prompt(root)) {
            nj_schema_error(schema, root->place, "add prompt, messages, ids or prompts",
                            "the job has no prompt");
        }
        return;
    }
    if (draft->prompts != NULL && has_single(draft)) {
        nj_schema_error(schema, draft->prompts->key->place, "keep one of them",
                        "'prompts' stands beside a single prompt");
        return;
    }
    if (draft->prompts != NULL) {
        read_prompt_list(schema, draft);
    } else {
        read_single(schema, draft);
    }
}

/* A file that is all prompts may still be given others on the command line. */
static void refuse_other_prompts(struct nj_schema *schema, const struct job_draft *draft)
{
    const struct nj_node_pair *const others[] = {draft->prompts, draft->single.prompt,
                                                 draft->single.messages, draft->single.ids};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (others[i] != NULL) {
            nj_schema_error(schema, others[i]->key->place, NULL,
                            "'%s' stands beside the prompts of the batch",
                            others[i]->key->text.data);
        }
    }
}

/* Thinking is part of the chat frame; without one it would be dropped silently. */
static void check_thinking(struct nj_schema *schema, const struct job_draft *draft)
{
    const struct nj_job_spec *spec = draft->spec;
    if (spec->thinking == NJ_JOB_THINKING_OFF || spec->n_prompts == 0) {
        return;
    }
    for (size_t i = 0; i < spec->n_prompts; i++) {
        if (spec->prompts[i].uses_chat) {
            return;
        }
    }
    nj_schema_error(schema, draft->thinking->key->place, "remove it",
                    "'thinking' needs prompts in the chat format");
}

static void look_for_variables(struct nj_schema *schema, const struct nj_job_spec *spec,
                               struct nj_variable_list row, const struct nj_place *row_place,
                               struct nj_unknown_names *unknown)
{
    for (size_t i = 0; i < spec->n_prompts; i++) {
        const struct nj_prompt_template *prompt = &spec->prompts[i];
        struct nj_scope scope = {.row = row,
                                 .prompt = {prompt->vars, prompt->n_vars},
                                 .job = {spec->vars, spec->n_vars},
                                 .index_text = nj_text_from("0"),
                                 .id_text = nj_text_from("0"),
                                 .row_place = row_place,
                                 .arena = schema->arena};
        if (!nj_matrix_variables(&spec->matrix, 0, schema->arena, &scope.matrix)) {
            schema->out_of_memory = true;
            return;
        }
        nj_unknown_names_look(unknown, &scope, spec, prompt);
    }
}

/* Whether names are known can be said now unless the columns stand in another file. */
static void check_all_variables(struct nj_schema *schema, const struct nj_job_spec *spec)
{
    struct nj_unknown_names unknown = {.arena = schema->arena,
                                       .may_be_given = schema->is_import};
    if (spec->rows.format == NJ_ROWS_NONE && spec->rows.path == NULL) {
        look_for_variables(schema, spec, (struct nj_variable_list){0}, NULL, &unknown);
    }
    for (size_t i = 0; i < spec->rows.n_inline_rows; i++) {
        struct nj_variable_list row = {spec->rows.inline_rows[i], spec->rows.inline_counts[i]};
        look_for_variables(schema, spec, row, &spec->rows.inline_places[i], &unknown);
    }
    nj_unknown_names_tell(&unknown, spec->rows.n_inline_rows, schema->diagnostics);
    schema->out_of_memory |= unknown.out_of_memory;
}

/* --- which models are used --- */

static void add_model(struct nj_job_model *models, size_t *n_models, struct nj_text path,
                      struct nj_place place)
{
    for (size_t i = 0; i < *n_models; i++) {
        if (nj_text_equal(models[i].path, path)) {
            return;
        }
    }
    if (path.length_bytes > 0) {
        models[(*n_models)++] = (struct nj_job_model){path, place};
    }
}

static const struct nj_matrix_axis *model_axis(const struct nj_matrix *matrix)
{
    for (size_t i = 0; i < matrix->n_axes; i++) {
        if (matrix->axes[i].kind == NJ_AXIS_MODEL) {
            return &matrix->axes[i];
        }
    }
    return NULL;
}

/* A matrix over models wins over all else; a prompt's own over the job's. */
static void list_models(struct nj_schema *schema, const struct job_draft *draft)
{
    struct nj_job_spec *spec = draft->spec;
    const struct nj_matrix_axis *axis = model_axis(&spec->matrix);
    size_t most = axis != NULL ? axis->n_values : spec->n_prompts;
    struct nj_job_model *models = nj_schema_take(schema, most, sizeof models[0]);
    for (size_t i = 0; models != NULL && i < most; i++) {
        if (axis != NULL) {
            add_model(models, &spec->n_models, axis->values[i]->text, axis->values[i]->place);
        } else if (spec->prompts[i].model.length_bytes > 0) {
            add_model(models, &spec->n_models, spec->prompts[i].model,
                      spec->prompts[i].model_place);
        } else if (draft->model != NULL) {
            add_model(models, &spec->n_models, spec->model, draft->model->value->place);
        }
    }
    spec->models = models;
    if (models != NULL && spec->n_models == 1) {
        spec->model = models[0].path;
    }
}

void nj_job_read(struct nj_schema *schema, const struct nj_node *root,
                 nj_prompts_reader *prompts, struct nj_job_spec *spec)
{
    struct job_draft draft = {.spec = spec};
    draft.defaults.sampling = nj_sampling_default();
    draft.defaults.uses_chat = true;
    spec->source_path = schema->path;
    spec->output_formats = NJ_OUTPUT_JSONL;
    spec->repeat = 1;
    spec->orders = nj_job_orders_default();
    schema->job_keys = &job_keys;
    nj_key_table_read(schema, root, &job_keys, &draft);
    check_version(schema, &draft, root);
    choose_name(schema, spec, draft.has_name);
    if (prompts != NULL) {
        refuse_other_prompts(schema, &draft);
        prompts(schema, &draft.defaults, spec);
    } else {
        read_all_prompts(schema, &draft, root);
    }
    check_thinking(schema, &draft);
    if (!draft.has_broken_names) {
        check_all_variables(schema, spec);
    }
    list_models(schema, &draft);
    spec->item_limit = spec->budget.max_items;
}
