#include "snapshot/slot_store.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "format/checksum.h"
#include "snapshot/slot_layout.h"
#include "snapshot/slot_name.h"

enum { PIECE_BYTES = 1 << 20 };

/* One file and its tables; `fd` is -1 when it is of no use. */
struct file {
    char name[NJ_SLOT_NAME_BYTES];
    int fd;
    struct nj_slot_layout layout;
    uint8_t *tables; /* both, one behind the other */
};

/* An entry that says there is a state. */
struct candidate {
    struct nj_slot_entry entry; /* points into its file's tables */
    size_t file;
    uint32_t seat;
    bool is_bad; /* it was tried in vain */
};

struct nj_slot_store {
    struct nj_slot_store_options options;
    struct nj_number_list listing;
    struct file *files; /* (listing.n_numbers) */
    struct candidate *candidates;
    size_t n_candidates;
    size_t candidates_capacity;
    uint64_t *items; /* (n_items) */
    size_t n_items;
    uint64_t highest_number;
};

/* --- opening --- */

static void close_file(const struct nj_slot_store *store, struct file *file)
{
    const struct nj_file_system *fs = store->options.fs;
    if (file->fd >= 0) {
        (void)fs->close(fs->context, file->fd); /* only read from */
    }
    free(file->tables);
    file->tables = NULL;
    file->fd = -1;
}

static enum nj_status check_shape(const struct nj_slot_header *header,
                                  const struct nj_dims *dims, struct nj_error *err)
{
    bool is_same = header->n_layers == dims->n_layers &&
                   header->position_values == nj_state_position_values(dims) &&
                   header->layer_values == nj_state_layer_values(dims);
    for (uint32_t layer = 0; layer < dims->n_layers && is_same; layer++) {
        is_same = header->mixers[layer] == dims->mixers[layer];
    }
    return is_same ? NJ_OK : nj_fail(err, NJ_E_STATE, "its states are of another model");
}

static enum nj_status read_header(const struct nj_slot_store *store, struct file *file,
                                  struct nj_error *err)
{
    uint8_t bytes[NJ_SLOT_HEADER_BYTES];
    struct nj_slot_header header;
    uint64_t length_bytes = 0;
    const struct nj_file_system *fs = store->options.fs;
    enum nj_status status =
        nj_file_read_exactly(fs, file->fd, bytes, sizeof bytes, 0, file->name, err);
    if (status == NJ_OK) {
        status = nj_slot_header_decode(bytes, &header, err);
    }
    if (status == NJ_OK) {
        status = check_shape(&header, store->options.dims, err);
    }
    if (status == NJ_OK) {
        status = nj_slot_layout_make(&header, &file->layout, err);
    }
    if (status == NJ_OK) {
        status = nj_file_length(fs, file->fd, &length_bytes, err);
    }
    if (status == NJ_OK && length_bytes < file->layout.file_bytes) {
        status = nj_fail(err, NJ_E_STATE, "it has %" PRIu64 " of %" PRIu64 " bytes",
                         length_bytes, file->layout.file_bytes);
    }
    return status;
}

static enum nj_status add_candidates(struct nj_slot_store *store, size_t index,
                                     const uint8_t *table, struct nj_error *err)
{
    const struct nj_slot_layout *layout = &store->files[index].layout;
    const struct nj_slot_header *header = &layout->header;
    for (uint32_t seat = 0; seat < header->n_seats; seat++) {
        struct candidate candidate = {.file = index, .seat = seat};
        nj_slot_table_get(layout, table, seat, &candidate.entry);
        if (candidate.entry.length == 0 || candidate.entry.length > header->n_positions ||
            candidate.entry.generation > 1) {
            continue;
        }
        enum nj_status status =
            nj_vector_reserve(&store->candidates, &store->candidates_capacity,
                              sizeof *store->candidates, store->n_candidates + 1, err);
        if (status != NJ_OK) {
            return status;
        }
        store->candidates[store->n_candidates++] = candidate;
    }
    return NJ_OK;
}

