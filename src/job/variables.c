#include "job/variables.h"

#include <stdlib.h>
#include <string.h>

#include "job/json_walk.h"

static int compare_names(struct nj_text a, struct nj_text b)
{
    size_t shorter = a.length_bytes < b.length_bytes ? a.length_bytes : b.length_bytes;
    int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
    return order != 0 ? order
                      : (a.length_bytes > b.length_bytes) - (a.length_bytes < b.length_bytes);
}

static int by_name(const void *left, const void *right)
{
    const struct nj_variable *a = left;
    const struct nj_variable *b = right;
    return compare_names(a->name, b->name);
}

void nj_variables_sort(struct nj_variable *variables, size_t n_variables)
{
    if (n_variables > 1) { /* an empty list may be NULL, which qsort must not get */
        qsort(variables, n_variables, sizeof variables[0], by_name);
    }
}

bool nj_variable_is_built_in(struct nj_text name)
{
    return nj_text_equals(name, "_index") || nj_text_equals(name, "_id") ||
           nj_text_equals(name, "_date");
}

static const struct nj_variable *find_in(struct nj_variable_list list, struct nj_text name)
{
    struct nj_variable wanted = {.name = name};
    return list.n_items == 0
               ? NULL
               : bsearch(&wanted, list.items, list.n_items, sizeof wanted, by_name);
}

static const struct nj_variable *find_variable(const struct nj_scope *scope,
                                               struct nj_text name)
{
    const struct nj_variable *found = find_in(scope->matrix, name);
    if (found == NULL) {
        found = find_in(scope->row, name);
    }
    if (found == NULL) {
        found = find_in(scope->prompt, name);
    }
    return found != NULL ? found : find_in(scope->job, name);
}

/* Passes to the member `name` of the object `raw`; false when it has none. */
static bool find_member(struct nj_scope *scope, struct nj_text name,
                        enum nj_json_walk_kind *kind, struct nj_text *raw)
{
    struct nj_json_walk scan;
    nj_json_walk_init(&scan, *raw);
    if (*kind != NJ_JSON_WALK_OBJECT || !nj_json_walk_take(&scan, '{')) {
        return false;
    }
    struct nj_text raw_name;
    struct nj_text value;
    enum nj_json_walk_kind value_kind;
    bool has_member = false;
    for (bool is_first = true;
         nj_json_walk_member(&scan, is_first, &has_member, &raw_name, &value_kind, &value) &&
         has_member;
         is_first = false) {
        struct nj_text decoded = nj_json_walk_decode(raw_name, scope->arena);
        if (decoded.data == NULL) {
            scope->out_of_memory = true;
            return false;
        }
        if (nj_text_equal(decoded, name)) {
            *kind = value_kind;
            *raw = value;
            return true;
        }
    }
    return false;
}

/* Cuts `path` at its first point; false when it has none. */
static bool split(struct nj_text path, struct nj_text *head, struct nj_text *tail)
{
    const char *point =
        path.length_bytes == 0 ? NULL : memchr(path.data, '.', path.length_bytes);
    if (point == NULL) {
        return false;
    }
    size_t length = (size_t)(point - path.data);
    *head = (struct nj_text){path.data, length};
    *tail = (struct nj_text){point + 1, path.length_bytes - length - 1};
    return true;
}

static bool find_path(struct nj_scope *scope, struct nj_text path, struct nj_text *value)
{
    struct nj_text head;
    struct nj_text tail;
    if (!split(path, &head, &tail)) {
        return false;
    }
    const struct nj_variable *variable = find_variable(scope, head);
    if (variable == NULL || !variable->is_json) {
        return false;
    }
    struct nj_text raw = variable->value;
    enum nj_json_walk_kind kind = raw.data[0] == '{' ? NJ_JSON_WALK_OBJECT : NJ_JSON_WALK_LIST;
    bool has_more = true;
    while (has_more) {
        has_more = split(tail, &head, &tail);
        if (!find_member(scope, has_more ? head : tail, &kind, &raw)) {
            return false;
        }
    }
    *value = nj_json_walk_printed(kind, raw, scope->arena);
    scope->out_of_memory |= value->data == NULL;
    return value->data != NULL;
}

bool nj_scope_find(void *context, struct nj_text name, struct nj_text *value)
{
    struct nj_scope *scope = context;
    if (nj_variable_is_built_in(name)) {
        bool is_index = nj_text_equals(name, "_index");
        struct nj_text built_in = is_index ? scope->index_text : scope->id_text;
        if (built_in.data == NULL || nj_text_equals(name, "_date")) {
            return false;
        }
        *value = built_in;
        return true;
    }
    const struct nj_variable *found = find_variable(scope, name);
    if (found == NULL) {
        return find_path(scope, name, value);
    }
    *value = found->value;
    return true;
}

/* The list with the smallest name in front; the first of equals wins. */
static struct nj_variable_list *least(struct nj_variable_list *lists, size_t n_lists)
{
    struct nj_variable_list *found = NULL;
    for (size_t i = 0; i < n_lists; i++) {
        if (lists[i].n_items > 0 &&
            (found == NULL || compare_names(lists[i].items->name, found->items->name) < 0)) {
            found = &lists[i];
        }
    }
    return found;
}

struct nj_variable *nj_scope_flatten(struct nj_scope *scope, size_t *n_variables)
{
    struct nj_variable_list lists[] = {scope->matrix, scope->row, scope->prompt, scope->job};
    size_t most = lists[0].n_items + lists[1].n_items + lists[2].n_items + lists[3].n_items;
    struct nj_variable *all = nj_arena_take_array(scope->arena, most, sizeof all[0]);
    if (all == NULL) {
        scope->out_of_memory = true;
        return NULL;
    }
    size_t n_all = 0;
    struct nj_variable_list *list = NULL;
    while ((list = least(lists, sizeof lists / sizeof lists[0])) != NULL) {
        if (n_all == 0 || compare_names(all[n_all - 1].name, list->items->name) != 0) {
            all[n_all++] = *list->items;
        }
        list->items++;
        list->n_items--;
    }
    *n_variables = n_all;
    return all;
}
