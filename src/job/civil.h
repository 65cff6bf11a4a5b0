/* Calendar dates and times of day, as numbers: proleptic Gregorian, no zones.
 *
 * A local time is counted in seconds as if its zone were UTC ("local seconds"); zone.h turns it
 * into an instant.
 */
#ifndef NJ_JOB_CIVIL_H
#define NJ_JOB_CIVIL_H

#include <stdint.h>

enum { NJ_DAY_SECONDS = 24 * 60 * 60 };

struct nj_civil_date {
    int64_t year;
    unsigned month; /* 1 .. 12 */
    unsigned day;   /* 1 .. 31 */
};

unsigned nj_days_of_month(int64_t year, unsigned month);

/* Days since 1970-01-01, negative before it, and back. */
int64_t nj_days_from_date(struct nj_civil_date date);
struct nj_civil_date nj_date_from_days(int64_t days);

/* 0 is Monday, 6 Sunday. */
unsigned nj_weekday(int64_t days);

/* Rounds towards the past, as dates before 1970 need. */
int64_t nj_floor_divide(int64_t dividend, int64_t divisor);

#endif
