#include "snapshot/prefix_cache.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/planes.h"
#include "model/model.h"
#include "snapshot/chain.h"
#include "snapshot/fingerprint.h"
#include "snapshot/generation.h"
#include "snapshot/prefix_folder.h"
#include "snapshot/restore.h"
#include "snapshot/segment_source.h"
#include "snapshot/writer.h"

/* A stored state of this model. */
struct stored {
    uint64_t number;
    uint32_t n_ids;
    struct nj_digest key;
};

struct nj_prefix_cache {
    struct nj_prefix_cache_place place;
    int directory_fd; /* -1: the folder is not there */
    struct nj_prefix_folder folder;
    struct stored *stored; /* longest first */
    size_t n_stored;
    bool has_uses; /* that were not written down */
};

enum {
    /* What a segment holds besides its state and ids. */
    SEGMENT_OVERHEAD_BYTES = 64 * 1024,
    HEADERS_SHARE = 64 /* and of each so many bytes one */
};

/* --- keys --- */

static void add_ids(struct nj_digest_stream *stream, const nj_token *ids, uint32_t n_ids)
{
    uint8_t words[256 * 4];
    for (uint32_t begin = 0; begin < n_ids; begin += 256) {
        struct nj_byte_writer writer;
        nj_byte_writer_init(&writer, words, sizeof words);
        for (uint32_t i = begin; i < n_ids && i < begin + 256; i++) {
            nj_write_u32(&writer, (uint32_t)ids[i]);
        }
        nj_digest_stream_add(stream, words, writer.offset);
    }
}

/* Over the ids; weights, numerics and epsilon stand in the header beside it. */
static enum nj_status key_of(const nj_token *ids, uint32_t n_ids, struct nj_digest *key,
                             struct nj_error *err)
{
    struct nj_digest_stream *stream = NULL;
    enum nj_status status = nj_digest_stream_create(&stream, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_digest_stream_add_field(stream, "nightjar", "prefix", strlen("prefix"));
    add_ids(stream, ids, n_ids);
    status = nj_digest_stream_finish(stream, key, err);
    nj_digest_stream_destroy(stream);
    return status;
}

static struct nj_snapshot_identity identity_of(const struct nj_prefix_cache *cache,
                                               const struct nj_digest *key, uint32_t n_ids)
{
    return (struct nj_snapshot_identity){.item_index = n_ids,
                                         .item = *key,
                                         .numerics_version = NJ_NUMERICS_VERSION,
                                         .latent_norm_eps = cache->place.dims->latent_norm_eps,
                                         .weights = *cache->place.weights};
}

/* Segments have numbers for names: of 62 bits, so that they fit, and never 0. Prefixes of
 * different models must not meet in one. */
static enum nj_status number_of(const struct nj_prefix_cache *cache,
                                const struct nj_digest *key, uint64_t *number,
                                struct nj_error *err)
{
    struct nj_digest both;
    uint8_t bytes[NJ_DIGEST_BYTES + NJ_DIGEST_BYTES + sizeof(float)];
    uint8_t *weights = bytes + NJ_DIGEST_BYTES;
    uint8_t *epsilon = weights + NJ_DIGEST_BYTES;
    memcpy(bytes, key->bytes, NJ_DIGEST_BYTES);
    memcpy(weights, cache->place.weights->bytes, NJ_DIGEST_BYTES);
    memcpy(epsilon, &cache->place.dims->latent_norm_eps, sizeof(float));
    enum nj_status status = nj_digest_of(
        (struct nj_bytes){.data = bytes, .length_bytes = sizeof bytes}, &both, err);
    if (status == NJ_OK) {
        struct nj_byte_reader reader;
        nj_byte_reader_init(&reader, (struct nj_bytes){both.bytes, NJ_DIGEST_BYTES});
        *number = nj_read_u64(&reader) >> 2 | 1;
    }
    return status;
}

/* --- what is there --- */

static int longer_first(const void *left, const void *right)
{
    const struct stored *a = left;
    const struct stored *b = right;
    return (a->n_ids < b->n_ids) - (a->n_ids > b->n_ids);
}

/* Those of this model; what is in them shows when they are wanted. */
static enum nj_status list_stored(struct nj_prefix_cache *cache, struct nj_error *err)
{
    free(cache->stored);
    cache->n_stored = 0;
    cache->stored = calloc(cache->folder.n_files + 1, sizeof *cache->stored);
    if (cache->stored == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "look at the prefix cache: out of memory");
    }
    for (size_t i = 0; i < cache->folder.n_files; i++) {
        uint64_t number = cache->folder.files[i].number;
        struct nj_segment_header header;
        if (number == 0 ||
            !nj_segment_header_read(cache->place.fs, cache->directory_fd, number, &header)) {
            continue;
        }
        struct nj_snapshot_identity wanted =
            identity_of(cache, &header.item, (uint32_t)header.item_index);
        if (nj_snapshot_identity_check(&header, &wanted, NULL) == NJ_OK) {
            cache->stored[cache->n_stored++] = (struct stored){
                .number = number, .n_ids = (uint32_t)header.item_index, .key = header.item};
        }
    }
    qsort(cache->stored, cache->n_stored, sizeof *cache->stored, longer_first);
    return NJ_OK;
}

