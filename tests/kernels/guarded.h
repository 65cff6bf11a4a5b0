/* Memory whose end lies against a page that may not be touched, so that a read or write one
 * byte too far ends the test at the very instruction. What lies before it is poisoned and
 * watched.
 */
#ifndef NJ_TESTS_KERNELS_GUARDED_H
#define NJ_TESTS_KERNELS_GUARDED_H

#include <stdbool.h>
#include <stddef.h>

struct guarded {
    unsigned char *mapping;
    size_t capacity_bytes;
    unsigned char *data; /* of the current placement */
};

/* Ends the program when the system has no memory. */
void guarded_init(struct guarded *guarded, size_t capacity_bytes);
void guarded_deinit(struct guarded *guarded);

/* A fresh place of `n_bytes`, filled with NaN, that ends `slack_bytes` before the forbidden
 * page. */
void *guarded_place(struct guarded *guarded, size_t n_bytes, size_t slack_bytes);

/* Whether the bytes just before the current placement are as guarded_place left them. */
bool guarded_is_intact(const struct guarded *guarded);

#endif
