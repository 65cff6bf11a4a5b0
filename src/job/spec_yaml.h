/* Reads a job from YAML, with line and column in every complaint. Types are decided here by
 * what a key expects (libyaml hands over untyped text). */
#ifndef NJ_JOB_SPEC_YAML_H
#define NJ_JOB_SPEC_YAML_H

#include "base/bytes.h"
#include "job/diagnostics.h"
#include "job/spec.h"

/* Parses `content` of the file at `path`. On NJ_OK `*spec` lives in `arena`. All complaints are
 * in `diagnostics`, warnings too; with errors the status is NJ_E_INPUT and nothing is
 * half-accepted. */
enum nj_status nj_job_spec_read(const char *path, struct nj_bytes content,
                                struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                                const struct nj_job_spec **spec, struct nj_error *err);

#endif