static enum nj_status look(struct nj_prefix_cache *cache, struct nj_error *err)
{
    enum nj_status status =
        nj_prefix_folder_read(&cache->folder, cache->place.fs, cache->directory_fd, err);
    return status == NJ_OK ? list_stored(cache, err) : status;
}

enum nj_status nj_prefix_cache_open(const struct nj_prefix_cache_place *place,
                                    struct nj_prefix_cache **cache, struct nj_error *err)
{
    struct nj_prefix_cache *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "open the prefix cache: out of memory");
    }
    opened->place = *place;
    opened->directory_fd = -1;
    struct nj_error why;
    enum nj_status status =
        nj_file_open_directory(place->fs, place->path, false, &opened->directory_fd, &why);
    if (status == NJ_OK) {
        status = look(opened, &why);
    } else if (status == NJ_E_NOT_FOUND) {
        status = NJ_OK; /* nothing was stored yet */
    }
    if (status != NJ_OK) {
        nj_prefix_cache_close(opened);
        return nj_fail(err, status, "the prefix cache: %s", why.text);
    }
    *cache = opened;
    return NJ_OK;
}

static void save_uses(struct nj_prefix_cache *cache)
{
    const struct nj_file_system *fs = cache->place.fs;
    int lock_fd = -1;
    if (!cache->has_uses ||
        nj_file_lock(fs, cache->directory_fd, "lock", &lock_fd, NULL) != NJ_OK) {
        return;
    }
    /* Lost, it only makes files seem older than they are. */
    (void)nj_prefix_folder_save_uses(&cache->folder, fs, cache->directory_fd, NULL);
    (void)fs->close(fs->context, lock_fd); /* nothing was written through it */
}

void nj_prefix_cache_close(struct nj_prefix_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    if (cache->directory_fd >= 0) {
        save_uses(cache);
        (void)cache->place.fs->close(cache->place.fs->context,
                                     cache->directory_fd); /* a folder's */
    }
    nj_prefix_folder_deinit(&cache->folder);
    free(cache->stored);
    free(cache);
}

uint64_t nj_prefix_cache_held_bytes(const struct nj_prefix_cache *cache)
{
    return cache->folder.held_bytes;
}

/* --- loading --- */

static void warn(const struct nj_prefix_cache *cache, uint64_t number, const char *what,
                 const char *why)
{
    char name[NJ_SEGMENT_NAME_BYTES];
    nj_log_write(cache->place.log, NJ_LOG_WARNING, "prefix cache: %s: %s%s",
                 nj_segment_name(number, name), what, why);
}

