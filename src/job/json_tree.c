#include "job/json_tree.h"

#include <stdlib.h>
#include <string.h>

#include "job/json_walk.h"

struct reader {
    struct nj_text text;
    struct nj_arena *nodes;
    struct nj_arena *texts;
    struct nj_diagnostics *diagnostics;
    size_t offset; /* of `place`; values come in the order in which they stand */
    struct nj_place place;
    bool out_of_memory;
};

/* In JSON only LF breaks lines; U+2028 and others that YAML obeys stand in strings. */
static struct nj_place place_of(struct reader *reader, const char *at)
{
    size_t offset = (size_t)(at - reader->text.data);
    while (reader->offset < offset) {
        bool is_break = nj_text_next(reader->text, &reader->offset) == '\n';
        reader->place.line += is_break ? 1 : 0;
        reader->place.column = is_break ? 1 : reader->place.column + 1;
    }
    return reader->place;
}

static struct nj_node *add_node(struct reader *reader, enum nj_node_kind kind, const char *at)
{
    struct nj_node *node = nj_arena_take(reader->nodes, sizeof *node);
    if (node == NULL) {
        reader->out_of_memory = true;
        return NULL;
    }
    *node = (struct nj_node){.kind = kind, .place = place_of(reader, at)};
    return node;
}

static struct nj_node *read_scalar(struct reader *reader, enum nj_json_walk_kind kind,
                                   struct nj_text raw, struct nj_arena *texts)
{
    struct nj_node *node = add_node(reader, NJ_NODE_SCALAR, raw.data);
    if (node == NULL) {
        return NULL;
    }
    node->is_plain = kind != NJ_JSON_WALK_TEXT;
    struct nj_text text =
        kind == NJ_JSON_WALK_TEXT ? nj_json_walk_decode(raw, reader->nodes) : raw;
    /* Complaints print texts as C strings. */
    node->text.data =
        text.data == NULL ? NULL : nj_arena_copy_text(texts, text.data, text.length_bytes);
    node->text.length_bytes = text.length_bytes;
    reader->out_of_memory |= node->text.data == NULL;
    return node->text.data == NULL ? NULL : node;
}

static const struct nj_node *read_value(struct reader *reader, enum nj_json_walk_kind kind,
                                        struct nj_text raw);

/* Doubles; the arena keeps the halves until it goes. */
static bool grow(struct reader *reader, void **items, size_t n_items, size_t *capacity,
                 size_t item_bytes)
{
    if (n_items < *capacity) {
        return true;
    }
    size_t wanted = *capacity == 0 ? 4 : 2 * *capacity;
    void *grown = nj_arena_take_array(reader->nodes, wanted, item_bytes);
    if (grown == NULL) {
        reader->out_of_memory = true;
        return false;
    }
    if (n_items > 0) {
        memcpy(grown, *items, n_items * item_bytes);
    }
    *items = grown;
    *capacity = wanted;
    return true;
}

/* The caller has walked over the value once, so what is inside is well-formed. */
static const struct nj_node *read_list(struct reader *reader, struct nj_text raw)
{
    struct nj_node *list = add_node(reader, NJ_NODE_LIST, raw.data);
    struct nj_json_walk walk;
    size_t capacity = 0;
    void *items = NULL;
    nj_json_walk_init(&walk, raw);
    (void)nj_json_walk_take(&walk, '[');
    while (list != NULL && !reader->out_of_memory && !nj_json_walk_take(&walk, ']')) {
        enum nj_json_walk_kind kind;
        struct nj_text inner;
        if (!nj_json_walk_value(&walk, &kind, &inner) ||
            !grow(reader, &items, list->n_items, &capacity, sizeof(struct nj_node *))) {
            return NULL;
        }
        list->items = items;
        list->items[list->n_items++] = read_value(reader, kind, inner);
        (void)nj_json_walk_take(&walk, ',');
    }
    return list;
}

static int by_key(const void *left, const void *right)
{
    const struct nj_node *a = ((const struct nj_node_pair *)left)->key;
    const struct nj_node *b = ((const struct nj_node_pair *)right)->key;
    int order = strcmp(a->text.data, b->text.data); /* \u0000 is refused: C strings */
    if (order != 0) {
        return order;
    }
    return a->place.line != b->place.line ? (a->place.line > b->place.line ? 1 : -1)
                                          : (a->place.column > b->place.column ? 1 : -1);
}

