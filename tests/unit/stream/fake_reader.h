/* A reader without a disk: bytes come from a rule, in the order of asking, when they are waited
 * for; and a stream on top of it, over files that are only lengths.
 *
 * Threads: one at a time.
 */
#ifndef NJ_TESTS_UNIT_STREAM_FAKE_READER_H
#define NJ_TESTS_UNIT_STREAM_FAKE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byte_budget.h"
#include "stream/reader.h"
#include "stream/stream.h"

enum { FAKE_FILES = 2, FAKE_LIMIT = 1024, FAKE_LOG = 4096 };

struct fake_reader {
    struct nj_reader_table table;

    bool is_prompt;   /* a poll finds everything done; else only waiting brings one result */
    int error_number; /* of reads that touch [from, to) of file 0, n_failures times */
    uint64_t from_bytes;
    uint64_t to_bytes;
    uint32_t n_failures;
    uint32_t most_bytes;       /* a result has at most so many; 0: all */
    uint64_t ends[FAKE_FILES]; /* where the files end now; 0: as opened */

    uint64_t log[FAKE_LOG]; /* offsets asked for, first come first */
    uint32_t n_logged;
    uint32_t most_in_flight[FAKE_FILES];

    /* Its own. */
    struct nj_read_request waiting[FAKE_LIMIT];
    uint32_t first;
    uint32_t n_waiting;
    uint32_t n_in_flight[FAKE_FILES];
};

void fake_reader_init(struct fake_reader *fake);

/* The byte that the rule has at a place. */
uint8_t fake_byte(uint32_t file, uint64_t offset);

/* The real file system, with a drive for each file if so wanted. */
const struct nj_file_system *fake_file_system(bool has_two_drives);

/* A clock that stands still, and one that is a millisecond further each time it is asked. */
const struct nj_clock *fake_clock(void);
const struct nj_clock *fake_clock_that_runs(void);

/* Makes FAKE_FILES files of that length in the test's folder and describes them in `files`. */
void fake_files_make(struct nj_stream_file files[FAKE_FILES], uint64_t length_bytes);

/* True when the pinned record has the bytes of its extent; false and a failed check if not. */
bool fake_check_bytes(const struct nj_extent *extent, const struct nj_pinned *pinned);

#endif
