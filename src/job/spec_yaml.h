/* Reads jobs from YAML, with line and column in every complaint. Types are decided here by
 * what a key expects (libyaml hands over untyped text).
 *
 * A file may hold several documents, each a job. What was given on the command line is put into
 * the tree before it is read, so that it obeys the same rules as what stands in the file.
 */
#ifndef NJ_JOB_SPEC_YAML_H
#define NJ_JOB_SPEC_YAML_H

#include "base/bytes.h"
#include "job/diagnostics.h"
#include "job/overrides.h"
#include "job/spec.h"

struct nj_job_specs {
    const struct nj_job_spec *const *items;
    size_t n_items;
};

/* Parses `content` of the file at `path`. On NJ_OK `*specs` lives in `arena` and has at least
 * one job; their names differ. All complaints are in `diagnostics`, warnings too; with errors
 * the status is NJ_E_INPUT and nothing is half-accepted. `overrides` may be NULL. */
enum nj_status nj_job_specs_read(const char *path, struct nj_bytes content,
                                 const struct nj_job_overrides *overrides,
                                 struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                                 struct nj_job_specs *specs, struct nj_error *err);

/* As above for a file with one job, without overrides. */
enum nj_status nj_job_spec_read(const char *path, struct nj_bytes content,
                                struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                                const struct nj_job_spec **spec, struct nj_error *err);

#endif
