/* Configurations of promptfoo: each test is a row of variables, each prompt is asked of each
 * row. How answers are judged is left aside. */
#include "job/import.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 256 }; /* of a path in a hint, cut where it is longer */

static const char file_scheme[] = "file://";

struct promptfoo {
    struct nj_schema *schema;
    struct nj_node *job;
    bool has_checks; /* of answers, which are not made here */
};

static void put(struct promptfoo *promptfoo, const char *name, const struct nj_node *value)
{
    struct nj_node *changed = nj_import_put(promptfoo->schema, promptfoo->job, name, value);
    promptfoo->job = changed == NULL ? promptfoo->job : changed;
}

static bool begins_with(struct nj_text text, const char *begin)
{
    size_t length = strlen(begin);
    return text.length_bytes >= length && memcmp(text.data, begin, length) == 0;
}

static bool contains(struct nj_text text, const char *needle)
{
    for (size_t i = 0; i + strlen(needle) <= text.length_bytes; i++) {
        if (memcmp(text.data + i, needle, strlen(needle)) == 0) {
            return true;
        }
    }
    return false;
}

/* The path behind file://. */
static struct nj_node *path_of(struct promptfoo *promptfoo, const struct nj_node *node,
                               const char *const *endings, size_t n_endings, const char *hint)
{
    size_t scheme_length = sizeof file_scheme - 1;
    struct nj_text path = {node->text.data + scheme_length,
                           node->text.length_bytes - scheme_length};
    for (size_t i = 0; i < n_endings; i++) {
        size_t length = strlen(endings[i]);
        if (path.length_bytes > length &&
            memcmp(path.data + path.length_bytes - length, endings[i], length) == 0) {
            struct nj_node *found =
                nj_node_of_text(promptfoo->schema->arena, node->place, path, false);
            promptfoo->schema->out_of_memory |= found == NULL;
            return found;
        }
    }
    nj_schema_error(promptfoo->schema, node->place, hint, "'%s' cannot be imported",
                    node->text.data);
    return nj_import_reported(promptfoo->schema, node->place);
}

/* --- prompts --- */

static const struct nj_node *read_prompt_text(struct promptfoo *promptfoo,
                                              const struct nj_node *node)
{
    static const char *const endings[] = {".txt", ".md"};
    if (begins_with(node->text, file_scheme)) {
        const struct nj_node *path =
            path_of(promptfoo, node, endings, 2, "prompts stand in .txt or .md files");
        return nj_import_put(promptfoo->schema, nj_import_map(promptfoo->schema, node->place),
                             "file", path);
    }
    if (contains(node->text, "{%") || contains(node->text, "{#")) {
        nj_schema_error(promptfoo->schema, node->place, "use {{variables}} only",
                        "statements of Nunjucks cannot be imported");
        return nj_import_reported(promptfoo->schema, node->place);
    }
    if (begins_with(node->text, "[{") || begins_with(node->text, "[\n")) {
        nj_schema_error(promptfoo->schema, node->place, "write 'messages' in a job file",
                        "a prompt that is a JSON conversation cannot be imported");
        return nj_import_reported(promptfoo->schema, node->place);
    }
    return node;
}

static const struct nj_node *read_prompt_map(struct promptfoo *promptfoo,
                                             const struct nj_node *map)
{
    struct nj_node *entry = nj_import_map(promptfoo->schema, map->place);
    for (size_t i = 0; i < map->n_pairs && entry != NULL; i++) {
        const struct nj_node_pair *pair = &map->pairs[i];
        bool is_name =
            nj_text_equals(pair->key->text, "label") || nj_text_equals(pair->key->text, "id");
        if (nj_text_equals(pair->key->text, "raw") && pair->value->kind == NJ_NODE_SCALAR) {
            entry = nj_import_put(promptfoo->schema, entry, "prompt",
                                  read_prompt_text(promptfoo, pair->value));
        } else if (is_name) {
            entry = nj_import_put(promptfoo->schema, entry, "id", pair->value);
        } else {
            nj_import_refuse(promptfoo->schema, pair->key);
        }
    }
    return entry;
}

static void read_prompts(struct promptfoo *promptfoo, const struct nj_node *value)
{
    size_t n_items = value->kind == NJ_NODE_LIST ? value->n_items : 1;
    struct nj_node *list = nj_import_list(promptfoo->schema, value->place, n_items);
    for (size_t i = 0; list != NULL && i < n_items; i++) {
        const struct nj_node *item = value->kind == NJ_NODE_LIST ? value->items[i] : value;
        const struct nj_node *entry =
            item->kind == NJ_NODE_SCALAR ? read_prompt_text(promptfoo, item)
            : item->kind == NJ_NODE_MAP  ? read_prompt_map(promptfoo, item)
                                         : item; /* the reader complains */
        if (entry != NULL) {
            list->items[list->n_items++] = entry;
        }
    }
    put(promptfoo, "prompts", list);
}

/* --- tests --- */

/* The variables without what cannot be imported: lists would be multiplied out, and files read,
 * which rows do not do. */
static const struct nj_node *read_vars(struct promptfoo *promptfoo, const struct nj_node *vars)
{
    for (size_t i = 0; vars->kind == NJ_NODE_MAP && i < vars->n_pairs; i++) {
        const struct nj_node_pair *pair = &vars->pairs[i];
        if (pair->value->kind == NJ_NODE_SCALAR &&
            !begins_with(pair->value->text, file_scheme)) {
            continue;
        }
        nj_schema_error(promptfoo->schema, pair->value->place, "write a text",
                        "the value of '%s' cannot be imported", pair->key->text.data);
        const struct nj_node *none = nj_import_reported(promptfoo->schema, pair->value->place);
        struct nj_node *changed = none == NULL
                                      ? NULL
                                      : nj_node_with(promptfoo->schema->arena, vars,
                                                     (struct nj_node_pair){pair->key, none});
        promptfoo->schema->out_of_memory |= changed == NULL;
        vars = changed == NULL ? vars : changed;
    }
    return vars;
}

