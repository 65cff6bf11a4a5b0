#include "job/rows_keys.h"

#include <string.h>

#include "job/item_seed.h"
#include "job/prompt_keys.h"
#include "job/sampling_keys.h"

/* --- rows written in the job file --- */

struct inline_rows {
    const struct nj_variable **rows;
    size_t *counts;
    struct nj_place *places;
};

static void read_inline_row(struct nj_schema *schema, const struct nj_node_pair *item,
                            struct inline_rows *rows, size_t index)
{
    rows->places[index] = item->value->place;
    nj_vars_read(schema, item, &rows->rows[index], &rows->counts[index]);
    if (item->value->kind != NJ_NODE_MAP) {
        return;
    }
    for (size_t i = 0; i < item->value->n_pairs; i++) {
        const struct nj_node *key = item->value->pairs[i].key;
        nj_sampling_check_column(schema, key->text, key->place);
    }
}

static void read_inline(struct nj_schema *schema, const struct nj_node_pair *pair,
                        struct nj_row_source *source)
{
    const struct nj_node *list = pair->value;
    if (list->n_items == 0) {
        nj_schema_error(schema, list->place, NULL, "'rows' is empty");
        return;
    }
    struct inline_rows rows = {
        .rows = nj_schema_take(schema, list->n_items, sizeof(struct nj_variable *)),
        .counts = nj_schema_take(schema, list->n_items, sizeof rows.counts[0]),
        .places = nj_schema_take(schema, list->n_items, sizeof rows.places[0])};
    if (schema->out_of_memory) {
        return;
    }
    for (size_t i = 0; i < list->n_items; i++) {
        struct nj_node_pair item = {pair->key, list->items[i]};
        read_inline_row(schema, &item, &rows, i);
    }
    source->format = NJ_ROWS_INLINE;
    source->inline_rows = rows.rows;
    source->inline_counts = rows.counts;
    source->inline_places = rows.places;
    source->n_inline_rows = list->n_items;
}

/* --- rows in a file --- */

static const char *const format_names[] = {"csv", "tsv", "jsonl"};
static const enum nj_row_format formats[] = {NJ_ROWS_CSV, NJ_ROWS_TSV, NJ_ROWS_JSONL};

struct file_draft {
    struct nj_row_source *source;
    const struct nj_node_pair *delimiter; /* NULL: not given */
};

static void read_file(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct file_draft *draft = target;
    draft->source->path = nj_expect_path(schema, pair);
}

static void read_format(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct file_draft *draft = target;
    size_t index = 0;
    if (nj_expect_choice(schema, pair, format_names,
                         sizeof format_names / sizeof format_names[0], &index)) {
        draft->source->format = formats[index];
    }
}

static void read_delimiter(struct nj_schema *schema, const struct nj_node_pair *pair,
                           void *target)
{
    struct file_draft *draft = target;
    struct nj_text text;
    draft->delimiter = pair;
    if (!nj_expect_filled_text(schema, pair, &text)) {
        return;
    }
    unsigned char byte = (unsigned char)text.data[0];
    bool is_fit = text.length_bytes == 1 && (byte == '\t' || (byte >= 0x20 && byte < 0x7f)) &&
                  byte != '"';
    if (!is_fit) {
        nj_schema_error(schema, pair->value->place, "such as \",\" or \";\" or \"\\t\"",
                        "'delimiter' must be one ASCII character and no quote");
        return;
    }
    draft->source->delimiter = text.data[0];
}

static void read_limit(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct file_draft *draft = target;
    (void)nj_expect_unsigned(schema, pair, 1, INT64_MAX, &draft->source->limit);
}

static void read_offset(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct file_draft *draft = target;
    (void)nj_expect_unsigned(schema, pair, 0, INT64_MAX, &draft->source->offset);
}

static void read_shuffle_seed(struct nj_schema *schema, const struct nj_node_pair *pair,
                              void *target)
{
    struct nj_row_source *source = ((struct file_draft *)target)->source;
    source->has_shuffle_seed =
        nj_expect_unsigned(schema, pair, 0, NJ_SEED_MOST, &source->shuffle_seed);
}

static const struct nj_key_rule rules[] = {
    {"file", read_file},   {"format", read_format}, {"delimiter", read_delimiter},
    {"limit", read_limit}, {"offset", read_offset}, {"shuffle_seed", read_shuffle_seed},
};

const struct nj_key_table nj_rows_keys = {
    .within = "rows", .rules = rules, .n_rules = sizeof rules / sizeof rules[0]};

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path);
    size_t ending_length = strlen(ending);
    return length > ending_length && strcmp(path + length - ending_length, ending) == 0;
}

static enum nj_row_format format_from_name(const char *path)
{
    static const struct {
        const char *ending;
        enum nj_row_format format;
    } endings[] = {{".csv", NJ_ROWS_CSV},
                   {".tsv", NJ_ROWS_TSV},
                   {".jsonl", NJ_ROWS_JSONL},
                   {".ndjson", NJ_ROWS_JSONL}};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (ends_in(path, endings[i].ending)) {
            return endings[i].format;
        }
    }
    return NJ_ROWS_NONE;
}

static const char *format_hint(const char *path)
{
    if (ends_in(path, ".xlsx") || ends_in(path, ".xls") || ends_in(path, ".ods")) {
        return "save the table as CSV in UTF-8";
    }
    if (ends_in(path, ".json")) {
        return "write each row as an object on a line of its own, into a .jsonl file";
    }
    return "end its name in .csv, .tsv or .jsonl, or add 'format'";
}

static void finish_file(struct nj_schema *schema, struct file_draft *draft)
{
    struct nj_row_source *source = draft->source;
    if (source->path == NULL) {
        return; /* its reader has complained */
    }
    if (source->format == NJ_ROWS_NONE) {
        source->format = format_from_name(source->path);
    }
    if (source->format == NJ_ROWS_NONE) {
        nj_schema_error(schema, source->place, format_hint(source->path),
                        "the format of the row file '%s' is not known", source->path);
    }
    if (draft->delimiter != NULL && source->format != NJ_ROWS_CSV) {
        nj_schema_error(schema, draft->delimiter->key->place, "remove it",
                        "'delimiter' is for CSV files only");
    }
    if (draft->delimiter == NULL) {
        source->delimiter = source->format == NJ_ROWS_TSV ? '\t' : ',';
    }
}

void nj_rows_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct file_draft draft = {.source = target};
    draft.source->place = pair->value->place;
    if (pair->value->kind == NJ_NODE_LIST) {
        read_inline(schema, pair, draft.source);
        return;
    }
    if (pair->value->kind == NJ_NODE_SCALAR) {
        read_file(schema, pair, &draft);
    } else if (nj_expect_map(schema, pair)) {
        nj_key_table_read(schema, pair->value, &nj_rows_keys, &draft);
        if (nj_node_get(pair->value, "file") == NULL) {
            nj_schema_error(schema, pair->value->place, NULL, "'rows' names no 'file'");
        }
    }
    finish_file(schema, &draft);
}
