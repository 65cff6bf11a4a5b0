/* Measures this machine and says what it found, as a table or as JSON.
 *
 * Figures of a machine are printed beside those that docs/MEASUREMENTS.md has for the same
 * processor: a machine that is busy or throttled shows there, before its other figures mislead.
 */
#ifndef NJ_TOOLS_BENCH_H
#define NJ_TOOLS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct nj_bench_options {
    const char *cpu_level; /* NULL or "auto" for the best */
    const char *model;     /* directory; of nj_bench_model only */
    uint32_t n_threads;    /* 0: one per processor; of nj_bench_model only */
    bool is_quick;         /* a few seconds less, noisier */
    bool wants_json;
};

/* Caller frees `*text` (UTF-8). NJ_E_USAGE and NJ_E_UNSUPPORTED for the level, NJ_E_MEMORY. */
enum nj_status nj_bench_kernels(const struct nj_bench_options *options, char **text,
                                size_t *length_bytes, struct nj_error *err);

/* The same of a whole model. Besides, as opening it and generating with it fail. */
enum nj_status nj_bench_model(const struct nj_bench_options *options, char **text,
                              size_t *length_bytes, struct nj_error *err);

#endif
