#include "runner/log_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/log_window.h"

/* One of the log's files, as far as its beginning tells. */
struct segment {
    bool is_read; /* the first, or one that says what it continues */
    struct nj_log_continuation continuation;
    bool is_continued;   /* by a later one, */
    uint64_t kept_bytes; /* which says that so much of this one counts, */
    uint32_t chain;      /* and ends with this */
};

const char *nj_log_segment_name(const char *log_name, uint32_t segment,
                                char name[NJ_LOG_NAME_BYTES])
{
    if (segment <= 1) {
        (void)snprintf(name, NJ_LOG_NAME_BYTES, "%s", log_name);
    } else {
        (void)snprintf(name, NJ_LOG_NAME_BYTES, "%s.%u", log_name, segment);
    }
    return name;
}

void nj_log_continuation_encode(const struct nj_log_continuation *continuation,
                                uint8_t out[NJ_LOG_CONTINUATION_BYTES])
{
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, out, NJ_LOG_CONTINUATION_BYTES);
    nj_write_u32(&writer, continuation->segment);
    nj_write_u32(&writer, continuation->before);
    nj_write_u64(&writer, continuation->kept_bytes);
    nj_write_u32(&writer, continuation->chain);
    nj_write_u32(&writer, 0);
}

/* False for a record that does not say how segment `number` continues an earlier one. */
static bool decode_continuation(const struct nj_record *record, uint32_t number,
                                struct nj_log_continuation *continuation)
{
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, record->payload);
    continuation->segment = nj_read_u32(&reader);
    continuation->before = nj_read_u32(&reader);
    continuation->kept_bytes = nj_read_u64(&reader);
    continuation->chain = nj_read_u32(&reader);
    return record->type == NJ_LOG_RECORD_CONTINUATION && !reader.failed &&
           continuation->segment == number && continuation->before >= 1 &&
           continuation->before < number;
}

/* The number of the segment that a file is, by its name; 0 for another file. */
static uint32_t segment_of(const char *log_name, const char *name)
{
    size_t length = strlen(log_name);
    if (strncmp(name, log_name, length) != 0) {
        return 0;
    }
    if (name[length] == '\0') {
        return 1;
    }
    char canonical[NJ_LOG_NAME_BYTES];
    unsigned long number = name[length] == '.' ? strtoul(name + length + 1, NULL, 10) : 0;
    bool is_possible = number >= 2 && number <= NJ_LOG_SEGMENTS_LIMIT;
    return is_possible &&
                   strcmp(nj_log_segment_name(log_name, (uint32_t)number, canonical), name) == 0
               ? (uint32_t)number
               : 0;
}

struct listing {
    const char *log_name;
    uint32_t newest;
};

static enum nj_status note_name(void *context, const char *name, struct nj_error *err)
{
    struct listing *listing = context;
    (void)err;
    uint32_t number = segment_of(listing->log_name, name);
    listing->newest = number > listing->newest ? number : listing->newest;
    return NJ_OK;
}

/* Whether this log is one that we may touch at all. */
static enum nj_status check_kind(const struct nj_log_file_place *place, const char *name,
                                 const struct nj_record_log_scan *scan, struct nj_error *err)
{
    if (scan->end == NJ_LOG_END_NEWER) {
        return nj_fail(err, NJ_E_STATE,
                       "%s has format version %u, written by a newer nightjar (this one knows "
                       "%u): nothing was touched",
                       name, scan->identity.format_version, place->identity.format_version);
    }
    bool has_header = scan->valid_bytes >= NJ_RECORD_LOG_HEADER_BYTES;
    if (has_header && scan->identity.kind != place->identity.kind) {
        return nj_fail(err, NJ_E_STATE, "%s is another kind of log: nothing was touched", name);
    }
    return NJ_OK;
}

/* Another kind's records must not reach the visit, so the header is judged first. */
struct glance {
    uint32_t number;
    struct nj_log_continuation continuation;
    bool is_continuation;
};

static enum nj_status visit_first(void *context, const struct nj_record *record,
                                  struct nj_error *err)
{
    struct glance *glance = context;
    (void)err;
    glance->is_continuation =
        decode_continuation(record, glance->number, &glance->continuation);
    return NJ_E_STOPPED;
}

/* Looks at the beginning of one file. */
static enum nj_status glance_at(const struct nj_log_file_place *place, uint32_t number,
                                struct segment *segment, struct nj_error *err)
{
    char name[NJ_LOG_NAME_BYTES];
    struct nj_log_window window;
    struct nj_record_log_scan scan;
    struct glance glance = {.number = number};
    bool exists = false;
    (void)nj_log_segment_name(place->name, number, name);
    enum nj_status status =
        nj_log_window_open(&window, place->fs, place->directory_fd, name, &exists, err);
    if (status != NJ_OK || !exists) {
        return status;
    }
    struct nj_record_source source = {
        .context = &window, .length_bytes = window.length_bytes, .view = nj_log_window_view};
    status = nj_record_log_scan_source(&source, place->identity.format_version, visit_first,
                                       &glance, &scan, err);
    if (status == NJ_OK || status == NJ_E_STOPPED) {
        status = check_kind(place, name, &scan, err);
    }
    nj_log_window_close(&window);
    segment->is_read = number == 1 || glance.is_continuation;
    segment->continuation = glance.continuation;
    return status;
}

