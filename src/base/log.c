#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 4096 };

void nj_log_write(const struct nj_log *log, enum nj_log_level level, const char *format, ...)
{
    static const char ellipsis[] = "...";
    if (log == NULL || log->sink == NULL || level > log->level) {
        return;
    }
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return;
    }
    if ((size_t)length >= sizeof line) {
        memcpy(line + sizeof line - sizeof ellipsis, ellipsis, sizeof ellipsis);
    }
    log->sink(log->context, level, line);
}
