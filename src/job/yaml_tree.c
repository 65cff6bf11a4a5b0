#include "job/yaml_tree.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "job/source_text.h"
#include "job/yaml_problem.h"

/* A name search is linear; more anchors than this is no file that a person wrote. */
enum { ANCHORS_LIMIT = 1000 };

struct child {
    const struct nj_node *node;
    struct child *next;
};

/* A list or map whose end has not come. A map's children are key, value, key, value. */
struct open_node {
    struct nj_node *node;
    struct child *first, *last;
    size_t n_children;
};

struct anchor {
    struct nj_text name;
    struct nj_node *node;
    bool is_used;
    struct anchor *next;
};

struct builder {
    const char *path;
    struct nj_text source;
    struct nj_arena *arena;
    struct nj_diagnostics *diagnostics;
    struct nj_source_cursor cursor;
    struct open_node open[NJ_YAML_DEPTH_LIMIT];
    size_t n_open;
    struct anchor *anchors;
    size_t n_anchors;
    uint32_t n_expanded;
    const struct nj_node **roots; /* NJ_YAML_DOCUMENTS_LIMIT of them */
    size_t n_roots;
    bool is_broken;  /* what was read so far is not the file */
    bool is_stopped; /* a complaint after which going on makes no sense */
    bool out_of_memory;
};

const struct nj_node *nj_node_get(const struct nj_node *map, const char *key)
{
    for (size_t i = 0; i < map->n_pairs; i++) {
        if (nj_text_equals(map->pairs[i].key->text, key)) {
            return map->pairs[i].value;
        }
    }
    return NULL;
}

struct nj_node *nj_node_of_text(struct nj_arena *arena, struct nj_place place,
                                struct nj_text text, bool is_plain)
{
    struct nj_node *node = nj_arena_take(arena, sizeof *node);
    if (node != NULL) {
        *node = (struct nj_node){.kind = NJ_NODE_SCALAR,
                                 .place = place,
                                 .text = text,
                                 .is_plain = is_plain,
                                 .n_expanded = 1,
                                 .height = 1};
    }
    return node;
}

struct nj_node *nj_node_with(struct nj_arena *arena, const struct nj_node *map,
                             struct nj_node_pair pair)
{
    struct nj_node *copy = nj_arena_take(arena, sizeof *copy);
    struct nj_node_pair *pairs = nj_arena_take_array(arena, map->n_pairs + 1, sizeof pairs[0]);
    if (copy == NULL || pairs == NULL) {
        return NULL;
    }
    *copy = *map;
    copy->pairs = pairs;
    size_t position = map->n_pairs;
    for (size_t i = 0; i < map->n_pairs; i++) {
        pairs[i] = map->pairs[i];
        position = nj_text_equal(pairs[i].key->text, pair.key->text) ? i : position;
    }
    pairs[position] = pair;
    copy->n_pairs += position == map->n_pairs ? 1 : 0;
    return copy;
}

const char *nj_node_kind_name(const struct nj_node *node)
{
    switch (node->kind) {
    case NJ_NODE_LIST:
        return "a list";
    case NJ_NODE_MAP:
        return "a map";
    case NJ_NODE_SCALAR:
        break;
    }
    return "text";
}

