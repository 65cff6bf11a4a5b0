#include "unit/snapshot/small_item.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"

static struct nj_file_system quick;

static int sync_nothing(void *context, int fd)
{
    (void)context;
    (void)fd;
    return 0;
}

const struct nj_file_system *small_item_files(void)
{
    if (quick.open_at == NULL) { /* once: a writer's thread may be reading it */
        quick = *nj_file_system_real();
        quick.sync = sync_nothing;
        quick.data_sync = sync_nothing;
    }
    return &quick;
}

static void make_dims(struct nj_dims *dims)
{
    *dims = (struct nj_dims){.n_layers = 3,
                             .n_delta_heads = 1,
                             .n_delta = 4,
                             .n_taps = 3,
                             .kv_rank = 3,
                             .n_rope = 1};
    dims->mixers[0] = NJ_MIXER_DELTA;
    dims->mixers[1] = NJ_MIXER_LATENT;
    dims->mixers[2] = NJ_MIXER_DELTA;
}

/* Noise that depends on everything that it should. */
static float value_at(uint32_t layer, uint32_t n_read, uint32_t place)
{
    uint32_t bits = layer * 2654435761U ^ n_read * 40503U ^ place * 2246822519U;
    bits ^= bits >> 13;
    bits = 0x3F000000U | (bits & 0x00FFFFFFU);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void small_item_open(struct small_item *item)
{
    struct nj_error error;
    memset(item, 0, sizeof *item);
    item->directory_fd = -1;
    make_dims(&item->dims);
    REQUIRE_OK(nj_state_create(&item->dims, NULL, &item->sequence.state, &error), &error);
    item->sequence.tokens = calloc(SMALL_ITEM_IDS, sizeof *item->sequence.tokens);
    REQUIRE(item->sequence.tokens != NULL);
    for (size_t i = 0; i < SMALL_ITEM_IDS; i++) {
        item->sequence.tokens[i] = (nj_token)(i * 7 % 97);
    }
    item->sequence.n_tokens = SMALL_ITEM_IDS;
    item->sequence.n_prompt = 5;
    item->sequence.sampling.seed = 11;
    item->identity = (struct nj_snapshot_identity){
        .item_index = 3, .numerics_version = 1, .latent_norm_eps = 1e-6F};
    memset(item->identity.item.bytes, 5, NJ_DIGEST_BYTES);
    memset(item->identity.weights.bytes, 6, NJ_DIGEST_BYTES);
}

void small_item_close(struct small_item *item)
{
    nj_state_destroy(item->sequence.state);
    free(item->sequence.tokens);
    if (item->directory_fd >= 0) {
        (void)close(item->directory_fd);
    }
}

void small_item_make_folder(struct small_item *item)
{
    static unsigned n_folders;
    char path[512];
    (void)snprintf(path, sizeof path, "%s/item-%u", test_folder(), n_folders++);
    REQUIRE(mkdir(path, 0700) == 0);
    if (item->directory_fd >= 0) {
        (void)close(item->directory_fd);
    }
    item->directory_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(item->directory_fd >= 0);
    item->chain = (struct nj_snapshot_chain){.number = 0};
}

static void fill_recurrent(struct nj_state *state, uint32_t layer, uint32_t n_read)
{
    uint64_t n_values = 0;
    float *values = nj_state_recurrent(state, layer, &n_values);
    for (uint32_t i = 0; i < n_values; i++) {
        values[i] = value_at(layer, n_read, i);
    }
}

static void fill_positions(struct nj_state *state, uint32_t first, uint32_t end)
{
    for (uint32_t position = first; position < end; position++) {
        float values[4];
        for (uint32_t i = 0; i < 4; i++) {
            values[i] = value_at(1, position, i);
        }
        nj_state_set_positions(state, 1, position, 1, values);
    }
}

void small_item_sweep(struct small_item *item, uint32_t n_ids,
                      struct nj_snapshot_writer *writer)
{
    struct nj_state *state = item->sequence.state;
    struct nj_error error;
    uint32_t first = nj_state_length(state);
    REQUIRE_OK(nj_state_reserve(state, n_ids, &error), &error);
    nj_state_mark_broken(state);
    for (uint32_t layer = 0; layer < item->dims.n_layers; layer++) {
        if (layer == 1) {
            fill_positions(state, first, first + n_ids);
        } else {
            fill_recurrent(state, layer, first + n_ids);
        }
        if (writer != NULL) {
            nj_snapshot_writer_layer(writer, layer);
        }
    }
    nj_state_advance(state, n_ids);
}

bool small_item_state_is(const struct small_item *item, uint32_t n_ids)
{
    struct nj_state *state = item->sequence.state;
    if (nj_state_is_broken(state) || nj_state_length(state) != n_ids) {
        return false;
    }
    for (uint32_t layer = 0; layer < 3; layer += 2) {
        uint64_t n_values = 0;
        const float *values = nj_state_recurrent(state, layer, &n_values);
        for (uint32_t i = 0; i < n_values; i++) {
            float wanted = n_ids == 0 ? 0.0F : value_at(layer, n_ids, i);
            if (values[i] != wanted) {
                return false;
            }
        }
    }
    for (uint32_t position = 0; position < n_ids; position++) {
        float values[4];
        nj_state_get_positions(state, 1, position, 1, values);
        for (uint32_t i = 0; i < 4; i++) {
            if (values[i] != value_at(1, position, i)) {
                return false;
            }
        }
    }
    return true;
}

struct nj_snapshot_writer *small_item_writer(const struct small_item *item,
                                             const struct nj_file_system *fs, int pack_level)
{
    struct nj_snapshot_writer *writer = NULL;
    struct nj_error error;
    struct nj_snapshot_writer_options options = {.fs = fs,
                                                 .dims = &item->dims,
                                                 .clock = nj_clock_system(),
                                                 .pack_level = pack_level,
                                                 .max_targets = 4,
                                                 .entropy = 77};
    if (nj_snapshot_writer_create(&options, &writer, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
    }
    return writer;
}

struct nj_snapshot_outcome
small_item_snapshot(struct small_item *item, struct nj_snapshot_writer *writer, uint32_t n_ids)
{
    struct nj_snapshot_outcome outcome = {.status = NJ_E_INTERNAL};
    struct nj_error error;
    struct nj_snapshot_target target = {.sequence = &item->sequence,
                                        .directory_fd = item->directory_fd,
                                        .identity = item->identity,
                                        .chain = &item->chain};
    if (nj_snapshot_writer_begin(writer, &target, 1, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
        return outcome;
    }
    if (n_ids > 0) {
        small_item_sweep(item, n_ids, writer);
    } else {
        nj_snapshot_writer_all_layers(writer);
    }
    nj_snapshot_writer_commit(writer);
    nj_snapshot_writer_wait(writer);
    CHECK(nj_snapshot_writer_take_outcome(writer, 0, &outcome));
    if (outcome.is_durable) {
        nj_snapshot_writer_prune(writer, item->directory_fd, &item->chain);
        nj_snapshot_writer_wait(writer);
    }
    return outcome;
}

struct nj_snapshot_loaded small_item_load(struct small_item *item,
                                          const struct nj_file_system *fs,
                                          enum nj_status *status, struct nj_error *err)
{
    struct nj_snapshot_loaded loaded = {.number = 0};
    struct nj_snapshot_loader loader = {.fs = fs, .dims = &item->dims};
    nj_state_reset(item->sequence.state);
    item->chain = (struct nj_snapshot_chain){.number = 0};
    *status = nj_snapshot_load(&loader, item->directory_fd, &item->identity, &item->sequence,
                               &item->chain, &loaded, err);
    return loaded;
}
