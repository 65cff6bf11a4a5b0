/* Row files for tests, in the test's own folder. */
#ifndef NJ_TESTS_UNIT_JOB_ROWS_ON_DISK_H
#define NJ_TESTS_UNIT_JOB_ROWS_ON_DISK_H

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"

/* Valid until the next call. */
static inline const char *path_in_folder(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

static inline void write_file(const char *name, const void *content, size_t length_bytes)
{
    FILE *file = fopen(path_in_folder(name), "wb");
    if (file == NULL || fwrite(content, 1, length_bytes, file) != length_bytes ||
        fclose(file) != 0) {
        perror(path_in_folder(name));
        exit(1);
    }
}

#endif
