#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char ellipsis[] = "...";

/* Ends a text that did not fit in "...", dropping whole characters to make room. */
static void mark_as_cut(char *text)
{
    size_t keep = NJ_ERROR_TEXT_BYTES - sizeof ellipsis;
    struct nj_text kept = {text, keep};
    keep -= nj_text_incomplete_suffix(kept);
    memcpy(text + keep, ellipsis, sizeof ellipsis);
}

/* File and tensor names may hold any byte, the text promises UTF-8. */
static void replace_invalid_bytes(char *text)
{
    struct nj_text rest = nj_text_from(text);
    for (;;) {
        size_t valid = nj_text_valid_prefix(rest);
        if (valid == rest.length_bytes) {
            return;
        }
        text[valid] = '?';
        text += valid + 1;
        rest.data = text;
        rest.length_bytes -= valid + 1;
    }
}

/* Formats at text + offset; what does not fit is cut and marked. */
static void format_at(char text[NJ_ERROR_TEXT_BYTES], size_t offset, const char *format,
                      va_list arguments) __attribute__((format(printf, 3, 0)));

static void format_at(char text[NJ_ERROR_TEXT_BYTES], size_t offset, const char *format,
                      va_list arguments)
{
    size_t room = NJ_ERROR_TEXT_BYTES - offset;
    int length = vsnprintf(text + offset, room, format, arguments);
    if (length < 0) {
        text[offset] = '\0';
    } else if ((size_t)length >= room) {
        mark_as_cut(text);
    }
    replace_invalid_bytes(text);
}

enum nj_status nj_fail(struct nj_error *err, enum nj_status status, const char *format, ...)
{
    if (err != NULL) {
        va_list arguments;
        va_start(arguments, format);
        err->status = status;
        format_at(err->text, 0, format, arguments);
        va_end(arguments);
    }
    return status;
}

enum nj_status nj_prefix(struct nj_error *err, enum nj_status status, const char *format, ...)
{
    if (err == NULL) {
        return status;
    }
    char sentence[NJ_ERROR_TEXT_BYTES];
    memcpy(sentence, err->text, sizeof sentence);

    va_list arguments;
    va_start(arguments, format);
    format_at(err->text, 0, format, arguments);
    va_end(arguments);
    err->status = status;
    nj_error_append(err, ": %s", sentence);
    return status;
}

void nj_error_append(struct nj_error *err, const char *format, ...)
{
    if (err == NULL) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    format_at(err->text, strlen(err->text), format, arguments);
    va_end(arguments);
}

enum nj_status nj_status_from_errno(int error_number, enum nj_status otherwise)
{
    switch (error_number) {
    case ENOENT:
    case ENOTDIR: /* a file stands where a directory was named: nothing can be below it */
    case ELOOP:
    case ENAMETOOLONG: /* nothing can have such a name */
        return NJ_E_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return NJ_E_PERMISSION;
    case ENOMEM:
        return NJ_E_MEMORY;
    default:
        return otherwise;
    }
}

const char *nj_status_name(enum nj_status status)
{
    switch (status) {
    case NJ_OK:
        return "ok";
    case NJ_E_USAGE:
        return "usage";
    case NJ_E_INPUT:
        return "input";
    case NJ_E_NOT_FOUND:
        return "not_found";
    case NJ_E_STATE:
        return "state";
    case NJ_E_PERMISSION:
        return "permission";
    case NJ_E_BUDGET:
        return "budget";
    case NJ_E_WEIGHTS:
        return "weights";
    case NJ_E_STORAGE:
        return "storage";
    case NJ_E_IO:
        return "io";
    case NJ_E_MEMORY:
        return "memory";
    case NJ_E_UNSUPPORTED:
        return "unsupported";
    case NJ_E_NUMBERS:
        return "numbers";
    case NJ_E_STOPPED:
        return "stopped";
    case NJ_E_LIMIT:
        return "limit";
    case NJ_E_INTERNAL:
        return "internal";
    }
    return "unknown";
}
