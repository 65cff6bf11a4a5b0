/* Warnings about variables that no template names.
 *
 * A slip in the name of a setting (`matrix: {temperature: [...]}`) or of a variable makes one
 * that changes nothing. It is no mistake by itself: names also label results. Prompts in files
 * of their own are not read yet, so a job that has some is left alone.
 */
#ifndef NJ_JOB_UNUSED_NAMES_H
#define NJ_JOB_UNUSED_NAMES_H

#include <stddef.h>

#include "job/overrides.h"
#include "job/schema.h"
#include "job/spec.h"

/* Of the matrix of each job that is not NULL, and of the flags, whose names one job must use.
 * `overrides` may be NULL. */
void nj_unused_names_warn(struct nj_schema *schema, const struct nj_job_spec *const *specs,
                          size_t n_specs, const struct nj_job_overrides *overrides);

#endif