/* Nobody else is to stumble over it; it counts until it is removed. */
static void put_aside(struct nj_prefix_cache *cache, uint64_t number,
                      const struct nj_error *why)
{
    char aside[NJ_SEGMENT_NAME_BYTES];
    struct nj_prefix_file *file = nj_prefix_folder_find(&cache->folder, number);
    warn(cache, number, "it is of no use and was put aside: ", why->text);
    if (nj_segment_put_aside(cache->place.fs, cache->directory_fd, number, aside, NULL) ==
            NJ_OK &&
        file != NULL) {
        memcpy(file->name, aside, sizeof file->name);
        file->number = 0;
    }
}

/* Verifies everything, and then touches the sequence's state. */
static enum nj_status restore(struct nj_prefix_cache *cache, const struct stored *stored,
                              struct nj_sequence *sequence, struct nj_error *err)
{
    const struct nj_prefix_cache_place *place = &cache->place;
    struct nj_snapshot_identity identity = identity_of(cache, &stored->key, stored->n_ids);
    struct nj_generation_wanted wanted = {.fs = place->fs,
                                          .directory_fd = cache->directory_fd,
                                          .dims = place->dims,
                                          .identity = &identity,
                                          .sequence = sequence};
    struct nj_generation *generation = calloc(1, sizeof *generation);
    if (generation == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "load a prefix: out of memory");
    }
    enum nj_status status = nj_generation_open(generation, &wanted, stored->number, err);
    if (status == NJ_OK) {
        if (generation->shape.n_positions == stored->n_ids) {
            nj_state_reset(sequence->state);
            status =
                nj_generation_restore(generation, sequence->state, NULL, place->budget, err);
        } else {
            status = nj_fail(err, NJ_E_STATE, "its state is not of the length that it says");
        }
        nj_generation_close(generation);
    }
    free(generation);
    return status;
}

static bool is_prefix(const struct stored *stored, const struct nj_sequence *sequence)
{
    struct nj_digest key;
    return key_of(sequence->tokens, stored->n_ids, &key, NULL) == NJ_OK &&
           memcmp(key.bytes, stored->key.bytes, NJ_DIGEST_BYTES) == 0;
}

/* Each is tried once in a run: what was of no use is forgotten. */
static bool try_one(struct nj_prefix_cache *cache, struct stored *stored,
                    struct nj_sequence *sequence)
{
    struct nj_error why;
    enum nj_status status = restore(cache, stored, sequence, &why);
    if (status == NJ_OK) {
        struct nj_prefix_file *file = nj_prefix_folder_find(&cache->folder, stored->number);
        if (file != NULL) {
            nj_prefix_folder_use(&cache->folder, file);
            cache->has_uses = true;
        }
        return true;
    }
    if (status == NJ_E_STATE) {
        put_aside(cache, stored->number, &why);
        stored->n_ids = 0;
    } else {
        warn(cache, stored->number, "it cannot be used now: ", why.text);
    }
    return false;
}

bool nj_prefix_cache_load(struct nj_prefix_cache *cache, struct nj_sequence *sequence)
{
    for (size_t i = 0; i < cache->n_stored; i++) {
        struct stored *stored = &cache->stored[i];
        if (stored->n_ids > nj_state_length(sequence->state) &&
            stored->n_ids < sequence->n_tokens && is_prefix(stored, sequence) &&
            try_one(cache, stored, sequence)) {
            return true;
        }
    }
    return false;
}

/* --- storing --- */

uint64_t nj_prefix_cache_cost_bytes(const struct nj_prefix_cache *cache, uint32_t n_ids)
{
    uint64_t n_bytes =
        nj_chain_base_bytes(cache->place.dims, n_ids) + (uint64_t)n_ids * sizeof(nj_token);
    return n_bytes + n_bytes / HEADERS_SHARE + SEGMENT_OVERHEAD_BYTES;
}

