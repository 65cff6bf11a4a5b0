#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t system_monotonic_ns(void *context)
{
    (void)context;
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int64_t system_unix_ms(void *context)
{
    (void)context;
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct nj_clock nj_clock_system(void)
{
    struct nj_clock clock = {NULL, system_monotonic_ns, system_unix_ms};
    return clock;
}

const char *nj_clock_format(int64_t unix_ms, char text[NJ_CLOCK_TEXT_BYTES])
{
    /* RFC 3339 has four digits for the year: 0000-01-01 to 9999-12-31. */
    static const int64_t earliest_ms = INT64_C(-62167219200000);
    static const int64_t latest_ms = INT64_C(253402300799999);
    if (unix_ms < earliest_ms) {
        unix_ms = earliest_ms;
    } else if (unix_ms > latest_ms) {
        unix_ms = latest_ms;
    }
    int64_t ms = unix_ms % 1000;
    if (ms < 0) {
        ms += 1000;
    }
    time_t seconds = (time_t)((unix_ms - ms) / 1000);
    struct tm utc = {0};
    (void)gmtime_r(&seconds, &utc); /* cannot fail within the range above */
    (void)snprintf(text, NJ_CLOCK_TEXT_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                   (utc.tm_year + 1900) % 10000, (utc.tm_mon + 1) % 100, utc.tm_mday % 100,
                   utc.tm_hour % 100, utc.tm_min % 100, utc.tm_sec % 100, (int)ms);
    return text;
}
