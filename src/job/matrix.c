#include "job/matrix.h"

#include <string.h>

#include "job/sampling_keys.h"

enum {
    AXES_LIMIT = 16,
    VALUES_LIMIT = 1000,
    CELLS_LIMIT = 10000,
    ENTRIES_LIMIT = 1000, /* of include, and of exclude */
    ANY_VALUE = UINT32_MAX
};

/* The matrix while it is read. Axes have room for the values that `include` adds. */
struct draft {
    struct nj_schema *schema;
    const struct nj_node *place; /* the map */
    const struct nj_node_pair *include;
    const struct nj_node_pair *exclude;
    struct nj_matrix_axis *axes;
    size_t n_axes;
    uint32_t *choices;
    uint32_t *indices;
    size_t n_cells;
    size_t n_product;
};

/* --- values --- */

static bool nodes_equal(const struct nj_node *a, const struct nj_node *b);

static bool pairs_equal(const struct nj_node *a, const struct nj_node *b)
{
    for (size_t i = 0; i < a->n_pairs; i++) {
        const struct nj_node *other = nj_node_get(b, a->pairs[i].key->text.data);
        if (other == NULL || !nodes_equal(a->pairs[i].value, other)) {
            return false;
        }
    }
    return a->n_pairs == b->n_pairs;
}

static bool items_equal(const struct nj_node *a, const struct nj_node *b)
{
    if (a->n_items != b->n_items) {
        return false;
    }
    for (size_t i = 0; i < a->n_items; i++) {
        if (!nodes_equal(a->items[i], b->items[i])) {
            return false;
        }
    }
    return true;
}

/* By what is written: 1 and 1.0 are two values. */
static bool nodes_equal(const struct nj_node *a, const struct nj_node *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    switch (a->kind) {
    case NJ_NODE_LIST:
        return items_equal(a, b);
    case NJ_NODE_MAP:
        return pairs_equal(a, b);
    case NJ_NODE_SCALAR:
        break;
    }
    return nj_text_equal(a->text, b->text);
}

static uint32_t find_value(const struct nj_matrix_axis *axis, const struct nj_node *value)
{
    for (size_t i = 0; i < axis->n_values; i++) {
        if (nodes_equal(axis->values[i], value)) {
            return (uint32_t)i;
        }
    }
    return ANY_VALUE;
}

/* A value is judged by the key that it is for; complaints are the same as there. */
static bool check_value(struct draft *draft, const struct nj_matrix_axis *axis,
                        const struct nj_node *value)
{
    size_t n_errors = draft->schema->diagnostics->n_errors;
    struct nj_node_pair pair = {axis->key, value};
    struct nj_sampling scratch = nj_sampling_default();
    struct nj_text text;
    switch (axis->kind) {
    case NJ_AXIS_SAMPLING:
        nj_sampling_set(draft->schema, &pair, &scratch);
        break;
    case NJ_AXIS_MODEL:
        (void)nj_expect_filled_text(draft->schema, &pair, &text);
        break;
    case NJ_AXIS_VARIABLE:
        (void)nj_expect_prose(draft->schema, &pair, &text);
        break;
    }
    return draft->schema->diagnostics->n_errors == n_errors;
}

/* Adds the value unless it is there; ANY_VALUE after a complaint. */
static uint32_t add_value(struct draft *draft, struct nj_matrix_axis *axis,
                          const struct nj_node *value)
{
    uint32_t found = find_value(axis, value);
    if (found != ANY_VALUE || !check_value(draft, axis, value)) {
        return found;
    }
    axis->is_variable = axis->is_variable && value->kind == NJ_NODE_SCALAR;
    axis->values[axis->n_values] = value;
    return (uint32_t)axis->n_values++;
}

/* --- axes --- */

