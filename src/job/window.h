/* When a job may run: windows of the day, days of the week, a zone. Pure functions of an
 * instant.
 *
 * A window belongs to the day on which it opens: Friday 22:00-07:00 covers Saturday's morning.
 * It is half-open, [start, end); an end at or before its start is on the next day. Both ends
 * become instants first and only instants are compared, so a window is as long as the night
 * really is: 22:00-07:00 has 8 or 10 hours when the clocks change. A local time that the clocks
 * leave out moves forward by the gap; of one that occurs twice, a start takes the first and an
 * end the last.
 */
#ifndef NJ_JOB_WINDOW_H
#define NJ_JOB_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/zone.h"

enum { NJ_EVERY_DAY = 0x7f };

/* Minutes after midnight: start 0 .. 1439, end 1 .. 1440, never equal. */
struct nj_window {
    unsigned start_minute;
    unsigned end_minute;
};

/* All borrowed. No windows at all means always. */
struct nj_schedule {
    const struct nj_window *windows;
    size_t n_windows;
    unsigned days; /* bit 0 Monday .. bit 6 Sunday: on which a window may open */
    const struct nj_zone *zone;
};

/* At one instant. Touching and overlapping windows count as one. */
struct nj_schedule_state {
    bool is_open;
    int64_t opening_day; /* while open: the date, as days since 1970, on which it opened */
    int64_t closes_at;   /* while open; INT64_MAX when never */
    int64_t opens_at;    /* the next opening after this instant; INT64_MAX when never */
};

struct nj_schedule_state nj_schedule_at(const struct nj_schedule *schedule,
                                        int64_t unix_seconds);

/* Whether what begins at this instant and lasts so long ends before the window does; false
 * while it is shut. A sweep for which this is false is not begun. */
bool nj_schedule_leaves(const struct nj_schedule_state *state, int64_t unix_seconds,
                        uint64_t duration_ns);

#endif
