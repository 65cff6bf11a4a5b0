#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_reader.h"
#include "stream/reader.h"
#include "stream/stream.h"
#include "support/check.h"
#include "support/faulty_files.h"
#include "support/slow_reader.h"

/* Real files, of a length that is no multiple of anything, on a disk and in memory (tmpfs). */
enum { FILE_BYTES = 3 * 1024 * 1024 + 12345, N_FILES = 2, N_RECORDS = 60, PER_GROUP = 3 };

static char paths[2 * N_FILES][PATH_MAX];
static struct nj_extent extents[N_RECORDS];
static struct nj_record_group groups[N_RECORDS / PER_GROUP];
static uint64_t state = 7;

static uint64_t draw(uint64_t limit)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (state >> 33) % limit;
}

static void write_file(char path[PATH_MAX], const char *folder, uint32_t file)
{
    (void)snprintf(path, PATH_MAX, "%s/nj-readers-%d-%u", folder, (int)getpid(), file);
    uint8_t *bytes = malloc(FILE_BYTES);
    FILE *stream = fopen(path, "wb");
    CHECK(bytes != NULL && stream != NULL);
    for (uint64_t i = 0; i < FILE_BYTES; i++) {
        bytes[i] = fake_byte(file, i);
    }
    CHECK_EQ(fwrite(bytes, 1, FILE_BYTES, stream), FILE_BYTES);
    CHECK_EQ(fclose(stream), 0);
    free(bytes);
}

/* Extents of all sizes at odd places; the last record of each file ends with it. */
static void draw_extents(void)
{
    for (uint32_t i = 0; i < N_RECORDS; i++) {
        uint64_t length = 1 + draw(i % 7 == 0 ? 1500000 : 60000);
        uint64_t offset = draw(FILE_BYTES - length);
        if (i % (N_RECORDS / 4) == 0) {
            offset = FILE_BYTES - length;
        }
        extents[i] = (struct nj_extent){
            .file = i % N_FILES, .offset_bytes = offset, .length_bytes = length};
    }
    for (uint32_t i = 0; i < N_RECORDS / PER_GROUP; i++) {
        groups[i] = (struct nj_record_group){PER_GROUP * i, PER_GROUP,
                                             i % 5 == 0 ? NJ_GROUP_RESIDENT : NJ_GROUP_CACHED};
    }
}

struct fixture {
    struct nj_stream_file files[N_FILES];
    struct nj_byte_budget budget;
    struct nj_stream_options options;
    struct nj_stream *stream;
    struct nj_error error;
};

static void prepare(struct fixture *fixture, bool on_disk)
{
    *fixture = (struct fixture){.stream = NULL};
    for (uint32_t i = 0; i < N_FILES; i++) {
        fixture->files[i] =
            (struct nj_stream_file){paths[i + (on_disk ? 0 : N_FILES)], FILE_BYTES};
    }
    nj_byte_budget_init(&fixture->budget, UINT64_MAX);
    fixture->options = (struct nj_stream_options){
        .fs = nj_file_system_real(),
        .budget = &fixture->budget,
        .files = fixture->files,
        .n_files = N_FILES,
        .extents = extents,
        .n_records = N_RECORDS,
        .groups = groups,
        .n_groups = N_RECORDS / PER_GROUP,
        .poisons = true,
    };
    struct nj_stream_needs needs = {0};
    CHECK_EQ(nj_stream_measure(&fixture->options, &needs, NULL), NJ_OK);
    fixture->options.frames_bytes = needs.least_frames_bytes + 2 * needs.frame_bytes;
}

static void finish(struct fixture *fixture)
{
    nj_stream_close(fixture->stream);
    nj_byte_budget_deinit(&fixture->budget);
}

static bool use(struct fixture *fixture, uint32_t record)
{
    struct nj_pinned pinned;
    enum nj_status status = nj_stream_pin(fixture->stream, record, &pinned, &fixture->error);
    if (status != NJ_OK) {
        test_fail(__FILE__, __LINE__, "pin %u: %s", record, fixture->error.text);
        return false;
    }
    bool is_right = fake_check_bytes(&extents[record], &pinned);
    nj_stream_unpin(fixture->stream, record);
    return is_right;
}