static bool begin_axis(struct draft *draft, const struct nj_node *key,
                       struct nj_matrix_axis *axis)
{
    struct nj_schema *schema = draft->schema;
    bool is_setting = nj_sampling_column_key(key->text).data != NULL;
    *axis = (struct nj_matrix_axis){.key = key, .is_variable = true};
    axis->kind = is_setting                           ? NJ_AXIS_SAMPLING
                 : nj_text_equals(key->text, "model") ? NJ_AXIS_MODEL
                                                      : NJ_AXIS_VARIABLE;
    if (nj_variable_is_built_in(key->text)) {
        nj_schema_error(schema, key->place, "choose another name",
                        "'%s' is a built-in variable", key->text.data);
        return false;
    }
    if (nj_text_equals(key->text, "sampling")) {
        nj_schema_error(schema, key->place, "write 'sampling.temperature: [...]' and so on",
                        "the matrix cannot vary all of 'sampling'");
        return false;
    }
    if (is_setting &&
        nj_key_table_find(&nj_sampling_keys, nj_sampling_column_key(key->text)) == NULL) {
        char hint[NJ_SETTING_HINT_BYTES];
        nj_schema_error(schema, key->place,
                        nj_sampling_setting_hint(nj_sampling_column_key(key->text), hint),
                        "'%s' names no sampling setting", key->text.data);
        return false;
    }
    if (draft->n_axes == AXES_LIMIT) {
        nj_schema_error(schema, key->place, NULL, "more than %d names in the matrix",
                        AXES_LIMIT);
        return false;
    }
    return true;
}

static void read_values(struct draft *draft, const struct nj_node_pair *pair,
                        struct nj_matrix_axis *axis)
{
    const struct nj_node *list = pair->value;
    for (size_t i = 0; i < list->n_items; i++) {
        size_t n_before = axis->n_values;
        size_t n_errors = draft->schema->diagnostics->n_errors;
        (void)add_value(draft, axis, list->items[i]);
        if (axis->n_values == n_before && draft->schema->diagnostics->n_errors == n_errors) {
            nj_schema_error(draft->schema, list->items[i]->place, "remove one of them",
                            "'%s' has the same value twice", pair->key->text.data);
        }
    }
}

static size_t n_entries(const struct nj_node_pair *entries)
{
    return entries == NULL ? 0 : entries->value->n_items;
}

static bool reserve_values(struct draft *draft, struct nj_matrix_axis *axis, size_t n_values)
{
    axis->values = nj_schema_take(draft->schema, n_values + n_entries(draft->include),
                                  sizeof(struct nj_node *));
    return axis->values != NULL;
}

static void read_axis(struct draft *draft, const struct nj_node_pair *pair)
{
    struct nj_matrix_axis *axis = &draft->axes[draft->n_axes];
    if (!begin_axis(draft, pair->key, axis) || !nj_expect_list(draft->schema, pair)) {
        return;
    }
    size_t n_values = pair->value->n_items;
    if (n_values == 0 || n_values > VALUES_LIMIT) {
        nj_schema_error(draft->schema, pair->value->place, NULL,
                        "'%s' must have from 1 to %d values", pair->key->text.data,
                        VALUES_LIMIT);
        return;
    }
    if (reserve_values(draft, axis, n_values)) {
        read_values(draft, pair, axis);
        draft->n_axes++;
    }
}

static bool expect_entries(struct draft *draft, const struct nj_node_pair *pair)
{
    if (!nj_expect_list(draft->schema, pair)) {
        return false;
    }
    if (pair->value->n_items > ENTRIES_LIMIT) {
        nj_schema_error(draft->schema, pair->value->place, NULL, "more than %d entries in '%s'",
                        ENTRIES_LIMIT, pair->key->text.data);
        return false;
    }
    bool are_maps = true;
    for (size_t i = 0; i < pair->value->n_items; i++) {
        struct nj_node_pair entry = {pair->key, pair->value->items[i]};
        if (!nj_expect_map(draft->schema, &entry)) {
            are_maps = false;
        } else if (entry.value->n_pairs == 0) {
            nj_schema_error(draft->schema, entry.value->place, NULL,
                            "an entry of '%s' names nothing", pair->key->text.data);
            are_maps = false;
        }
    }
    return are_maps;
}

