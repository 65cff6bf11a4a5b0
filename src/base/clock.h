/* Monotonic and calendar time, or what a test says. */
#ifndef NJ_BASE_CLOCK_H
#define NJ_BASE_CLOCK_H

#include <stdint.h>

/* Handed down by value; the functions get `context`. */
struct nj_clock {
    void *context;
    uint64_t (*monotonic_ns)(void *context); /* never goes back; stops in suspend */
    int64_t (*unix_ms)(void *context);       /* calendar time, may jump */
};

/* The system's clocks. */
struct nj_clock nj_clock_system(void);

enum { NJ_CLOCK_TEXT_BYTES = 32 };

/* RFC 3339 in UTC with milliseconds, "2026-12-01T22:00:00.000Z"; returns `text`. */
const char *nj_clock_format(int64_t unix_ms, char text[NJ_CLOCK_TEXT_BYTES]);

#endif