/* Opens, walks through everything twice, and closes. */
static void check_walks(struct fixture *fixture)
{
    REQUIRE_OK(nj_stream_open(&fixture->options, &fixture->stream, &fixture->error),
               &fixture->error);
    for (uint32_t walk = 0; walk < 2; walk++) {
        for (uint32_t i = 0; i < N_RECORDS; i++) {
            nj_stream_want(fixture->stream, &i, 1);
        }
        for (uint32_t i = 0; i < N_RECORDS; i++) {
            REQUIRE(use(fixture, i));
        }
    }
    struct nj_stream_report report;
    nj_stream_report(fixture->stream, &report);
    printf("     %s, depth %u, %s\n", report.reader, report.depth,
           report.note == NULL ? "direct" : report.note);
    CHECK_EQ(report.n_rereads, 0);
    finish(fixture);
}

/* Some sandboxes forbid rings; then there is nothing to compare. */
static bool has_ring(void)
{
    struct nj_error error = {NJ_OK, ""};
    void *reader = NULL;
    struct nj_reader_options options = {.fs = nj_file_system_real(), .limit = 4};
    const struct nj_reader_table *ring = nj_reader_ring();
    if (ring->open(ring->context, &options, &reader, &error) != NJ_OK) {
        printf("     no ring here: %s\n", error.text);
        return false;
    }
    ring->close(reader);
    return true;
}

static void check_kind(enum nj_reader_kind kind)
{
    static struct fixture fixture;
    for (int on_disk = 0; on_disk < 2; on_disk++) {
        prepare(&fixture, on_disk == 1);
        fixture.options.reader = kind;
        check_walks(&fixture);
    }
}

static void ring_gives_the_bytes_of_the_files(void)
{
    if (has_ring()) {
        check_kind(NJ_READER_RING);
    }
}

static void threads_give_the_bytes_of_the_files(void)
{
    check_kind(NJ_READER_THREADS);
}

static void reader_of_choice_gives_the_bytes_of_the_files(void)
{
    check_kind(NJ_READER_AUTO);
}

static int open_without_direct(void *context, int directory_fd, const char *name, int flags,
                               mode_t mode)
{
    const struct nj_file_system *real = nj_file_system_real();
    (void)context;
    if ((flags & O_DIRECT) != 0) {
        errno = EINVAL;
        return -1;
    }
    return real->open_at(real->context, directory_fd, name, flags, mode);
}

static void threads_read_where_direct_reads_are_refused_and_say_so(void)
{
    static struct fixture fixture;
    struct nj_file_system buffered = *nj_file_system_real();
    struct nj_stream_report report;
    buffered.open_at = open_without_direct;
    prepare(&fixture, true);
    fixture.options.fs = &buffered;
    REQUIRE_OK(nj_stream_open(&fixture.options, &fixture.stream, &fixture.error),
               &fixture.error);
    nj_stream_report(fixture.stream, &report);
    CHECK_TEXT(report.reader, "threads");
    CHECK_CONTAINS(report.note, "no direct I/O on ");
    CHECK_CONTAINS(report.note, fixture.files[0].path);
    for (uint32_t i = 0; i < N_RECORDS; i++) {
        REQUIRE(use(&fixture, i));
    }
    finish(&fixture);
}

static void ring_reads_through_the_page_cache_too_when_demanded(void)
{
    static struct fixture fixture;
    struct nj_file_system buffered = *nj_file_system_real();
    if (!has_ring()) {
        return;
    }
    buffered.open_at = open_without_direct;
    prepare(&fixture, true);
    fixture.options.fs = &buffered;
    fixture.options.reader = NJ_READER_RING;
    check_walks(&fixture);
}

static void late_and_shuffled_results_change_nothing(void)
{
    const struct nj_reader_table *tables[] = {nj_reader_threads(), nj_reader_ring()};
    for (uint32_t i = 0; i < (has_ring() ? 2 : 1); i++) {
        static struct fixture fixture;
        static struct slow_reader slow;
        prepare(&fixture, true);
        slow_reader_init(&slow, tables[i], 42 + i);
        slow.shuffles = true;
        slow.delay_ns = 300000;
        fixture.options.readers = &slow.table;
        check_walks(&fixture);
    }
}

static void slow_drive_is_only_slow(void)
{
    static struct fixture fixture;
    static struct slow_reader slow;
    prepare(&fixture, true);
    slow_reader_init(&slow, nj_reader_threads(), 1);
    slow.bytes_per_second = 500000000;
    fixture.options.readers = &slow.table;
    check_walks(&fixture);
}

