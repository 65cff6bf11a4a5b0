/* How the library's own code reports failures (the types are public: nightjar/status.h). */
#ifndef NJ_BASE_STATUS_H
#define NJ_BASE_STATUS_H

#include "nightjar/status.h"

/* Writes the sentence and returns `status`, so that failing reads `return nj_fail(...)`. */
enum nj_status nj_fail(struct nj_error *err, enum nj_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the sentence already there; returns the status already there. */
enum nj_status nj_prefix(struct nj_error *err, enum nj_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends to the sentence (used to collect several complaints into one error). */
void nj_error_append(struct nj_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The status that fits a failed system call on a person's file: NJ_E_NOT_FOUND for ENOENT,
 * NJ_E_PERMISSION for EACCES and EPERM, NJ_E_MEMORY for ENOMEM, else `otherwise`. */
enum nj_status nj_status_from_errno(int error_number, enum nj_status otherwise);

#endif
