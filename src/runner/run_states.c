#include "runner/run_states.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "runner/journal.h"
#include "snapshot/folder.h"

/* --- the logs --- */

static enum nj_status note_segment(struct nj_run_states *states,
                                   const struct nj_journal_entry *entry, struct nj_error *err)
{
    for (size_t i = 0; i < states->n_segments; i++) {
        if (states->segments[i].item_index == entry->item_index) {
            states->segments[i].number = entry->segment_number;
            return NJ_OK;
        }
    }
    enum nj_status status =
        nj_vector_reserve(&states->segments, &states->segments_capacity,
                          sizeof *states->segments, states->n_segments + 1, err);
    if (status == NJ_OK) {
        states->segments[states->n_segments++] = (struct nj_journal_segment){
            .item_index = entry->item_index, .number = entry->segment_number};
    }
    return status;
}

/* A finished item has none any more, and there may be very many of these. */
static void forget_segment(struct nj_run_states *states, uint64_t item_index)
{
    for (size_t i = 0; i < states->n_segments; i++) {
        if (states->segments[i].item_index == item_index) {
            states->segments[i] = states->segments[--states->n_segments];
            return;
        }
    }
}

static enum nj_status visit_journal(void *context, const struct nj_record *record,
                                    struct nj_error *err)
{
    struct nj_run_states *states = context;
    struct nj_journal_entry entry;
    bool is_known = false;
    enum nj_status status = nj_journal_decode(record, &entry, &is_known, err);
    if (status != NJ_OK || !is_known) {
        return status;
    }
    if (entry.type == NJ_JOURNAL_DONE) {
        forget_segment(states, entry.item_index);
    } else if (entry.type == NJ_JOURNAL_IDENTITY) {
        states->n_segments = 0; /* what was said before was about another job's items */
    }
    return entry.type == NJ_JOURNAL_SNAPSHOT ? note_segment(states, &entry, err) : NJ_OK;
}

static enum nj_status read_logs(struct nj_run_states *states, const char *path,
                                struct nj_error *err)
{
    struct nj_run_logs_place place = {
        .fs = states->fs, .directory_fd = states->directory_fd, .n_vocabulary = INT32_MAX};
    struct nj_log_file_place journal = {
        .fs = states->fs,
        .directory_fd = states->directory_fd,
        .name = "journal.log",
        .identity = {.kind = NJ_JOURNAL_KIND, .format_version = NJ_JOURNAL_VERSION}};
    struct nj_log_found found;
    enum nj_status status = nj_run_logs_read(&states->logs, &place, &states->history, err);
    if (status == NJ_OK) {
        status = nj_log_file_read(&journal, visit_journal, states, &found, err);
    }
    if (status != NJ_OK) {
        return nj_prefix(err, status, "%s", path);
    }
    if (!states->history.has_identity && states->history.n_item_records == 0) {
        return nj_fail(err, NJ_E_STATE, "%s is no run folder: it has no run's logs", path);
    }
    return NJ_OK;
}

enum nj_status nj_run_states_open(struct nj_run_states *states, const struct nj_file_system *fs,
                                  const char *path, struct nj_error *err)
{
    *states = (struct nj_run_states){.fs = fs, .directory_fd = -1};
    enum nj_status status = nj_file_open_directory(fs, path, false, &states->directory_fd, err);
    if (status == NJ_E_NOT_FOUND) {
        return nj_fail(err, status, "there is no run folder %s", path);
    }
    if (status != NJ_OK) {
        return nj_prefix(err, status, "open the run folder %s", path);
    }
    states->is_open = true;
    status = read_logs(states, path, err);
    if (status != NJ_OK) {
        nj_run_states_close(states);
    }
    return status;
}

void nj_run_states_close(struct nj_run_states *states)
{
    if (!states->is_open) {
        return;
    }
    nj_run_logs_close(&states->logs);
    nj_history_deinit(&states->history);
    free(states->segments);
    (void)states->fs->close(states->fs->context, states->directory_fd); /* only read from */
    *states = (struct nj_run_states){.directory_fd = -1};
}

uint64_t nj_run_states_journal_number(const struct nj_run_states *states, uint64_t item_index)
{
    for (size_t i = 0; i < states->n_segments; i++) {
        if (states->segments[i].item_index == item_index) {
            return states->segments[i].number;
        }
    }
    return 0;
}

const struct nj_restored *nj_run_states_ids(const struct nj_run_states *states,
                                            const struct nj_digest *item_digest,
                                            uint64_t item_index)
{
    const struct nj_findings *findings = &states->logs.findings;
    uint64_t tag = nj_item_tag(item_digest);
    for (size_t i = 0; i < findings->n_ids; i++) {
        if (findings->ids[i].item_index == item_index && findings->ids[i].item_tag == tag) {
            return &findings->ids[i].restored;
        }
    }
    return NULL;
}

