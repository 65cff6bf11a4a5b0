#include "job/diagnostics.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vector.h"

/* A sentence is read by a person; what does not fit is a quoted text that helps nobody. */
enum { MESSAGE_BYTES = 1024 };

void nj_diagnostics_init(struct nj_diagnostics *diagnostics, struct nj_arena *arena)
{
    *diagnostics = (struct nj_diagnostics){.arena = arena};
}

void nj_diagnostics_deinit(struct nj_diagnostics *diagnostics)
{
    free(diagnostics->items);
    *diagnostics = (struct nj_diagnostics){0};
}

static bool is_control(uint32_t code_point)
{
    return code_point < 0x20 || (code_point >= 0x7f && code_point <= 0x9f);
}

/* Terminals obey control characters, and the quoted text comes from a file. Bytes that are not
 * UTF-8, also of a character that was cut, become U+FFFD. */
static const char *copy_printable(struct nj_arena *arena, const char *terminated)
{
    enum { LONGEST = sizeof "\\x00" }; /* of one byte's picture, with its NUL */
    struct nj_text text = nj_text_from(terminated);
    char *copy = nj_arena_take_array(arena, text.length_bytes + 1, LONGEST);
    if (copy == NULL) {
        return NULL;
    }
    size_t length = 0;
    for (size_t offset = 0; offset < text.length_bytes;) {
        uint32_t code_point = nj_text_next(text, &offset);
        if (is_control(code_point)) {
            length += (size_t)snprintf(copy + length, LONGEST, "\\x%02x", code_point);
        } else {
            length += nj_text_put(code_point, copy + length);
        }
    }
    return copy;
}

static bool same_file(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool stands_before(struct nj_place a, struct nj_place b)
{
    return a.line < b.line || (a.line == b.line && a.column < b.column);
}

/* Where a complaint about `place` goes: behind all of its file that do not stand after it. */
static size_t position_of(const struct nj_diagnostics *diagnostics, struct nj_place place)
{
    size_t end = diagnostics->n_items;
    while (end > 0 && !same_file(diagnostics->items[end - 1].place.file, place.file)) {
        end--;
    }
    if (end == 0) {
        return diagnostics->n_items;
    }
    while (end > 0 && same_file(diagnostics->items[end - 1].place.file, place.file) &&
           stands_before(place, diagnostics->items[end - 1].place)) {
        end--;
    }
    return end;
}

static void insert(struct nj_diagnostics *diagnostics, struct nj_diagnostic item)
{
    size_t position = position_of(diagnostics, item.place);
    memmove(&diagnostics->items[position + 1], &diagnostics->items[position],
            (diagnostics->n_items - position) * sizeof item);
    diagnostics->items[position] = item;
    diagnostics->n_items++;
}

static bool counts_only(struct nj_diagnostics *diagnostics, enum nj_severity severity)
{
    if (severity == NJ_SEVERITY_WARNING) {
        return diagnostics->n_warnings++ >= NJ_DIAGNOSTICS_LIMIT;
    }
    return diagnostics->n_errors++ - diagnostics->n_repeated >= NJ_DIAGNOSTICS_LIMIT;
}

/* An alias, a file that several jobs name and a flag are looked at more than once. */
static bool is_repeated(const struct nj_diagnostics *diagnostics,
                        const struct nj_diagnostic *item)
{
    for (size_t i = 0; i < diagnostics->n_items; i++) {
        const struct nj_diagnostic *other = &diagnostics->items[i];
        if (other->place.line == item->place.line &&
            other->place.column == item->place.column && other->severity == item->severity &&
            same_file(other->place.file, item->place.file) &&
            strcmp(other->message, item->message) == 0) {
            return true;
        }
    }
    return false;
}

void nj_diagnose(struct nj_diagnostics *diagnostics, enum nj_severity severity,
                 struct nj_place place, const char *hint, const char *format, ...)
{
    if (counts_only(diagnostics, severity)) {
        return;
    }
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments); /* cut where it does not fit */
    va_end(arguments);

    struct nj_diagnostic item = {.place = place, .severity = severity};
    item.message = copy_printable(diagnostics->arena, message);
    item.hint = hint == NULL ? NULL : copy_printable(diagnostics->arena, hint);
    if (item.message != NULL && is_repeated(diagnostics, &item)) {
        diagnostics->n_repeated += severity == NJ_SEVERITY_ERROR ? 1 : 0;
        diagnostics->n_warnings -= severity == NJ_SEVERITY_WARNING ? 1 : 0;
        return;
    }
    if (item.message == NULL || (hint != NULL && item.hint == NULL) ||
        nj_vector_reserve(&diagnostics->items, &diagnostics->capacity, sizeof item,
                          diagnostics->n_items + 1, NULL) != NJ_OK) {
        diagnostics->out_of_memory = true;
        return;
    }
    insert(diagnostics, item);
}

static int format_place(struct nj_place place, char *text, size_t text_bytes)
{
    const char *file = place.file == NULL ? "job" : place.file;
    if (place.line == 0) {
        return snprintf(text, text_bytes, "%s", file);
    }
    if (place.column == 0) {
        return snprintf(text, text_bytes, "%s:%u", file, place.line);
    }
    return snprintf(text, text_bytes, "%s:%u:%u", file, place.line, place.column);
}

int nj_diagnostic_format(const struct nj_diagnostic *diagnostic, char *text, size_t text_bytes)
{
    int place_length = format_place(diagnostic->place, text, text_bytes);
    if (place_length < 0) {
        return place_length;
    }
    size_t used = (size_t)place_length < text_bytes ? (size_t)place_length : text_bytes;
    int rest_length = snprintf(
        text == NULL ? NULL : text + used, text_bytes - used, ": %s%s%s%s",
        diagnostic->severity == NJ_SEVERITY_WARNING ? "warning: " : "", diagnostic->message,
        diagnostic->hint == NULL ? "" : ", ", diagnostic->hint == NULL ? "" : diagnostic->hint);
    return rest_length < 0 ? rest_length : place_length + rest_length;
}

static const struct nj_diagnostic *first_error(const struct nj_diagnostics *diagnostics)
{
    for (size_t i = 0; i < diagnostics->n_items; i++) {
        if (diagnostics->items[i].severity == NJ_SEVERITY_ERROR) {
            return &diagnostics->items[i];
        }
    }
    return NULL;
}

enum nj_status nj_diagnostics_status(const struct nj_diagnostics *diagnostics,
                                     struct nj_error *err)
{
    if (diagnostics->out_of_memory) {
        return nj_fail(err, NJ_E_MEMORY, "collect complaints: out of memory");
    }
    if (diagnostics->n_errors == 0) {
        return NJ_OK;
    }
    char text[NJ_ERROR_TEXT_BYTES];
    (void)nj_diagnostic_format(first_error(diagnostics), text, sizeof text);
    size_t n_more = diagnostics->n_errors - diagnostics->n_repeated - 1;
    if (n_more == 0) {
        return nj_fail(err, NJ_E_INPUT, "%s", text);
    }
    return nj_fail(err, NJ_E_INPUT, "%s (and %zu more error%s)", text, n_more,
                   n_more == 1 ? "" : "s");
}
