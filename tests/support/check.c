#include "support/check.h"

#include <ftw.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int n_failures;
static int n_tests;

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "%s:%d: ", file, line);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    n_failures++;
}

bool test_check(bool holds, const char *expression, const char *file, int line)
{
    if (!holds) {
        test_fail(file, line, "does not hold: %s", expression);
    }
    return holds;
}

bool test_check_integer(long long actual, long long wanted, const char *expression,
                        const char *file, int line)
{
    if (actual != wanted) {
        test_fail(file, line, "%s is %lld, wanted %lld", expression, actual, wanted);
    }
    return actual == wanted;
}

bool test_check_text(const char *actual, const char *wanted, const char *expression,
                     const char *file, int line)
{
    bool equal = actual != NULL && wanted != NULL && strcmp(actual, wanted) == 0;
    if (!equal) {
        test_fail(file, line, "%s is\n  \"%s\", wanted\n  \"%s\"", expression,
                  actual == NULL ? "(null)" : actual, wanted == NULL ? "(null)" : wanted);
    }
    return equal;
}

bool test_check_contains(const char *haystack, const char *needle, const char *expression,
                         const char *file, int line)
{
    bool found = haystack != NULL && strstr(haystack, needle) != NULL;
    if (!found) {
        test_fail(file, line, "%s is\n  \"%s\", which lacks\n  \"%s\"", expression,
                  haystack == NULL ? "(null)" : haystack, needle);
    }
    return found;
}

bool test_check_bytes(const void *actual, const void *wanted, size_t length_bytes,
                      const char *expression, const char *file, int line)
{
    const unsigned char *a = actual;
    const unsigned char *b = wanted;
    for (size_t i = 0; i < length_bytes; i++) {
        if (a[i] != b[i]) {
            test_fail(file, line, "%s: byte %zu of %zu is %02x, wanted %02x", expression, i,
                      length_bytes, a[i], b[i]);
            return false;
        }
    }
    return true;
}

bool test_check_near(double actual, double wanted, double tolerance, const char *expression,
                     const char *file, int line)
{
    bool near = fabs(actual - wanted) <= tolerance;
    if (!near) {
        test_fail(file, line, "%s is %.9g, wanted %.9g within %.3g", expression, actual, wanted,
                  tolerance);
    }
    return near;
}

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void test_run(const char *name, void (*test)(void))
{
    int failures_before = n_failures;
    double begin = seconds_now();
    test();
    n_tests++;
    (void)printf("%s %s (%.3f s)\n", n_failures == failures_before ? "ok  " : "FAIL", name,
                 seconds_now() - begin);
    (void)fflush(stdout);
}

void test_skip(const char *reason)
{
    (void)printf("skipped: %s\n", reason);
    exit(77);
}

int test_result(void)
{
    (void)printf("%d tests, %d failures\n", n_tests, n_failures);
    return n_failures == 0 && n_tests > 0 ? 0 : 1;
}

static char folder[64];

static int remove_entry(const char *path, const struct stat *status, int type,
                        struct FTW *position)
{
    (void)status;
    (void)type;
    (void)position;
    return remove(path);
}

static void remove_folder(void)
{
    (void)nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_folder(void)
{
    if (folder[0] == '\0') {
        (void)snprintf(folder, sizeof folder, "/tmp/nightjar-test-XXXXXX");
        if (mkdtemp(folder) == NULL) {
            perror("mkdtemp");
            exit(1);
        }
        (void)atexit(remove_folder);
    }
    return folder;
}

const char *test_source_directory(void)
{
    return NJ_SOURCE_DIR;
}
