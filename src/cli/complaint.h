/* How a verb says what is wrong, on stderr: sentences for people, or with --json one JSON
 * object a line (docs/formats/events.md). */
#ifndef NJ_CLI_COMPLAINT_H
#define NJ_CLI_COMPLAINT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "base/status.h"
#include "job/diagnostics.h"

/* Tells all complaints and the error, and returns the exit code. `diagnostics` may be NULL;
 * with errors in it and NJ_E_INPUT, the error's text says nothing new. */
int nj_complain_failure(bool as_json, enum nj_status status, const struct nj_error *err,
                        const struct nj_diagnostics *diagnostics);

/* Something to know that stops nothing. */
void nj_complain_warning(bool as_json, const char *text);

/* The warnings among the complaints, when nothing failed. */
void nj_complain_warnings(bool as_json, const struct nj_diagnostics *diagnostics);

/* Members `code`, `exit_code`, `message`, `complaints` and `complaints_left_out` of an object.
 */
void nj_complaint_write(struct nj_json_writer *writer, enum nj_status status,
                        const char *message, const struct nj_diagnostics *diagnostics);

/* The finished document and a newline; NJ_EXIT_OK, or what running out of memory gives. */
int nj_json_print(struct nj_json_writer *writer, FILE *file);

#endif