/* The variables of a test; everything else in it is about judging. */
static const struct nj_node *vars_of(struct promptfoo *promptfoo, const struct nj_node *test)
{
    const struct nj_node *vars = NULL;
    for (size_t i = 0; i < test->n_pairs; i++) {
        const struct nj_node_pair *pair = &test->pairs[i];
        if (nj_text_equals(pair->key->text, "vars")) {
            vars = read_vars(promptfoo, pair->value);
        } else if (nj_text_equals(pair->key->text, "assert") ||
                   nj_text_equals(pair->key->text, "threshold")) {
            promptfoo->has_checks = true;
        } else if (!nj_text_equals(pair->key->text, "description") &&
                   !nj_text_equals(pair->key->text, "metadata")) {
            nj_import_refuse(promptfoo->schema, pair->key);
        }
    }
    return vars;
}

static bool ends_in(struct nj_text text, const char *ending)
{
    size_t length = strlen(ending);
    return text.length_bytes > length &&
           memcmp(text.data + text.length_bytes - length, ending, length) == 0;
}

/* promptfoo takes a bare path too; what is a path is not guessed here. */
static bool refuse_bare_path(struct promptfoo *promptfoo, const struct nj_node *value)
{
    char hint[NAME_BYTES];
    if (value->kind != NJ_NODE_SCALAR ||
        !(ends_in(value->text, ".csv") || ends_in(value->text, ".jsonl"))) {
        return false;
    }
    (void)snprintf(hint, sizeof hint, "write file://%s", value->text.data);
    nj_schema_error(promptfoo->schema, value->place, hint,
                    "'tests' must be a list, or a file with file:// before its path");
    return true;
}

static void read_tests(struct promptfoo *promptfoo, const struct nj_node_pair *pair)
{
    static const char *const endings[] = {".csv", ".jsonl"};
    const struct nj_node *value = pair->value;
    if (value->kind == NJ_NODE_SCALAR && begins_with(value->text, file_scheme)) {
        put(promptfoo, "rows",
            path_of(promptfoo, value, endings, 2, "tests stand in .csv or .jsonl files"));
        return;
    }
    if (refuse_bare_path(promptfoo, value) || !nj_expect_list(promptfoo->schema, pair)) {
        put(promptfoo, "rows", nj_import_reported(promptfoo->schema, value->place));
        return;
    }
    struct nj_node *rows = nj_import_list(promptfoo->schema, value->place, value->n_items);
    for (size_t i = 0; rows != NULL && i < value->n_items; i++) {
        struct nj_node_pair item = {pair->key, value->items[i]};
        bool is_test = nj_expect_map(promptfoo->schema, &item);
        const struct nj_node *vars = is_test ? vars_of(promptfoo, item.value) : NULL;
        if (vars == NULL) {
            vars = is_test ? nj_import_map(promptfoo->schema, item.value->place)
                           : nj_import_reported(promptfoo->schema, item.value->place);
        }
        rows->items[rows->n_items++] = vars;
    }
    if (value->n_items > 0 && !promptfoo->schema->out_of_memory) {
        put(promptfoo, "rows", rows);
    }
}

static void read_default_test(struct promptfoo *promptfoo, const struct nj_node_pair *pair)
{
    const struct nj_node *vars =
        nj_expect_map(promptfoo->schema, pair)
            ? vars_of(promptfoo, pair->value)
            : nj_import_reported(promptfoo->schema, pair->value->place);
    if (vars != NULL) {
        put(promptfoo, "vars", vars);
    }
}

/* --- all --- */

static void read_options(struct promptfoo *promptfoo, const struct nj_node *options)
{
    const struct nj_node *repeat =
        options->kind == NJ_NODE_MAP ? nj_node_get(options, "repeat") : NULL;
    if (repeat != NULL) {
        put(promptfoo, "repeat", repeat);
    }
}

static void read_pair(struct promptfoo *promptfoo, const struct nj_node_pair *pair)
{
    struct nj_text key = pair->key->text;
    if (nj_text_equals(key, "description")) {
        put(promptfoo, "description", pair->value);
    } else if (nj_text_equals(key, "prompts")) {
        read_prompts(promptfoo, pair->value);
    } else if (nj_text_equals(key, "tests")) {
        read_tests(promptfoo, pair);
    } else if (nj_text_equals(key, "defaultTest")) {
        read_default_test(promptfoo, pair);
    } else if (nj_text_equals(key, "evaluateOptions")) {
        read_options(promptfoo, pair->value);
    } else if (nj_text_equals(key, "providers")) {
        nj_import_warn(promptfoo->schema, pair->value->place,
                       "the providers of an imported file are not used");
    } else if (!nj_text_equals(key, "outputPath") && !nj_text_equals(key, "sharing")) {
        nj_import_refuse(promptfoo->schema, pair->key);
    }
}

const struct nj_node *nj_import_promptfoo(struct nj_schema *schema, const struct nj_node *root)
{
    struct promptfoo promptfoo = {.schema = schema,
                                  .job = nj_import_begin(schema, root->place)};
    for (size_t i = 0; i < root->n_pairs; i++) {
        read_pair(&promptfoo, &root->pairs[i]);
    }
    if (promptfoo.has_checks) {
        nj_import_warn(schema, root->place, "answers are not judged: 'assert' is left aside");
    }
    return schema->out_of_memory ? NULL : promptfoo.job;
}
