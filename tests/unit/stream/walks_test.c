/*     walks_test [NUMBER]
 *
 * Random walks through random streams, compared with a plain copy: whatever is announced,
 * pinned, forgotten, slow or failing, a pinned record has the bytes of its extent. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake_reader.h"
#include "stream/stream.h"
#include "support/check.h"

enum { MAX_RECORDS = 40, FILE_BYTES = 40000, MAX_PINNED = 8 };

static uint32_t n_walks = 1000;

static struct nj_stream_file files[FAKE_FILES];
static struct fake_reader fake;
static uint64_t state;

static uint32_t draw(uint32_t limit)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((state >> 33) % limit);
}

struct walk {
    struct nj_extent extents[MAX_RECORDS];
    struct nj_record_group groups[MAX_RECORDS];
    uint32_t n_records;
    uint32_t n_groups;
    struct nj_byte_budget budget;
    struct nj_stream_options options;
    struct nj_stream *stream;
    uint32_t pinned[MAX_PINNED];
    struct nj_pinned bytes[MAX_PINNED];
    uint32_t n_pinned;
};

static void draw_records(struct walk *walk)
{
    walk->n_records = 1 + draw(MAX_RECORDS);
    for (uint32_t i = 0; i < walk->n_records; i++) {
        uint32_t length = 1 + draw(draw(8) == 0 ? 9000 : 300);
        walk->extents[i] = (struct nj_extent){.file = draw(FAKE_FILES),
                                              .offset_bytes = draw(FILE_BYTES - length + 1),
                                              .length_bytes = length};
    }
}

static void draw_groups(struct walk *walk)
{
    uint32_t next = 0;
    walk->n_groups = 0;
    while (next < walk->n_records) {
        uint32_t n = 1 + draw(4);
        n = n < walk->n_records - next ? n : walk->n_records - next;
        uint32_t keep = draw(8);
        walk->groups[walk->n_groups++] = (struct nj_record_group){next, n,
                                                                  keep == 0  ? NJ_GROUP_RESIDENT
                                                                  : keep < 3 ? NJ_GROUP_PASSING
                                                                             : NJ_GROUP_CACHED};
        next += n;
    }
}

/* Failures end before retries do, so that every pin must succeed. */
static void draw_reader(void)
{
    fake_reader_init(&fake);
    fake.is_prompt = draw(2) == 0;
    fake.most_bytes = draw(3) == 0 ? 4096 + draw(5000) : 0;
    if (draw(4) == 0) {
        fake.error_number = EIO;
        fake.to_bytes = FILE_BYTES;
        fake.n_failures = 1 + draw(3);
    }
    fake.ends[0] = fake.ends[1] = FILE_BYTES;
}

static bool open_walk(struct walk *walk)
{
    struct nj_stream_needs needs = {0};
    struct nj_error error;
    nj_byte_budget_init(&walk->budget, UINT64_MAX);
    walk->options = (struct nj_stream_options){.fs = fake_file_system(draw(2) == 0),
                                               .budget = &walk->budget,
                                               .files = files,
                                               .n_files = FAKE_FILES,
                                               .extents = walk->extents,
                                               .n_records = walk->n_records,
                                               .groups = walk->groups,
                                               .n_groups = walk->n_groups,
                                               .readers = &fake.table,
                                               .clock = fake_clock(),
                                               .poisons = true};
    CHECK_EQ(nj_stream_measure(&walk->options, &needs, NULL), NJ_OK);
    walk->options.frames_bytes =
        needs.least_frames_bytes + draw(12) * needs.frame_bytes + draw(100) + 1;
    if (nj_stream_open(&walk->options, &walk->stream, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "open: %s", error.text);
        return false;
    }
    return true;
}

static void announce(struct walk *walk)
{
    uint32_t records[MAX_RECORDS];
    uint32_t n = draw(10);
    bool in_order = draw(2) == 0;
    uint32_t first = draw(walk->n_records);
    for (uint32_t i = 0; i < n; i++) {
        records[i] = in_order ? (first + i) % walk->n_records : draw(walk->n_records);
    }
    nj_stream_want(walk->stream, records, n);
}

/* As many groups at once as were promised; each pin here may be one of another group. */
static bool pin_one(struct walk *walk)
{
    struct nj_error error;
    if (walk->n_pinned == MAX_PINNED || walk->n_pinned >= nj_stream_n_pinnable(walk->stream)) {
        return true;
    }
    uint32_t record = draw(walk->n_records);
    enum nj_status status =
        nj_stream_pin(walk->stream, record, &walk->bytes[walk->n_pinned], &error);
    if (status != NJ_OK) {
        test_fail(__FILE__, __LINE__, "pin: %s", error.text);
        return false;
    }
    walk->pinned[walk->n_pinned++] = record;
    return true;
}

static bool unpin_one(struct walk *walk)
{
    if (walk->n_pinned == 0) {
        return true;
    }
    uint32_t i = draw(walk->n_pinned);
    bool is_right = fake_check_bytes(&walk->extents[walk->pinned[i]], &walk->bytes[i]);
    nj_stream_unpin(walk->stream, walk->pinned[i]);
    walk->n_pinned--;
    walk->pinned[i] = walk->pinned[walk->n_pinned];
    walk->bytes[i] = walk->bytes[walk->n_pinned];
    return is_right;
}

static bool step(struct walk *walk)
{
    switch (draw(16)) {
    case 0:
        nj_stream_forget(walk->stream);
        return true;
    case 1:
    case 2:
    case 3:
        announce(walk);
        return true;
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
        return pin_one(walk);
    default:
        return unpin_one(walk);
    }
}

static bool run_walk(uint32_t number)
{
    static struct walk walk;
    state = number;
    memset(&walk, 0, sizeof walk);
    draw_records(&walk);
    draw_groups(&walk);
    draw_reader();
    bool is_right = open_walk(&walk);
    for (uint32_t i = 0; is_right && i < 60; i++) {
        is_right = step(&walk);
    }
    while (is_right && walk.n_pinned > 0) {
        is_right = unpin_one(&walk);
    }
    if (!is_right) {
        test_fail(__FILE__, __LINE__, "in walk %u", number);
        return false;
    }
    nj_stream_close(walk.stream);
    CHECK_EQ(walk.budget.held_bytes, 0);
    return true;
}

static void whatever_the_walk_pinned_bytes_are_those_of_the_file(void)
{
    for (uint32_t i = 0; i < n_walks; i++) {
        if (!run_walk(i)) {
            return;
        }
    }
}

int main(int n_arguments, char **arguments)
{
    if (n_arguments > 1) {
        n_walks = (uint32_t)strtoul(arguments[1], NULL, 10);
    }
    fake_files_make(files, FILE_BYTES);
    RUN(whatever_the_walk_pinned_bytes_are_those_of_the_file);
    return test_result();
}
