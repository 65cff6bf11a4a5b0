#include "model/complaints.h"

#include <stdarg.h>
#include <stdio.h>

/* About as many as the error's text has room for. */
enum { SPELLED_OUT = 32, COMPLAINT_BYTES = 512 };

void nj_complain(struct nj_complaints *complaints, const char *format, ...)
{
    complaints->count += 1;
    if (complaints->count > SPELLED_OUT) {
        return;
    }
    char text[COMPLAINT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* cut is good enough here */
    va_end(arguments);
    if (complaints->count == 1) {
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
    if (complaints->count > SPELLED_OUT) {
        nj_error_append(complaints->err, "; and %u more", complaints->count - SPELLED_OUT);
    }
    return NJ_E_WEIGHTS;
}
