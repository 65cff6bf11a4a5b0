#include "job/unknown_names.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

enum {
    SUGGESTION_DISTANCE = 2,
    NAMES_SHOWN = 12, /* in the list of known names */
    HINT_BYTES = 768
};

static int shown_length(struct nj_text name)
{
    return (int)(name.length_bytes < 40 ? name.length_bytes : 40);
}

/* A sentence that grows in place and is cut where it does not fit. */
struct sentence {
    char text[HINT_BYTES];
    size_t length;
};

static void append(struct sentence *sentence, struct nj_text text)
{
    size_t room = sizeof sentence->text - 1 - sentence->length;
    size_t length = text.length_bytes < room ? text.length_bytes : room;
    memcpy(sentence->text + sentence->length, text.data, length);
    sentence->length += length;
}

static void append_words(struct sentence *sentence, const char *words)
{
    append(sentence, nj_text_from(words));
}

static void append_name(struct sentence *sentence, struct nj_text name)
{
    append(sentence, (struct nj_text){name.data, (size_t)shown_length(name)});
}

static void append_nearest(const struct nj_variable *all, size_t n_all, struct nj_text name,
                           struct sentence *hint)
{
    const struct nj_variable *nearest = NULL;
    unsigned best = SUGGESTION_DISTANCE + 1;
    for (size_t i = 0; i < n_all; i++) {
        bool is_only_case = name.length_bytes == all[i].name.length_bytes &&
                            strncasecmp(name.data, all[i].name.data, name.length_bytes) == 0;
        unsigned distance = is_only_case ? 1 : nj_text_distance(name, all[i].name, best);
        if (distance < best && (is_only_case || distance < all[i].name.length_bytes) &&
            (distance < name.length_bytes || is_only_case)) {
            best = distance;
            nearest = &all[i];
        }
    }
    if (nearest != NULL) {
        append_words(hint, "did you mean '");
        append_name(hint, nearest->name);
        append_words(hint, "'? ");
    }
}

static void describe_known(struct nj_scope *scope, struct nj_text name, struct sentence *hint)
{
    size_t n_all = 0;
    const struct nj_variable *all = nj_scope_flatten(scope, &n_all);
    if (all == NULL) {
        return;
    }
    append_nearest(all, n_all, name, hint);
    append_words(hint, "known: ");
    for (size_t i = 0; i < n_all && i < NAMES_SHOWN; i++) {
        append_name(hint, all[i].name);
        append_words(hint, ", ");
    }
    append_words(hint, n_all > NAMES_SHOWN ? "..., _index" : "_index");
    append_words(hint, scope->id_text.data != NULL ? ", _id" : "");
}

static void append_flag(struct nj_text name, struct sentence *hint)
{
    append_words(hint, "give it with --var ");
    append_name(hint, name);
    append_words(hint, "=TEXT, ");
}

/* What other template languages put between braces. */
static bool is_more_than_a_name(struct nj_text text)
{
    static const char other[] = {'|', '#', '/', '(', '%', '^', '>', '!'};
    return memchr(text.data, '|', text.length_bytes) != NULL ||
           memchr(other, text.data[0], sizeof other) != NULL ||
           memchr(text.data, '(', text.length_bytes) != NULL;
}

/* `n_rows` 0: it is unknown whatever the row. */
static void complain(const struct nj_template_part *unknown, const char *hint, uint64_t n_rows,
                     struct nj_place first_row, struct nj_diagnostics *diagnostics)
{
    int length = shown_length(unknown->text);
    if (is_more_than_a_name(unknown->text)) {
        hint = "only a name stands between the braces, there are no filters or conditions";
    }
    if (nj_text_equals(unknown->text, "_date")) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, unknown->place,
                    "results must not depend on the day", "'_date' is not supported yet");
    } else if (n_rows == 0) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, unknown->place, hint,
                    "unknown variable '%.*s'", length, unknown->text.data);
    } else if (n_rows == 1) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, unknown->place, hint,
                    "unknown variable '%.*s' for the row at %s:%u", length, unknown->text.data,
                    first_row.file, first_row.line);
    } else {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, unknown->place, hint,
                    "unknown variable '%.*s' for %" PRIu64 " rows, the first at %s:%u", length,
                    unknown->text.data, n_rows, first_row.file, first_row.line);
    }
}