bool nj_run_states_is_done(const struct nj_run_states *states,
                           const struct nj_digest *item_digest, uint64_t item_index)
{
    const struct nj_findings *findings = &states->logs.findings;
    for (size_t i = 0; i < findings->n_results; i++) {
        const struct nj_found_result *result = &findings->results[i];
        if (result->item_index == item_index &&
            memcmp(result->item_digest.bytes, item_digest->bytes, NJ_DIGEST_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

/* --- the segments of an item --- */

void nj_item_states_deinit(struct nj_item_states *states)
{
    for (size_t i = 0; i < states->n_segments; i++) {
        nj_inspection_deinit(&states->inspections[i]);
    }
    free(states->inspections);
    free(states->uses);
    memset(states, 0, sizeof *states);
}

size_t nj_item_states_find(const struct nj_item_states *states, uint64_t number)
{
    char name[NJ_SEGMENT_NAME_BYTES];
    nj_segment_name(number, name);
    size_t i = 0;
    while (i < states->n_segments && strcmp(states->inspections[i].name, name) != 0) {
        i++;
    }
    return i;
}

size_t nj_item_states_current(const struct nj_item_states *states)
{
    size_t i = 0;
    while (i < states->n_segments && states->uses[i] != NJ_SNAPSHOT_CURRENT) {
        i++;
    }
    return i;
}

static void complain(struct nj_inspection *inspection, const char *text)
{
    inspection->is_sound = false;
    (void)snprintf(inspection->complaint, sizeof inspection->complaint, "%s", text);
}

static void complain_of_number(struct nj_inspection *inspection, const char *before,
                               uint64_t number, const char *behind)
{
    char text[160];
    (void)snprintf(text, sizeof text, "%s%" PRIu64 "%s", before, number, behind);
    complain(inspection, text);
}

/* The segment that it names was judged before it: that one has the lower number. */
static void judge_chain(const struct nj_item_states *states, size_t index)
{
    struct nj_inspection *inspection = &states->inspections[index];
    const struct nj_segment_header *header = &inspection->scan.header;
    uint64_t number = header->previous_number;
    if (number == 0) {
        if (inspection->shape.first_position != 0) {
            complain(inspection, "it names nothing that holds its first positions");
        }
        return;
    }
    size_t before = nj_item_states_find(states, number);
    const struct nj_inspection *previous = &states->inspections[before];
    if (before >= index) {
        complain_of_number(inspection, "it needs segment ", number, ", which is missing");
    } else if (!previous->is_sound) {
        complain_of_number(inspection, "it needs segment ", number, ", which is unusable");
    } else if (previous->scan.commit_chain != header->previous_chain ||
               previous->shape.n_positions != inspection->shape.first_position) {
        complain_of_number(inspection, "segment ", number,
                           " is not the one that it was written after");
    }
}

/* What a sound segment says of itself against its place. */
static void judge(const struct nj_item_states *states, size_t index)
{
    struct nj_inspection *inspection = &states->inspections[index];
    const struct nj_segment_header *header = &inspection->scan.header;
    if (!inspection->is_sound) {
        return;
    }
    if (nj_item_states_find(states, header->number) != index) {
        complain_of_number(inspection, "it is segment ", header->number, " under another name");
    } else if (header->item_index != states->item_index) {
        complain_of_number(inspection, "it is of item ", header->item_index, "");
    } else {
        judge_chain(states, index);
    }
}

static void mark_chain(const struct nj_item_states *states, size_t index)
{
    uint64_t number = states->inspections[index].scan.header.previous_number;
    while (number != 0) {
        size_t i = nj_item_states_find(states, number);
        if (i == states->n_segments || states->uses[i] != NJ_SNAPSHOT_SPARE) {
            return;
        }
        states->uses[i] = NJ_SNAPSHOT_CHAINED;
        number = states->inspections[i].scan.header.previous_number;
    }
}

/* From the newest: what a resume would try first. */
static void say_uses(const struct nj_item_states *states)
{
    size_t n_found = 0;
    size_t found[2];
    for (size_t i = 0; i < states->n_segments; i++) {
        states->uses[i] =
            states->inspections[i].is_sound ? NJ_SNAPSHOT_SPARE : NJ_SNAPSHOT_UNUSABLE;
    }
    for (size_t i = states->n_segments; i > 0 && n_found < 2; i--) {
        if (states->inspections[i - 1].is_sound) {
            found[n_found] = i - 1;
            states->uses[i - 1] = n_found == 0 ? NJ_SNAPSHOT_CURRENT : NJ_SNAPSHOT_PREVIOUS;
            n_found++;
        }
    }
    for (size_t i = 0; i < n_found; i++) {
        mark_chain(states, found[i]);
    }
}

static enum nj_status add_segment(struct nj_item_states *states,
                                  const struct nj_file_system *fs, int directory_fd,
                                  uint64_t number, bool unpacks, struct nj_error *err)
{
    struct nj_inspection *inspection = &states->inspections[states->n_segments];
    struct nj_error why;
    enum nj_status status =
        nj_inspect_segment(fs, directory_fd, number, unpacks, inspection, &why);
    if (status == NJ_E_NOT_FOUND) {
        return NJ_OK; /* a run works here, and has removed it since */
    }
    if (status != NJ_OK) {
        return nj_fail(err, status, "%s", why.text);
    }
    states->n_segments += 1;
    judge(states, states->n_segments - 1);
    return NJ_OK;
}

static enum nj_status add_segments(struct nj_item_states *states,
                                   const struct nj_file_system *fs, int directory_fd,
                                   const struct nj_segment_listing *listing, bool unpacks,
                                   struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    states->inspections = calloc(listing->list.n_numbers + 1, sizeof *states->inspections);
    states->uses = calloc(listing->list.n_numbers + 1, sizeof *states->uses);
    if (states->inspections == NULL || states->uses == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "look at %zu segments: out of memory",
                       listing->list.n_numbers);
    }
    for (size_t i = 0; i < listing->list.n_numbers && status == NJ_OK; i++) {
        status = add_segment(states, fs, directory_fd, listing->list.numbers[i], unpacks, err);
    }
    say_uses(states);
    return status;
}

enum nj_status nj_item_states_read(struct nj_item_states *states,
                                   const struct nj_file_system *fs, int directory_fd,
                                   uint64_t item_index, bool unpacks, struct nj_error *err)
{
    struct nj_segment_listing listing = {0};
    *states = (struct nj_item_states){.item_index = item_index};
    enum nj_status status = nj_segment_list(fs, directory_fd, &listing, err);
    if (status == NJ_OK) {
        status = add_segments(states, fs, directory_fd, &listing, unpacks, err);
    }
    nj_segment_listing_deinit(&listing);
    if (status != NJ_OK) {
        nj_item_states_deinit(states);
    }
    return status;
}

/* --- all items --- */

struct item_list {
    uint64_t *items;
    size_t n_items;
    size_t capacity;
};

static enum nj_status note_item(void *context, uint64_t item_index, struct nj_error *err)
{
    struct item_list *list = context;
    enum nj_status status = nj_vector_reserve(&list->items, &list->capacity,
                                              sizeof *list->items, list->n_items + 1, err);
    if (status == NJ_OK) {
        list->items[list->n_items++] = item_index;
    }
    return status;
}

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;
    return (*a > *b) - (*a < *b);
}

static enum nj_status visit_item(const struct nj_run_states *states, uint64_t item_index,
                                 bool unpacks, nj_item_states_visit *visit, void *context,
                                 struct nj_error *err)
{
    int directory_fd = -1;
    struct nj_item_states item;
    enum nj_status status = nj_segment_folder_open(states->fs, states->directory_fd, item_index,
                                                   false, &directory_fd, err);
    if (status != NJ_OK || directory_fd < 0) {
        return status;
    }
    status = nj_item_states_read(&item, states->fs, directory_fd, item_index, unpacks, err);
    (void)states->fs->close(states->fs->context, directory_fd); /* only read from */
    if (status != NJ_OK) {
        return nj_prefix(err, status, "items/%" PRIu64, item_index);
    }
    status = item.n_segments > 0 ? visit(context, &item, err) : NJ_OK;
    nj_item_states_deinit(&item);
    return status;
}

enum nj_status nj_run_states_visit(const struct nj_run_states *states, bool unpacks,
                                   nj_item_states_visit *visit, void *context,
                                   struct nj_error *err)
{
    struct item_list list = {.items = NULL};
    enum nj_status status =
        nj_segment_folders(states->fs, states->directory_fd, note_item, &list, err);
    if (status == NJ_OK && list.n_items > 0) {
        qsort(list.items, list.n_items, sizeof *list.items, compare);
    }
    for (size_t i = 0; i < list.n_items && status == NJ_OK; i++) {
        status = visit_item(states, list.items[i], unpacks, visit, context, err);
    }
    free(list.items);
    return status;
}
