#include "job/template.h"

#include <string.h>

#include "job/source_text.h"

/* Finds braces in the file in the order in which they stand in the text. */
struct locator {
    const struct nj_text_origin *origin;
    size_t offset;         /* searched up to here */
    struct nj_place place; /* of `offset` */
};

struct compiler {
    struct nj_text text;
    struct nj_arena *arena;
    struct nj_diagnostics *diagnostics;
    struct locator locator;
    struct nj_template_part *parts;
    size_t n_parts;
};

static size_t find_from(struct nj_text text, size_t offset, const char *needle)
{
    struct nj_text rest = {text.data + offset, text.length_bytes - offset};
    size_t found = nj_source_find(rest, needle);
    return found == SIZE_MAX ? SIZE_MAX : offset + found;
}

/* The place of the next `braces`. Where an escape hides them from the file's text, the place of
 * the whole value. */
static struct nj_place locate(struct locator *locator, const char *braces)
{
    const struct nj_text_origin *origin = locator->origin;
    struct nj_text extent = {origin->source.data, origin->end_byte};
    size_t found = find_from(extent, locator->offset, braces);
    if (found == SIZE_MAX) {
        return origin->place;
    }
    locator->place = nj_source_place(origin->source, locator->offset, locator->place, found);
    struct nj_place place = locator->place;
    locator->offset = found + strlen(braces);
    locator->place.column += (uint32_t)strlen(braces);
    return place;
}

static void add_literal(struct compiler *compiler, size_t begin, size_t end)
{
    if (end > begin) {
        compiler->parts[compiler->n_parts++] =
            (struct nj_template_part){.text = {compiler->text.data + begin, end - begin}};
    }
}

static bool is_white(char character)
{
    return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

static struct nj_text trimmed(struct nj_text text)
{
    while (text.length_bytes > 0 && is_white(text.data[0])) {
        text.data++;
        text.length_bytes--;
    }
    while (text.length_bytes > 0 && is_white(text.data[text.length_bytes - 1])) {
        text.length_bytes--;
    }
    return text;
}

static bool is_name(struct nj_text name)
{
    return name.length_bytes > 0 && memchr(name.data, '{', name.length_bytes) == NULL &&
           memchr(name.data, '}', name.length_bytes) == NULL;
}

static void complain(struct compiler *compiler, struct nj_place place, const char *what)
{
    nj_diagnose(compiler->diagnostics, NJ_SEVERITY_ERROR, place,
                "write {{name}}, or {{{{ for literal braces", "%s", what);
}

/* Takes the variable whose braces open at `begin`; returns where it ends. */
static size_t take_variable(struct compiler *compiler, size_t begin)
{
    struct nj_place place = locate(&compiler->locator, "{{");
    size_t closing = find_from(compiler->text, begin + 2, "}}");
    if (closing == SIZE_MAX) {
        complain(compiler, place, "'{{' without '}}'");
        return compiler->text.length_bytes;
    }
    struct nj_text inner = {compiler->text.data + begin + 2, closing - begin - 2};
    struct nj_text name = trimmed(inner);
    if (!is_name(name)) {
        complain(compiler, place, "'{{' and '}}' without a name between them");
    } else {
        compiler->parts[compiler->n_parts++] =
            (struct nj_template_part){.is_variable = true, .text = name, .place = place};
    }
    return closing + 2;
}

static void take_apart(struct compiler *compiler)
{
    size_t at = 0;
    for (;;) {
        size_t braces = find_from(compiler->text, at, "{{");
        if (braces == SIZE_MAX) {
            add_literal(compiler, at, compiler->text.length_bytes);
            return;
        }
        if (find_from(compiler->text, braces, "{{{{") == braces) {
            (void)locate(&compiler->locator, "{{{{");
            add_literal(compiler, at, braces + 2);
            at = braces + 4;
        } else {
            add_literal(compiler, at, braces);
            at = take_variable(compiler, braces);
        }
    }
}

/* Each `{{` gives at most a literal and a variable; one literal may follow the last. */
static size_t most_parts(struct nj_text text)
{
    size_t n_parts = 1;
    for (size_t at = 0; (at = find_from(text, at, "{{")) != SIZE_MAX; at += 2) {
        n_parts += 2;
    }
    return n_parts;
}

bool nj_template_compile(struct nj_text text, const struct nj_text_origin *origin,
                         struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                         struct nj_template *compiled)
{
    struct compiler compiler = {.text = text, .arena = arena, .diagnostics = diagnostics};
    compiler.locator = (struct locator){
        .origin = origin, .offset = origin->begin_byte, .place = origin->place};
    compiler.parts = nj_arena_take_array(arena, most_parts(text), sizeof compiler.parts[0]);
    if (compiler.parts == NULL) {
        return false;
    }
    take_apart(&compiler);
    *compiled = (struct nj_template){compiler.parts, compiler.n_parts};
    return true;
}

static enum nj_status find_values(const struct nj_template *compiled,
                                  const struct nj_template_values *values,
                                  struct nj_text *texts,
                                  const struct nj_template_part **unknown)
{
    for (size_t i = 0; i < compiled->n_parts; i++) {
        const struct nj_template_part *part = &compiled->parts[i];
        texts[i] = part->text;
        if (part->is_variable && !values->find(values->context, part->text, &texts[i])) {
            *unknown = part;
            return NJ_E_NOT_FOUND;
        }
    }
    return NJ_OK;
}

static enum nj_status join(const struct nj_text *texts, size_t n_texts, struct nj_arena *arena,
                           struct nj_text *joined)
{
    size_t length = 0;
    for (size_t i = 0; i < n_texts; i++) {
        if (texts[i].length_bytes > SIZE_MAX - length) {
            return NJ_E_MEMORY;
        }
        length += texts[i].length_bytes;
    }
    char *data = nj_arena_take(arena, length);
    if (data == NULL) {
        return NJ_E_MEMORY;
    }
    size_t at = 0;
    for (size_t i = 0; i < n_texts; i++) {
        if (texts[i].length_bytes > 0) {
            memcpy(data + at, texts[i].data, texts[i].length_bytes);
            at += texts[i].length_bytes;
        }
    }
    *joined = (struct nj_text){data, length};
    return NJ_OK;
}

enum nj_status nj_template_render(const struct nj_template *compiled,
                                  const struct nj_template_values *values,
                                  struct nj_arena *arena, struct nj_text *rendered,
                                  const struct nj_template_part **unknown)
{
    struct nj_text *texts = nj_arena_take_array(arena, compiled->n_parts, sizeof texts[0]);
    if (texts == NULL) {
        return NJ_E_MEMORY;
    }
    enum nj_status status = find_values(compiled, values, texts, unknown);
    if (status != NJ_OK) {
        return status;
    }
    return join(texts, compiled->n_parts, arena, rendered);
}
