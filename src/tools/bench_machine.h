/* Which processor this is, and what was recorded for its like in docs/MEASUREMENTS.md.
 *
 * Threads: pure functions.
 */
#ifndef NJ_TOOLS_BENCH_MACHINE_H
#define NJ_TOOLS_BENCH_MACHINE_H

#include "kernels/kernels.h"

enum { NJ_BENCH_NAME_BYTES = 96 };

/* What docs/MEASUREMENTS.md says of one thread at one level. */
struct nj_bench_record {
    const char *processor;
    enum nj_cpu_level level;
    double peak_gflops;
    double stream_gb_s;
    const char *source; /* the place in that file */
};

/* As in "AMD EPYC 9355 32-Core Processor, family 26, model 2"; "unknown" where the processor
 * cannot be asked. In a virtual machine the brand alone does not tell generations apart. */
void nj_bench_processor(char name[NJ_BENCH_NAME_BYTES]);

/* NULL when nothing is recorded. */
const struct nj_bench_record *nj_bench_record_of(const char *processor,
                                                 enum nj_cpu_level level);

#endif
