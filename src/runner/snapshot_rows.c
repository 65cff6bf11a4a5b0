#include "runner/snapshot_rows.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/folder.h"
#include "snapshot/folder.h"

const char *nj_snapshot_use_name(enum nj_snapshot_use use)
{
    static const char *const names[] = {"current", "previous", "chained", "spare", "unusable"};
    return names[use];
}

/* --- one segment --- */

static struct nj_snapshot_info info_of(const struct nj_item_states *item, size_t index,
                                       uint64_t journal_number)
{
    const struct nj_inspection *inspection = &item->inspections[index];
    const struct nj_segment_header *header = &inspection->scan.header;
    struct nj_snapshot_info info = {.use = item->uses[index],
                                    .item_index = item->item_index,
                                    .sample = header->sample,
                                    .generation = header->number,
                                    .previous = header->previous_number,
                                    .is_in_journal =
                                        journal_number != 0 && header->number == journal_number,
                                    .n_positions = inspection->shape.n_positions,
                                    .first_position = inspection->shape.first_position,
                                    .n_tokens = inspection->n_tokens,
                                    .n_prompt_tokens = inspection->text.n_prompt,
                                    .file_bytes = inspection->file_bytes,
                                    .raw_bytes = inspection->raw_bytes,
                                    .stored_bytes = inspection->stored_bytes,
                                    .written_unix_ms = inspection->written_unix_ms};
    (void)snprintf(info.file, sizeof info.file, "items/%" PRIu64 "/%.48s", item->item_index,
                   inspection->name);
    if (info.use == NJ_SNAPSHOT_UNUSABLE) {
        (void)snprintf(info.complaint, sizeof info.complaint, "%s", inspection->complaint);
    }
    return info;
}

static void write_hex(const struct nj_digest *digest, char hex[NJ_SNAPSHOT_HEX_BYTES])
{
    static const struct nj_digest none;
    if (memcmp(digest->bytes, none.bytes, sizeof none.bytes) == 0) {
        hex[0] = '\0';
    } else {
        nj_digest_to_hex(digest, hex);
    }
}

static void fill_identity(struct nj_snapshot_details *details,
                          const struct nj_inspection *inspection)
{
    const struct nj_segment_header *header = &inspection->scan.header;
    const struct nj_snapshot_shape *shape = &inspection->shape;
    details->format_version = inspection->scan.format_version;
    details->numerics_version = header->numerics_version;
    details->latent_norm_eps = header->latent_norm_eps;
    details->n_layers = shape->n_layers;
    details->position_values = shape->position_values;
    details->layer_values = shape->layer_values;
    for (uint32_t layer = 0; layer < shape->n_layers; layer++) {
        details->n_recurrent_layers += shape->mixers[layer] != NJ_MIXER_LATENT ? 1 : 0;
    }
    write_hex(&header->weights, details->weights);
    write_hex(&header->template, details->chat_template);
    write_hex(&header->item, details->item_digest);
}

static const char *part_name(uint32_t part)
{
    switch (part) {
    case 1:
        return "reasoning";
    case 2:
        return "response";
    default:
        return "structure";
    }
}

static void fill_text(struct nj_snapshot_details *details, const struct nj_inspected_text *text)
{
    details->seed = text->seed;
    details->n_reasoning_tokens = text->n_reasoning;
    details->n_tag_tokens = text->n_tag_ids;
    details->n_pending_bytes = text->n_pending;
    details->n_held_bytes = text->n_held;
    details->response_bytes = text->response_bytes;
    details->reasoning_bytes = text->reasoning_bytes;
    (void)snprintf(details->part, sizeof details->part, "%s", part_name(text->part));
    write_hex(&text->output, details->output_sha256);
}

static struct nj_snapshot_section section_of(const struct nj_inspected_section *section)
{
    bool has_layer = section->type == NJ_SEGMENT_RECURRENT || section->type == NJ_SEGMENT_KV;
    return (struct nj_snapshot_section){.name = nj_segment_record_name(section->type),
                                        .has_layer = has_layer,
                                        .layer = section->layer,
                                        .n_records = section->n_records,
                                        .n_packed = section->n_packed,
                                        .raw_bytes = section->raw_bytes,
                                        .stored_bytes = section->stored_bytes};
}

static enum nj_status show(const struct nj_item_states *item, size_t index,
                           uint64_t journal_number, nj_snapshot_details_visit *visit,
                           void *context, struct nj_error *err)
{
    const struct nj_inspection *inspection = &item->inspections[index];
    struct nj_snapshot_section *sections = calloc(inspection->n_sections + 1, sizeof *sections);
    if (sections == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "show a segment: out of memory");
    }
    for (size_t i = 0; i < inspection->n_sections; i++) {
        sections[i] = section_of(&inspection->sections[i]);
    }
    struct nj_snapshot_details details = {.info = info_of(item, index, journal_number),
                                          .sections = sections,
                                          .n_sections = inspection->n_sections};
    fill_identity(&details, inspection);
    fill_text(&details, &inspection->text);
    enum nj_status status = visit(context, &details, err);
    free(sections);
    return status;
}

/* --- a run folder --- */

struct listing {
    const struct nj_run_states *states;
    nj_snapshot_visit *visit;
    void *context;
};

static enum nj_status list_item(void *context, const struct nj_item_states *item,
                                struct nj_error *err)
{
    const struct listing *listing = context;
    uint64_t journal_number = nj_run_states_journal_number(listing->states, item->item_index);
    enum nj_status status = NJ_OK;
    for (size_t i = 0; i < item->n_segments && status == NJ_OK; i++) {
        struct nj_snapshot_info info = info_of(item, i, journal_number);
        status = listing->visit(listing->context, &info, err);
    }
    return status;
}

