/* Segments from anywhere, and whole segments that were then cut and overwritten.
 *
 * A first byte below 128: the rest is a segment as it stands. Otherwise the input is a script:
 * a small segment is encoded, then each three bytes of the rest overwrite one byte of it (two
 * of place, one of value), and now and then cut it. A record that is read back must be what was
 * written, and a committed snapshot must be untouched up to its commit. Payloads that say they
 * are packed are unpacked, whatever they hold.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/segment.h"
#include "format/segment_encoder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes);

enum { CAPACITY_BYTES = 4096, N_VALUES = 96 };

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

struct written {
    uint8_t bytes[CAPACITY_BYTES];
    uint8_t untouched[CAPACITY_BYTES];
    size_t length_bytes;
    size_t n_committed; /* bytes up to the end mark */
};

struct check {
    const struct written *written; /* NULL: from anywhere */
    struct nj_unpacker *unpacker;
};

static enum nj_status compare(void *context, const struct nj_segment_record *record,
                              struct nj_error *err)
{
    static uint8_t raw[NJ_PACK_LIMIT_BYTES];
    const struct check *check = context;
    size_t place = (size_t)record->payload_offset;
    require(record->payload.length_bytes <= NJ_SEGMENT_PAYLOAD_LIMIT_BYTES);
    require(record->raw_bytes <= NJ_SEGMENT_PAYLOAD_LIMIT_BYTES);
    if (check->written != NULL) {
        require(memcmp(record->payload.data, check->written->untouched + place,
                       record->payload.length_bytes) == 0);
    }
    if (record->is_packed) {
        enum nj_status status =
            nj_unpacker_unpack(check->unpacker, record->payload, raw, record->raw_bytes, err);
        require(status == NJ_OK || check->written == NULL);
    }
    return NJ_OK;
}

static void scan(const uint8_t *bytes, size_t length_bytes, const struct written *written)
{
    struct nj_segment_scan found;
    struct nj_bytes view = {bytes, length_bytes};
    static struct check check; /* its memory takes longer to get than a scan */
    if (check.unpacker == NULL) {
        require(nj_unpacker_create(&check.unpacker, NULL) == NJ_OK);
    }
    check.written = written;
    require(nj_segment_scan(view, compare, &check, &found, NULL) == NJ_OK);
    bool is_committed = found.verdict == NJ_SEGMENT_WHOLE || found.verdict == NJ_SEGMENT_TAILED;
    require(found.valid_bytes <= length_bytes);
    require((found.complaint[0] == '\0') == (found.verdict == NJ_SEGMENT_WHOLE));
    if (written != NULL && is_committed) {
        require(length_bytes >= written->n_committed);
        require(memcmp(bytes, written->untouched, written->n_committed) == 0);
    }
}

static void write_small(struct written *written, uint8_t salt)
{
    static float values[N_VALUES];
    static const struct nj_segment_section sections[] = {
        {NJ_SEGMENT_SNAP_BEGIN, 0, 0, 0}, {NJ_SEGMENT_RECURRENT, 0, 0, N_VALUES},
        {NJ_SEGMENT_KV, 1, 0, 2},         {NJ_SEGMENT_TOKENS, 0, 0, 3},
        {NJ_SEGMENT_SAMPLER, 0, 0, 0},    {NJ_SEGMENT_OUTPUT_MARK, 0, 0, 0}};
    static const size_t lengths[] = {24, sizeof values, 16, 12, 9, 0};
    static struct nj_segment_encoder *encoder;
    struct nj_segment_file file;
    struct nj_segment_header header = {.number = 2, .salt = salt};
    size_t n_commit = 0;
    uint32_t chain = 0;
    if (encoder == NULL) {
        require(nj_segment_encoder_create(1, &encoder, NULL) == NJ_OK);
    }
    require(nj_segment_file_begin(&file, &header, written->bytes, NULL) == NJ_OK);
    written->length_bytes = NJ_SEGMENT_HEADER_BYTES;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        struct nj_bytes raw = {(const uint8_t *)values, lengths[i]};
        struct nj_bytes record = nj_segment_encoder_record(encoder, &file, &sections[i], raw);
        memcpy(written->bytes + written->length_bytes, record.data, record.length_bytes);
        written->length_bytes += record.length_bytes;
    }
    require(nj_segment_file_commit(&file, written->bytes + written->length_bytes, &n_commit,
                                   &chain, NULL) == NJ_OK);
    written->length_bytes += n_commit;
    written->n_committed = written->length_bytes - 64; /* without the end mark */
    nj_segment_file_deinit(&file);
    memcpy(written->untouched, written->bytes, sizeof written->bytes);
}

static void run_script(const uint8_t *script, size_t length_bytes)
{
    static struct written written;
    memset(&written, 0, sizeof written);
    write_small(&written, script[0]);
    size_t length = written.length_bytes;
    for (size_t i = 1; i + 3 <= length_bytes; i += 3) {
        size_t place = ((size_t)script[i] | (size_t)script[i + 1] << 8) % written.length_bytes;
        written.bytes[place] = script[i + 2];
        length = script[i + 2] % 16 == 0 ? place : length;
    }
    uint8_t *exact = malloc(length + 1); /* so that a read past its end is seen */
    require(exact != NULL);
    memcpy(exact, written.bytes, length);
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
