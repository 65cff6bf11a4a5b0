#include "snapshot/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "format/planes.h"
#include "snapshot/segment_source.h"
#include "snapshot/text_state.h"

/* One look under way. */
struct looking {
    struct nj_inspection *inspection;
    struct nj_snapshot_progress progress;
    struct nj_unpacker *unpacker; /* NULL: nothing is unpacked */
    uint8_t *raw;                 /* (NJ_SEGMENT_PAYLOAD_LIMIT_BYTES), with an unpacker */
};

const char *nj_segment_record_name(enum nj_segment_record_type type)
{
    switch (type) {
    case NJ_SEGMENT_SNAP_BEGIN:
        return "SNAP_BEGIN";
    case NJ_SEGMENT_TOKENS:
        return "TOKENS";
    case NJ_SEGMENT_KV:
        return "KV";
    case NJ_SEGMENT_RECURRENT:
        return "RECURRENT";
    case NJ_SEGMENT_SAMPLER:
        return "SAMPLER";
    case NJ_SEGMENT_OUTPUT_MARK:
        return "OUTPUT_MARK";
    case NJ_SEGMENT_SNAP_COMMIT:
        return "SNAP_COMMIT";
    case NJ_SEGMENT_END:
        return "SEG_END";
    }
    return "unknown";
}

void nj_inspection_deinit(struct nj_inspection *inspection)
{
    free(inspection->tokens);
    free(inspection->sections);
    memset(inspection, 0, sizeof *inspection);
}

/* --- one record --- */

static enum nj_status count_section(struct nj_inspection *inspection,
                                    const struct nj_segment_record *record,
                                    struct nj_error *err)
{
    size_t n = inspection->n_sections;
    bool continues = n > 0 && inspection->sections[n - 1].type == record->section.type &&
                     inspection->sections[n - 1].layer == record->section.layer;
    if (!continues) {
        enum nj_status status =
            nj_vector_reserve(&inspection->sections, &inspection->sections_capacity,
                              sizeof *inspection->sections, n + 1, err);
        if (status != NJ_OK) {
            return status;
        }
        inspection->sections[n] = (struct nj_inspected_section){.type = record->section.type,
                                                                .layer = record->section.layer};
        inspection->n_sections = ++n;
    }
    struct nj_inspected_section *section = &inspection->sections[n - 1];
    section->n_records += 1;
    section->n_packed += record->is_packed ? 1 : 0;
    section->raw_bytes += record->raw_bytes;
    section->stored_bytes += record->payload.length_bytes;
    inspection->raw_bytes += record->raw_bytes;
    inspection->stored_bytes += record->payload.length_bytes;
    return NJ_OK;
}

static enum nj_status keep_tokens(struct nj_inspection *inspection,
                                  const struct nj_segment_record *record, struct nj_error *err)
{
    struct nj_byte_reader reader;
    size_t n = inspection->n_tokens;
    enum nj_status status =
        nj_vector_reserve(&inspection->tokens, &inspection->tokens_capacity,
                          sizeof *inspection->tokens, n + record->section.count, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_byte_reader_init(&reader, record->payload);
    for (uint32_t i = 0; i < record->section.count; i++) {
        inspection->tokens[n + i] = (int32_t)nj_read_u32(&reader);
    }
    inspection->n_tokens += record->section.count;
    return NJ_OK;
}

static uint32_t read_pending(struct nj_byte_reader *reader)
{
    uint32_t n_pending = nj_read_u32(reader);
    (void)nj_read_u32(reader); /* the bytes themselves */
    return n_pending;
}

static enum nj_status keep_sampler(struct nj_inspected_text *text,
                                   const struct nj_segment_record *record, struct nj_error *err)
{
    enum { TAG_IDS = 8 };
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, record->payload);
    text->seed = nj_read_u64(&reader);
    text->sample = nj_read_u32(&reader);
    text->n_prompt = nj_read_u32(&reader);
    text->n_reasoning = nj_read_u64(&reader);
    text->part = nj_read_u32(&reader);
    (void)nj_read_u32(&reader); /* what kind of tag is being read */
    text->n_tag_ids = nj_read_u32(&reader);
    for (int i = 0; i < TAG_IDS; i++) {
        (void)nj_read_u32(&reader);
    }
    text->n_pending = read_pending(&reader);
    text->n_pending += read_pending(&reader);
    text->n_held = nj_read_u64(&reader);
    if (reader.failed || text->n_held != record->payload.length_bytes - reader.offset) {
        return nj_fail(err, NJ_E_STATE, "its sampler has another length");
    }
    return NJ_OK;
}

static enum nj_status keep_output_mark(struct nj_inspected_text *text,
                                       const struct nj_segment_record *record,
                                       struct nj_error *err)
{
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, record->payload);
    text->response_bytes = nj_read_u64(&reader);
    text->reasoning_bytes = nj_read_u64(&reader);
    if (record->payload.length_bytes != NJ_OUTPUT_MARK_BYTES) {
        return nj_fail(err, NJ_E_STATE, "its output mark has another length");
    }
    memcpy(text->output.bytes, record->payload.data + reader.offset, NJ_DIGEST_BYTES);
    return NJ_OK;
}

