#include "job/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path);
    size_t ending_length = strlen(ending);
    return length > ending_length && strcmp(path + length - ending_length, ending) == 0;
}

bool nj_import_is_openai_batch(const char *path)
{
    return ends_in(path, ".jsonl") || ends_in(path, ".ndjson");
}

static bool has_any(const struct nj_node *root, const char *const *names, size_t n_names)
{
    for (size_t i = 0; i < n_names; i++) {
        if (nj_node_get(root, names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* `$name` or `${name}`. */
static bool has_dollar_name(const struct nj_node *node)
{
    if (node == NULL || node->kind != NJ_NODE_SCALAR) {
        return false;
    }
    for (size_t i = 0; i + 1 < node->text.length_bytes; i++) {
        char next = node->text.data[i + 1];
        if (node->text.data[i] == '$' &&
            (next == '_' || next == '{' || (next >= 'a' && next <= 'z') ||
             (next >= 'A' && next <= 'Z'))) {
            return true;
        }
    }
    return false;
}

/* What an llm template may say; a job that merely lacks its version has other keys too, or no
 * dollar signs, and is then told about the version. */
static bool is_llm_template(const struct nj_node *root)
{
    static const char *const all[] = {"prompt", "system", "model", "defaults", "options"};
    static const char *const own[] = {"defaults", "options"};
    size_t n_known = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        n_known += nj_node_get(root, all[i]) != NULL ? 1 : 0;
    }
    bool has_own = has_any(root, own, sizeof own / sizeof own[0]);
    return (has_own || n_known == root->n_pairs) && has_any(root, all, 2) &&
           (has_own || has_dollar_name(nj_node_get(root, "prompt")) ||
            has_dollar_name(nj_node_get(root, "system")));
}

enum nj_import nj_import_detect(const char *path, const struct nj_node *root)
{
    static const char *const github[] = {"modelParameters", "testData", "evaluators"};
    static const char *const promptfoo[] = {"providers", "tests", "defaultTest", "scenarios"};
    if (root->kind != NJ_NODE_MAP || nj_node_get(root, "nightjar") != NULL) {
        return NJ_IMPORT_NONE;
    }
    if (ends_in(path, ".prompt.yml") || ends_in(path, ".prompt.yaml") ||
        has_any(root, github, sizeof github / sizeof github[0])) {
        return NJ_IMPORT_GITHUB;
    }
    if (has_any(root, promptfoo, sizeof promptfoo / sizeof promptfoo[0])) {
        return NJ_IMPORT_PROMPTFOO;
    }
    return is_llm_template(root) ? NJ_IMPORT_LLM : NJ_IMPORT_NONE;
}

/* --- building --- */

struct nj_node *nj_import_map(struct nj_schema *schema, struct nj_place place)
{
    struct nj_node *map = nj_schema_take(schema, 1, sizeof *map);
    if (map != NULL) {
        *map = (struct nj_node){.kind = NJ_NODE_MAP, .place = place};
    }
    return map;
}

struct nj_node *nj_import_list(struct nj_schema *schema, struct nj_place place, size_t n_items)
{
    struct nj_node *list = nj_schema_take(schema, 1, sizeof *list);
    const struct nj_node **items = nj_schema_take(schema, n_items, sizeof(struct nj_node *));
    if (list == NULL || items == NULL) {
        return NULL;
    }
    *list = (struct nj_node){.kind = NJ_NODE_LIST, .place = place, .items = items};
    return list;
}

struct nj_node *nj_import_reported(struct nj_schema *schema, struct nj_place place)
{
    struct nj_node *node = nj_node_of_text(schema->arena, place, nj_text_from(""), true);
    if (node == NULL) {
        schema->out_of_memory = true;
        return NULL;
    }
    node->is_reported = true;
    return node;
}

struct nj_node *nj_import_put(struct nj_schema *schema, struct nj_node *map, const char *name,
                              const struct nj_node *value)
{
    if (map == NULL || value == NULL) {
        return NULL;
    }
    struct nj_node *key =
        nj_node_of_text(schema->arena, value->place, nj_text_from(name), true);
    struct nj_node *changed =
        key == NULL ? NULL
                    : nj_node_with(schema->arena, map, (struct nj_node_pair){key, value});
    schema->out_of_memory |= changed == NULL;
    return changed;
}

struct nj_node *nj_import_begin(struct nj_schema *schema, struct nj_place place)
{
    struct nj_node *version = nj_node_of_text(schema->arena, place, nj_text_from("1"), true);
    schema->out_of_memory |= version == NULL;
    return nj_import_put(schema, nj_import_map(schema, place), "nightjar", version);
}

struct nj_text nj_import_literal(struct nj_schema *schema, struct nj_text text)
{
    char *copy = nj_schema_take(schema, 2, text.length_bytes + 1);
    size_t used = 0;
    for (size_t i = 0; copy != NULL && i < text.length_bytes; i++) {
        bool is_pair =
            text.data[i] == '{' && i + 1 < text.length_bytes && text.data[i + 1] == '{';
        memcpy(copy + used, is_pair ? "{{{{" : &text.data[i], is_pair ? 4 : 1);
        used += is_pair ? 4 : 1;
        i += is_pair ? 1 : 0;
    }
    return (struct nj_text){copy, used};
}

void nj_import_warn(struct nj_schema *schema, struct nj_place place, const char *format, ...)
{
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    nj_diagnose(schema->diagnostics, NJ_SEVERITY_WARNING, place, NULL, "%s", sentence);
}

void nj_import_refuse(struct nj_schema *schema, const struct nj_node *key)
{
    nj_schema_error(schema, key->place, "remove it, or write the job as nightjar.yaml(5) says",
                    "'%s' cannot be imported", key->text.data);
}
