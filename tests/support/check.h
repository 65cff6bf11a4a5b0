/* Check macros: print both values and the place, count failures, go on with the test.
 *
 *     static void sums_are_commutative(void) { CHECK_EQ(1 + 2, 2 + 1); }
 *     int main(void) { RUN(sums_are_commutative); return test_result(); }
 *
 * A test's name is a sentence that is true when it passes.
 */
#ifndef NJ_TESTS_SUPPORT_CHECK_H
#define NJ_TESTS_SUPPORT_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#define CHECK(condition) test_check((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQ(actual, wanted)                                                               \
    test_check_integer((long long)(actual), (long long)(wanted), #actual, __FILE__, __LINE__)
#define CHECK_TEXT(actual, wanted)                                                             \
    test_check_text((actual), (wanted), #actual, __FILE__, __LINE__)
/* `needle` occurs in `haystack`. */
#define CHECK_CONTAINS(haystack, needle)                                                       \
    test_check_contains((haystack), (needle), #haystack, __FILE__, __LINE__)
#define CHECK_BYTES(actual, wanted, length_bytes)                                              \
    test_check_bytes((actual), (wanted), (length_bytes), #actual, __FILE__, __LINE__)
/* |actual - wanted| <= tolerance */
#define CHECK_NEAR(actual, wanted, tolerance)                                                  \
    test_check_near((actual), (wanted), (tolerance), #actual, __FILE__, __LINE__)
/* The call returned NJ_OK; prints the error's text otherwise. Returns from the test on failure.
 */
#define REQUIRE_OK(call, error)                                                                \
    do {                                                                                       \
        if ((call) != 0) {                                                                     \
            test_fail(__FILE__, __LINE__, "%s: %s", #call, (error)->text);                     \
            return;                                                                            \
        }                                                                                      \
    } while (0)
#define REQUIRE(condition)                                                                     \
    do {                                                                                       \
        if (!test_check((condition), #condition, __FILE__, __LINE__)) {                        \
            return;                                                                            \
        }                                                                                      \
    } while (0)
#define RUN(test) test_run(#test, test)

bool test_check(bool holds, const char *expression, const char *file, int line);
bool test_check_integer(long long actual, long long wanted, const char *expression,
                        const char *file, int line);
bool test_check_text(const char *actual, const char *wanted, const char *expression,
                     const char *file, int line);
bool test_check_contains(const char *haystack, const char *needle, const char *expression,
                         const char *file, int line);
bool test_check_bytes(const void *actual, const void *wanted, size_t length_bytes,
                      const char *expression, const char *file, int line);
bool test_check_near(double actual, double wanted, double tolerance, const char *expression,
                     const char *file, int line);
void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Runs one test and prints its name, outcome and time. */
void test_run(const char *name, void (*test)(void));

/* Prints the reason and ends the program with the code that ctest counts as skipped. */
void test_skip(const char *reason) __attribute__((noreturn));

/* 0 when nothing failed and at least one test ran, else 1. */
int test_result(void);

/* Fresh folder below the system's temporary one, removed at exit. Valid until exit. */
const char *test_folder(void);

/* The repository's root, from NJ_SOURCE_DIR given at build time. */
const char *test_source_directory(void);

#endif