/* A table that is torn or was never written says nothing; the other one may. */
static enum nj_status read_tables(struct nj_slot_store *store, size_t index,
                                  struct nj_error *err)
{
    struct file *file = &store->files[index];
    uint64_t table_bytes = file->layout.table_bytes;
    enum nj_status status = NJ_OK;
    file->tables = malloc(NJ_SLOT_TABLES * table_bytes);
    if (file->tables == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "read the states on disk: out of memory");
    }
    for (uint32_t i = 0; i < NJ_SLOT_TABLES && status == NJ_OK; i++) {
        struct nj_slot_table table;
        uint8_t *bytes = file->tables + i * table_bytes;
        status = nj_file_read_exactly(store->options.fs, file->fd, bytes, table_bytes,
                                      nj_slot_table_offset(&file->layout, i), file->name, err);
        if (status == NJ_OK && nj_slot_table_verify(&file->layout, bytes, &table)) {
            status = add_candidates(store, index, bytes, err);
        }
    }
    return status;
}

static enum nj_status open_file(struct nj_slot_store *store, size_t index, struct nj_error *err)
{
    struct file *file = &store->files[index];
    nj_slot_name(store->listing.numbers[index], file->name);
    enum nj_status status = nj_file_open_read(store->options.fs, store->options.directory_fd,
                                              file->name, &file->fd, err);
    if (status != NJ_OK) {
        file->fd = -1;
        return status;
    }
    status = read_header(store, file, err);
    return status == NJ_OK ? read_tables(store, index, err) : status;
}

/* Only want of memory is not the file's fault. */
static enum nj_status open_files(struct nj_slot_store *store, struct nj_error *err)
{
    struct nj_error why;
    for (size_t i = 0; i < store->listing.n_numbers; i++) {
        enum nj_status status = open_file(store, i, &why);
        if (status == NJ_OK) {
            continue;
        }
        close_file(store, &store->files[i]);
        if (status == NJ_E_MEMORY) {
            return nj_fail(err, status, "%s", why.text);
        }
        nj_log_write(store->options.log, NJ_LOG_WARNING,
                     "%s is of no use, its items are read again from their ids: %s",
                     store->files[i].name, why.text);
    }
    return NJ_OK;
}

static bool has_item(const struct nj_slot_store *store, uint64_t item_index)
{
    for (size_t i = 0; i < store->n_items; i++) {
        if (store->items[i] == item_index) {
            return true;
        }
    }
    return false;
}

static enum nj_status list_items(struct nj_slot_store *store, struct nj_error *err)
{
    store->items = calloc(store->n_candidates + 1, sizeof *store->items);
    if (store->items == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "read the states on disk: out of memory");
    }
    for (size_t i = 0; i < store->n_candidates; i++) {
        uint64_t item_index = store->candidates[i].entry.item_index;
        if (!has_item(store, item_index)) {
            store->items[store->n_items++] = item_index;
        }
    }
    return NJ_OK;
}

static enum nj_status open_all(struct nj_slot_store *store, struct nj_error *err)
{
    const struct nj_slot_store_options *options = &store->options;
    enum nj_status status =
        nj_slot_list(options->fs, options->directory_fd, &store->listing, err);
    if (status != NJ_OK) {
        return status;
    }
    size_t n = store->listing.n_numbers;
    store->highest_number = n > 0 ? store->listing.numbers[n - 1] : 0;
    store->files = calloc(n + 1, sizeof *store->files);
    if (store->files == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "read the states on disk: out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        store->files[i].fd = -1;
    }
    status = open_files(store, err);
    return status == NJ_OK ? list_items(store, err) : status;
}

enum nj_status nj_slot_store_open(const struct nj_slot_store_options *options,
                                  struct nj_slot_store **store, struct nj_error *err)
{
    struct nj_slot_store *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "read the states on disk: out of memory");
    }
    made->options = *options;
    enum nj_status status = open_all(made, err);
    if (status != NJ_OK) {
        nj_slot_store_close(made);
        return status;
    }
    *store = made;
    return NJ_OK;
}

void nj_slot_store_close(struct nj_slot_store *store)
{
    if (store == NULL) {
        return;
    }
    for (size_t i = 0; store->files != NULL && i < store->listing.n_numbers; i++) {
        close_file(store, &store->files[i]);
    }
    free(store->files);
    free(store->candidates);
    free(store->items);
    nj_number_list_deinit(&store->listing);
    free(store);
}

