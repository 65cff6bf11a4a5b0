/* Turns what libyaml says about broken text into what a person should change. */
#ifndef NJ_JOB_YAML_PROBLEM_H
#define NJ_JOB_YAML_PROBLEM_H

#include <yaml.h>

#include "base/text.h"
#include "job/diagnostics.h"

/* `parser` has just failed on `source`, the file at `path`. */
void nj_yaml_problem_explain(const yaml_parser_t *parser, const char *path,
                             struct nj_text source, struct nj_diagnostics *diagnostics);

#endif
