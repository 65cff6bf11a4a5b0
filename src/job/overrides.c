#include "job/overrides.h"

#include <stdio.h>
#include <string.h>

#include "job/source_text.h"

/* One setting on its way into the tree. */
struct setting {
    struct nj_schema *schema;
    struct nj_place place; /* the flag and path, instead of a file */
    const struct nj_node *value;
    bool has_free_names; /* below `vars` and the like, where a name is nobody's key */
};

/* "--set sampling.temperature", which stands where complaints name a file. */
static const char *label(struct nj_schema *schema, const char *flag, struct nj_text path)
{
    size_t length = strlen(flag) + 1 + path.length_bytes;
    char *text = nj_schema_take(schema, length + 1, 1);
    if (text != NULL) {
        (void)snprintf(text, length + 1, "%s %.*s", flag, (int)path.length_bytes, path.data);
    }
    return text;
}

/* Nodes that stand in no file have the flag as their place, and no extent in the source. */
static struct nj_node *move_to(struct nj_schema *schema, const struct nj_node *node,
                               struct nj_place place)
{
    struct nj_node *copy = nj_schema_take(schema, 1, sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    *copy = *node;
    copy->place = place;
    copy->begin_byte = 0;
    copy->end_byte = 0;
    copy->has_comment = false;
    copy->items = nj_schema_take(schema, node->n_items, sizeof(struct nj_node *));
    copy->pairs = nj_schema_take(schema, node->n_pairs, sizeof copy->pairs[0]);
    for (size_t i = 0; copy->items != NULL && i < node->n_items; i++) {
        copy->items[i] = move_to(schema, node->items[i], place);
    }
    for (size_t i = 0; copy->pairs != NULL && i < node->n_pairs; i++) {
        copy->pairs[i].key = move_to(schema, node->pairs[i].key, place);
        copy->pairs[i].value = move_to(schema, node->pairs[i].value, place);
    }
    return schema->out_of_memory ? NULL : copy;
}

static struct nj_node *text_node(struct setting *setting, struct nj_text text)
{
    char *copy = nj_arena_copy_text(setting->schema->arena, text.data, text.length_bytes);
    struct nj_node *node =
        copy == NULL ? NULL
                     : nj_node_of_text(setting->schema->arena, setting->place,
                                       (struct nj_text){copy, text.length_bytes}, false);
    setting->schema->out_of_memory |= node == NULL;
    return node;
}

/* In `prompt=Answer: {{x}}` the text makes a map whose value would be the braces. */
static bool is_text_before_braces(struct nj_text text)
{
    static const char openings[] = {'{', '[', '"', '\'', '|', '>'};
    size_t found = nj_source_find(text, ": {{");
    return found != SIZE_MAX && found > 0 && memchr(text.data, '\n', found) == NULL &&
           memchr(openings, text.data[0], sizeof openings) == NULL;
}

/* The value as YAML; NULL after a complaint. */
static const struct nj_node *parse_value(struct setting *setting, const char *text)
{
    struct nj_schema *schema = setting->schema;
    struct nj_documents documents = {0};
    size_t n_errors = schema->diagnostics->n_errors;
    if (is_text_before_braces(nj_text_from(text))) {
        nj_schema_error(schema, setting->place,
                        "quote all of it, as in prompt='\"Answer: {{name}}\"'",
                        "a ': ' before {{ makes a map of the text");
        return NULL;
    }
    if (nj_yaml_tree_read(setting->place.file, nj_text_from(text), schema->arena,
                          schema->diagnostics, &documents, NULL) != NJ_OK) {
        schema->out_of_memory = true;
        return NULL;
    }
    if (documents.n_roots != 1) {
        if (schema->diagnostics->n_errors == n_errors) {
            nj_schema_error(schema, setting->place, "write \"\" for an empty text",
                            "there is no value behind '='");
        }
        return NULL;
    }
    return move_to(schema, documents.roots[0], setting->place);
}

static const struct nj_node *put(struct setting *setting, const struct nj_node *node,
                                 struct nj_text path, bool is_whole);

/* The first name of the path, and whether more follow. A name that stands in the map with its
 * points, such as `sampling.top_p` in the matrix, is one. */
static bool split(const struct nj_node *map, struct nj_text path, bool is_whole,
                  struct nj_text *name, struct nj_text *rest)
{
    const char *point = memchr(path.data, '.', path.length_bytes);
    *name = path;
    if (point == NULL || is_whole) {
        return false;
    }
    for (size_t i = 0; i < map->n_pairs; i++) {
        if (nj_text_equal(map->pairs[i].key->text, path)) {
            return false;
        }
    }
    size_t length = (size_t)(point - path.data);
    *name = (struct nj_text){path.data, length};
    *rest = (struct nj_text){point + 1, path.length_bytes - length - 1};
    return true;
}

static const struct nj_node_pair *find(const struct setting *setting, const struct nj_node *map,
                                       struct nj_text name)
{
    for (size_t i = 0; i < map->n_pairs; i++) {
        struct nj_text key = map->pairs[i].key->text;
        if (nj_text_equal(key, name) ||
            (!setting->has_free_names && nj_keys_are_one(key, name))) {
            return &map->pairs[i];
        }
    }
    return NULL;
}

static bool has_free_names_below(struct nj_text name)
{
    return nj_text_equals(name, "vars") || nj_text_equals(name, "matrix") ||
           nj_text_equals(name, "logit_bias");
}

static const struct nj_node *put_in_map(struct setting *setting, const struct nj_node *map,
                                        struct nj_text path, bool is_whole)
{
    static const struct nj_node nothing = {.kind = NJ_NODE_MAP};
    struct nj_text name;
    struct nj_text rest = {0};
    const struct nj_node *value = setting->value;
    bool has_rest = split(map, path, is_whole, &name, &rest);
    const struct nj_node_pair *present = find(setting, map, name);
    if (has_rest) {
        struct nj_node empty = nothing;
        empty.place = setting->place;
        setting->has_free_names |= has_free_names_below(name);
        value = put(setting, present == NULL ? &empty : present->value, rest,
                    nj_text_equals(name, "matrix"));
    }
    if (value == NULL) {
        return NULL;
    }
    /* The file's own spelling stays, so that no key stands beside itself, and is the file's. */
    bool is_respelled = present != NULL && !nj_text_equal(name, present->key->text);
    const struct nj_node *key = is_respelled ? present->key : text_node(setting, name);
    struct nj_node *changed = key == NULL ? NULL
                                          : nj_node_with(setting->schema->arena, map,
                                                         (struct nj_node_pair){key, value});
    setting->schema->out_of_memory |= changed == NULL;
    return changed;
}

/* A number of digits; SIZE_MAX for anything else. */
static size_t index_of(struct nj_text name)
{
    size_t index = 0;
    for (size_t i = 0; i < name.length_bytes; i++) {
        if (name.data[i] < '0' || name.data[i] > '9' || i > 6) {
            return SIZE_MAX;
        }
        index = index * 10 + (size_t)(name.data[i] - '0');
    }
    return name.length_bytes == 0 ? SIZE_MAX : index;
}

static const struct nj_node *put_in_list(struct setting *setting, const struct nj_node *list,
                                         struct nj_text path)
{
    struct nj_text name;
    struct nj_text rest = {0};
    bool has_rest = split(list, path, false, &name, &rest);
    size_t index = index_of(name);
    if (index >= list->n_items) {
        nj_schema_error(setting->schema, setting->place, NULL,
                        "'%.*s' is no index of a list of %zu", (int)name.length_bytes,
                        name.data, list->n_items);
        return NULL;
    }
    struct nj_node *copy = nj_schema_take(setting->schema, 1, sizeof *copy);
    const struct nj_node **items =
        nj_schema_take(setting->schema, list->n_items, sizeof(struct nj_node *));
    const struct nj_node *value =
        has_rest ? put(setting, list->items[index], rest, false) : setting->value;
    if (copy == NULL || items == NULL || value == NULL) {
        return NULL;
    }
    *copy = *list;
    memcpy(items, list->items, list->n_items * sizeof(struct nj_node *));
    items[index] = value;
    copy->items = items;
    return copy;
}

/* The node with the value at the path. `is_whole`: the path is one name. NULL after a
 * complaint. */
static const struct nj_node *put(struct setting *setting, const struct nj_node *node,
                                 struct nj_text path, bool is_whole)
{
    switch (node->kind) {
    case NJ_NODE_MAP:
        return put_in_map(setting, node, path, is_whole);
    case NJ_NODE_LIST:
        return put_in_list(setting, node, path);
    case NJ_NODE_SCALAR:
        break;
    }
    nj_schema_error(setting->schema, setting->place, NULL,
                    "there is text in the place of what '%.*s' would be in",
                    (int)path.length_bytes, path.data);
    return NULL;
}

/* Cuts "path=value". NULL after a complaint, else the value. */
static const char *cut(struct nj_schema *schema, const char *flag, const char *given,
                       struct nj_text *path)
{
    const char *equals = strchr(given, '=');
    if (equals == NULL || equals == given) {
        nj_schema_error(schema, (struct nj_place){flag, 0, 0}, NULL,
                        "'%s' must be a name, '=' and a value", given);
        return NULL;
    }
    *path = (struct nj_text){given, (size_t)(equals - given)};
    return equals + 1;
}

static const struct nj_node *apply_set(struct nj_schema *schema, const struct nj_node *root,
                                       const char *given)
{
    struct nj_text path;
    struct setting setting = {.schema = schema};
    const char *value = cut(schema, "--set", given, &path);
    if (value == NULL || (setting.place.file = label(schema, "--set", path)) == NULL ||
        (setting.value = parse_value(&setting, value)) == NULL) {
        return NULL;
    }
    return put(&setting, root, path, false);
}

/* A name with points is one name here. */
static const struct nj_node *apply_var(struct nj_schema *schema, const struct nj_node *root,
                                       const char *given)
{
    static const struct nj_node nothing = {.kind = NJ_NODE_MAP};
    struct nj_text name;
    struct setting setting = {.schema = schema, .has_free_names = true};
    const char *value = cut(schema, "--var", given, &name);
    if (value == NULL || (setting.place.file = label(schema, "--var", name)) == NULL ||
        (setting.value = text_node(&setting, nj_text_from(value))) == NULL) {
        return NULL;
    }
    const struct nj_node *vars = nj_node_get(root, "vars");
    setting.value = put(&setting, vars == NULL ? &nothing : vars, name, true);
    return setting.value == NULL ? NULL : put(&setting, root, nj_text_from("vars"), true);
}

/* The bytes of an argument may be anything. */
static bool is_text(struct nj_schema *schema, const char *flag, const char *given)
{
    struct nj_text text = nj_text_from(given);
    size_t valid = nj_text_valid_prefix(text);
    if (valid == text.length_bytes) {
        return true;
    }
    nj_schema_error(schema, (struct nj_place){flag, 0, 0}, NULL,
                    "what follows '%.*s' is not UTF-8 text", (int)valid, given);
    return false;
}

const struct nj_node *nj_overrides_apply(const struct nj_job_overrides *overrides,
                                         struct nj_schema *schema, const struct nj_node *root)
{
    bool is_whole = true;
    for (size_t i = 0; i < overrides->n_sets && !schema->out_of_memory; i++) {
        const char *given = overrides->sets[i];
        const struct nj_node *changed =
            is_text(schema, "--set", given) ? apply_set(schema, root, given) : NULL;
        is_whole = is_whole && changed != NULL;
        root = changed == NULL ? root : changed;
    }
    for (size_t i = 0; i < overrides->n_vars && !schema->out_of_memory; i++) {
        const char *given = overrides->vars[i];
        const struct nj_node *changed =
            is_text(schema, "--var", given) ? apply_var(schema, root, given) : NULL;
        is_whole = is_whole && changed != NULL;
        root = changed == NULL ? root : changed;
    }
    return is_whole && !schema->out_of_memory ? root : NULL;
}
