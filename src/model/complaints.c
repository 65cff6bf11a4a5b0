#include "model/complaints.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Room left for the number of further complaints and for what callers put before them. */
enum { RESERVED_BYTES = 512, COMPLAINT_BYTES = 512 };

void nj_complain(struct nj_complaints *complaints, const char *format, ...)
{
    char text[COMPLAINT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* cut is good enough here */
    va_end(arguments);

    size_t after = complaints->spelled_bytes + strlen(text) + 2;
    bool is_first = complaints->count == 0;
    complaints->count += 1;
    if (after > NJ_ERROR_TEXT_BYTES - RESERVED_BYTES) {
        complaints->unspelled += 1;
        return;
    }
    complaints->spelled_bytes = after;
    if (is_first) {
        (void)nj_fail(complaints->err, NJ_E_WEIGHTS, "%s", text);
    } else {
        nj_error_append(complaints->err, "; %s", text);
    }
}

enum nj_status nj_complaints_status(struct nj_complaints *complaints)
{
    if (complaints->count == 0) {
        return NJ_OK;
    }
    if (complaints->unspelled > 0) {
        nj_error_append(complaints->err, "; and %u more", complaints->unspelled);
    }
    return NJ_E_WEIGHTS;
}
