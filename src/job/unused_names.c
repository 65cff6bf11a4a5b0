#include "job/unused_names.h"

#include <stdio.h>
#include <string.h>

#include "job/sampling_keys.h"

enum { SUGGESTION_DISTANCE = 2, HINT_BYTES = 192, NAME_SHOWN = 64 };

static int shown_length(struct nj_text name)
{
    return (int)(name.length_bytes < NAME_SHOWN ? name.length_bytes : NAME_SHOWN);
}

/* --- the names in templates --- */

/* Looks at each name; true ends the walk. */
typedef bool look_at_name(void *context, struct nj_text name);

static bool walk_template(const struct nj_template *compiled, look_at_name *look, void *context)
{
    for (size_t i = 0; i < compiled->n_parts; i++) {
        if (compiled->parts[i].is_variable && look(context, compiled->parts[i].text)) {
            return true;
        }
    }
    return false;
}

static bool walk_prompt(const struct nj_prompt_template *prompt, look_at_name *look,
                        void *context)
{
    for (size_t i = 0; i < prompt->n_messages; i++) {
        if (walk_template(&prompt->messages[i].compiled, look, context)) {
            return true;
        }
    }
    return walk_template(&prompt->id_compiled, look, context) ||
           walk_template(&prompt->prompt_compiled, look, context) ||
           walk_template(&prompt->system_compiled, look, context);
}

static bool walk_job(const struct nj_job_spec *spec, look_at_name *look, void *context)
{
    for (size_t i = 0; i < spec->n_prompts; i++) {
        if (walk_prompt(&spec->prompts[i], look, context)) {
            return true;
        }
    }
    return walk_template(&spec->id_compiled, look, context) ||
           walk_template(&spec->filename_compiled, look, context);
}

/* {{user.city}} uses `user` too. */
static bool names_it(void *context, struct nj_text name)
{
    const struct nj_text *wanted = context;
    size_t length = wanted->length_bytes;
    bool begins_so =
        name.length_bytes >= length && memcmp(name.data, wanted->data, length) == 0;
    return begins_so && (name.length_bytes == length || name.data[length] == '.');
}

static bool has_prompt_files(const struct nj_job_spec *spec)
{
    for (size_t i = 0; i < spec->n_prompts; i++) {
        if (spec->prompts[i].prompt_path != NULL) {
            return true;
        }
    }
    return false;
}

static bool may_use(const struct nj_job_spec *spec, struct nj_text name)
{
    return spec == NULL || has_prompt_files(spec) || walk_job(spec, names_it, &name);
}

/* --- what was meant --- */

struct suggestion {
    struct nj_text name;
    struct nj_text nearest;
    unsigned best; /* distance of the nearest; nothing farther is taken */
};

static bool consider(void *context, struct nj_text candidate)
{
    struct suggestion *suggestion = context;
    unsigned distance = nj_text_distance(suggestion->name, candidate, suggestion->best);
    if (distance < suggestion->best && distance < candidate.length_bytes) {
        suggestion->best = distance;
        suggestion->nearest = candidate;
    }
    return false;
}

/* Of a setting people leave out `sampling.`, or misspell either half. */
static const char *nearest_setting(struct nj_text name, struct suggestion *suggestion)
{
    const char *nearest = NULL;
    for (size_t i = 0; i < nj_sampling_keys.n_rules; i++) {
        const char *key = nj_sampling_keys.rules[i].name;
        char full[NAME_SHOWN];
        unsigned before = suggestion->best;
        (void)snprintf(full, sizeof full, "sampling.%s", key);
        if (nj_keys_are_one(name, nj_text_from(key))) {
            suggestion->best = 0;
            return key;
        }
        (void)consider(suggestion, nj_text_from(key));
        (void)consider(suggestion, nj_text_from(full));
        nearest = suggestion->best < before ? key : nearest;
    }
    return nearest;
}

