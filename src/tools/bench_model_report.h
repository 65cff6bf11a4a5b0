/* The report of bench_model.h for a person, or as one JSON document.
 *
 * Threads: pure functions but for what they write to.
 */
#ifndef NJ_TOOLS_BENCH_MODEL_REPORT_H
#define NJ_TOOLS_BENCH_MODEL_REPORT_H

#include <stdio.h>

#include "base/json.h"
#include "tools/bench_model.h"

void nj_bench_model_print(FILE *out, const struct nj_bench_model_report *report,
                          const char *path, const char *processor);
void nj_bench_model_write(struct nj_json_writer *writer,
                          const struct nj_bench_model_report *report, const char *path,
                          const char *processor);

#endif
