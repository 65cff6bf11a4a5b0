#include "snapshot/slot_home.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "model/state.h"
#include "snapshot/folder.h"
#include "snapshot/slot_parts.h"

enum { DEFAULT_WINDOWS = 3 };

/* --- sizes --- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a < b ? b : a;
}

uint64_t nj_slot_home_least_window_bytes(const struct nj_dims *dims, uint32_t n_positions)
{
    uint64_t latent_bytes =
        (uint64_t)n_positions * nj_state_position_values(dims) * sizeof(float);
    return larger(nj_state_layer_values(dims) * sizeof(float), latent_bytes);
}

uint64_t nj_slot_home_memory_bytes(const struct nj_dims *dims, uint32_t n_seats,
                                   uint64_t window_bytes, uint32_t n_windows)
{
    uint64_t seat_bytes = sizeof(struct nj_slot_seat) + sizeof(struct nj_state_passage) +
                          sizeof(struct nj_slot_entry) +
                          3 * (uint64_t)dims->n_layers * sizeof(uint32_t);
    uint64_t n = n_windows == 0 ? DEFAULT_WINDOWS : n_windows;
    return n * window_bytes + n_seats * seat_bytes + sizeof(struct nj_slot_home) +
           3 * (uint64_t)NJ_SLOT_HEADER_BYTES;
}

uint64_t nj_slot_home_seat_bytes(const struct nj_dims *dims, uint32_t n_positions)
{
    uint64_t position_bytes = nj_state_page_bytes(dims) / NJ_PAGE_POSITIONS;
    return 2 * nj_state_recurrent_bytes(dims) + n_positions * position_bytes;
}

uint64_t nj_slot_home_sweep_bytes(const struct nj_dims *dims)
{
    return nj_state_recurrent_bytes(dims) + nj_state_page_bytes(dims) / NJ_PAGE_POSITIONS;
}

/* The slots on disk before the table that names them, the table before anybody is told. */
static enum nj_status commit_slots(void *context, struct nj_error *err)
{
    struct nj_slot_home *home = context;
    const struct nj_file_system *fs = home->options.fs;
    uint64_t offset =
        nj_slot_table_offset(&home->layout, (uint32_t)(home->commit_number % NJ_SLOT_TABLES));
    struct nj_bytes table = {.data = home->commit_bytes,
                             .length_bytes = home->layout.table_bytes};
    enum nj_status status = nj_file_data_sync(fs, home->fd, home->name, err);
    if (status == NJ_OK) {
        status = nj_file_write_exactly(fs, home->fd, table, offset, home->name, err);
    }
    if (status == NJ_OK) {
        status = nj_file_data_sync(fs, home->fd, home->name, err);
    }
    atomic_fetch_add(&home->written_bytes, table.length_bytes);
    return status;
}

/* --- the table: seats --- */

static enum nj_status admit(void *context, uint32_t *seat, struct nj_error *err)
{
    struct nj_slot_home *home = context;
    for (uint32_t i = 0; i < home->options.n_seats; i++) {
        if (!home->seats[i].is_taken) {
            /* The generation stays: so neighbours that go through the same sweeps keep together
             * whoever sits there. */
            home->seats[i].is_taken = true;
            home->seats[i].is_whole = true;
            home->seats[i].is_summed = false;
            *seat = i;
            return NJ_OK;
        }
    }
    return nj_fail(err, NJ_E_BUDGET, "all %" PRIu32 " places on disk for states are taken",
                   home->options.n_seats);
}

static void dismiss(void *context, uint32_t seat)
{
    struct nj_slot_home *home = context;
    assert(home->seats[seat].is_taken);
    home->seats[seat].is_taken = false;
}

static void clear(void *context, uint32_t seat)
{
    struct nj_slot_home *home = context;
    home->seats[seat].is_whole = true;
    home->seats[seat].is_summed = false;
}

static enum nj_status reserve(void *context, uint32_t seat, uint32_t n_positions,
                              struct nj_error *err)
{
    const struct nj_slot_home *home = context;
    (void)seat;
    return n_positions <= home->options.n_positions
               ? NJ_OK
               : nj_fail(err, NJ_E_USAGE,
                         "a state of %" PRIu32 " positions: a place on disk has room for "
                         "%" PRIu32,
                         n_positions, home->options.n_positions);
}

