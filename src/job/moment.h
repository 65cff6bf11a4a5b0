/* A point in time as people write it, and the instant that it means.
 *
 * `start_at` and `deadline` are read once and resolved once, when a job is submitted: "22:30"
 * means the next half past ten of that evening, whatever the clock says after a restart. So
 * reading (no clock, no zone) and resolving (both handed in) are two calls.
 */
#ifndef NJ_JOB_MOMENT_H
#define NJ_JOB_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "job/zone.h"

enum nj_moment_kind {
    NJ_MOMENT_NONE,        /* nothing was written */
    NJ_MOMENT_INSTANT,     /* RFC 3339 with an offset */
    NJ_MOMENT_LOCAL,       /* "2027-03-01 07:00" in the job's zone */
    NJ_MOMENT_TIME_OF_DAY, /* "07:00": its next occurrence */
    NJ_MOMENT_TOMORROW,    /* "tomorrow 06:00" */
    NJ_MOMENT_FROM_NOW     /* "now+2h" */
};

struct nj_moment {
    enum nj_moment_kind kind;
    int64_t seconds; /* unix, local (civil.h), after midnight (both of a day), or from now */
};

/* How a moment is written, for hints. */
extern const char nj_moment_hint[];

/* False for anything else, with `*moment` untouched. A fraction of a second is dropped from an
 * instant, and rounds a duration up. */
bool nj_moment_parse(struct nj_text text, struct nj_moment *moment);

/* The instant, in seconds since 1970. "Next" is later than now, never now itself. Of a local
 * time that occurs twice `pick` is taken (a start is the first, a deadline the last), one that
 * the clocks leave out moves forward by the gap. `moment` must not be NJ_MOMENT_NONE. */
int64_t nj_moment_resolve(struct nj_moment moment, const struct nj_zone *zone,
                          int64_t now_unix_seconds, enum nj_zone_pick pick);

#endif
