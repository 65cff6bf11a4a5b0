/* Says what the program's own reader finds in segments, in the words of read_segment.py:
 *
 *     describe_segments FILE...
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "format/planes.h"
#include "format/segment.h"
#include "snapshot/shape.h"

enum { FILE_LIMIT_BYTES = 64 << 20 };

/* What is said of a segment; records come before the verdict is known. */
struct description {
    FILE *records;
    struct nj_unpacker *unpacker;
    uint8_t *raw;
    struct nj_snapshot_progress progress;
    bool is_joined;
};

static const char *type_name(enum nj_segment_record_type type)
{
    static const char *const names[] = {
        "", "SNAP_BEGIN", "TOKENS", "KV", "RECURRENT", "SAMPLER", "OUTPUT_MARK", "SNAP_COMMIT"};
    return names[type];
}

static const char *hex_of(struct nj_bytes bytes)
{
    static char hex[NJ_DIGEST_HEX_BYTES];
    struct nj_digest digest;
    if (nj_digest_of(bytes, &digest, NULL) != NJ_OK) {
        abort();
    }
    nj_digest_to_hex(&digest, hex);
    return hex;
}

static enum nj_status say_record(void *context, const struct nj_segment_record *record,
                                 struct nj_error *err)
{
    struct description *description = context;
    struct nj_bytes raw = record->payload;
    if (record->is_packed) {
        enum nj_status status = nj_unpacker_unpack(description->unpacker, record->payload,
                                                   description->raw, record->raw_bytes, err);
        if (status != NJ_OK) {
            return status;
        }
        raw = (struct nj_bytes){description->raw, record->raw_bytes};
    }
    if (description->is_joined) {
        description->is_joined =
            nj_snapshot_progress_take(&description->progress, record, NULL) == NJ_OK;
    }
    (void)fprintf(description->records, "record %s %u %u %u %s %u %s\n",
                  type_name(record->section.type), record->section.layer, record->section.first,
                  record->section.count, record->is_packed ? "packed" : "raw",
                  record->raw_bytes, hex_of(raw));
    return NJ_OK;
}

static void say_bytes(const char *what, const uint8_t *bytes, size_t n_bytes, const char *end)
{
    printf("%s ", what);
    for (size_t i = 0; i < n_bytes; i++) {
        printf("%02x", bytes[i]);
    }
    printf("%s", end);
}

static void say_header(const struct nj_segment_header *header)
{
    uint32_t epsilon_bits;
    memcpy(&epsilon_bits, &header->latent_norm_eps, sizeof epsilon_bits);
    say_bytes("job", header->job, sizeof header->job, "");
    printf(" item %" PRIu64, header->item_index);
    say_bytes("", header->item.bytes, NJ_DIGEST_BYTES, "");
    printf(" sample %u\n", header->sample);
    printf("numerics %u kv %u epsilon %08x\n", header->numerics_version, header->kv_type,
           epsilon_bits);
    say_bytes("weights", header->weights.bytes, NJ_DIGEST_BYTES, " ");
    say_bytes("template", header->template.bytes, NJ_DIGEST_BYTES, "\n");
    printf("number %" PRIu64 " previous %" PRIu64 " %08x salt %016" PRIx64 "\n", header->number,
           header->previous_number, header->previous_chain, header->salt);
}

static void say_scan(const struct nj_segment_scan *scan, const struct description *description,
                     const char *records)
{
    enum nj_segment_verdict verdict = scan->verdict;
    printf("%s\n", nj_segment_verdict_name(verdict));
    if (verdict == NJ_SEGMENT_OTHER_VERSION) {
        printf("version %u\n", scan->format_version);
    }
    if (scan->valid_bytes == 0) {
        return;
    }
    say_header(&scan->header);
    printf("%s", records);
    if (verdict == NJ_SEGMENT_WHOLE || verdict == NJ_SEGMENT_TAILED) {
        say_bytes("commit", scan->commit.bytes, NJ_DIGEST_BYTES, "");
        printf(" chain %08x %s\n", scan->commit_chain,
               description->is_joined ? "joined" : "not joined");
    }
}

static enum nj_status describe(struct description *description, const char *path,
                               struct nj_error *err)
{
    struct nj_arena arena;
    struct nj_bytes content;
    struct nj_segment_scan scan;
    char *records = NULL;
    size_t n_records = 0;
    const char *slash = strrchr(path, '/');
    nj_arena_init(&arena, FILE_LIMIT_BYTES + 4096);
    enum nj_status status = nj_file_read_whole(nj_file_system_real(), AT_FDCWD, path,
                                               FILE_LIMIT_BYTES, &arena, &content, err);
    description->records = open_memstream(&records, &n_records);
    description->is_joined = true;
    memset(&description->progress, 0, sizeof description->progress);
    if (status == NJ_OK) {
        status = nj_segment_scan(content, say_record, description, &scan, err);
    }
    (void)fclose(description->records);
    if (status == NJ_OK) {
        printf("file %s\n", slash == NULL ? path : slash + 1);
        say_scan(&scan, description, records);
    }
    free(records);
    nj_arena_deinit(&arena);
    return status;
}

int main(int argc, char **argv)
{
    struct description description = {.raw = malloc(NJ_PACK_LIMIT_BYTES)};
    struct nj_error error;
    if (description.raw == NULL || nj_unpacker_create(&description.unpacker, &error) != NJ_OK) {
        return 1;
    }
    enum nj_status status = NJ_OK;
    for (int i = 1; i < argc && status == NJ_OK; i++) {
        status = describe(&description, argv[i], &error);
    }
    if (status != NJ_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
    }
    nj_unpacker_destroy(description.unpacker);
    free(description.raw);
    return status == NJ_OK ? 0 : 1;
}