static void refuse_duplicates(struct reader *reader, const struct nj_node *map)
{
    struct nj_node_pair *sorted =
        nj_arena_take_array(reader->nodes, map->n_pairs, sizeof sorted[0]);
    if (sorted == NULL) {
        reader->out_of_memory = true;
        return;
    }
    if (map->n_pairs > 1) {
        memcpy(sorted, map->pairs, map->n_pairs * sizeof sorted[0]);
        qsort(sorted, map->n_pairs, sizeof sorted[0], by_key);
    }
    for (size_t i = 1; i < map->n_pairs; i++) {
        if (nj_text_equal(sorted[i - 1].key->text, sorted[i].key->text)) {
            nj_diagnose(reader->diagnostics, NJ_SEVERITY_ERROR, sorted[i].key->place,
                        "keep one of them", "name '%s' stands twice in the object",
                        sorted[i].key->text.data);
        }
    }
}

static const struct nj_node *read_map(struct reader *reader, struct nj_text raw)
{
    struct nj_node *map = add_node(reader, NJ_NODE_MAP, raw.data);
    struct nj_json_walk walk;
    size_t capacity = 0;
    void *pairs = NULL;
    nj_json_walk_init(&walk, raw);
    (void)nj_json_walk_take(&walk, '{');
    while (map != NULL && !reader->out_of_memory) {
        bool has_member = false;
        enum nj_json_walk_kind kind;
        struct nj_text name;
        struct nj_text inner;
        if (!nj_json_walk_member(&walk, map->n_pairs == 0, &has_member, &name, &kind, &inner) ||
            (has_member &&
             !grow(reader, &pairs, map->n_pairs, &capacity, sizeof(struct nj_node_pair)))) {
            return NULL;
        }
        if (!has_member) {
            break;
        }
        map->pairs = pairs;
        struct nj_node_pair *pair = &map->pairs[map->n_pairs];
        pair->key = read_scalar(reader, NJ_JSON_WALK_TEXT, name, reader->nodes);
        pair->value = read_value(reader, kind, inner);
        map->n_pairs++;
    }
    if (map != NULL && !reader->out_of_memory) {
        refuse_duplicates(reader, map);
    }
    return map;
}

static const struct nj_node *read_value(struct reader *reader, enum nj_json_walk_kind kind,
                                        struct nj_text raw)
{
    switch (kind) {
    case NJ_JSON_WALK_OBJECT:
        return read_map(reader, raw);
    case NJ_JSON_WALK_LIST:
        return read_list(reader, raw);
    case NJ_JSON_WALK_TEXT:
    case NJ_JSON_WALK_NUMBER:
    case NJ_JSON_WALK_WORD:
        break;
    }
    return read_scalar(reader, kind, raw, reader->texts);
}

enum nj_status nj_json_tree_read(struct nj_text text, struct nj_place place,
                                 struct nj_arena *nodes, struct nj_arena *texts,
                                 struct nj_diagnostics *diagnostics,
                                 const struct nj_node **root, struct nj_error *err)
{
    struct reader reader = {.text = text,
                            .nodes = nodes,
                            .texts = texts,
                            .diagnostics = diagnostics,
                            .place = place};
    struct nj_json_walk walk;
    enum nj_json_walk_kind kind;
    struct nj_text raw;
    *root = NULL;
    nj_json_walk_init(&walk, text);
    bool is_read = nj_json_walk_value(&walk, &kind, &raw);
    if (is_read) {
        nj_json_walk_space(&walk);
        is_read = walk.offset == text.length_bytes ||
                  nj_json_walk_fail(&walk, "text behind the value");
    }
    if (!is_read) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, place_of(&reader, text.data + walk.offset),
                    NULL, "%s", walk.problem);
        return NJ_OK;
    }
    *root = read_value(&reader, kind, raw);
    return reader.out_of_memory ? nj_arena_fail(nodes, place.file, err) : NJ_OK;
}