/* One that is to be stored. */
struct storing {
    const struct nj_prefix_entry *entry;
    struct nj_snapshot_identity identity;
    uint64_t number;
    char name[NJ_SEGMENT_NAME_BYTES];
    int new_fd; /* of the folder in which it is written */
    struct nj_snapshot_outcome outcome;
};

static enum nj_status write_segment(const struct nj_prefix_cache *cache,
                                    struct storing *storing, struct nj_error *err)
{
    const struct nj_prefix_entry *entry = storing->entry;
    const struct nj_prefix_cache_place *place = &cache->place;
    const struct nj_snapshot_writer_options options = {
        .fs = place->fs,
        .dims = place->dims,
        .budget = place->budget,
        .clock = place->clock,
        .pack_level = NJ_PACK_AUTO,
        .max_targets = 1,
        .buffer_bytes = 1, /* as little as will do: nobody waits for it */
        .entropy = place->entropy ^ storing->number};
    struct nj_snapshot_writer *writer = NULL;
    struct nj_sequence sequence = {.tokens = entry->ids,
                                   .n_tokens = entry->n_ids,
                                   .n_prompt = entry->n_ids,
                                   .state = entry->state,
                                   .stop_string = -1,
                                   .stop_id = -1};
    struct nj_snapshot_chain chain = {.highest_number = storing->number - 1};
    const struct nj_snapshot_target target = {.sequence = &sequence,
                                              .directory_fd = storing->new_fd,
                                              .identity = storing->identity,
                                              .chain = &chain};
    enum nj_status status = nj_snapshot_writer_create(&options, &writer, err);
    if (status == NJ_OK) {
        status = nj_snapshot_writer_begin(writer, &target, 1, err);
    }
    if (status == NJ_OK) {
        nj_snapshot_writer_all_layers(writer);
        nj_snapshot_writer_commit(writer);
        nj_snapshot_writer_wait(writer);
        (void)nj_snapshot_writer_take_outcome(writer, 0, &storing->outcome); /* there is one */
        status = storing->outcome.is_durable
                     ? NJ_OK
                     : nj_fail(err, storing->outcome.status, "%s", storing->outcome.error.text);
    }
    nj_snapshot_writer_destroy(writer);
    return status;
}

/* Under the lock nobody else writes: what lies here was left by a run that died. */
static enum nj_status remove_leftovers(const struct nj_file_system *fs, int new_fd,
                                       struct nj_error *err)
{
    struct nj_segment_listing listing = {0};
    enum nj_status status = nj_segment_list(fs, new_fd, &listing, err);
    for (size_t i = 0; i < listing.list.n_numbers && status == NJ_OK; i++) {
        char name[NJ_SEGMENT_NAME_BYTES];
        nj_segment_name(listing.list.numbers[i], name);
        if (fs->unlink_at(fs->context, new_fd, name) != 0) {
            status = nj_fail(err, NJ_E_STORAGE, "remove %s, which a run left behind: %s", name,
                             strerror(errno));
        }
    }
    nj_segment_listing_deinit(&listing);
    return status;
}

static enum nj_status open_new_folder(const struct nj_prefix_cache *cache, int *new_fd,
                                      struct nj_error *err)
{
    char path[PATH_MAX];
    const struct nj_file_system *fs = cache->place.fs;
    int length = snprintf(path, sizeof path, "%s/new", cache->place.path);
    if (length < 0 || (size_t)length >= sizeof path) {
        return nj_fail(err, NJ_E_STORAGE, "the path of the prefix cache is too long");
    }
    enum nj_status status = nj_file_open_directory(fs, path, true, new_fd, err);
    return status == NJ_OK ? remove_leftovers(fs, *new_fd, err) : status;
}