/* `segments` are numbered from 0 to newest; the first is no segment. */
static enum nj_status glance_at_all(const struct nj_log_file_place *place,
                                    struct segment *segments, uint32_t newest,
                                    struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (uint32_t i = 1; i <= newest && status == NJ_OK; i++) {
        status = glance_at(place, i, &segments[i], err);
        if (status == NJ_OK && i > 1 && segments[i].is_read) {
            const struct nj_log_continuation *continuation = &segments[i].continuation;
            struct segment *before = &segments[continuation->before];
            before->is_continued = true;
            before->kept_bytes = continuation->kept_bytes;
            before->chain = continuation->chain;
        }
    }
    return status;
}

/* Hears of every record first, to tell a record that cannot be true from a visit that failed.
 */
struct sceptic {
    nj_record_visit *visit;
    void *context;
    bool is_refused;
};

static enum nj_status visit_sceptically(void *context, const struct nj_record *record,
                                        struct nj_error *err)
{
    struct sceptic *sceptic = context;
    if (record->type == NJ_LOG_RECORD_CONTINUATION) {
        return NJ_OK;
    }
    enum nj_status status = sceptic->visit(sceptic->context, record, err);
    sceptic->is_refused = status == NJ_E_STATE;
    return status;
}

static enum nj_status scan_window(struct nj_log_window *window, uint64_t length_bytes,
                                  uint32_t version, nj_record_visit *visit, void *context,
                                  struct nj_record_log_scan *scan, struct nj_error *err)
{
    struct nj_error failure = {0};
    struct sceptic sceptic = {.visit = visit, .context = context};
    struct nj_record_source source = {
        .context = window, .length_bytes = length_bytes, .view = nj_log_window_view};
    enum nj_status status = nj_record_log_scan_source(&source, version, visit_sceptically,
                                                      &sceptic, scan, &failure);
    if (status == NJ_E_STATE && sceptic.is_refused) {
        scan->end = NJ_LOG_END_DAMAGED;
        (void)snprintf(scan->complaint, sizeof scan->complaint, "%.150s", failure.text);
        return NJ_OK;
    }
    return status == NJ_OK ? NJ_OK : nj_fail(err, status, "%s", failure.text);
}

static void note_damage(struct nj_log_found *found, uint32_t number, const char *complaint)
{
    if (found->n_damaged++ == 0) {
        found->damaged = number;
        (void)snprintf(found->complaint, sizeof found->complaint, "%.150s", complaint);
    }
}

/* A segment that was continued, and of which less verifies than was durable then. */
static void check_continued(struct nj_log_found *found, const struct segment *segment)
{
    const struct nj_record_log_scan *scan = &found->scan;
    bool is_whole = scan->valid_bytes == segment->kept_bytes &&
                    (segment->kept_bytes == 0 || scan->cursor.chain == segment->chain);
    if (segment->is_continued && !is_whole) {
        note_damage(found, found->segment,
                    scan->complaint[0] != '\0' ? scan->complaint
                                               : "it is not what was continued");
    }
}

static enum nj_status read_segment(const struct nj_log_file_place *place, uint32_t number,
                                   const struct segment *segment, nj_record_visit *visit,
                                   void *context, struct nj_log_found *found,
                                   struct nj_error *err)
{
    char name[NJ_LOG_NAME_BYTES];
    struct nj_log_window window;
    bool exists = false;
    (void)nj_log_segment_name(place->name, number, name);
    enum nj_status status =
        nj_log_window_open(&window, place->fs, place->directory_fd, name, &exists, err);
    if (status != NJ_OK || !exists) {
        return status;
    }
    bool is_cut = segment->is_continued && segment->kept_bytes < window.length_bytes;
    found->exists = true;
    found->segment = number;
    found->length_bytes = window.length_bytes;
    status = scan_window(&window, is_cut ? segment->kept_bytes : window.length_bytes,
                         place->identity.format_version, visit, context, &found->scan, err);
    nj_log_window_close(&window);
    if (status == NJ_OK) {
        check_continued(found, segment);
    }
    return status;
}

enum nj_status nj_log_file_read(const struct nj_log_file_place *place, nj_record_visit *visit,
                                void *context, struct nj_log_found *found, struct nj_error *err)
{
    struct listing listing = {.log_name = place->name};
    *found = (struct nj_log_found){.scan = {.end = NJ_LOG_END_NO_HEADER}};
    enum nj_status status =
        nj_file_list(place->fs, place->directory_fd, note_name, &listing, err);
    if (status != NJ_OK) {
        return status;
    }
    struct segment *segments = calloc((size_t)listing.newest + 1, sizeof *segments);
    if (segments == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "read %s: out of memory", place->name);
    }
    found->newest = listing.newest;
    status = glance_at_all(place, segments, listing.newest, err);
    for (uint32_t i = 1; i <= listing.newest && status == NJ_OK; i++) {
        if (segments[i].is_read) {
            status = read_segment(place, i, &segments[i], visit, context, found, err);
        } else if (segments[i].is_continued && segments[i].kept_bytes > 0) {
            note_damage(found, i, "it is missing, or its beginning does not verify");
        }
    }
    free(segments);
    return status;
}
