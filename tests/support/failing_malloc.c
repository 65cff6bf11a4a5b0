#include "support/failing_malloc.h"

#include <errno.h>
#include <stddef.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker chose these names. */

/* The linker's --wrap sends our code's malloc to __wrap_malloc and gives us the real one. */
void *__real_malloc(size_t length_bytes);
void *__real_calloc(size_t count, size_t item_bytes);
void *__real_realloc(void *memory, size_t length_bytes);
void *__wrap_malloc(size_t length_bytes);
void *__wrap_calloc(size_t count, size_t item_bytes);
void *__wrap_realloc(void *memory, size_t length_bytes);

static unsigned long n_until_failure; /* 0: not armed, or already failed */
static bool has_failed;

void failing_malloc_arm(unsigned long n)
{
    n_until_failure = n;
    has_failed = false;
}

bool failing_malloc_disarm(void)
{
    n_until_failure = 0;
    return has_failed;
}

static bool this_one_fails(void)
{
    if (n_until_failure == 0 || --n_until_failure > 0) {
        return false;
    }
    has_failed = true;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t length_bytes)
{
    return this_one_fails() ? NULL : __real_malloc(length_bytes);
}

void *__wrap_calloc(size_t count, size_t item_bytes)
{
    return this_one_fails() ? NULL : __real_calloc(count, item_bytes);
}

void *__wrap_realloc(void *memory, size_t length_bytes)
{
    return this_one_fails() ? NULL : __real_realloc(memory, length_bytes);
}

/* NOLINTEND(bugprone-reserved-identifier) */
