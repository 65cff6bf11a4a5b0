#include "unit/snapshot/forge.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/planes.h"
#include "format/segment_encoder.h"
#include "support/check.h"

uint8_t *forge_memory(size_t n_bytes)
{
    uint8_t *memory = calloc(1, n_bytes + 1);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

struct forging {
    const struct forgery *forgery;
    struct nj_segment_encoder *encoder;
    struct nj_segment_file file;
    struct nj_unpacker *unpacker;
    uint8_t *raw;
    uint8_t *out;
    size_t n_out;
};

static enum nj_status forge_record(void *context, const struct nj_segment_record *record,
                                   struct nj_error *err)
{
    struct forging *forging = context;
    struct nj_segment_section section = record->section;
    enum nj_status status = NJ_OK;
    if (section.type == NJ_SEGMENT_SNAP_COMMIT) {
        return NJ_OK;
    }
    if (record->is_packed) {
        status = nj_unpacker_unpack(forging->unpacker, record->payload, forging->raw,
                                    record->raw_bytes, err);
    } else {
        memcpy(forging->raw, record->payload.data, record->raw_bytes);
    }
    if (status == NJ_OK && forging->forgery->change_record != NULL) {
        forging->forgery->change_record(forging->forgery->context, &section, forging->raw,
                                        record->raw_bytes);
    }
    struct nj_bytes raw = {.data = forging->raw, .length_bytes = record->raw_bytes};
    struct nj_bytes encoded =
        nj_segment_encoder_record(forging->encoder, &forging->file, &section, raw);
    memcpy(forging->out + forging->n_out, encoded.data, encoded.length_bytes);
    forging->n_out += encoded.length_bytes;
    return status;
}

static enum nj_status only_look(void *context, const struct nj_segment_record *record,
                                struct nj_error *err)
{
    (void)context;
    (void)record;
    (void)err;
    return NJ_OK;
}

static void forge(struct forging *forging, struct nj_bytes segment)
{
    struct nj_segment_scan scan;
    struct nj_error error;
    size_t n_commit = 0;
    uint32_t chain = 0;
    /* Once for the header, once for the records. */
    REQUIRE_OK(nj_segment_scan(segment, only_look, NULL, &scan, &error), &error);
    REQUIRE(scan.verdict == NJ_SEGMENT_WHOLE);
    if (forging->forgery->change_header != NULL) {
        forging->forgery->change_header(forging->forgery->context, &scan.header);
    }
    REQUIRE_OK(nj_segment_file_begin(&forging->file, &scan.header, forging->out, &error),
               &error);
    forging->n_out = NJ_SEGMENT_HEADER_BYTES;
    REQUIRE_OK(nj_segment_scan(segment, forge_record, forging, &scan, &error), &error);
    REQUIRE_OK(nj_segment_file_commit(&forging->file, forging->out + forging->n_out, &n_commit,
                                      &chain, &error),
               &error);
    forging->n_out += n_commit;
}

void forge_segment(struct nj_bytes segment, const struct forgery *forgery, uint8_t **forged,
                   size_t *n_forged)
{
    struct forging forging = {.forgery = forgery};
    struct nj_error error;
    *forged = NULL;
    REQUIRE_OK(nj_segment_encoder_create(NJ_PACK_OFF, &forging.encoder, &error), &error);
    REQUIRE_OK(nj_unpacker_create(&forging.unpacker, &error), &error);
    forging.raw = forge_memory(NJ_SEGMENT_PAYLOAD_LIMIT_BYTES);
    forging.out = forge_memory(8 * segment.length_bytes + 4096); /* unpacked it is longer */
    forge(&forging, segment);
    nj_segment_file_deinit(&forging.file);
    nj_segment_encoder_destroy(forging.encoder);
    nj_unpacker_destroy(forging.unpacker);
    free(forging.raw);
    *forged = forging.out;
    *n_forged = forging.n_out;
}

uint8_t *read_segment(int directory_fd, const char *name, size_t *n_bytes)
{
    struct stat status;
    int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC);
    uint8_t *bytes = NULL;
    if (fd >= 0 && fstat(fd, &status) == 0) {
        bytes = forge_memory((size_t)status.st_size);
        *n_bytes = (size_t)status.st_size;
    }
    if (bytes == NULL || read(fd, bytes, *n_bytes) != (ssize_t)*n_bytes) {
        test_fail(__FILE__, __LINE__, "cannot read %s", name);
    }
    (void)close(fd);
    return bytes;
}

void write_segment(int directory_fd, const char *name, const uint8_t *bytes, size_t n_bytes)
{
    /* A new file each time: some file systems write out at once what is cut and written over.
     */
    (void)unlinkat(directory_fd, name, 0);
    int fd = openat(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, n_bytes) != (ssize_t)n_bytes) {
        test_fail(__FILE__, __LINE__, "cannot write %s", name);
    }
    (void)close(fd);
}