/* Without lists the first entry of `include` says which names there are. */
static void take_names_of_include(struct draft *draft)
{
    const struct nj_node *first = draft->include->value->items[0];
    for (size_t i = 0; i < first->n_pairs; i++) {
        struct nj_matrix_axis *axis = &draft->axes[draft->n_axes];
        if (begin_axis(draft, first->pairs[i].key, axis) && reserve_values(draft, axis, 0)) {
            draft->n_axes++;
        }
    }
}

static void read_axes(struct draft *draft, const struct nj_node *map)
{
    draft->axes = nj_schema_take(draft->schema, AXES_LIMIT + 1, sizeof draft->axes[0]);
    for (size_t i = 0; draft->axes != NULL && i < map->n_pairs; i++) {
        const struct nj_node_pair *pair = &map->pairs[i];
        if (pair != draft->include && pair != draft->exclude) {
            read_axis(draft, pair);
        }
    }
}

/* --- cells --- */

static uint32_t *cell_choices(const struct draft *draft, size_t cell)
{
    return draft->choices + cell * draft->n_axes;
}

/* The last name changes fastest. */
static void choose_product(struct draft *draft)
{
    for (size_t cell = 0; cell < draft->n_product; cell++) {
        size_t rest = cell;
        draft->indices[cell] = (uint32_t)cell;
        for (size_t axis = draft->n_axes; axis-- > 0;) {
            cell_choices(draft, cell)[axis] = (uint32_t)(rest % draft->axes[axis].n_values);
            rest /= draft->axes[axis].n_values;
        }
    }
    draft->n_cells = draft->n_product;
}

static bool allocate_cells(struct draft *draft, bool has_lists)
{
    size_t n_product = has_lists ? 1 : 0;
    for (size_t i = 0; i < draft->n_axes && has_lists; i++) {
        n_product *= draft->axes[i].n_values;
        if (n_product > CELLS_LIMIT) {
            nj_schema_error(draft->schema, draft->place->place, "use rows",
                            "the matrix has more than %d cells", CELLS_LIMIT);
            return false;
        }
    }
    size_t n_most = n_product + n_entries(draft->include);
    draft->n_product = n_product;
    draft->choices =
        nj_schema_take(draft->schema, n_most * draft->n_axes, sizeof draft->choices[0]);
    draft->indices = nj_schema_take(draft->schema, n_most, sizeof draft->indices[0]);
    return draft->choices != NULL && draft->indices != NULL;
}

/* --- include and exclude --- */

static size_t find_axis(const struct draft *draft, struct nj_text name)
{
    size_t axis = 0;
    while (axis < draft->n_axes && !nj_text_equal(draft->axes[axis].key->text, name)) {
        axis++;
    }
    return axis;
}

static void refuse_name(struct draft *draft, const struct nj_node *key)
{
    nj_schema_error(draft->schema, key->place, "write a list for it above, or remove it",
                    "'%s' is no name of the matrix", key->text.data);
}

static bool find_axis_or_complain(struct draft *draft, const struct nj_node *key, size_t *axis)
{
    *axis = find_axis(draft, key->text);
    if (*axis == draft->n_axes) {
        refuse_name(draft, key);
        return false;
    }
    return true;
}

/* The entry as choices, ANY_VALUE where it says nothing. False after a complaint, and for a
 * value that is not there. */
static bool resolve_exclude(struct draft *draft, const struct nj_node *entry, uint32_t *wanted)
{
    bool is_known = true;
    memset(wanted, 0xFF, draft->n_axes * sizeof wanted[0]);
    for (size_t i = 0; i < entry->n_pairs; i++) {
        const struct nj_node_pair *pair = &entry->pairs[i];
        size_t axis = 0;
        if (!find_axis_or_complain(draft, pair->key, &axis)) {
            is_known = false;
            continue;
        }
        wanted[axis] = find_value(&draft->axes[axis], pair->value);
        if (wanted[axis] == ANY_VALUE) {
            nj_schema_error(draft->schema, pair->value->place,
                            "write it exactly as in the list", "'%s' never has this value",
                            pair->key->text.data);
            is_known = false;
        }
    }
    return is_known;
}

