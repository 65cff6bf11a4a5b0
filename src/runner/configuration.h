/* A job's configuration after defaults and the command line, as an object of the manifest.
 *
 * Names from the job are written as values only, never as keys, so that who looks for a key of
 * the manifest finds the manifest's. Texts of prompts are not repeated: spec.yaml has them as
 * written, and the items digest covers them as sent.
 *
 * File: docs/formats/run-folder.md, section 7.
 */
#ifndef NJ_RUNNER_CONFIGURATION_H
#define NJ_RUNNER_CONFIGURATION_H

#include "base/json.h"
#include "job/spec.h"

void nj_configuration_write(const struct nj_job_spec *spec, struct nj_json_writer *writer);

#endif
