/* An allocator whose n-th call fails.
 *
 * Link the test with it, so that malloc, calloc and realloc of our code go through here:
 *
 *     nj_test(base.arena SOURCE arena_test.c USES base LINK nj_failing_malloc)
 *
 * Then, for n = 1, 2, 3 ...:
 *
 *     failing_malloc_arm(n);
 *     status = nj_thing_create(&thing, &error);
 *     bool failed = failing_malloc_disarm();
 *
 * until nothing failed any more. Allocations inside shared libraries are not ours and never
 * fail.
 *
 * Threads: one at a time.
 */
#ifndef NJ_TESTS_SUPPORT_FAILING_MALLOC_H
#define NJ_TESTS_SUPPORT_FAILING_MALLOC_H

#include <stdbool.h>

/* The n-th allocation from now on (1 is the next) returns NULL; all others work. */
void failing_malloc_arm(unsigned long n);

/* Back to normal; true when an allocation was made to fail since arming. */
bool failing_malloc_disarm(void);

#endif
