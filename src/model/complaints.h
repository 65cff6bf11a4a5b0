/* Several complaints about one input, gathered into one error.
 *
 * A person who repairs a config or a download wants to hear everything that is wrong with it at
 * once, not one field a try. The first complaints are spelled out; of many more only the number
 * is told.
 */
#ifndef NJ_MODEL_COMPLAINTS_H
#define NJ_MODEL_COMPLAINTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Start as {.err = err}; `err` may be NULL. */
struct nj_complaints {
    struct nj_error *err;
    uint32_t count;
    uint32_t unspelled; /* of them, those that the text had no room for */
    size_t spelled_bytes;
};

void nj_complain(struct nj_complaints *complaints, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* NJ_OK when there were none, else NJ_E_WEIGHTS with all of them in the error. */
enum nj_status nj_complaints_status(struct nj_complaints *complaints);

#endif
