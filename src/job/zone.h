/* Time zones by name, read from the system's zone files (TZif, RFC 8536) without the C library,
 * whose zone belongs to the whole process and whose mktime depends on the call before it.
 *
 * A zone is immutable once open; any thread may use it.
 */
#ifndef NJ_JOB_ZONE_H
#define NJ_JOB_ZONE_H

#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "base/text.h"

struct nj_zone;

/* Which of the two instants is meant when a local time occurs twice. */
enum nj_zone_pick { NJ_ZONE_FIRST, NJ_ZONE_LAST };

/* Opens `<directory>/<name>`; `directory` is the zone database, normally NJ_ZONE_DIRECTORY.
 * Caller owns `*zone`. NJ_E_INPUT: no such zone, a name that is not one, or a file that is no
 * zone file; never falls back to UTC. */
#define NJ_ZONE_DIRECTORY "/usr/share/zoneinfo"
enum nj_status nj_zone_open(const struct nj_file_system *fs, const char *directory,
                            struct nj_text name, struct nj_zone **zone, struct nj_error *err);

/* The zone of this machine, from `link` (normally /etc/localtime); UTC when there is none. */
enum nj_status nj_zone_open_default(const struct nj_file_system *fs, const char *link,
                                    struct nj_zone **zone, struct nj_error *err);
void nj_zone_close(struct nj_zone *zone);

/* Seconds east of UTC at an instant. */
int32_t nj_zone_offset(const struct nj_zone *zone, int64_t unix_seconds);

/* The instant of a local time (civil.h). One that a change of clocks leaves out moves forward
 * by the gap: 02:15 in the night when 02:00 becomes 03:00 is 03:15. */
int64_t nj_zone_resolve(const struct nj_zone *zone, int64_t local_seconds,
                        enum nj_zone_pick pick);

/* The next instant after this one at which the offset changes; INT64_MAX when never. */
int64_t nj_zone_next_change(const struct nj_zone *zone, int64_t unix_seconds);

#endif
