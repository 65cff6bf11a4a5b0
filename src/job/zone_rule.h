/* The rule behind a zone file's table: what holds after its last entry, such as
 * "CET-1CEST,M3.5.0,M10.5.0/3" (POSIX TZ with the extensions of RFC 8536).
 */
#ifndef NJ_JOB_ZONE_RULE_H
#define NJ_JOB_ZONE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum nj_zone_day_kind {
    NJ_ZONE_DAY_OF_MONTH, /* Mm.w.d: weekday d (0 Sunday) of week w (5: last) of month m */
    NJ_ZONE_DAY_OF_YEAR,  /* n: 0 .. 365, February 29 counted */
    NJ_ZONE_JULIAN_DAY    /* Jn: 1 .. 365, February 29 never counted */
};

struct nj_zone_change {
    enum nj_zone_day_kind kind;
    unsigned month, week, weekday;
    unsigned day;
    int32_t local_seconds; /* after midnight; may be negative or past the day's end */
};

/* Offsets are seconds east of UTC. */
struct nj_zone_rule {
    int32_t standard_offset;
    bool has_summer;
    int32_t summer_offset;
    struct nj_zone_change to_summer, to_standard;
};

/* False when the text is no rule; an empty text is none either. */
bool nj_zone_rule_parse(struct nj_text text, struct nj_zone_rule *rule);

/* The two changes of a year as instants. Only with has_summer. */
void nj_zone_rule_changes(const struct nj_zone_rule *rule, int64_t year, int64_t *to_summer,
                          int64_t *to_standard);

int32_t nj_zone_rule_offset(const struct nj_zone_rule *rule, int64_t unix_seconds);

/* The next change after an instant; INT64_MAX without summer time. */
int64_t nj_zone_rule_next_change(const struct nj_zone_rule *rule, int64_t unix_seconds);

#endif
