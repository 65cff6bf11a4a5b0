/* Templates of simonw/llm: prompt and system with $variables, defaults, options. Without a
 * prompt the input is the prompt. */
#include "job/import.h"

#include <string.h>

#include "job/source_text.h"

/* A text while its variables are rewritten. */
struct rewriting {
    struct nj_schema *schema;
    const struct nj_node *node;
    char *out;
    size_t used;
    struct nj_place place; /* of the last dollar sign, and behind it in the source */
    size_t source_offset;
};

static bool is_name_start(char character)
{
    return character == '_' || (character >= 'a' && character <= 'z') ||
           (character >= 'A' && character <= 'Z');
}

static bool is_name_part(char character)
{
    return is_name_start(character) || (character >= '0' && character <= '9');
}

static void append(struct rewriting *rewriting, const char *data, size_t length)
{
    memcpy(rewriting->out + rewriting->used, data, length);
    rewriting->used += length;
}

/* Takes `$name` or `${name}` at `rest`; returns its length, 0 when it is none. */
static size_t name_length(struct nj_text rest, struct nj_text *name)
{
    bool has_braces = rest.length_bytes > 1 && rest.data[1] == '{';
    size_t begin = has_braces ? 2 : 1;
    size_t end = begin;
    if (begin < rest.length_bytes && is_name_start(rest.data[begin])) {
        while (end < rest.length_bytes && is_name_part(rest.data[end])) {
            end++;
        }
    }
    *name = (struct nj_text){rest.data + begin, end - begin};
    if (end == begin || (has_braces && (end == rest.length_bytes || rest.data[end] != '}'))) {
        return 0;
    }
    return end + (has_braces ? 1 : 0);
}

/* Goes to the next dollar sign in the file, which has as many as the text unless an escape
 * hides one; then the place of the whole value stays. */
static void locate(struct rewriting *rewriting)
{
    struct nj_text source = rewriting->schema->source;
    size_t from = rewriting->source_offset;
    size_t end = rewriting->node->end_byte;
    const char *found = from < end ? memchr(source.data + from, '$', end - from) : NULL;
    if (found != NULL) {
        size_t at = (size_t)(found - source.data);
        rewriting->place =
            nj_source_place(source, rewriting->node->begin_byte, rewriting->node->place, at);
        rewriting->source_offset = at + 1;
    }
}

/* Complains where the last dollar sign stands. */
static void complain(struct rewriting *rewriting, const char *what, const char *hint)
{
    nj_schema_error(rewriting->schema, rewriting->place, hint, "%s", what);
}

static size_t rewrite_dollar(struct rewriting *rewriting, struct nj_text rest)
{
    struct nj_text name;
    locate(rewriting);
    if (rest.length_bytes > 1 && rest.data[1] == '$') {
        rewriting->source_offset++;
        append(rewriting, "$", 1);
        return 2;
    }
    size_t length = name_length(rest, &name);
    if (length == 0) {
        complain(rewriting, "'$' without a name behind it", "write $$ for a dollar sign");
        return 1;
    }
    if (rewriting->used > 0 && rewriting->out[rewriting->used - 1] == '{') {
        complain(rewriting, "'{' before a variable cannot be imported",
                 "write a space between them");
        rewriting->out[rewriting->used - 1] = ' '; /* no mistake of ours on top */
    }
    append(rewriting, "{{", 2);
    append(rewriting, name.data, name.length_bytes);
    append(rewriting, "}}", 2);
    return length;
}

/* The text as a template of ours. `$a` grows to `{{a}}`, by less than three times. */
static const struct nj_node *rewrite(struct nj_schema *schema, const struct nj_node *node)
{
    struct rewriting rewriting = {.schema = schema,
                                  .node = node,
                                  .place = node->place,
                                  .source_offset = node->begin_byte};
    struct nj_text text = node->text;
    if (node->kind != NJ_NODE_SCALAR || text.length_bytes == 0) {
        return node; /* the readers complain */
    }
    rewriting.out = nj_schema_take(schema, 3, text.length_bytes + 1);
    for (size_t i = 0; rewriting.out != NULL && i < text.length_bytes;) {
        struct nj_text rest = {text.data + i, text.length_bytes - i};
        if (text.data[i] == '$') {
            i += rewrite_dollar(&rewriting, rest);
        } else if (rest.length_bytes > 1 && memcmp(rest.data, "{{", 2) == 0) {
            append(&rewriting, "{{{{", 4);
            i += 2;
        } else {
            append(&rewriting, rest.data, 1);
            i++;
        }
    }
    struct nj_text rewritten = {rewriting.out, rewriting.used};
    struct nj_node *copy = rewriting.out == NULL
                               ? NULL
                               : nj_node_of_text(schema->arena, node->place, rewritten, false);
    schema->out_of_memory |= copy == NULL;
    return copy;
}

static struct nj_node *put_input(struct nj_schema *schema, struct nj_node *job,
                                 struct nj_place place)
{
    const struct nj_node *input =
        nj_node_of_text(schema->arena, place, nj_text_from("{{input}}"), false);
    return nj_import_put(schema, job, "prompt", input);
}

static struct nj_node *read_pair(struct nj_schema *schema, struct nj_node *job,
                                 const struct nj_node_pair *pair)
{
    struct nj_text key = pair->key->text;
    if (nj_text_equals(key, "prompt")) {
        return nj_import_put(schema, job, "prompt", rewrite(schema, pair->value));
    }
    if (nj_text_equals(key, "system")) {
        return nj_import_put(schema, job, "system", rewrite(schema, pair->value));
    }
    if (nj_text_equals(key, "defaults")) {
        return nj_import_put(schema, job, "vars", pair->value);
    }
    if (nj_text_equals(key, "options")) {
        return nj_import_put(schema, job, "sampling", pair->value);
    }
    if (nj_text_equals(key, "model")) {
        nj_import_warn(schema, pair->value->place, "the model of an imported file is not used");
    } else {
        nj_import_refuse(schema, pair->key);
    }
    return job;
}

const struct nj_node *nj_import_llm(struct nj_schema *schema, const struct nj_node *root)
{
    struct nj_node *job = nj_import_begin(schema, root->place);
    if (nj_node_get(root, "prompt") == NULL) {
        job = put_input(schema, job, root->place);
    }
    for (size_t i = 0; i < root->n_pairs && job != NULL; i++) {
        job = read_pair(schema, job, &root->pairs[i]);
    }
    return schema->out_of_memory ? NULL : job;
}