uint64_t nj_slot_store_highest_number(const struct nj_slot_store *store)
{
    return store->highest_number;
}

size_t nj_slot_store_n_items(const struct nj_slot_store *store)
{
    return store->n_items;
}

uint64_t nj_slot_store_item(const struct nj_slot_store *store, size_t i)
{
    assert(i < store->n_items);
    return store->items[i];
}

/* --- loading --- */

static enum nj_status check_entry(const struct nj_slot_store *store,
                                  const struct candidate *candidate,
                                  const struct nj_snapshot_identity *identity,
                                  const struct nj_sequence *sequence, struct nj_error *err)
{
    const struct nj_slot_header *header = &store->files[candidate->file].layout.header;
    const struct nj_slot_entry *entry = &candidate->entry;
    struct nj_segment_header found = {.item_index = entry->item_index,
                                      .item = entry->item,
                                      .sample = entry->sample,
                                      .numerics_version = header->numerics_version,
                                      .kv_type = NJ_SEGMENT_KV_F32,
                                      .latent_norm_eps = header->latent_norm_eps,
                                      .weights = header->weights,
                                      .template = header->template};
    memcpy(found.job, identity->job, sizeof found.job);
    enum nj_status status = nj_snapshot_identity_check(&found, identity, err);
    if (status != NJ_OK) {
        return status;
    }
    if (entry->length >= sequence->n_tokens) {
        return nj_fail(err, NJ_E_STATE, "it is ahead of the token log");
    }
    return nj_slot_ids_crc32(sequence->tokens, entry->length) == entry->ids_crc32
               ? NJ_OK
               : nj_fail(err, NJ_E_STATE, "its ids are not those of the item");
}

/* Where a layer of the candidate lies, and in what steps it is read. */
struct part {
    uint64_t offset;
    uint64_t n_values;
    uint64_t piece_values;
};

static struct part part_of(const struct nj_slot_store *store, const struct candidate *candidate,
                           uint32_t layer)
{
    const struct nj_slot_layout *layout = &store->files[candidate->file].layout;
    const struct nj_slot_header *header = &layout->header;
    uint64_t n_fitting = PIECE_BYTES / sizeof(float);
    if (header->mixers[layer] != NJ_MIXER_LATENT) {
        return (struct part){.offset = nj_slot_recurrent_offset(
                                 layout, candidate->entry.generation, layer, candidate->seat),
                             .n_values = header->layer_values,
                             .piece_values = n_fitting};
    }
    uint64_t position_values = header->position_values;
    uint64_t n_positions = n_fitting / position_values;
    return (struct part){.offset = nj_slot_latent_offset(layout, layer, candidate->seat, 0),
                         .n_values = candidate->entry.length * position_values,
                         .piece_values =
                             (n_positions == 0 ? 1 : n_positions) * position_values};
}

/* NJ_E_STATE: it is of no use. */
static enum nj_status fill_layer(struct nj_slot_store *store, const struct candidate *candidate,
                                 uint32_t layer, struct nj_state *state, float *piece,
                                 struct nj_error *err)
{
    const struct file *file = &store->files[candidate->file];
    struct part part = part_of(store, candidate, layer);
    uint32_t crc32 = 0;
    enum nj_status status = NJ_OK;
    for (uint64_t done = 0; done < part.n_values && status == NJ_OK;
         done += part.piece_values) {
        uint64_t left = part.n_values - done;
        uint64_t n = left < part.piece_values ? left : part.piece_values;
        struct nj_bytes bytes = {.data = (const void *)piece,
                                 .length_bytes = n * sizeof *piece};
        if (nj_file_read_exactly(store->options.fs, file->fd, piece, bytes.length_bytes,
                                 part.offset + done * sizeof *piece, file->name,
                                 err) != NJ_OK) {
            return NJ_E_STATE;
        }
        crc32 = nj_crc32(crc32, bytes);
        status = nj_state_fill(state, layer, done, n, piece, err);
    }
    if (status == NJ_OK && crc32 != nj_slot_entry_crc32(&candidate->entry, layer)) {
        status =
            nj_fail(err, NJ_E_STATE, "its layer %" PRIu32 " is not what was written", layer);
    }
    return status;
}