static bool is_whole(void *context, uint32_t seat)
{
    const struct nj_slot_home *home = context;
    return home->seats[seat].is_whole;
}

static uint64_t offset_of(const struct nj_slot_home *home, uint32_t seat, uint32_t layer,
                          uint64_t first_value)
{
    uint64_t offset = nj_slot_is_latent(home, layer)
                          ? nj_slot_latent_offset(&home->layout, layer, seat, 0)
                          : nj_slot_recurrent_offset(&home->layout,
                                                     home->seats[seat].generation, layer, seat);
    return offset + first_value * sizeof(float);
}

static enum nj_status store(void *context, uint32_t seat, uint32_t layer, uint64_t first_value,
                            uint64_t n_values, const float *values, struct nj_error *err)
{
    struct nj_slot_home *home = context;
    home->seats[seat].is_summed = false;
    return nj_slot_write_values(home, values, n_values,
                                offset_of(home, seat, layer, first_value), err);
}

static enum nj_status load(void *context, uint32_t seat, uint32_t layer, uint64_t first_value,
                           uint64_t n_values, float *values, struct nj_error *err)
{
    struct nj_slot_home *home = context;
    return nj_slot_read_values(home, values, n_values,
                               offset_of(home, seat, layer, first_value), err);
}

/* --- the table: a sweep --- */

static enum nj_status begin(void *context, const struct nj_state_passage *passages,
                            uint32_t n_passages, struct nj_error *err)
{
    struct nj_slot_home *home = context;
    (void)err;
    assert(n_passages <= home->options.n_seats);
    memcpy(home->passages, passages, n_passages * sizeof *passages);
    home->n_passages = n_passages;
    home->next_layer = 0;
    home->next_first = 0;
    nj_slot_lanes_begin(home->lanes);
    return NJ_OK;
}

static enum nj_status enter(void *context, uint32_t layer, uint32_t first, uint32_t *n_passages,
                            float **values, struct nj_error *err)
{
    struct nj_slot_home *home = context;
    struct nj_slot_window window;
    enum nj_status status = nj_slot_lanes_enter(home->lanes, &window, err);
    if (status != NJ_OK) {
        return status;
    }
    assert(window.layer == layer && window.first == first);
    (void)first;
    float *at = window.values;
    for (uint32_t i = 0; i < window.n_passages; i++) {
        values[i] = at;
        at += nj_slot_part_values(home, layer, home->passages[first + i].next_length);
    }
    *n_passages = window.n_passages;
    return NJ_OK;
}

static void leave(void *context)
{
    const struct nj_slot_home *home = context;
    nj_slot_lanes_leave(home->lanes);
}

static enum nj_status end(void *context, struct nj_error *err)
{
    struct nj_slot_home *home = context;
    enum nj_status status = nj_slot_lanes_end(home->lanes, err);
    if (status != NJ_OK) {
        return status;
    }
    size_t row_bytes = home->layout.header.n_layers * sizeof *home->sums;
    for (uint32_t i = 0; i < home->n_passages; i++) {
        uint32_t index = home->passages[i].seat;
        memcpy(nj_slot_sum(home, home->sums, index, 0),
               nj_slot_sum(home, home->next_sums, index, 0), row_bytes);
        home->seats[index].is_summed = true;
        home->seats[index].generation = 1 - home->seats[index].generation;
    }
    return NJ_OK;
}

static void abandon(void *context)
{
    const struct nj_slot_home *home = context;
    nj_slot_lanes_abandon(home->lanes);
}

/* --- commits --- */

static bool counts(const struct nj_slot_home *home, const struct nj_sequence *sequence)
{
    return sequence->finish == NJ_FINISH_NONE && nj_state_length(sequence->state) > 0 &&
           !nj_state_is_broken(sequence->state) &&
           home->seats[nj_state_seat(sequence->state)].is_summed;
}