/* A key of the job is the same for all its items, but texts may have variables. */
static bool explain_job_key(const struct nj_schema *schema, struct nj_text name,
                            char hint[HINT_BYTES])
{
    static const char *const templates[] = {"system", "prompt", "id"};
    if (schema->job_keys == NULL || nj_key_table_find(schema->job_keys, name) == NULL) {
        return false;
    }
    int length = shown_length(name);
    for (size_t i = 0; i < sizeof templates / sizeof templates[0]; i++) {
        if (nj_text_equals(name, templates[i])) {
            (void)snprintf(hint, HINT_BYTES,
                           "it does not set the key '%s', write '%s: \"{{%s}}\"' beside it",
                           templates[i], templates[i], templates[i]);
            return true;
        }
    }
    (void)snprintf(hint, HINT_BYTES,
                   "it does not set the key '%.*s', which is one for all items: write a job "
                   "for each value, with '---' between them",
                   length, name.data);
    return true;
}

static void suggest_setting(const struct nj_schema *schema, const struct nj_job_spec *spec,
                            struct nj_text name, char hint[HINT_BYTES])
{
    struct suggestion suggestion = {.name = name, .best = SUGGESTION_DISTANCE + 1};
    const char *key = nearest_setting(name, &suggestion);
    unsigned before = suggestion.best;
    if (before > 0 && explain_job_key(schema, name, hint)) {
        return;
    }
    (void)consider(&suggestion, nj_text_from("model"));
    (void)walk_job(spec, consider, &suggestion);
    if (suggestion.best < before) {
        (void)snprintf(hint, HINT_BYTES, "did you mean '%.*s'?",
                       shown_length(suggestion.nearest), suggestion.nearest.data);
    } else if (key != NULL) {
        (void)snprintf(hint, HINT_BYTES, "did you mean 'sampling.%s'?", key);
    } else {
        (void)snprintf(hint, HINT_BYTES, "it only multiplies the items");
    }
}

static void warn_of_matrix(struct nj_schema *schema, const struct nj_job_spec *spec)
{
    for (size_t i = 0; i < spec->matrix.n_axes; i++) {
        const struct nj_matrix_axis *axis = &spec->matrix.axes[i];
        char hint[HINT_BYTES];
        if (axis->kind != NJ_AXIS_VARIABLE || may_use(spec, axis->key->text)) {
            continue;
        }
        suggest_setting(schema, spec, axis->key->text, hint);
        nj_diagnose(schema->diagnostics, NJ_SEVERITY_WARNING, axis->key->place, hint,
                    "'%.*s' in the matrix is used in no template",
                    shown_length(axis->key->text), axis->key->text.data);
    }
}

/* --- flags --- */

static void warn_of_flag(struct nj_schema *schema, const struct nj_job_spec *const *specs,
                         size_t n_specs, struct nj_text name)
{
    struct suggestion suggestion = {.name = name, .best = SUGGESTION_DISTANCE + 1};
    char hint[HINT_BYTES];
    for (size_t i = 0; i < n_specs; i++) {
        if (may_use(specs[i], name)) {
            return;
        }
        (void)walk_job(specs[i], consider, &suggestion);
    }
    (void)snprintf(hint, sizeof hint, "did you mean '%.*s'?", shown_length(suggestion.nearest),
                   suggestion.nearest.data == NULL ? "" : suggestion.nearest.data);
    nj_diagnose(schema->diagnostics, NJ_SEVERITY_WARNING, (struct nj_place){"--var", 0, 0},
                suggestion.nearest.data == NULL ? NULL : hint, "'%.*s' is used in no template",
                shown_length(name), name.data);
}

void nj_unused_names_warn(struct nj_schema *schema, const struct nj_job_spec *const *specs,
                          size_t n_specs, const struct nj_job_overrides *overrides)
{
    if (schema->diagnostics->n_errors > 0 || schema->out_of_memory) {
        return; /* what uses the names may be among what could not be read */
    }
    for (size_t i = 0; i < n_specs; i++) {
        if (specs[i] != NULL) {
            warn_of_matrix(schema, specs[i]);
        }
    }
    for (size_t i = 0; overrides != NULL && i < overrides->n_vars; i++) {
        struct nj_text given = nj_text_from(overrides->vars[i]);
        const char *equals = memchr(given.data, '=', given.length_bytes);
        if (equals != NULL) {
            given.length_bytes = (size_t)(equals - given.data);
            warn_of_flag(schema, specs, n_specs, given);
        }
    }
}