static void failing_once_is_survived_and_failing_for_ever_is_told(void)
{
    static struct fixture fixture;
    static struct slow_reader slow;
    struct nj_pinned pinned;
    prepare(&fixture, true);
    slow_reader_init(&slow, nj_reader_threads(), 1);
    fixture.options.readers = &slow.table;
    const struct nj_extent *extent = &extents[4];
    slow.fault = (struct slow_reader_fault){.n_times = 1,
                                            .file = extent->file,
                                            .from_bytes = extent->offset_bytes,
                                            .to_bytes = extent->offset_bytes + 1,
                                            .error_number = EIO};
    check_walks(&fixture);
    CHECK_EQ(slow.n_spoilt, 1);
    slow.fault.n_times = 20;
    slow.fault.error_number = 0; /* halves */
    prepare(&fixture, true);
    fixture.options.readers = &slow.table;
    groups[1].keep = NJ_GROUP_CACHED;
    check_walks(&fixture);
    slow.fault.n_times = UINT32_MAX;
    slow.fault.error_number = EIO;
    prepare(&fixture, true);
    fixture.options.readers = &slow.table;
    REQUIRE_OK(nj_stream_open(&fixture.options, &fixture.stream, &fixture.error),
               &fixture.error);
    CHECK_EQ(nj_stream_pin(fixture.stream, 4, &pinned, &fixture.error), NJ_E_WEIGHTS);
    CHECK_CONTAINS(fixture.error.text, fixture.files[extent->file].path);
    CHECK_CONTAINS(fixture.error.text, "Input/output error");
    slow.fault.n_times = 0;
    CHECK(use(&fixture, 4));
    finish(&fixture);
}

static void file_of_another_length_than_indexed_is_refused(void)
{
    static struct fixture fixture;
    prepare(&fixture, true);
    CHECK_EQ(truncate(paths[0], FILE_BYTES - 1), 0);
    CHECK_EQ(nj_stream_open(&fixture.options, &fixture.stream, &fixture.error), NJ_E_WEIGHTS);
    CHECK_CONTAINS(fixture.error.text,
                   "has 3158072 bytes, wanted the 3158073 it had when its header was read");
    CHECK(fixture.stream == NULL);
    CHECK_EQ(unlink(paths[0]), 0);
    CHECK_EQ(nj_stream_open(&fixture.options, &fixture.stream, &fixture.error), NJ_E_WEIGHTS);
    CHECK_CONTAINS(fixture.error.text, "No such file or directory");
    CHECK_EQ(fixture.budget.held_bytes, 0);
    write_file(paths[0], test_folder(), 0);
}

/* The file is cut while the stream is open, and then made whole again. */
static void file_that_shrinks_while_open_is_told_and_read_again_once_repaired(void)
{
    enum nj_reader_kind kinds[] = {NJ_READER_THREADS, NJ_READER_RING};
    for (uint32_t i = 0; i < (has_ring() ? 2 : 1); i++) {
        static struct fixture fixture;
        struct nj_pinned pinned;
        uint32_t last = N_RECORDS / 2; /* ends with file 0 */
        char wanted[64];
        prepare(&fixture, true);
        groups[last / PER_GROUP].keep = NJ_GROUP_CACHED;
        fixture.options.reader = kinds[i];
        REQUIRE_OK(nj_stream_open(&fixture.options, &fixture.stream, &fixture.error),
                   &fixture.error);
        CHECK_EQ(truncate(paths[0], FILE_BYTES - 1), 0);
        CHECK_EQ(nj_stream_pin(fixture.stream, last, &pinned, &fixture.error), NJ_E_WEIGHTS);
        CHECK_CONTAINS(fixture.error.text, paths[0]);
        CHECK_CONTAINS(fixture.error.text, "bytes, found ");
        CHECK(sscanf(strstr(fixture.error.text, "wanted"), "%63s", wanted) == 1);
        CHECK(use(&fixture, 3));
        write_file(paths[0], test_folder(), 0); /* same inode: truncated, then written */
        CHECK(use(&fixture, last));
        finish(&fixture);
    }
}

static void every_failing_open_and_status_ends_the_opening(void)
{
    static const enum faulty_call calls[] = {FAULTY_OPEN, FAULTY_STATUS};
    for (size_t i = 0; i < 2; i++) {
        for (unsigned long n = 1; n <= N_FILES; n++) {
            static struct fixture fixture;
            struct faulty_files faulty;
            prepare(&fixture, true);
            faulty_files_init(&faulty, nj_file_system_real());
            faulty_files_fail(&faulty, calls[i], n, EIO);
            fixture.options.fs = &faulty.table;
            CHECK_EQ(nj_stream_open(&fixture.options, &fixture.stream, &fixture.error),
                     NJ_E_WEIGHTS);
            CHECK_CONTAINS(fixture.error.text, "Input/output error");
            CHECK_EQ(faulty.n_calls[FAULTY_CLOSE],
                     faulty.n_calls[FAULTY_OPEN] - (calls[i] == FAULTY_OPEN ? 1 : 0));
            CHECK_EQ(fixture.budget.held_bytes, 0);
        }
    }
}

