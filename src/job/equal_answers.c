#include "job/equal_answers.h"

#include "job/matrix.h"

/* What every repeat has a value of its own for. */
static bool is_own_of_repeat(struct nj_text name)
{
    return nj_text_equals(name, "_index") || nj_text_equals(name, "_id");
}

static bool differs_by_repeat(const struct nj_template *compiled)
{
    for (size_t i = 0; i < compiled->n_parts; i++) {
        if (compiled->parts[i].is_variable && is_own_of_repeat(compiled->parts[i].text)) {
            return true;
        }
    }
    return false;
}

static bool prompt_differs_by_repeat(const struct nj_prompt_template *prompt)
{
    bool differs = prompt->prompt_path != NULL || differs_by_repeat(&prompt->prompt_compiled) ||
                   differs_by_repeat(&prompt->system_compiled);
    for (size_t i = 0; i < prompt->n_messages && !differs; i++) {
        differs = differs_by_repeat(&prompt->messages[i].compiled);
    }
    return differs;
}

/* NULL: its answers are no more than one, or may differ. */
static const char *what_repeats(const struct nj_job_spec *spec,
                                const struct nj_prompt_template *prompt)
{
    if (prompt->sampling.temperature > 0.0) {
        return NULL;
    }
    if (prompt->sampling.n > 1) {
        return "n";
    }
    return spec->repeat > 1 && !prompt_differs_by_repeat(prompt) ? "repeat" : NULL;
}

/* The key, else the prompt that has it on its own. */
static struct nj_place place_of(const struct nj_node *root, const char *key,
                                const struct nj_prompt_template *prompt)
{
    const struct nj_node *map = key[0] == 'n' ? nj_node_get(root, "sampling") : root;
    const struct nj_node *value =
        map != NULL && map->kind == NJ_NODE_MAP ? nj_node_get(map, key) : NULL;
    return value != NULL ? value->place : prompt->place;
}

static bool has_rows(const struct nj_job_spec *spec)
{
    return spec->rows.path != NULL || spec->rows.n_inline_rows > 0;
}

void nj_equal_answers_warn(struct nj_schema *schema, const struct nj_node *root,
                           const struct nj_job_spec *spec)
{
    if (schema->diagnostics->n_errors > 0 || nj_matrix_has_settings(&spec->matrix)) {
        return;
    }
    for (size_t i = 0; i < spec->n_prompts; i++) {
        const char *key = what_repeats(spec, &spec->prompts[i]);
        if (key != NULL) {
            nj_diagnose(schema->diagnostics, NJ_SEVERITY_WARNING,
                        place_of(root, key, &spec->prompts[i]),
                        has_rows(spec) ? "unless a column sets sampling.temperature"
                                       : "set a temperature above 0, or one answer is enough",
                        "with temperature 0 the answers of '%s' are equal", key);
            return;
        }
    }
}