enum nj_status nj_snapshot_list_through(const struct nj_file_system *fs, const char *run_folder,
                                        nj_snapshot_visit *visit, void *context,
                                        struct nj_error *err)
{
    struct nj_run_states states;
    struct listing listing = {.states = &states, .visit = visit, .context = context};
    enum nj_status status = nj_run_states_open(&states, fs, run_folder, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_run_states_visit(&states, false, list_item, &listing, err);
    nj_run_states_close(&states);
    return status;
}

enum nj_status nj_snapshot_list(const char *run_folder, nj_snapshot_visit *visit, void *context,
                                struct nj_error *err)
{
    return nj_snapshot_list_through(nj_file_system_real(), run_folder, visit, context, err);
}

/* --- one segment of a folder, or a file --- */

bool nj_path_is_directory(const struct nj_file_system *fs, const char *path)
{
    int fd = fs->open_at(fs->context, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd >= 0) {
        (void)fs->close(fs->context, fd); /* only looked at */
    }
    return fd >= 0;
}

enum nj_status nj_segment_path_open(const struct nj_file_system *fs, const char *path,
                                    int *directory_fd, uint64_t *number, struct nj_error *err)
{
    char directory[NJ_FOLDER_PATH_LIMIT_BYTES];
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    int length = slash == NULL ? 1 : (int)(slash + 1 - path);
    uint64_t found = 0;
    if (!nj_run_folder_exists(fs, path)) {
        return nj_fail(err, NJ_E_NOT_FOUND, "there is no %s", path);
    }
    if (!nj_segment_name_read(base, &found)) {
        return nj_fail(err, NJ_E_INPUT,
                       "%s is neither a run folder nor a segment: those are named "
                       "segment-NNNNNN.snap",
                       path);
    }
    if (length >= (int)sizeof directory) {
        return nj_fail(err, NJ_E_USAGE, "the path is too long: %.60s...", path);
    }
    (void)snprintf(directory, sizeof directory, "%.*s", length, slash == NULL ? "." : path);
    enum nj_status status = nj_file_open_directory(fs, directory, false, directory_fd, err);
    if (status == NJ_OK) {
        *number = found;
    }
    return status;
}

/* The item is the one that the file names: its folder may have been copied anywhere. */
static enum nj_status show_file(const struct nj_file_system *fs, const char *path,
                                nj_snapshot_details_visit *visit, void *context,
                                struct nj_error *err)
{
    int directory_fd = -1;
    uint64_t number = 0;
    struct nj_item_states item;
    struct nj_inspection first;
    enum nj_status status = nj_segment_path_open(fs, path, &directory_fd, &number, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_inspect_segment(fs, directory_fd, number, false, &first, err);
    if (status == NJ_OK) {
        uint64_t item_index = first.scan.header.item_index;
        nj_inspection_deinit(&first);
        status = nj_item_states_read(&item, fs, directory_fd, item_index, false, err);
    }
    (void)fs->close(fs->context, directory_fd); /* only read from */
    if (status != NJ_OK) {
        return status;
    }
    size_t index = nj_item_states_find(&item, number);
    status = index < item.n_segments
                 ? show(&item, index, 0, visit, context, err)
                 : nj_fail(err, NJ_E_NOT_FOUND, "%s went while it was looked at", path);
    nj_item_states_deinit(&item);
    return status;
}

struct choosing {
    const struct nj_run_states *states;
    const struct nj_snapshot_choice *choice;
    nj_snapshot_details_visit *visit;
    void *context;
    bool was_found;
};

static enum nj_status show_chosen(void *context, const struct nj_item_states *item,
                                  struct nj_error *err)
{
    struct choosing *choosing = context;
    const struct nj_snapshot_choice *choice = choosing->choice;
    if (item->item_index != choice->item_index) {
        return NJ_OK;
    }
    size_t index = choice->generation > 0 ? nj_item_states_find(item, choice->generation)
                                          : nj_item_states_current(item);
    if (index == item->n_segments && choice->generation == 0) {
        index = item->n_segments - 1; /* none serves: then the newest, with what is wrong */
    }
    if (index == item->n_segments) {
        return NJ_OK;
    }
    choosing->was_found = true;
    uint64_t journal_number = nj_run_states_journal_number(choosing->states, item->item_index);
    return show(item, index, journal_number, choosing->visit, choosing->context, err);
}

enum nj_status nj_snapshot_show_through(const struct nj_file_system *fs, const char *path,
                                        const struct nj_snapshot_choice *choice,
                                        nj_snapshot_details_visit *visit, void *context,
                                        struct nj_error *err)
{
    struct nj_run_states states;
    struct choosing choosing = {
        .states = &states, .choice = choice, .visit = visit, .context = context};
    if (!nj_path_is_directory(fs, path)) {
        return show_file(fs, path, visit, context, err);
    }
    if (choice == NULL) {
        return nj_fail(err, NJ_E_USAGE, "%s is a run folder: of which item?", path);
    }
    enum nj_status status = nj_run_states_open(&states, fs, path, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_run_states_visit(&states, false, show_chosen, &choosing, err);
    nj_run_states_close(&states);
    if (status == NJ_OK && !choosing.was_found) {
        return nj_fail(err, NJ_E_NOT_FOUND, "%s has no such segment of item %" PRIu64, path,
                       choice->item_index);
    }
    return status;
}

enum nj_status nj_snapshot_show(const char *path, const struct nj_snapshot_choice *choice,
                                nj_snapshot_details_visit *visit, void *context,
                                struct nj_error *err)
{
    return nj_snapshot_show_through(nj_file_system_real(), path, choice, visit, context, err);
}
