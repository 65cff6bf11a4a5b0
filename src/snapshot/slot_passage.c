#include "snapshot/slot_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "format/checksum.h"

bool nj_slot_is_latent(const struct nj_slot_home *home, uint32_t layer)
{
    return home->layout.header.mixers[layer] == NJ_MIXER_LATENT;
}

uint64_t nj_slot_part_values(const struct nj_slot_home *home, uint32_t layer,
                             uint32_t n_positions)
{
    const struct nj_slot_header *header = &home->layout.header;
    return nj_slot_is_latent(home, layer) ? (uint64_t)n_positions * header->position_values
                                          : header->layer_values;
}

uint32_t *nj_slot_sum(const struct nj_slot_home *home, uint32_t *sums, uint32_t seat,
                      uint32_t layer)
{
    return &sums[(size_t)seat * home->layout.header.n_layers + layer];
}

/* --- the file --- */

static struct nj_bytes bytes_of(const float *values, uint64_t n_values)
{
    const void *data = values;
    return (struct nj_bytes){.data = data, .length_bytes = n_values * sizeof *values};
}

/* A read that failed says nothing about weights, which is what NJ_E_IO of a sweep means. */
enum nj_status nj_slot_read_values(struct nj_slot_home *home, float *values, uint64_t n_values,
                                   uint64_t offset, struct nj_error *err)
{
    struct nj_error why;
    size_t n_bytes = n_values * sizeof *values;
    enum nj_status status = nj_file_read_exactly(home->options.fs, home->fd, values, n_bytes,
                                                 offset, home->name, &why);
    atomic_fetch_add(&home->read_bytes, n_bytes);
    return status == NJ_OK ? NJ_OK : nj_fail(err, NJ_E_STORAGE, "%s", why.text);
}

enum nj_status nj_slot_write_values(struct nj_slot_home *home, const float *values,
                                    uint64_t n_values, uint64_t offset, struct nj_error *err)
{
    struct nj_bytes bytes = bytes_of(values, n_values);
    enum nj_status status =
        nj_file_write_exactly(home->options.fs, home->fd, bytes, offset, home->name, err);
    atomic_fetch_add(&home->written_bytes, bytes.length_bytes);
    return status;
}

bool nj_slot_next_window(void *context, struct nj_slot_window *window)
{
    struct nj_slot_home *home = context;
    uint64_t limit_values = home->options.window_bytes / sizeof(float);
    uint64_t n_values = 0;
    if (home->next_layer == home->layout.header.n_layers) {
        return false;
    }
    window->layer = home->next_layer;
    window->first = home->next_first;
    window->n_passages = 0;
    for (uint32_t i = window->first; i < home->n_passages; i++) {
        n_values += nj_slot_part_values(home, window->layer, home->passages[i].next_length);
        if (n_values > limit_values) {
            break; /* never the first one: a seat has no more positions than fit */
        }
        window->n_passages += 1;
    }
    assert(window->n_passages > 0);
    home->next_first += window->n_passages;
    if (home->next_first == home->n_passages) {
        home->next_layer += 1;
        home->next_first = 0;
    }
    return true;
}

static enum nj_status check_sum(struct nj_slot_home *home, uint32_t seat_index, uint32_t layer,
                                const float *values, uint64_t n_values, struct nj_error *err)
{
    struct nj_slot_seat *seat = &home->seats[seat_index];
    uint32_t found = nj_crc32(0, bytes_of(values, n_values));
    uint32_t *wanted = nj_slot_sum(home, home->sums, seat_index, layer);
    if (!seat->is_summed) {
        *wanted = found;
        return NJ_OK;
    }
    if (found == *wanted) {
        return NJ_OK;
    }
    seat->is_whole = false;
    return nj_fail(err, NJ_E_STORAGE,
                   "%s: layer %" PRIu32 " of seat %" PRIu32
                   " is not what was written: the disk has lost it",
                   home->name, layer, seat_index);
}

/* Whether the next passage's recurrent part lies right behind this one's in the file. */
static bool joins(const struct nj_slot_home *home, uint32_t passage)
{
    const struct nj_state_passage *a = &home->passages[passage];
    const struct nj_state_passage *b = a + 1;
    return b->seat == a->seat + 1 && (a->length == 0) == (b->length == 0) &&
           home->seats[a->seat].generation == home->seats[b->seat].generation;
}

/* How many passages from `first` on lie together. */
static uint32_t n_joined(const struct nj_slot_home *home, uint32_t first, uint32_t n_most)
{
    uint32_t n = 1;
    while (n < n_most && joins(home, first + n - 1)) {
        n += 1;
    }
    return n;
}