/* Written beside the others, synced, and only then among them. */
static enum nj_status publish(struct nj_prefix_cache *cache, struct storing *storing,
                              struct nj_error *err)
{
    const struct nj_file_system *fs = cache->place.fs;
    enum nj_status status = open_new_folder(cache, &storing->new_fd, err);
    if (status == NJ_OK) {
        status = write_segment(cache, storing, err);
    }
    if (status == NJ_OK && fs->rename_at(fs->context, storing->new_fd, storing->name,
                                         cache->directory_fd, storing->name) != 0) {
        status = nj_fail(err, NJ_E_STORAGE, "move %s into the prefix cache: %s", storing->name,
                         strerror(errno));
        (void)fs->unlink_at(fs->context, storing->new_fd,
                            storing->name); /* else the next does */
    }
    if (status == NJ_OK) {
        status = nj_segment_folder_sync(fs, cache->directory_fd, err);
    }
    if (storing->new_fd >= 0) {
        (void)fs->close(fs->context, storing->new_fd); /* a folder's */
    }
    return status;
}

/* Under the lock. Others may have changed the folder since it was looked at. */
static enum nj_status store_locked(struct nj_prefix_cache *cache, struct storing *storing,
                                   uint64_t *n_written, struct nj_error *err)
{
    const struct nj_prefix_cache_place *place = &cache->place;
    uint64_t n_bytes = nj_prefix_cache_cost_bytes(cache, storing->entry->n_ids);
    if (cache->has_uses) {
        (void)nj_prefix_folder_save_uses(&cache->folder, place->fs, cache->directory_fd, NULL);
    }
    enum nj_status status = look(cache, err);
    if (status != NJ_OK || n_bytes > place->limit_bytes ||
        nj_prefix_folder_find(&cache->folder, storing->number) != NULL) {
        return status;
    }
    status = nj_prefix_folder_make_room(&cache->folder, place->fs, cache->directory_fd, n_bytes,
                                        place->limit_bytes, err);
    if (status == NJ_OK) {
        status = publish(cache, storing, err);
    }
    if (status == NJ_OK) {
        status = look(cache, err);
    }
    struct nj_prefix_file *file = nj_prefix_folder_find(&cache->folder, storing->number);
    if (status == NJ_OK && file != NULL) {
        *n_written = storing->outcome.file_bytes;
        nj_prefix_folder_use(&cache->folder, file);
        status =
            nj_prefix_folder_save_uses(&cache->folder, place->fs, cache->directory_fd, err);
        cache->has_uses = false;
    }
    return status;
}

static enum nj_status prepare(const struct nj_prefix_cache *cache, struct storing *storing,
                              struct nj_error *err)
{
    struct nj_digest key;
    const struct nj_prefix_entry *entry = storing->entry;
    enum nj_status status = key_of(entry->ids, entry->n_ids, &key, err);
    if (status == NJ_OK) {
        status = number_of(cache, &key, &storing->number, err);
    }
    if (status == NJ_OK) {
        storing->identity = identity_of(cache, &key, entry->n_ids);
        nj_segment_name(storing->number, storing->name);
    }
    return status;
}

enum nj_status nj_prefix_cache_store(struct nj_prefix_cache *cache,
                                     const struct nj_prefix_entry *entry, uint64_t *n_written,
                                     struct nj_error *err)
{
    const struct nj_prefix_cache_place *place = &cache->place;
    struct storing storing = {.entry = entry, .new_fd = -1};
    int lock_fd = -1;
    *n_written = 0;
    enum nj_status status = prepare(cache, &storing, err);
    if (status == NJ_OK && cache->directory_fd < 0) {
        status =
            nj_file_open_directory(place->fs, place->path, true, &cache->directory_fd, err);
    }
    if (status == NJ_OK) {
        status = nj_file_lock(place->fs, cache->directory_fd, "lock", &lock_fd, err);
    }
    if (lock_fd < 0) {
        return status == NJ_E_STATE ? NJ_OK : status; /* another run is writing */
    }
    status = store_locked(cache, &storing, n_written, err);
    (void)place->fs->close(place->fs->context, lock_fd); /* nothing was written through it */
    return status;
}