static bool matches(const struct draft *draft, size_t cell, const uint32_t *wanted)
{
    for (size_t axis = 0; axis < draft->n_axes; axis++) {
        if (wanted[axis] != ANY_VALUE && wanted[axis] != cell_choices(draft, cell)[axis]) {
            return false;
        }
    }
    return true;
}

static void exclude_one(struct draft *draft, const struct nj_node *entry)
{
    uint32_t wanted[AXES_LIMIT];
    if (!resolve_exclude(draft, entry, wanted)) {
        return;
    }
    size_t n_kept = 0;
    for (size_t cell = 0; cell < draft->n_cells; cell++) {
        if (!matches(draft, cell, wanted)) {
            memmove(cell_choices(draft, n_kept), cell_choices(draft, cell),
                    draft->n_axes * sizeof draft->choices[0]);
            draft->indices[n_kept++] = draft->indices[cell];
        }
    }
    if (n_kept == draft->n_cells) {
        nj_schema_error(draft->schema, entry->place, NULL,
                        "this entry of 'exclude' matches no cell that is left");
    }
    draft->n_cells = n_kept;
}

static bool resolve_include(struct draft *draft, const struct nj_node *entry, uint32_t *chosen)
{
    size_t n_errors = draft->schema->diagnostics->n_errors;
    memset(chosen, 0xFF, draft->n_axes * sizeof chosen[0]);
    for (size_t i = 0; i < entry->n_pairs; i++) {
        const struct nj_node_pair *pair = &entry->pairs[i];
        size_t axis = 0;
        if (find_axis_or_complain(draft, pair->key, &axis)) {
            chosen[axis] = add_value(draft, &draft->axes[axis], pair->value);
        }
    }
    for (size_t axis = 0; axis < draft->n_axes; axis++) {
        if (nj_node_get(entry, draft->axes[axis].key->text.data) == NULL) {
            nj_schema_error(draft->schema, entry->place, NULL,
                            "this entry of 'include' does not say '%s'",
                            draft->axes[axis].key->text.data);
        }
    }
    return draft->schema->diagnostics->n_errors == n_errors;
}

static void include_one(struct draft *draft, const struct nj_node *entry, size_t entry_index)
{
    uint32_t chosen[AXES_LIMIT];
    if (!resolve_include(draft, entry, chosen)) {
        return;
    }
    for (size_t cell = 0; cell < draft->n_cells; cell++) {
        if (matches(draft, cell, chosen)) {
            nj_schema_error(draft->schema, entry->place, "remove it",
                            "this entry of 'include' is in the matrix already");
            return;
        }
    }
    memcpy(cell_choices(draft, draft->n_cells), chosen,
           draft->n_axes * sizeof draft->choices[0]);
    draft->indices[draft->n_cells++] = (uint32_t)(draft->n_product + entry_index);
}

/* --- all --- */

static void read_cells(struct draft *draft)
{
    size_t n_errors = draft->schema->diagnostics->n_errors;
    bool has_lists = draft->n_axes > 0;
    if (!has_lists && n_entries(draft->include) > 0) {
        take_names_of_include(draft);
    }
    if (draft->schema->out_of_memory || draft->schema->diagnostics->n_errors > n_errors ||
        !allocate_cells(draft, has_lists)) {
        return;
    }
    choose_product(draft);
    for (size_t i = 0; i < n_entries(draft->exclude); i++) {
        exclude_one(draft, draft->exclude->value->items[i]);
    }
    for (size_t i = 0; i < n_entries(draft->include); i++) {
        include_one(draft, draft->include->value->items[i], i);
    }
    if (draft->n_cells == 0 && draft->schema->diagnostics->n_errors == n_errors) {
        nj_schema_error(draft->schema, draft->place->place, NULL, "the matrix has no cells");
    }
}

/* Without all lists no cells can be chosen, but wrong names can be told; those of broken lists
 * are none. */