static void set_entry(struct nj_slot_home *home, const struct nj_slot_commit_entry *commit)
{
    const struct nj_sequence *sequence = commit->sequence;
    uint32_t seat = nj_state_seat(sequence->state);
    uint32_t length = nj_state_length(sequence->state);
    struct nj_slot_entry entry = {.item_index = commit->identity->item_index,
                                  .item = commit->identity->item,
                                  .sample = commit->identity->sample,
                                  .length = length,
                                  .generation = home->seats[seat].generation,
                                  .ids_crc32 = nj_slot_ids_crc32(sequence->tokens, length)};
    nj_slot_table_set(&home->layout, home->commit_bytes, seat, &entry,
                      nj_slot_sum(home, home->sums, seat, 0));
}

enum nj_status nj_slot_home_commit(struct nj_slot_home *home,
                                   const struct nj_slot_commit_entry *entries,
                                   uint32_t n_entries, uint64_t sweep, struct nj_error *err)
{
    assert(!nj_slot_lanes_is_committing(home->lanes));
    struct nj_slot_table table = {.number = home->commit_number + 1, .sweep = sweep};
    nj_slot_table_begin(&home->layout, &table, home->commit_bytes);
    for (uint32_t i = 0; i < n_entries; i++) {
        if (counts(home, entries[i].sequence)) {
            set_entry(home, &entries[i]);
        }
    }
    enum nj_status status = nj_slot_table_finish(&home->layout, home->commit_bytes, err);
    if (status == NJ_OK) {
        home->commit_number = table.number;
        nj_slot_lanes_commit(home->lanes);
    }
    return status;
}

bool nj_slot_home_is_committing(const struct nj_slot_home *home)
{
    return nj_slot_lanes_is_committing(home->lanes);
}

enum nj_status nj_slot_home_settle(struct nj_slot_home *home, uint64_t *number,
                                   struct nj_error *err)
{
    enum nj_status status = nj_slot_lanes_settle(home->lanes, err);
    if (status == NJ_OK) {
        home->durable_number = home->commit_number;
        *number = home->durable_number;
    }
    return status;
}

struct nj_slot_stats nj_slot_home_stats(const struct nj_slot_home *home)
{
    return (struct nj_slot_stats){.read_bytes = atomic_load(&home->read_bytes),
                                  .written_bytes = atomic_load(&home->written_bytes),
                                  .n_commits = home->durable_number};
}

const char *nj_slot_home_file_name(const struct nj_slot_home *home)
{
    return home->name;
}

const struct nj_state_home *nj_slot_home_table(const struct nj_slot_home *home)
{
    return &home->table;
}

/* --- creation --- */

static struct nj_slot_header header_of(const struct nj_slot_home_options *options)
{
    const struct nj_dims *dims = options->dims;
    struct nj_slot_header header = {.salt = options->entropy ^
                                            (options->file_number * 0x9E3779B97F4A7C15U),
                                    .weights = options->run->weights,
                                    .template = options->run->template,
                                    .numerics_version = options->run->numerics_version,
                                    .latent_norm_eps = options->run->latent_norm_eps,
                                    .n_seats = options->n_seats,
                                    .n_positions = options->n_positions,
                                    .n_layers = dims->n_layers,
                                    .position_values = nj_state_position_values(dims),
                                    .layer_values = nj_state_layer_values(dims)};
    memcpy(header.mixers, dims->mixers, dims->n_layers * sizeof *dims->mixers);
    return header;
}

/* A new file with all its room, before anything relies on it. */
static enum nj_status make_file(struct nj_slot_home *home, struct nj_error *err)
{
    uint8_t header[NJ_SLOT_HEADER_BYTES];
    const struct nj_file_system *fs = home->options.fs;
    home->fd = fs->open_at(fs->context, home->options.directory_fd, home->name,
                           O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (home->fd < 0) {
        return nj_fail(err, NJ_E_STORAGE, "create %s: %s", home->name, strerror(errno));
    }
    uint64_t file_bytes = home->layout.file_bytes;
    const struct nj_file_system *reserving =
        home->options.reserving_fs != NULL ? home->options.reserving_fs : fs;
    if (reserving->reserve(reserving->context, home->fd, (off_t)file_bytes) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "%s: room for %" PRIu64 " bytes: %s", home->name,
                       file_bytes, strerror(errno));
    }
    nj_slot_header_encode(&home->layout.header, header);
    enum nj_status status = nj_file_write_exactly(
        fs, home->fd, (struct nj_bytes){header, sizeof header}, 0, home->name, err);
    if (status == NJ_OK && fs->sync(fs->context, home->fd) != 0) {
        status = nj_fail(err, NJ_E_STORAGE, "sync %s: %s", home->name, strerror(errno));
    }
    return status == NJ_OK ? nj_segment_folder_sync(fs, home->options.directory_fd, err)
                           : status;
}

