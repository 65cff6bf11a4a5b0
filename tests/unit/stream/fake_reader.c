#include "fake_reader.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"

uint8_t fake_byte(uint32_t file, uint64_t offset)
{
    return (uint8_t)(UINT64_C(131) * file + offset * 7u + offset / 251u);
}

/* --- the reader --- */

static enum nj_status fake_open(void *context, const struct nj_reader_options *options,
                                void **reader, struct nj_error *err)
{
    if (options->limit > FAKE_LIMIT) {
        return nj_fail(err, NJ_E_INTERNAL, "more in flight than the fake has room for");
    }
    *reader = context;
    return NJ_OK;
}

static void fake_submit(void *reader, const struct nj_read_request *requests,
                        uint32_t n_requests)
{
    struct fake_reader *fake = reader;
    for (uint32_t i = 0; i < n_requests; i++) {
        const struct nj_read_request *request = &requests[i];
        CHECK_EQ(request->offset_bytes % 4096, 0);
        CHECK_EQ(request->length_bytes % 4096, 0);
        CHECK_EQ((uintptr_t)request->target % 4096, 0);
        if (fake->n_logged < FAKE_LOG) {
            fake->log[fake->n_logged] = request->offset_bytes;
        }
        fake->n_logged++;
        fake->waiting[(fake->first + fake->n_waiting++) % FAKE_LIMIT] = *request;
        uint32_t in_flight = ++fake->n_in_flight[request->file];
        if (in_flight > fake->most_in_flight[request->file]) {
            fake->most_in_flight[request->file] = in_flight;
        }
    }
}

static bool fails(struct fake_reader *fake, const struct nj_read_request *request)
{
    if (fake->n_failures == 0 || request->file != 0 ||
        request->offset_bytes >= fake->to_bytes ||
        request->offset_bytes + request->length_bytes <= fake->from_bytes) {
        return false;
    }
    fake->n_failures -= fake->n_failures == UINT32_MAX ? 0 : 1;
    return true;
}

static int32_t fill(const struct fake_reader *fake, const struct nj_read_request *request)
{
    uint64_t end = request->offset_bytes + request->length_bytes;
    uint64_t file_end = fake->ends[request->file];
    if (file_end != 0 && file_end < end) {
        end = file_end < request->offset_bytes ? request->offset_bytes : file_end;
    }
    uint64_t length = end - request->offset_bytes;
    if (fake->most_bytes != 0 && length > fake->most_bytes) {
        length = fake->most_bytes;
    }
    for (uint64_t i = 0; i < length; i++) {
        request->target[i] = fake_byte(request->file, request->offset_bytes + i);
    }
    return (int32_t)length;
}

static uint32_t fake_reap(void *reader, bool waits, struct nj_read_result *results,
                          uint32_t limit)
{
    struct fake_reader *fake = reader;
    uint32_t most = fake->is_prompt ? limit : (waits ? 1 : 0);
    uint32_t n = 0;
    while (n < most && fake->n_waiting > 0) {
        struct nj_read_request request = fake->waiting[fake->first];
        fake->first = (fake->first + 1) % FAKE_LIMIT;
        fake->n_waiting--;
        fake->n_in_flight[request.file]--;
        int32_t result = fails(fake, &request) ? -fake->error_number : fill(fake, &request);
        results[n++] = (struct nj_read_result){request.tag, result};
    }
    return n;
}

static void fake_close(void *reader)
{
    struct fake_reader *fake = reader;
    fake->n_waiting = 0;
}

void fake_reader_init(struct fake_reader *fake)
{
    memset(fake, 0, sizeof *fake);
    fake->table = (struct nj_reader_table){
        .name = "fake",
        .context = fake,
        .open = fake_open,
        .submit = fake_submit,
        .reap = fake_reap,
        .close = fake_close,
    };
}

/* --- what is around it --- */

/* The number of a descriptor stands for its drive. */
static int status_with_drives(void *context, int fd, struct stat *status)
{
    (void)context;
    if (fstat(fd, status) != 0) {
        return -1;
    }
    status->st_dev = (dev_t)fd;
    return 0;
}

const struct nj_file_system *fake_file_system(bool has_two_drives)
{
    static struct nj_file_system two_drives;
    if (!has_two_drives) {
        return nj_file_system_real();
    }
    two_drives = *nj_file_system_real();
    two_drives.status = status_with_drives;
    return &two_drives;
}

static uint64_t no_time(void *context)
{
    (void)context;
    return 0;
}

const struct nj_clock *fake_clock(void)
{
    static const struct nj_clock clock = {.monotonic_ns = no_time};
    return &clock;
}

static uint64_t next_millisecond(void *context)
{
    static uint64_t now_ns;
    (void)context;
    now_ns += 1000000;
    return now_ns;
}

const struct nj_clock *fake_clock_that_runs(void)
{
    static const struct nj_clock clock = {.monotonic_ns = next_millisecond};
    return &clock;
}

void fake_files_make(struct nj_stream_file files[FAKE_FILES], uint64_t length_bytes)
{
    static char paths[FAKE_FILES][PATH_MAX];
    for (uint32_t i = 0; i < FAKE_FILES; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/fake%u", test_folder(), i);
        FILE *file = fopen(paths[i], "wb");
        CHECK(file != NULL && ftruncate(fileno(file), (off_t)length_bytes) == 0);
        CHECK_EQ(fclose(file), 0);
        files[i] = (struct nj_stream_file){paths[i], length_bytes};
    }
}

bool fake_check_bytes(const struct nj_extent *extent, const struct nj_pinned *pinned)
{
    for (uint64_t i = 0; i < extent->length_bytes; i++) {
        uint8_t wanted = fake_byte(extent->file, extent->offset_bytes + i);
        if (pinned->bytes[i] != wanted) {
            test_fail(__FILE__, __LINE__,
                      "file %u: byte %llu of %llu bytes at %llu is %u, not %u", extent->file,
                      (unsigned long long)i, (unsigned long long)extent->length_bytes,
                      (unsigned long long)extent->offset_bytes, pinned->bytes[i], wanted);
            return false;
        }
    }
    return true;
}
