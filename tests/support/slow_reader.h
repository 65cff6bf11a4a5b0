/* A reader of weights that is worse than the one below it: late, out of order, failing, short.
 *
 *     struct slow_reader slow;
 *     slow_reader_init(&slow, nj_reader_threads(), 1);
 *     slow.shuffles = true;
 *     options.readers = &slow.table;
 *
 * Set what it does before the stream is opened or between its calls; the reads themselves are
 * done by the table below, so the bytes are real.
 *
 * Threads: those of the reader below; one reader open at a time.
 */
#ifndef NJ_TESTS_SUPPORT_SLOW_READER_H
#define NJ_TESTS_SUPPORT_SLOW_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/reader.h"

/* Results of reads of `file` that touch [from, to) are spoilt, `n_times` times. */
struct slow_reader_fault {
    uint32_t n_times; /* UINT32_MAX: for ever */
    uint32_t file;
    uint64_t from_bytes;
    uint64_t to_bytes;
    int error_number; /* 0: half of the bytes are claimed, at least one less */
};

struct slow_reader {
    struct nj_reader_table table; /* hand this to the code under test */

    bool shuffles;             /* a result comes when others have come, at random */
    uint64_t delay_ns;         /* each result comes up to that much later */
    uint64_t bytes_per_second; /* all together; 0: as fast as they are */
    struct slow_reader_fault fault;

    /* Its own. */
    const struct nj_reader_table *below;
    void *reader;
    uint64_t random;
    struct nj_read_request *requests; /* (limit) by tag */
    struct slow_reader_result *held;  /* (limit) */
    uint32_t n_held;
    uint32_t n_below; /* in flight below */
    uint32_t limit;
    uint64_t free_at_ns; /* when the slowed drive has done all it was given */
    uint64_t n_spoilt;
};

void slow_reader_init(struct slow_reader *slow, const struct nj_reader_table *below,
                      uint64_t seed);

#endif