static enum nj_status take_memory(struct nj_slot_home *home, struct nj_error *err)
{
    size_t n_seats = home->options.n_seats;
    size_t n_layers = home->layout.header.n_layers;
    home->seats = calloc(n_seats, sizeof *home->seats);
    home->sums = calloc(n_seats * n_layers, sizeof *home->sums);
    home->next_sums = calloc(n_seats * n_layers, sizeof *home->next_sums);
    home->passages = calloc(n_seats, sizeof *home->passages);
    home->commit_bytes = malloc(home->layout.table_bytes);
    return home->seats != NULL && home->sums != NULL && home->next_sums != NULL &&
                   home->passages != NULL && home->commit_bytes != NULL
               ? NJ_OK
               : nj_fail(err, NJ_E_MEMORY, "states of %zu sequences on disk: out of memory",
                         n_seats);
}

static enum nj_status make_parts(struct nj_slot_home *home, struct nj_error *err)
{
    struct nj_slot_header header = header_of(&home->options);
    const struct nj_slot_work work = {.context = home,
                                      .next = nj_slot_next_window,
                                      .read = nj_slot_read_window,
                                      .write = nj_slot_write_window,
                                      .commit = commit_slots};
    enum nj_status status = nj_slot_layout_make(&header, &home->layout, err);
    if (status == NJ_OK) {
        status = take_memory(home, err);
    }
    if (status == NJ_OK) {
        status = nj_slot_lanes_create(&work, home->options.n_windows,
                                      home->options.window_bytes, &home->lanes, err);
    }
    return status == NJ_OK ? make_file(home, err) : status;
}

static void fill_options(struct nj_slot_home *home)
{
    struct nj_slot_home_options *options = &home->options;
    uint64_t least = nj_slot_home_least_window_bytes(options->dims, options->n_positions);
    options->file_number = options->file_number == 0 ? 1 : options->file_number;
    options->window_bytes = larger(options->window_bytes, least);
    options->n_windows = options->n_windows == 0 ? DEFAULT_WINDOWS : options->n_windows;
}

enum nj_status nj_slot_home_create(const struct nj_slot_home_options *options,
                                   struct nj_slot_home **home, struct nj_error *err)
{
    struct nj_slot_home *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "states on disk: out of memory");
    }
    made->options = *options;
    made->fd = -1;
    fill_options(made);
    nj_slot_name(made->options.file_number, made->name);
    made->table = (struct nj_state_home){.context = made,
                                         .admit = admit,
                                         .dismiss = dismiss,
                                         .clear = clear,
                                         .reserve = reserve,
                                         .is_whole = is_whole,
                                         .store = store,
                                         .load = load,
                                         .begin = begin,
                                         .enter = enter,
                                         .leave = leave,
                                         .end = end,
                                         .abandon = abandon};
    enum nj_status status = make_parts(made, err);
    if (status != NJ_OK) {
        if (made->fd >= 0) { /* nobody has relied on it */
            const struct nj_file_system *fs = made->options.fs;
            (void)fs->unlink_at(fs->context, made->options.directory_fd, made->name);
        }
        nj_slot_home_destroy(made);
        return status;
    }
    *home = made;
    return NJ_OK;
}

void nj_slot_home_destroy(struct nj_slot_home *home)
{
    if (home == NULL) {
        return;
    }
    const struct nj_file_system *fs = home->options.fs;
    nj_slot_lanes_destroy(home->lanes);
    if (home->fd >= 0) {
        (void)fs->close(fs->context, home->fd); /* what counts was synced by a commit */
    }
    free(home->seats);
    free(home->sums);
    free(home->next_sums);
    free(home->passages);
    free(home->commit_bytes);
    free(home);
}
