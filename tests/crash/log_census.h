/* What the logs of a run folder hold, counted by a reader that shares nothing with a run but
 * the decoders: for tests that say what a run may and may not have left behind.
 */
#ifndef NJ_TESTS_CRASH_LOG_CENSUS_H
#define NJ_TESTS_CRASH_LOG_CENSUS_H

#include <stdbool.h>
#include <stdint.h>

struct log_census {
    uint64_t n_ids;         /* in tokens.log */
    uint64_t n_ids_twice;   /* of these, at a place (item, sample, position) that had one */
    uint64_t n_results;     /* in results.log */
    uint64_t n_under_way;   /* items that have an id and no result */
    uint64_t n_ids_at_work; /* the ids of those */
    uint64_t n_restored;    /* ids that runs said they took from the log, over all starts */
    uint64_t n_finished;    /* times that a run said that all is done */
};

/* Counts what verifies in all segments of each log, up to the first byte that does not; an
 * absent log is an empty one. False when a record verifies and cannot be decoded, when a
 * segment lacks what a later one continues, or memory is short. */
bool log_census_take(const char *folder_path, struct log_census *census);

#endif
