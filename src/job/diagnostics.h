/* Complaints about a file that a person wrote, each with its place, all at once. */
#ifndef NJ_JOB_DIAGNOSTICS_H
#define NJ_JOB_DIAGNOSTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/* Lines and columns count from 1, columns in characters; 0 means the place has none. */
struct nj_place {
    const char *file;
    uint32_t line;
    uint32_t column;
};

enum nj_severity { NJ_SEVERITY_ERROR, NJ_SEVERITY_WARNING };

enum { NJ_DIAGNOSTICS_LIMIT = 100 }; /* of each severity; more help nobody */

struct nj_diagnostic {
    struct nj_place place;
    enum nj_severity severity;
    const char *message; /* what is wrong */
    const char *hint;    /* what to do instead; NULL for none */
};

/* `items` is in the order of places: files in the order of their first complaint, then lines
 * and columns. Texts live in the arena it was given. After NJ_DIAGNOSTICS_LIMIT errors more are
 * only counted. What is said of the same place a second time is kept once, yet `n_errors`
 * grows, so that whoever compares it sees that something was wrong. */
struct nj_diagnostics {
    struct nj_arena *arena;
    struct nj_diagnostic *items;
    size_t n_items;
    size_t capacity;
    size_t n_errors;
    size_t n_repeated; /* of n_errors, those that were told already */
    size_t n_warnings;
    bool out_of_memory;
};

void nj_diagnostics_init(struct nj_diagnostics *diagnostics, struct nj_arena *arena);
void nj_diagnostics_deinit(struct nj_diagnostics *diagnostics);

/* Copies message and hint; `place.file` must outlive the diagnostics. Text of the file that is
 * quoted in the message is shown with its control characters as `\x1b`. */
void nj_diagnose(struct nj_diagnostics *diagnostics, enum nj_severity severity,
                 struct nj_place place, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* "file:line:column: what, hint"; a warning reads "file:line:column: warning: what, hint".
 * Returns the length that snprintf would. */
int nj_diagnostic_format(const struct nj_diagnostic *diagnostic, char *text, size_t text_bytes);

/* NJ_OK without errors; else NJ_E_INPUT with the first complaint and how many more there are.
 */
enum nj_status nj_diagnostics_status(const struct nj_diagnostics *diagnostics,
                                     struct nj_error *err);

#endif