void nj_unknown_names_complain(struct nj_scope *scope, const struct nj_template_part *unknown,
                               struct nj_diagnostics *diagnostics)
{
    struct nj_place nowhere = {NULL, 0, 0};
    struct sentence hint = {.length = 0};
    describe_known(scope, unknown->text, &hint);
    complain(unknown, hint.text, scope->row_place != NULL ? 1 : 0,
             scope->row_place != NULL ? *scope->row_place : nowhere, diagnostics);
}

/* --- over many rows --- */

static struct nj_unknown_name *find(struct nj_unknown_names *names,
                                    const struct nj_template_part *part)
{
    for (size_t i = 0; i < names->n_items; i++) {
        if (names->items[i].part == part) {
            return &names->items[i];
        }
    }
    return NULL;
}

static bool same_place(struct nj_place a, struct nj_place b)
{
    return a.line == b.line && a.column == b.column;
}

/* Prompts and cells of one row come one after another. */
static void count_row(struct nj_unknown_name *name, const struct nj_place *row)
{
    if (row != NULL && (name->n_rows == 0 || !same_place(name->last_row, *row))) {
        name->n_rows++;
        name->last_row = *row;
    }
}

static void add(struct nj_unknown_names *names, struct nj_scope *scope,
                const struct nj_template_part *part)
{
    struct nj_unknown_name *name = find(names, part);
    if (name != NULL) {
        count_row(name, scope->row_place);
        return;
    }
    if (names->n_items == NJ_DIAGNOSTICS_LIMIT) {
        names->n_more++;
        return;
    }
    struct sentence hint = {.length = 0};
    if (names->may_be_given && scope->row_place == NULL) {
        append_flag(part->text, &hint);
    }
    describe_known(scope, part->text, &hint);
    const char *copy = nj_arena_copy_text(names->arena, hint.text, hint.length);
    if (copy == NULL) {
        names->out_of_memory = true;
        return;
    }
    name = &names->items[names->n_items++];
    *name = (struct nj_unknown_name){.part = part, .hint = copy};
    if (scope->row_place != NULL) {
        name->first_row = *scope->row_place;
    }
    count_row(name, scope->row_place);
}

static void look_at(struct nj_unknown_names *names, struct nj_scope *scope,
                    const struct nj_template *compiled)
{
    for (size_t i = 0; i < compiled->n_parts; i++) {
        struct nj_text value;
        const struct nj_template_part *part = &compiled->parts[i];
        if (part->is_variable && !nj_scope_find(scope, part->text, &value)) {
            add(names, scope, part);
        }
    }
    names->out_of_memory |= scope->out_of_memory;
}

void nj_unknown_names_look(struct nj_unknown_names *names, const struct nj_scope *scope,
                           const struct nj_job_spec *spec,
                           const struct nj_prompt_template *prompt)
{
    struct nj_scope own = *scope;
    struct nj_scope id_scope = *scope;
    id_scope.id_text = (struct nj_text){0};
    look_at(names, &id_scope,
            spec->id_template.length_bytes > 0 ? &spec->id_compiled : &prompt->id_compiled);
    look_at(names, &own, &spec->filename_compiled);
    look_at(names, &own, &prompt->prompt_compiled);
    look_at(names, &own, &prompt->system_compiled);
    for (size_t i = 0; i < prompt->n_messages; i++) {
        look_at(names, &own, &prompt->messages[i].compiled);
    }
}

void nj_unknown_names_tell(const struct nj_unknown_names *names, uint64_t n_rows,
                           struct nj_diagnostics *diagnostics)
{
    for (size_t i = 0; i < names->n_items; i++) {
        const struct nj_unknown_name *name = &names->items[i];
        uint64_t n_named = name->n_rows == n_rows ? 0 : name->n_rows;
        complain(name->part, name->hint, n_named, name->first_row, diagnostics);
    }
    diagnostics->n_errors += names->n_more;
}