static enum nj_status read_recurrent(struct nj_slot_home *home, uint32_t layer, uint32_t first,
                                     uint32_t n, float *values, struct nj_error *err)
{
    const struct nj_state_passage *passage = &home->passages[first];
    uint64_t layer_values = home->layout.header.layer_values;
    if (passage->length == 0) {
        memset(values, 0, n * layer_values * sizeof *values);
        return NJ_OK;
    }
    uint64_t offset = nj_slot_recurrent_offset(
        &home->layout, home->seats[passage->seat].generation, layer, passage->seat);
    enum nj_status status = nj_slot_read_values(home, values, n * layer_values, offset, err);
    for (uint32_t i = 0; i < n && status == NJ_OK; i++) {
        status = check_sum(home, passage[i].seat, layer, values + i * layer_values,
                           layer_values, err);
    }
    return status;
}

static enum nj_status read_latent(struct nj_slot_home *home, uint32_t layer, uint32_t index,
                                  float *values, struct nj_error *err)
{
    const struct nj_state_passage *passage = &home->passages[index];
    uint64_t n_values = nj_slot_part_values(home, layer, passage->length);
    if (n_values == 0) {
        *nj_slot_sum(home, home->sums, passage->seat, layer) = 0;
        return NJ_OK;
    }
    uint64_t offset = nj_slot_latent_offset(&home->layout, layer, passage->seat, 0);
    enum nj_status status = nj_slot_read_values(home, values, n_values, offset, err);
    return status == NJ_OK ? check_sum(home, passage->seat, layer, values, n_values, err)
                           : status;
}

enum nj_status nj_slot_read_window(void *context, const struct nj_slot_window *window,
                                   struct nj_error *err)
{
    struct nj_slot_home *home = context;
    float *values = window->values;
    enum nj_status status = NJ_OK;
    for (uint32_t i = 0, n = 1; i < window->n_passages && status == NJ_OK; i += n) {
        uint32_t index = window->first + i;
        n = 1;
        if (nj_slot_is_latent(home, window->layer)) {
            status = read_latent(home, window->layer, index, values, err);
        } else {
            n = n_joined(home, index, window->n_passages - i);
            status = read_recurrent(home, window->layer, index, n, values, err);
        }
        values +=
            n * nj_slot_part_values(home, window->layer, home->passages[index].next_length);
    }
    return status;
}

static enum nj_status write_recurrent(struct nj_slot_home *home, uint32_t layer, uint32_t first,
                                      uint32_t n, const float *values, struct nj_error *err)
{
    const struct nj_state_passage *passage = &home->passages[first];
    uint64_t layer_values = home->layout.header.layer_values;
    for (uint32_t i = 0; i < n; i++) {
        *nj_slot_sum(home, home->next_sums, passage[i].seat, layer) =
            nj_crc32(0, bytes_of(values + i * layer_values, layer_values));
    }
    uint32_t generation = 1 - home->seats[passage->seat].generation;
    return nj_slot_write_values(
        home, values, n * layer_values,
        nj_slot_recurrent_offset(&home->layout, generation, layer, passage->seat), err);
}

/* What is new; before the sweep's end nothing says that it is there. */
static enum nj_status write_latent(struct nj_slot_home *home, uint32_t layer, uint32_t index,
                                   const float *values, struct nj_error *err)
{
    const struct nj_state_passage *passage = &home->passages[index];
    uint64_t n_before = nj_slot_part_values(home, layer, passage->length);
    uint64_t n_new = nj_slot_part_values(home, layer, passage->next_length) - n_before;
    *nj_slot_sum(home, home->next_sums, passage->seat, layer) =
        nj_crc32(*nj_slot_sum(home, home->sums, passage->seat, layer),
                 bytes_of(values + n_before, n_new));
    return nj_slot_write_values(
        home, values + n_before, n_new,
        nj_slot_latent_offset(&home->layout, layer, passage->seat, passage->length), err);
}

enum nj_status nj_slot_write_window(void *context, const struct nj_slot_window *window,
                                    struct nj_error *err)
{
    struct nj_slot_home *home = context;
    const float *values = window->values;
    enum nj_status status = NJ_OK;
    for (uint32_t i = 0, n = 1; i < window->n_passages && status == NJ_OK; i += n) {
        uint32_t index = window->first + i;
        n = 1;
        if (nj_slot_is_latent(home, window->layer)) {
            status = write_latent(home, window->layer, index, values, err);
        } else {
            n = n_joined(home, index, window->n_passages - i);
            status = write_recurrent(home, window->layer, index, n, values, err);
        }
        values +=
            n * nj_slot_part_values(home, window->layer, home->passages[index].next_length);
    }
    return status;
}
