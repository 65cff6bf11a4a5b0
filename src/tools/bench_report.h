/* The report of bench_kernels.h for a person, or as one JSON document.
 *
 * Threads: pure functions but for what they write to.
 */
#ifndef NJ_TOOLS_BENCH_REPORT_H
#define NJ_TOOLS_BENCH_REPORT_H

#include <stdio.h>

#include "base/json.h"
#include "tools/bench_kernels.h"
#include "tools/bench_machine.h"

/* `record` may be NULL: nothing is recorded for this processor. */
void nj_bench_report_print(FILE *out, const struct nj_bench_report *report,
                           const char *processor, const struct nj_bench_record *record);
void nj_bench_report_write(struct nj_json_writer *writer, const struct nj_bench_report *report,
                           const char *processor, const struct nj_bench_record *record);

#endif
