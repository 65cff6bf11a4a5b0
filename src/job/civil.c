#include "job/civil.h"

#include <stdbool.h>

enum {
    DAYS_OF_YEAR = 365,
    YEARS_OF_CYCLE = 400,
    DAYS_OF_CYCLE = 146097, /* of 400 years, after which the calendar repeats */
    EPOCH_YEAR = 1970,
    MONDAY_OFFSET = 3 /* 1970-01-01 was a Thursday */
};

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int64_t nj_floor_divide(int64_t dividend, int64_t divisor)
{
    int64_t quotient = dividend / divisor;
    bool is_below = dividend % divisor != 0 && (dividend < 0) != (divisor < 0);
    return is_below ? quotient - 1 : quotient;
}

unsigned nj_days_of_month(int64_t year, unsigned month)
{
    static const unsigned days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
}

/* Leap years among 1 .. year. */
static int64_t leap_years_until(int64_t year)
{
    return nj_floor_divide(year, 4) - nj_floor_divide(year, 100) + nj_floor_divide(year, 400);
}

/* Days from 1970-01-01 to the first of January of `year`. */
static int64_t days_before_year(int64_t year)
{
    return (year - EPOCH_YEAR) * DAYS_OF_YEAR + leap_years_until(year - 1) -
           leap_years_until(EPOCH_YEAR - 1);
}

int64_t nj_days_from_date(struct nj_civil_date date)
{
    int64_t days = days_before_year(date.year);
    for (unsigned month = 1; month < date.month; month++) {
        days += nj_days_of_month(date.year, month);
    }
    return days + date.day - 1;
}

struct nj_civil_date nj_date_from_days(int64_t days)
{
    /* Never too late, and at most a year too early, since a cycle's mean year is used. */
    int64_t year = EPOCH_YEAR + nj_floor_divide(days * YEARS_OF_CYCLE, DAYS_OF_CYCLE) - 1;
    while (days_before_year(year + 1) <= days) {
        year++;
    }
    int64_t left = days - days_before_year(year);
    unsigned month = 1;
    while (left >= nj_days_of_month(year, month)) {
        left -= nj_days_of_month(year, month);
        month++;
    }
    return (struct nj_civil_date){.year = year, .month = month, .day = (unsigned)left + 1};
}

unsigned nj_weekday(int64_t days)
{
    int64_t shifted = days + MONDAY_OFFSET;
    return (unsigned)(shifted - nj_floor_divide(shifted, 7) * 7);
}
