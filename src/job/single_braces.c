#include "job/single_braces.h"

#include <string.h>

static bool is_name_character(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9') || character == '_' || character == '.';
}

/* The name between the brace at `at` and the one that closes it; empty when it is none. */
static struct nj_text name_behind(struct nj_text text, size_t at)
{
    size_t begin = at + 1;
    size_t end = begin;
    while (end < text.length_bytes && is_name_character(text.data[end])) {
        end++;
    }
    bool is_closed = end < text.length_bytes && text.data[end] == '}';
    bool is_double = at > 0 && text.data[at - 1] == '{';
    return (struct nj_text){text.data + begin, is_closed && !is_double ? end - begin : 0};
}

static bool find_name(struct nj_scope *scope, struct nj_text text, struct nj_text *name)
{
    for (size_t at = 0; at < text.length_bytes; at++) {
        struct nj_text value;
        if (text.data[at] == '{') {
            *name = name_behind(text, at);
            if (name->length_bytes > 0 && nj_scope_find(scope, *name, &value)) {
                return true;
            }
        }
    }
    return false;
}

static void look_at(struct nj_scope *scope, const struct nj_template *compiled,
                    struct nj_place place, struct nj_diagnostics *diagnostics)
{
    for (size_t i = 0; i < compiled->n_parts; i++) {
        struct nj_text name;
        if (!compiled->parts[i].is_variable &&
            find_name(scope, compiled->parts[i].text, &name)) {
            nj_diagnose(diagnostics, NJ_SEVERITY_WARNING, place,
                        "write two braces on each side for its value",
                        "'{%.*s}' is text, and not the variable of that name",
                        (int)name.length_bytes, name.data);
            return;
        }
    }
}

void nj_single_braces_warn(const struct nj_scope *scope,
                           const struct nj_prompt_template *prompt,
                           struct nj_diagnostics *diagnostics)
{
    struct nj_scope own = *scope;
    look_at(&own, &prompt->prompt_compiled, prompt->place, diagnostics);
    look_at(&own, &prompt->system_compiled, prompt->place, diagnostics);
    for (size_t i = 0; i < prompt->n_messages; i++) {
        look_at(&own, &prompt->messages[i].compiled, prompt->messages[i].place, diagnostics);
    }
}