static void check_names_of(struct draft *draft, const struct nj_node_pair *entries)
{
    for (size_t i = 0; i < n_entries(entries); i++) {
        const struct nj_node *entry = entries->value->items[i];
        for (size_t k = 0; k < entry->n_pairs; k++) {
            const struct nj_node *key = entry->pairs[k].key;
            if (nj_node_get(draft->place, key->text.data) == NULL) {
                refuse_name(draft, key);
            }
        }
    }
}

static void find_entries(struct draft *draft, const struct nj_node *map)
{
    for (size_t i = 0; i < map->n_pairs; i++) {
        const struct nj_node_pair *pair = &map->pairs[i];
        if (nj_text_equals(pair->key->text, "include")) {
            draft->include = pair;
        } else if (nj_text_equals(pair->key->text, "exclude")) {
            draft->exclude = pair;
        }
    }
}

void nj_matrix_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_matrix *matrix = target;
    struct draft draft = {.schema = schema, .place = pair->value};
    size_t n_errors = schema->diagnostics->n_errors;
    if (!nj_expect_map(schema, pair)) {
        return;
    }
    find_entries(&draft, pair->value);
    bool are_entries = draft.include == NULL || expect_entries(&draft, draft.include);
    are_entries =
        (draft.exclude == NULL || expect_entries(&draft, draft.exclude)) && are_entries;
    read_axes(&draft, pair->value);
    if (draft.axes != NULL && schema->diagnostics->n_errors == n_errors && are_entries) {
        read_cells(&draft);
    } else if (are_entries) {
        check_names_of(&draft, draft.exclude);
        check_names_of(&draft, draft.include);
    }
    *matrix = (struct nj_matrix){.axes = draft.axes,
                                 .n_axes = draft.n_axes,
                                 .choices = draft.choices,
                                 .indices = draft.indices,
                                 .n_cells = draft.n_cells};
}

/* --- what a cell says --- */

static const struct nj_node *value_of(const struct nj_matrix *matrix, size_t cell, size_t axis)
{
    return matrix->axes[axis].values[matrix->choices[cell * matrix->n_axes + axis]];
}

bool nj_matrix_variables(const struct nj_matrix *matrix, size_t cell, struct nj_arena *arena,
                         struct nj_variable_list *variables)
{
    struct nj_variable *found = nj_arena_take_array(arena, matrix->n_axes, sizeof found[0]);
    size_t n_found = 0;
    if (found == NULL) {
        return false;
    }
    for (size_t axis = 0; matrix->n_cells > 0 && axis < matrix->n_axes; axis++) {
        if (matrix->axes[axis].is_variable) {
            found[n_found].name = matrix->axes[axis].key->text;
            found[n_found++].value = value_of(matrix, cell, axis)->text;
        }
    }
    nj_variables_sort(found, n_found);
    *variables = (struct nj_variable_list){found, n_found};
    return true;
}

bool nj_matrix_has_settings(const struct nj_matrix *matrix)
{
    for (size_t axis = 0; matrix->n_cells > 0 && axis < matrix->n_axes; axis++) {
        if (matrix->axes[axis].kind == NJ_AXIS_SAMPLING) {
            return true;
        }
    }
    return false;
}

void nj_matrix_set_sampling(const struct nj_matrix *matrix, size_t cell,
                            struct nj_schema *schema, struct nj_sampling *sampling)
{
    for (size_t axis = 0; matrix->n_cells > 0 && axis < matrix->n_axes; axis++) {
        if (matrix->axes[axis].kind == NJ_AXIS_SAMPLING) {
            struct nj_node_pair pair = {matrix->axes[axis].key, value_of(matrix, cell, axis)};
            nj_sampling_set(schema, &pair, sampling);
        }
    }
}

struct nj_text nj_matrix_model(const struct nj_matrix *matrix, size_t cell)
{
    for (size_t axis = 0; matrix->n_cells > 0 && axis < matrix->n_axes; axis++) {
        if (matrix->axes[axis].kind == NJ_AXIS_MODEL) {
            return value_of(matrix, cell, axis)->text;
        }
    }
    return (struct nj_text){0};
}
