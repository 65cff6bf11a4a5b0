#include "snapshot/generation.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "snapshot/text_state.h"

/* What must be said of the segment being looked at. */
struct looking {
    struct nj_generation *generation;
    const struct nj_generation_wanted *wanted;
    uint64_t number;
    uint32_t source;
    struct nj_segment_scan scan;
    struct nj_snapshot_progress progress;
};

static enum nj_status refuse(struct nj_error *err, const char *why)
{
    return nj_fail(err, NJ_E_STATE, "%s", why);
}

/* --- one record --- */

static enum nj_status check_beginning(const struct looking *looking, struct nj_error *err)
{
    const struct nj_segment_header *header = &looking->scan.header;
    enum nj_status status = nj_snapshot_identity_check(header, looking->wanted->identity, err);
    if (status != NJ_OK) {
        return status;
    }
    if (header->number != looking->number) {
        return nj_fail(err, NJ_E_STATE, "it is segment %" PRIu64 " under another name",
                       header->number);
    }
    status = nj_snapshot_shape_check(&looking->progress.shape, looking->wanted->dims, err);
    if (status != NJ_OK) {
        return status;
    }
    if (looking->progress.shape.n_positions >= looking->wanted->sequence->n_tokens) {
        return refuse(err, "it is ahead of the token log");
    }
    return NJ_OK;
}

static enum nj_status keep_piece(struct looking *looking,
                                 const struct nj_segment_record *record, struct nj_error *err)
{
    struct nj_generation *generation = looking->generation;
    bool is_newest = looking->source == 0;
    if (record->section.type == NJ_SEGMENT_RECURRENT && !is_newest) {
        return NJ_OK; /* an older one: replaced since */
    }
    enum nj_status status =
        nj_vector_reserve(&generation->pieces, &generation->pieces_capacity,
                          sizeof *generation->pieces, generation->n_pieces + 1, err);
    if (status == NJ_OK) {
        generation->pieces[generation->n_pieces++] =
            (struct nj_generation_piece){.source = looking->source,
                                         .section = record->section,
                                         .is_packed = record->is_packed,
                                         .raw_bytes = record->raw_bytes,
                                         .stored_bytes = (uint32_t)record->payload.length_bytes,
                                         .crc32 = record->payload_crc32,
                                         .offset = record->payload_offset};
    }
    return status;
}

static enum nj_status check_tokens(const struct looking *looking,
                                   const struct nj_segment_record *record, struct nj_error *err)
{
    const struct nj_sequence *sequence = looking->wanted->sequence;
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, record->payload);
    for (uint32_t i = 0; i < record->section.count; i++) {
        uint64_t place = (uint64_t)record->section.first + i;
        nj_token token = (nj_token)nj_read_u32(&reader);
        if (place < sequence->n_tokens && token != sequence->tokens[place]) {
            return nj_fail(err, NJ_E_STATE, "its id %" PRIu64 " is not that of the item",
                           place);
        }
    }
    return NJ_OK;
}

/* Whether text state and output are those of the sequence; it can be told only where both have
 * the same ids. */
static enum nj_status check_text(const struct looking *looking,
                                 const struct nj_segment_record *record, struct nj_error *err)
{
    const struct nj_sequence *sequence = looking->wanted->sequence;
    uint8_t mark[NJ_OUTPUT_MARK_BYTES];
    size_t n_bytes = record->section.type == NJ_SEGMENT_SAMPLER ? nj_text_state_bytes(sequence)
                                                                : sizeof mark;
    if (looking->progress.n_tokens != sequence->n_tokens) {
        return NJ_OK;
    }
    uint8_t *wanted = malloc(n_bytes);
    if (wanted == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "compare a text: out of memory");
    }
    enum nj_status status = NJ_OK;
    if (record->section.type == NJ_SEGMENT_SAMPLER) {
        nj_text_state_encode(sequence, wanted);
    } else {
        status = nj_output_mark_encode(sequence, wanted, err);
    }
    if (status == NJ_OK && (record->payload.length_bytes != n_bytes ||
                            memcmp(record->payload.data, wanted, n_bytes) != 0)) {
        status = refuse(err, "its text is not that of the item");
    }
    free(wanted);
    return status;
}

static enum nj_status visit(void *context, const struct nj_segment_record *record,
                            struct nj_error *err)
{
    struct looking *looking = context;
    enum nj_status status = nj_snapshot_progress_take(&looking->progress, record, err);
    if (status != NJ_OK) {
        return status;
    }
    switch (record->section.type) {
    case NJ_SEGMENT_SNAP_BEGIN:
        return check_beginning(looking, err);
    case NJ_SEGMENT_RECURRENT:
    case NJ_SEGMENT_KV:
        return keep_piece(looking, record, err);
    case NJ_SEGMENT_TOKENS:
        return check_tokens(looking, record, err);
    case NJ_SEGMENT_SAMPLER:
    case NJ_SEGMENT_OUTPUT_MARK:
        return check_text(looking, record, err);
    default:
        return NJ_OK;
    }
}

