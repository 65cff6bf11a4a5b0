#include "job/window.h"

#include "job/civil.h"

enum {
    MINUTES_OF_DAY = 24 * 60,
    DAYS_BACK = 3,   /* a window lasts a day at most, and a zone may leave out a whole day */
    DAYS_AHEAD = 10, /* a week, and the same slack */
    NEVER_DAYS = 8   /* windows that touch for so long touch for ever: weeks repeat */
};

/* One opening of one window, as instants. */
struct opening {
    int64_t day;
    int64_t start;
    int64_t end;
};

static int64_t instant(const struct nj_schedule *schedule, int64_t day, unsigned minute,
                       enum nj_zone_pick pick)
{
    return nj_zone_resolve(schedule->zone, day * NJ_DAY_SECONDS + (int64_t)minute * 60, pick);
}

static bool opens_on(const struct nj_schedule *schedule, int64_t day)
{
    return (schedule->days >> nj_weekday(day) & 1) != 0;
}

static unsigned length_minutes(const struct nj_window *window)
{
    unsigned end = window->end_minute;
    return (end <= window->start_minute ? end + MINUTES_OF_DAY : end) - window->start_minute;
}

static struct opening opening_of(const struct nj_schedule *schedule,
                                 const struct nj_window *window, int64_t day)
{
    unsigned length = length_minutes(window);
    unsigned end_minute = window->start_minute + length;
    struct opening opening = {.day = day,
                              .start =
                                  instant(schedule, day, window->start_minute, NJ_ZONE_FIRST),
                              .end = instant(schedule, day, end_minute, NJ_ZONE_LAST)};
    if (opening.end <= opening.start) {
        opening.end = opening.start + (int64_t)length * 60; /* see window.h on gaps */
    }
    return opening;
}

/* Calls for each opening near an instant; `visit` sees them in no order of time. */
static void each_opening(const struct nj_schedule *schedule, int64_t unix_seconds,
                         void (*visit)(void *context, const struct opening *opening),
                         void *context)
{
    int64_t local = unix_seconds + nj_zone_offset(schedule->zone, unix_seconds);
    int64_t today = nj_floor_divide(local, NJ_DAY_SECONDS);
    for (int64_t day = today - DAYS_BACK; day <= today + DAYS_AHEAD; day++) {
        for (size_t i = 0; i < schedule->n_windows && opens_on(schedule, day); i++) {
            struct opening opening = opening_of(schedule, &schedule->windows[i], day);
            visit(context, &opening);
        }
    }
}

/* The stretch that holds an instant, grown by every opening that touches it. */
struct stretch {
    int64_t begin;
    int64_t end; /* begin == end: nothing found yet */
    int64_t day;
    int64_t instant;
    bool has_grown;
};

static void grow(void *context, const struct opening *opening)
{
    struct stretch *stretch = context;
    bool is_found = stretch->end > stretch->begin;
    if (!is_found) {
        if (opening->start <= stretch->instant && stretch->instant < opening->end) {
            *stretch = (struct stretch){opening->start, opening->end, opening->day,
                                        stretch->instant, true};
        }
        return;
    }
    if (opening->start > stretch->end || opening->end < stretch->begin) {
        return;
    }
    if (opening->start < stretch->begin) {
        stretch->begin = opening->start;
        stretch->day = opening->day;
        stretch->has_grown = true;
    }
    if (opening->end > stretch->end) {
        stretch->end = opening->end;
        stretch->has_grown = true;
    }
}

static void take_sooner(void *context, const struct opening *opening)
{
    struct stretch *next = context;
    if (opening->start > next->instant && opening->start < next->begin &&
        opening->start < opening->end) {
        next->begin = opening->start;
    }
}

static int64_t next_opening(const struct nj_schedule *schedule, int64_t after)
{
    struct stretch next = {.begin = INT64_MAX, .instant = after};
    each_opening(schedule, after, take_sooner, &next);
    return next.begin;
}

struct nj_schedule_state nj_schedule_at(const struct nj_schedule *schedule,
                                        int64_t unix_seconds)
{
    struct nj_schedule_state always = {
        .is_open = true, .closes_at = INT64_MAX, .opens_at = INT64_MAX};
    if (schedule->n_windows == 0) {
        return always;
    }
    struct stretch stretch = {.instant = unix_seconds, .has_grown = true};
    while (stretch.has_grown) {
        stretch.has_grown = false;
        each_opening(schedule, unix_seconds, grow, &stretch);
    }
    if (stretch.end == stretch.begin) {
        return (struct nj_schedule_state){.opens_at = next_opening(schedule, unix_seconds)};
    }
    if (stretch.end - unix_seconds >= (int64_t)NEVER_DAYS * NJ_DAY_SECONDS) {
        always.opening_day = stretch.day;
        return always;
    }
    return (struct nj_schedule_state){.is_open = true,
                                      .opening_day = stretch.day,
                                      .closes_at = stretch.end,
                                      .opens_at = next_opening(schedule, stretch.end - 1)};
}

bool nj_schedule_leaves(const struct nj_schedule_state *state, int64_t unix_seconds,
                        uint64_t duration_ns)
{
    static const uint64_t second_ns = 1000000000;
    if (!state->is_open || state->closes_at == INT64_MAX) {
        return state->is_open;
    }
    if (state->closes_at <= unix_seconds) {
        return false; /* the state is of an earlier instant */
    }
    uint64_t left_seconds = (uint64_t)(state->closes_at - unix_seconds);
    return duration_ns / second_ns < left_seconds ||
           (duration_ns / second_ns == left_seconds && duration_ns % second_ns == 0);
}