static enum nj_status try_to_unpack(struct looking *looking,
                                    const struct nj_segment_record *record,
                                    struct nj_error *err)
{
    struct nj_error why;
    if (looking->unpacker == NULL || !record->is_packed) {
        return NJ_OK;
    }
    enum nj_status status = nj_unpacker_unpack(looking->unpacker, record->payload, looking->raw,
                                               record->raw_bytes, &why);
    return status == NJ_OK ? NJ_OK
                           : nj_fail(err, NJ_E_STATE, "it cannot be unpacked: %s", why.text);
}

static enum nj_status keep(struct looking *looking, const struct nj_segment_record *record,
                           struct nj_error *err)
{
    struct nj_inspection *inspection = looking->inspection;
    switch (record->section.type) {
    case NJ_SEGMENT_SNAP_BEGIN:
        inspection->has_shape = true;
        inspection->shape = looking->progress.shape;
        return NJ_OK;
    case NJ_SEGMENT_TOKENS:
        return keep_tokens(inspection, record, err);
    case NJ_SEGMENT_SAMPLER:
        return keep_sampler(&inspection->text, record, err);
    case NJ_SEGMENT_OUTPUT_MARK:
        return keep_output_mark(&inspection->text, record, err);
    default:
        return try_to_unpack(looking, record, err);
    }
}

static enum nj_status visit(void *context, const struct nj_segment_record *record,
                            struct nj_error *err)
{
    struct looking *looking = context;
    enum nj_status status = nj_snapshot_progress_take(&looking->progress, record, err);
    if (status == NJ_OK) {
        status = keep(looking, record, err);
    }
    return status == NJ_OK ? count_section(looking->inspection, record, err) : status;
}

/* --- the segment --- */

static void complain(struct nj_inspection *inspection, const char *text)
{
    (void)snprintf(inspection->complaint, sizeof inspection->complaint, "%.199s", text);
    inspection->has_place = true;
    inspection->bad_record = inspection->scan.n_records;
    inspection->bad_offset = inspection->scan.valid_bytes;
}

/* NJ_E_STATE from a visit says that a record verifies and makes no sense. */
static enum nj_status judge(struct nj_inspection *inspection, enum nj_status status,
                            const struct nj_error *why, struct nj_error *err)
{
    enum nj_segment_verdict verdict = inspection->scan.verdict;
    if (status == NJ_E_STATE) {
        complain(inspection, why->text);
        return NJ_OK;
    }
    if (status != NJ_OK) {
        return nj_fail(err, status, "%s", why->text);
    }
    inspection->is_sound = verdict == NJ_SEGMENT_WHOLE || verdict == NJ_SEGMENT_TAILED;
    if (!inspection->is_sound) {
        char text[200];
        (void)snprintf(text, sizeof text, "it is %s: %s", nj_segment_verdict_name(verdict),
                       inspection->scan.complaint);
        complain(inspection, text);
    }
    return NJ_OK;
}

static void note_time(const struct nj_segment_source *source, struct nj_inspection *inspection)
{
    struct stat status;
    if (source->fs->status(source->fs->context, source->fd, &status) == 0) {
        inspection->written_unix_ms =
            (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;
    }
}

static enum nj_status take_unpacker(struct looking *looking, struct nj_error *err)
{
    looking->raw = malloc(NJ_SEGMENT_PAYLOAD_LIMIT_BYTES);
    if (looking->raw == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "unpack a segment: out of memory");
    }
    return nj_unpacker_create(&looking->unpacker, err);
}

static enum nj_status look(struct looking *looking, struct nj_segment_source *source,
                           bool unpacks, struct nj_error *err)
{
    struct nj_error why;
    struct nj_inspection *inspection = looking->inspection;
    inspection->file_bytes = source->length_bytes;
    enum nj_status status = unpacks ? take_unpacker(looking, err) : NJ_OK;
    if (status != NJ_OK) {
        return status;
    }
    status = nj_segment_source_scan(source, visit, looking, &inspection->scan, &why);
    return judge(inspection, status, &why, err);
}

enum nj_status nj_inspect_segment(const struct nj_file_system *fs, int directory_fd,
                                  uint64_t number, bool unpacks,
                                  struct nj_inspection *inspection, struct nj_error *err)
{
    struct nj_segment_source source;
    memset(inspection, 0, sizeof *inspection);
    nj_segment_name(number, inspection->name);
    struct looking *looking = calloc(1, sizeof *looking);
    if (looking == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "look at a segment: out of memory");
    }
    looking->inspection = inspection;
    enum nj_status status = nj_segment_source_open(&source, fs, directory_fd, number, err);
    if (status == NJ_OK) {
        note_time(&source, inspection);
        status = look(looking, &source, unpacks, err);
        nj_segment_source_close(&source);
    }
    nj_unpacker_destroy(looking->unpacker);
    free(looking->raw);
    free(looking);
    if (status != NJ_OK) {
        nj_inspection_deinit(inspection);
    }
    return status;
}