static enum nj_status fill_state(struct nj_slot_store *store, const struct candidate *candidate,
                                 struct nj_state *state, struct nj_error *err)
{
    uint64_t position_bytes =
        (uint64_t)nj_state_position_values(store->options.dims) * sizeof(float);
    float *piece = malloc(position_bytes < PIECE_BYTES ? PIECE_BYTES : position_bytes);
    if (piece == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "take up a state from disk: out of memory");
    }
    enum nj_status status = nj_state_reserve(state, candidate->entry.length, err);
    nj_state_mark_broken(state);
    for (uint32_t layer = 0; layer < store->options.dims->n_layers && status == NJ_OK;
         layer++) {
        status = fill_layer(store, candidate, layer, state, piece, err);
    }
    free(piece);
    if (status == NJ_OK) {
        nj_state_advance(state, candidate->entry.length);
    } else {
        nj_state_reset(state);
    }
    return status;
}

/* The one that has read most, and more than `n_positions`; NULL: there is none. */
static struct candidate *best_of(struct nj_slot_store *store,
                                 const struct nj_snapshot_identity *identity,
                                 uint32_t n_positions)
{
    struct candidate *best = NULL;
    for (size_t i = 0; i < store->n_candidates; i++) {
        struct candidate *candidate = &store->candidates[i];
        bool is_of_item = candidate->entry.item_index == identity->item_index &&
                          candidate->entry.sample == identity->sample;
        uint32_t least = best == NULL ? n_positions : best->entry.length;
        if (is_of_item && !candidate->is_bad && candidate->entry.length > least) {
            best = candidate;
        }
    }
    return best;
}

static void pass_over(struct nj_slot_store *store, struct candidate *candidate,
                      const struct nj_error *why, struct nj_slot_loaded *loaded)
{
    candidate->is_bad = true;
    (void)snprintf(loaded->complaint, sizeof loaded->complaint, "%s: %.140s",
                   store->files[candidate->file].name, why->text);
    nj_log_write(store->options.log, NJ_LOG_WARNING,
                 "item %" PRIu64 ": a state after %" PRIu32 " ids is of no use: %s",
                 candidate->entry.item_index, candidate->entry.length, loaded->complaint);
}

enum nj_status nj_slot_store_load(struct nj_slot_store *store,
                                  const struct nj_snapshot_identity *identity,
                                  struct nj_sequence *sequence, struct nj_slot_loaded *loaded,
                                  struct nj_error *err)
{
    struct nj_error why;
    struct candidate *candidate = NULL;
    *loaded = (struct nj_slot_loaded){.n_positions = 0};
    while ((candidate = best_of(store, identity, nj_state_length(sequence->state))) != NULL) {
        enum nj_status status = check_entry(store, candidate, identity, sequence, &why);
        if (status == NJ_OK) {
            nj_state_reset(sequence->state);
            status = fill_state(store, candidate, sequence->state, &why);
        }
        if (status == NJ_OK) {
            loaded->n_positions = candidate->entry.length;
            loaded->n_bytes = nj_state_recurrent_bytes(store->options.dims) +
                              nj_state_page_bytes(store->options.dims) / NJ_PAGE_POSITIONS *
                                  candidate->entry.length;
            return NJ_OK;
        }
        if (status != NJ_E_STATE) {
            return nj_fail(err, status, "%s", why.text);
        }
        pass_over(store, candidate, &why, loaded);
    }
    return NJ_OK;
}

/* --- removing --- */

enum nj_status nj_slot_store_remove(struct nj_slot_store *store, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (size_t i = 0; i < store->listing.n_numbers; i++) {
        close_file(store, &store->files[i]);
    }
    store->n_candidates = 0; /* their entries went with the tables */
    store->n_items = 0;
    while (store->listing.n_numbers > 0 && status == NJ_OK) {
        uint64_t number = store->listing.numbers[store->listing.n_numbers - 1];
        status = nj_slot_remove(store->options.fs, store->options.directory_fd, number, err);
        store->listing.n_numbers -= status == NJ_OK ? 1 : 0;
    }
    return status;
}
