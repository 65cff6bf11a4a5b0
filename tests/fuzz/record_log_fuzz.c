/* Logs from anywhere, and whole logs that were then cut and overwritten.
 *
 * A first byte below 128: the rest is a log as it stands. Otherwise the input is a script: a
 * number of records is encoded, then each three bytes of the rest overwrite one byte of the log
 * (two of place, one of value) and the last place cuts it. Whatever is read back must be what
 * was written, up to the first byte that was changed, and nothing behind it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/record_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes);

enum { LOG_CAPACITY_BYTES = 4096, MAX_RECORDS = 16 };

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

struct written {
    uint8_t log[LOG_CAPACITY_BYTES];
    uint8_t untouched[LOG_CAPACITY_BYTES];
    size_t length_bytes;
};

static enum nj_status compare(void *context, const struct nj_record *record,
                              struct nj_error *err)
{
    const struct written *written = context;
    size_t begin = record->offset_bytes;
    size_t encoded_bytes = nj_record_encoded_bytes(record->payload.length_bytes);
    (void)err;
    if (written != NULL) {
        require(memcmp(written->log + begin, written->untouched + begin, encoded_bytes) == 0);
    }
    return NJ_OK;
}

static void scan(const uint8_t *log, size_t length_bytes, struct written *written)
{
    struct nj_record_log_scan scan;
    struct nj_bytes bytes = {log, length_bytes};
    require(nj_record_log_scan(bytes, 1, compare, written, &scan, NULL) == NJ_OK);
    require(scan.valid_bytes <= length_bytes);
    require(scan.complaint[0] == '\0' || scan.end != NJ_LOG_END_CLEAN);
    if (scan.end == NJ_LOG_END_CLEAN || scan.end == NJ_LOG_END_TORN) {
        /* Cut where it says, the log is clean and loses no record. */
        struct nj_record_log_scan cut;
        struct nj_bytes valid = {log, (size_t)scan.valid_bytes};
        require(nj_record_log_scan(valid, 1, compare, written, &cut, NULL) == NJ_OK);
        require(cut.end == NJ_LOG_END_CLEAN && cut.n_records == scan.n_records);
    }
}

static void write_log(struct written *written, uint8_t n_records)
{
    static const uint8_t payload[128] = "what was generated";
    struct nj_record_log_identity identity = {.kind = 1, .format_version = 1, .salt = 77};
    struct nj_record_cursor cursor;
    nj_record_log_encode_header(&identity, written->log, &cursor);
    written->length_bytes = NJ_RECORD_LOG_HEADER_BYTES;
    for (uint32_t i = 0; i < n_records % MAX_RECORDS; i++) {
        struct nj_bytes bytes = {payload, ((size_t)i * 29) % sizeof payload};
        nj_record_encode(&cursor, i, bytes, written->log + written->length_bytes);
        written->length_bytes += nj_record_encoded_bytes(bytes.length_bytes);
    }
    memcpy(written->untouched, written->log, sizeof written->log);
}

static void run_script(const uint8_t *script, size_t length_bytes)
{
    static struct written written;
    memset(&written, 0, sizeof written);
    write_log(&written, script[0]);
    size_t length = written.length_bytes;
    for (size_t i = 1; i + 3 <= length_bytes; i += 3) {
        size_t place = ((size_t)script[i] | (size_t)script[i + 1] << 8) % written.length_bytes;
        written.log[place] = script[i + 2];
        length = script[i + 2] % 16 == 0 ? place : length;
    }
    uint8_t *exact = malloc(length + 1); /* so that a read past its end is seen */
    require(exact != NULL);
    memcpy(exact, written.log, length);
    scan(exact, length, &written);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    if (length_bytes < 2) {
        return 0;
    }
    if (data[0] < 128) {
        scan(data + 1, length_bytes - 1, NULL);
    } else {
        run_script(data + 1, length_bytes - 1);
    }
    return 0;
}