/* A drive that gives nothing until it is told to: descriptor 0. Any other reads at once. */
static pthread_mutex_t stuck_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stuck_or_not = PTHREAD_COND_INITIALIZER;
static bool is_stuck;

static void set_stuck(bool stuck)
{
    (void)pthread_mutex_lock(&stuck_mutex);
    is_stuck = stuck;
    (void)pthread_cond_broadcast(&stuck_or_not);
    (void)pthread_mutex_unlock(&stuck_mutex);
}

static ssize_t read_unless_stuck(void *context, int fd, void *data, size_t length, off_t offset)
{
    (void)context;
    (void)data;
    (void)offset;
    (void)pthread_mutex_lock(&stuck_mutex);
    while (fd == 0 && is_stuck) {
        (void)pthread_cond_wait(&stuck_or_not, &stuck_mutex);
    }
    (void)pthread_mutex_unlock(&stuck_mutex);
    return (ssize_t)length;
}

static void threads_of_a_drive_that_is_stuck_do_not_hold_up_another_one(void)
{
    enum { ON_STUCK = 64, LIMIT = ON_STUCK + 1 };
    static uint8_t target[4096];
    struct nj_file_system fs = *nj_file_system_real();
    const int descriptors[] = {0, 1};
    const uint32_t drives[] = {0, 1};
    const struct nj_reader_options options = {
        .fs = &fs, .descriptors = descriptors, .drives = drives, .n_files = 2, .limit = LIMIT};
    const struct nj_reader_table *table = nj_reader_threads();
    struct nj_error error = {0};
    struct nj_read_result results[LIMIT];
    void *reader = NULL;
    fs.read_at = read_unless_stuck;
    set_stuck(true);
    REQUIRE_OK(table->open(table->context, &options, &reader, &error), &error);

    for (uint32_t tag = 0; tag < LIMIT; tag++) {
        const struct nj_read_request request = {.target = target,
                                                .length_bytes = sizeof target,
                                                .file = tag < ON_STUCK ? 0 : 1,
                                                .buffer = NJ_NO_BUFFER,
                                                .tag = tag};
        table->submit(reader, &request, 1);
    }
    CHECK_EQ(table->reap(reader, true, results, LIMIT), 1); /* returns at all */
    CHECK_EQ(results[0].tag, ON_STUCK);

    set_stuck(false);
    uint32_t n_done = 1;
    while (n_done < LIMIT) {
        n_done += table->reap(reader, true, results, LIMIT);
    }
    table->close(reader);
}

static void stream_closes_with_reads_in_flight(void)
{
    enum nj_reader_kind kinds[] = {NJ_READER_THREADS, NJ_READER_RING};
    for (uint32_t i = 0; i < (has_ring() ? 2 : 1); i++) {
        static struct fixture fixture;
        prepare(&fixture, true);
        fixture.options.reader = kinds[i];
        REQUIRE_OK(nj_stream_open(&fixture.options, &fixture.stream, &fixture.error),
                   &fixture.error);
        for (uint32_t record = 0; record < N_RECORDS; record++) {
            nj_stream_want(fixture.stream, &record, 1);
        }
        finish(&fixture);
    }
}

int main(void)
{
    draw_extents();
    for (uint32_t i = 0; i < N_FILES; i++) {
        write_file(paths[i], test_folder(), i);
        write_file(paths[N_FILES + i], access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", i);
    }
    RUN(ring_gives_the_bytes_of_the_files);
    RUN(threads_give_the_bytes_of_the_files);
    RUN(reader_of_choice_gives_the_bytes_of_the_files);
    RUN(threads_read_where_direct_reads_are_refused_and_say_so);
    RUN(ring_reads_through_the_page_cache_too_when_demanded);
    RUN(late_and_shuffled_results_change_nothing);
    RUN(slow_drive_is_only_slow);
    RUN(failing_once_is_survived_and_failing_for_ever_is_told);
    RUN(file_of_another_length_than_indexed_is_refused);
    RUN(file_that_shrinks_while_open_is_told_and_read_again_once_repaired);
    RUN(every_failing_open_and_status_ends_the_opening);
    RUN(threads_of_a_drive_that_is_stuck_do_not_hold_up_another_one);
    RUN(stream_closes_with_reads_in_flight);
    for (uint32_t i = 0; i < N_FILES; i++) {
        (void)unlink(paths[N_FILES + i]); /* in memory, not in the test's folder */
    }
    return test_result();
}