/* --- one segment --- */

/* Only want of memory is not the segment's fault. */
static enum nj_status blame(enum nj_status status)
{
    return status == NJ_OK || status == NJ_E_MEMORY ? status : NJ_E_STATE;
}

/* Opens and verifies one file; it is the generation's afterwards. */
static enum nj_status look_at(struct looking *looking, struct nj_error *err)
{
    struct nj_generation *generation = looking->generation;
    struct nj_segment_source *source = &generation->sources[generation->n_sources];
    const struct nj_generation_wanted *wanted = looking->wanted;
    enum nj_status status =
        nj_segment_source_open(source, wanted->fs, wanted->directory_fd, looking->number, err);
    if (status != NJ_OK) {
        return blame(status);
    }
    looking->source = generation->n_sources++;
    generation->n_bytes += source->length_bytes;
    status = nj_segment_source_scan(source, visit, looking, &looking->scan, err);
    if (status != NJ_OK) {
        return blame(status);
    }
    enum nj_segment_verdict verdict = looking->scan.verdict;
    if (verdict != NJ_SEGMENT_WHOLE && verdict != NJ_SEGMENT_TAILED) {
        return nj_fail(err, NJ_E_STATE, "it is %s: %s", nj_segment_verdict_name(verdict),
                       looking->scan.complaint);
    }
    return NJ_OK;
}

/* --- the chain --- */

/* What the segment before must be. */
struct link {
    uint64_t number; /* 0: nothing before it is needed */
    uint32_t chain;
    uint32_t n_positions;
};

static struct link link_before(const struct looking *looking)
{
    return (struct link){.number = looking->scan.header.previous_number,
                         .chain = looking->scan.header.previous_chain,
                         .n_positions = looking->progress.shape.first_position};
}

static enum nj_status check_base(const struct link *link, struct nj_error *err)
{
    return link->n_positions == 0
               ? NJ_OK
               : refuse(err, "it names nothing that holds its first positions");
}

static enum nj_status look_at_previous(struct looking *looking, struct link *link,
                                       struct nj_error *err)
{
    if (looking->generation->n_sources == NJ_CHAIN_SEGMENTS_LIMIT ||
        link->number >= looking->number) {
        return refuse(err, "its chain does not end");
    }
    looking->number = link->number;
    looking->progress = (struct nj_snapshot_progress){.n_tokens = 0};
    enum nj_status status = look_at(looking, err);
    if (status != NJ_OK) {
        char name[NJ_SEGMENT_NAME_BYTES];
        return nj_prefix(err, status, "it needs %s", nj_segment_name(link->number, name));
    }
    if (looking->scan.commit_chain != link->chain ||
        looking->progress.shape.n_positions != link->n_positions) {
        return nj_fail(err, NJ_E_STATE,
                       "segment %" PRIu64 " is not the one that it was written after",
                       link->number);
    }
    *link = link_before(looking);
    return NJ_OK;
}

static enum nj_status follow(struct looking *looking, struct nj_error *err)
{
    enum nj_status status = look_at(looking, err);
    if (status != NJ_OK) {
        return status;
    }
    looking->generation->shape = looking->progress.shape;
    looking->generation->chain = looking->scan.commit_chain;
    struct link link = link_before(looking);
    while (link.number != 0 && status == NJ_OK) {
        status = look_at_previous(looking, &link, err);
    }
    return status == NJ_OK ? check_base(&link, err) : status;
}

enum nj_status nj_generation_open(struct nj_generation *generation,
                                  const struct nj_generation_wanted *wanted, uint64_t number,
                                  struct nj_error *err)
{
    memset(generation, 0, sizeof *generation);
    struct looking *looking = calloc(1, sizeof *looking);
    if (looking == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "look at a snapshot: out of memory");
    }
    looking->generation = generation;
    looking->wanted = wanted;
    looking->number = number;
    enum nj_status status = follow(looking, err);
    free(looking);
    if (status != NJ_OK) {
        nj_generation_close(generation);
    }
    return status;
}

void nj_generation_close(struct nj_generation *generation)
{
    for (uint32_t i = 0; i < generation->n_sources; i++) {
        nj_segment_source_close(&generation->sources[i]);
    }
    free(generation->pieces);
    memset(generation, 0, sizeof *generation);
}