static struct nj_place place_at(const struct builder *builder, yaml_mark_t mark)
{
    return (struct nj_place){builder->path, (uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
}

static void *take(struct builder *builder, size_t count, size_t item_bytes)
{
    void *memory = nj_arena_take_array(builder->arena, count, item_bytes);
    if (memory == NULL) {
        builder->out_of_memory = true;
        builder->is_stopped = true;
    }
    return memory;
}

static void stop(struct builder *builder, struct nj_place place, const char *hint,
                 const char *what)
{
    nj_diagnose(builder->diagnostics, NJ_SEVERITY_ERROR, place, hint, "%s", what);
    builder->is_stopped = true;
}

static bool count_nodes(struct builder *builder, struct nj_place place, uint32_t n_nodes)
{
    builder->n_expanded += n_nodes;
    if (builder->n_expanded <= NJ_YAML_NODES_LIMIT) {
        return true;
    }
    stop(builder, place, "put many rows into a CSV or JSONL file",
         "more than 100000 values, aliases written out");
    return false;
}

/* The map waits for a key, not for a value. */
static bool awaits_key(const struct open_node *open)
{
    return open->node->kind == NJ_NODE_MAP && open->n_children % 2 == 0;
}

static bool begins_with_braces(const struct builder *builder, const struct nj_node *node)
{
    size_t at = node->begin_byte;
    return at + 1 < builder->source.length_bytes &&
           memcmp(builder->source.data + at, "{{", 2) == 0;
}

/* `{{name}}` without quotes is a map whose key is a map. The map counts as reported, so that
 * nobody complains about it again. */
static void refuse_key(struct builder *builder, struct nj_node *map, const struct nj_node *key)
{
    if (!map->is_reported && begins_with_braces(builder, map)) {
        nj_diagnose(builder->diagnostics, NJ_SEVERITY_ERROR, map->place,
                    "write \"{{name}} ...\"", "a value starting with {{ must be quoted");
    } else if (!map->is_reported) {
        nj_diagnose(builder->diagnostics, NJ_SEVERITY_ERROR, key->place, NULL,
                    "a key must be text, not %s", nj_node_kind_name(key));
    }
    map->is_reported = true;
}

static void add_child(struct builder *builder, const struct nj_node *node)
{
    if (builder->n_open == 0) {
        builder->roots[builder->n_roots++] = node;
        return;
    }
    struct open_node *parent = &builder->open[builder->n_open - 1];
    if (awaits_key(parent) && node->kind != NJ_NODE_SCALAR) {
        refuse_key(builder, parent->node, node);
    }
    struct child *child = take(builder, 1, sizeof *child);
    if (child == NULL) {
        return;
    }
    child->node = node;
    *(parent->first == NULL ? &parent->first : &parent->last->next) = child;
    parent->last = child;
    parent->n_children++;
}

static struct anchor *find_anchor(const struct builder *builder, const char *name)
{
    for (struct anchor *anchor = builder->anchors; anchor != NULL; anchor = anchor->next) {
        if (nj_text_equals(anchor->name, name)) {
            return anchor;
        }
    }
    return NULL;
}

static void add_anchor(struct builder *builder, const yaml_char_t *yaml_name,
                       struct nj_node *node)
{
    if (yaml_name == NULL) {
        return;
    }
    const char *name = (const char *)yaml_name;
    const struct anchor *earlier = find_anchor(builder, name);
    if (earlier != NULL) {
        nj_diagnose(builder->diagnostics, NJ_SEVERITY_ERROR, node->place,
                    "give each anchor a name of its own",
                    "anchor '&%s' is already used in line %u", name, earlier->node->place.line);
        return;
    }
    if (builder->n_anchors == ANCHORS_LIMIT) {
        stop(builder, node->place, NULL, "more than 1000 anchors");
        return;
    }
    struct anchor *anchor = take(builder, 1, sizeof *anchor);
    char *copy = nj_arena_copy_text(builder->arena, name, strlen(name));
    if (anchor == NULL || copy == NULL) {
        builder->out_of_memory = true;
        return;
    }
    *anchor =
        (struct anchor){.name = nj_text_from(copy), .node = node, .next = builder->anchors};
    builder->anchors = anchor;
    builder->n_anchors++;
}

static void refuse_tag(struct builder *builder, const yaml_char_t *tag, struct nj_place place)
{
    if (tag != NULL) {
        nj_diagnose(builder->diagnostics, NJ_SEVERITY_ERROR, place,
                    "remove it, or quote a text that begins with '!'",
                    "tags (!) have no use here");
    }
}

static struct nj_node *add_node(struct builder *builder, enum nj_node_kind kind,
                                const yaml_event_t *event)
{
    struct nj_place place = place_at(builder, event->start_mark);
    struct nj_node *node = NULL;
    if (!count_nodes(builder, place, 1) || (node = take(builder, 1, sizeof *node)) == NULL) {
        return NULL;
    }
    node->kind = kind;
    node->place = place;
    node->n_expanded = 1;
    node->begin_byte = nj_source_cursor_seek(&builder->cursor, event->start_mark.index);
    return node;
}

static bool comment_follows(struct nj_text source, size_t offset)
{
    size_t at = offset;
    while (at < source.length_bytes && (source.data[at] == ' ' || source.data[at] == '\t')) {
        at++;
    }
    return at > offset && at < source.length_bytes && source.data[at] == '#';
}

static void on_scalar(struct builder *builder, const yaml_event_t *event)
{
    struct nj_node *node = add_node(builder, NJ_NODE_SCALAR, event);
    if (node == NULL) {
        return;
    }
    size_t length = event->data.scalar.length;
    node->text.data =
        nj_arena_copy_text(builder->arena, (const char *)event->data.scalar.value, length);
    if (node->text.data == NULL) {
        builder->out_of_memory = true;
        builder->is_stopped = true;
        return;
    }
    node->text.length_bytes = length;
    node->height = 1;
    node->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->end_byte = nj_source_cursor_seek(&builder->cursor, event->end_mark.index);
    node->has_comment = node->is_plain && comment_follows(builder->source, node->end_byte);
    refuse_tag(builder, event->data.scalar.tag, node->place);
    add_anchor(builder, event->data.scalar.anchor, node);
    add_child(builder, node);
}

static void open_collection(struct builder *builder, enum nj_node_kind kind,
                            const yaml_event_t *event, const yaml_char_t *anchor,
                            const yaml_char_t *tag)
{
    struct nj_node *node = add_node(builder, kind, event);
    if (node == NULL) {
        return;
    }
    if (builder->n_open == NJ_YAML_DEPTH_LIMIT) {
        stop(builder, node->place, NULL, "nested deeper than 64 levels");
        return;
    }
    refuse_tag(builder, tag, node->place);
    add_anchor(builder, anchor, node);
    builder->open[builder->n_open++] = (struct open_node){.node = node};
}

/* A scalar in the place of an alias that leads nowhere, so that reading can go on. */
static void add_reported(struct builder *builder, const yaml_event_t *event)
{
    struct nj_node *node = add_node(builder, NJ_NODE_SCALAR, event);
    if (node != NULL) {
        node->is_reported = true;
        node->height = 1;
        add_child(builder, node);
    }
}

/* Whether words follow on the line: then a person wrote a text, such as `*bold* and more`. */
static bool is_text_behind(struct nj_text source, size_t offset)
{
    size_t at = offset;
    while (at < source.length_bytes && source.data[at] == ' ') {
        at++;
    }
    return at < source.length_bytes && strchr("\t\r\n#:,]}", source.data[at]) == NULL;
}

static void refuse_alias(struct builder *builder, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct nj_place place = place_at(builder, event->start_mark);
    size_t end = nj_source_cursor_seek(&builder->cursor, event->end_mark.index);
    if (is_text_behind(builder->source, end)) {
        nj_diagnose(builder->diagnostics, NJ_SEVERITY_ERROR, place, "write \"*...\"",
                    "a value that begins with '*' or '&' must be quoted");
        return;
    }
    nj_diagnose(builder->diagnostics, NJ_SEVERITY_ERROR, place,
                "define it above, or quote a text that begins with '*'",
                "alias '*%s' has no anchor '&%s'", name, name);
}

static void on_alias(struct builder *builder, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct nj_place place = place_at(builder, event->start_mark);
    struct anchor *anchor = find_anchor(builder, name);
    if (anchor == NULL) {
        refuse_alias(builder, event);
        add_reported(builder, event);
        return;
    }
    anchor->is_used = true;
    if (anchor->node->height == 0) {
        nj_diagnose(builder->diagnostics, NJ_SEVERITY_ERROR, place, NULL,
                    "alias '*%s' stands inside its own anchor of line %u", name,
                    anchor->node->place.line);
        add_reported(builder, event);
        return;
    }
    if (builder->n_open + anchor->node->height > NJ_YAML_DEPTH_LIMIT + 1) {
        stop(builder, place, NULL, "nested deeper than 64 levels, aliases written out");
        return;
    }
    if (count_nodes(builder, place, anchor->node->n_expanded)) {
        add_child(builder, anchor->node);
    }
}

static void measure(struct nj_node *node, const struct open_node *open)
{
    uint32_t highest = 0;
    for (const struct child *child = open->first; child != NULL; child = child->next) {
        node->n_expanded += child->node->n_expanded;
        highest = child->node->height > highest ? child->node->height : highest;
    }
    node->height = highest + 1;
}

static void close_list(struct builder *builder, const struct open_node *open)
{
    struct nj_node *list = open->node;
    list->items = take(builder, open->n_children, sizeof(struct nj_node *));
    if (list->items == NULL) {
        return;
    }
    for (const struct child *child = open->first; child != NULL; child = child->next) {
        list->items[list->n_items++] = child->node;
    }
}

/* A pair on its way into a map. */
struct candidate {
    struct nj_node_pair pair;
    size_t order;
    bool is_merged;
};

struct candidates {
    struct candidate *items;
    size_t n_items;
};

static void add_candidate(struct candidates *candidates, struct nj_node_pair pair,
                          bool is_merged)
{
    candidates->items[candidates->n_items] =
        (struct candidate){pair, candidates->n_items, is_merged};
    candidates->n_items++;
}

static bool is_merge_key(const struct nj_node *key)
{
    return key->kind == NJ_NODE_SCALAR && key->is_plain && nj_text_equals(key->text, "<<");
}

static bool is_map_to_merge(struct builder *builder, const struct nj_node *node)
{
    if (node->kind != NJ_NODE_MAP && !node->is_reported) {
        nj_diagnose(builder->diagnostics, NJ_SEVERITY_ERROR, node->place, NULL,
                    "'<<' needs a map or a list of maps, not %s", nj_node_kind_name(node));
    }
    return node->kind == NJ_NODE_MAP;
}

static size_t n_pairs_to_merge(struct builder *builder, const struct nj_node *source)
{
    if (source->kind != NJ_NODE_LIST) {
        return is_map_to_merge(builder, source) ? source->n_pairs : 0;
    }
    size_t n_pairs = 0;
    for (size_t i = 0; i < source->n_items; i++) {
        n_pairs += is_map_to_merge(builder, source->items[i]) ? source->items[i]->n_pairs : 0;
    }
    return n_pairs;
}

static void merge_map(struct candidates *candidates, const struct nj_node *map)
{
    for (size_t i = 0; i < map->n_pairs; i++) {
        add_candidate(candidates, map->pairs[i], true);
    }
}

/* Of a list the first map that has a key wins, so their order is kept. */
static void merge(struct candidates *candidates, const struct nj_node *source)
{
    if (source->kind == NJ_NODE_MAP) {
        merge_map(candidates, source);
    }
    for (size_t i = 0; i < source->n_items; i++) {
        if (source->items[i]->kind == NJ_NODE_MAP) {
            merge_map(candidates, source->items[i]);
        }
    }
}

static int compare_texts(struct nj_text a, struct nj_text b)
{
    size_t shorter = a.length_bytes < b.length_bytes ? a.length_bytes : b.length_bytes;
    int order = memcmp(a.data, b.data, shorter);
    return order != 0 ? order
                      : (a.length_bytes > b.length_bytes) - (a.length_bytes < b.length_bytes);
}

static int by_key_then_order(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    int order = compare_texts(a->pair.key->text, b->pair.key->text);
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

static int by_order(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    return (a->order > b->order) - (a->order < b->order);
}

static void complain_about_duplicate(struct builder *builder, const struct nj_node *first,
                                     const struct nj_node *again)
{
    nj_diagnose(builder->diagnostics, NJ_SEVERITY_ERROR, again->place, "keep one of them",
                "key '%s' stands in line %u and again in line %u", again->text.data,
                first->place.line, again->place.line);
}

/* Keeps the first of each key. Candidates come in file order, merged ones behind. */
static void drop_duplicates(struct builder *builder, struct candidates *candidates)
{
    qsort(candidates->items, candidates->n_items, sizeof candidates->items[0],
          by_key_then_order);
    size_t n_kept = 0;
    for (size_t i = 0; i < candidates->n_items; i++) {
        const struct candidate *item = &candidates->items[i];
        const struct candidate *kept = n_kept == 0 ? NULL : &candidates->items[n_kept - 1];
        if (kept == NULL || !nj_text_equal(kept->pair.key->text, item->pair.key->text)) {
            candidates->items[n_kept++] = *item;
        } else if (!item->is_merged) {
            complain_about_duplicate(builder, kept->pair.key, item->pair.key);
        }
    }
    candidates->n_items = n_kept;
    qsort(candidates->items, n_kept, sizeof candidates->items[0], by_order);
}

/* The map's own pairs, `<<` left out; `*n_merged` counts what `<<` brings. */
static void collect_own(struct builder *builder, const struct open_node *open,
                        struct candidates *own, const struct nj_node **source, size_t *n_merged)
{
    for (const struct child *key = open->first; key != NULL && key->next != NULL;
         key = key->next->next) {
        const struct nj_node *value = key->next->node;
        if (key->node->kind != NJ_NODE_SCALAR || key->node->is_reported) {
            open->node->is_reported |= open->n_children == 2; /* nothing else stands in it */
            continue;
        }
        if (!is_merge_key(key->node)) {
            add_candidate(own, (struct nj_node_pair){key->node, value}, false);
        } else if (*source != NULL) {
            nj_diagnose(builder->diagnostics, NJ_SEVERITY_ERROR, key->node->place,
                        "write one '<<: [*a, *b]'", "a second '<<' in one map");
        } else {
            *source = value;
            *n_merged = n_pairs_to_merge(builder, value);
        }
    }
}

static void close_map(struct builder *builder, const struct open_node *open)
{
    struct candidates own = {take(builder, open->n_children, sizeof(struct candidate)), 0};
    if (own.items == NULL) {
        return;
    }
    const struct nj_node *source = NULL;
    size_t n_merged = 0;
    collect_own(builder, open, &own, &source, &n_merged);
    struct candidates all = own;
    if (n_merged > 0) {
        all.items = take(builder, own.n_items + n_merged, sizeof(struct candidate));
        if (all.items == NULL) {
            return;
        }
        memcpy(all.items, own.items, own.n_items * sizeof own.items[0]);
        merge(&all, source);
    }
    drop_duplicates(builder, &all);
    struct nj_node *map = open->node;
    map->pairs = take(builder, all.n_items, sizeof map->pairs[0]);
    if (map->pairs == NULL) {
        return;
    }
    for (size_t i = 0; i < all.n_items; i++) {
        map->pairs[map->n_pairs++] = all.items[i].pair;
    }
}

static void close_collection(struct builder *builder)
{
    struct open_node open = builder->open[--builder->n_open];
    if (open.node->kind == NJ_NODE_LIST) {
        close_list(builder, &open);
    } else {
        close_map(builder, &open);
    }
    if (!builder->is_stopped) {
        measure(open.node, &open);
        add_child(builder, open.node);
    }
}

/* `prompt: &co is short` is the text "is short" with an anchor, which nobody means. */
static void warn_of_unused_anchors(const struct builder *builder)
{
    for (const struct anchor *anchor = builder->anchors; anchor != NULL;
         anchor = anchor->next) {
        const struct nj_node *node = anchor->node;
        if (builder->diagnostics->n_errors == 0 && !anchor->is_used &&
            node->kind == NJ_NODE_SCALAR && node->is_plain) {
            nj_diagnose(builder->diagnostics, NJ_SEVERITY_WARNING, node->place,
                        "quote the text if it begins with '&'",
                        "'&%s' is an anchor that nothing uses, and no part of the text",
                        anchor->name.data);
        }
    }
}

/* Anchors belong to their document. */
static void end_document(struct builder *builder)
{
    warn_of_unused_anchors(builder);
    builder->anchors = NULL;
    builder->n_anchors = 0;
}

static void on_document(struct builder *builder, const yaml_event_t *event)
{
    if (builder->n_roots == NJ_YAML_DOCUMENTS_LIMIT) {
        stop(builder, place_at(builder, event->start_mark), NULL,
             "more than 1000 jobs in one file");
    }
}

static void on_event(struct builder *builder, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        on_document(builder, event);
        break;
    case YAML_SCALAR_EVENT:
        on_scalar(builder, event);
        break;
    case YAML_ALIAS_EVENT:
        on_alias(builder, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        open_collection(builder, NJ_NODE_LIST, event, event->data.sequence_start.anchor,
                        event->data.sequence_start.tag);
        break;
    case YAML_MAPPING_START_EVENT:
        open_collection(builder, NJ_NODE_MAP, event, event->data.mapping_start.anchor,
                        event->data.mapping_start.tag);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_collection(builder);
        break;
    case YAML_DOCUMENT_END_EVENT:
        end_document(builder);
        break;
    case YAML_STREAM_END_EVENT:
        builder->is_stopped = true;
        break;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
        break;
    }
}

static void read_events(struct builder *builder, yaml_parser_t *parser)
{
    while (!builder->is_stopped) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event)) {
            nj_yaml_problem_explain(parser, builder->path, builder->source,
                                    builder->diagnostics);
            builder->is_broken = true;
            return;
        }
        on_event(builder, &event);
        yaml_event_delete(&event);
    }
}

enum nj_status nj_yaml_tree_read(const char *path, struct nj_text source,
                                 struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                                 struct nj_documents *documents, struct nj_error *err)
{
    struct builder builder = {
        .path = path, .source = source, .arena = arena, .diagnostics = diagnostics};
    *documents = (struct nj_documents){0};
    builder.roots =
        nj_arena_take_array(arena, NJ_YAML_DOCUMENTS_LIMIT, sizeof(struct nj_node *));
    if (builder.roots == NULL) {
        return nj_arena_fail(arena, path, err);
    }
    if (nj_source_refuse_utf16(source, path, diagnostics)) {
        return NJ_OK;
    }
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        return nj_fail(err, NJ_E_MEMORY, "read %s: no memory for the YAML parser", path);
    }
    nj_source_cursor_init(&builder.cursor, source);
    yaml_parser_set_input_string(&parser, (const yaml_char_t *)source.data,
                                 source.length_bytes);
    read_events(&builder, &parser);
    yaml_parser_delete(&parser);
    if (builder.out_of_memory) {
        return nj_arena_fail(arena, path, err);
    }
    if (builder.n_open == 0 && !builder.is_broken) {
        *documents = (struct nj_documents){builder.roots, builder.n_roots};
    }
    return NJ_OK;
}
