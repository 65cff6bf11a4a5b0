#include "snapshot/loader.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "snapshot/folder.h"
#include "snapshot/generation.h"
#include "snapshot/restore.h"
#include "snapshot/segment_source.h"

/* One load under way. */
struct loading {
    const struct nj_snapshot_loader *loader;
    struct nj_generation_wanted wanted;
    struct nj_sequence *sequence;
    struct nj_segment_listing listing;
    struct nj_generation generation;
    struct nj_snapshot_loaded loaded;
    struct nj_snapshot_chain chain;
};

static enum nj_status put_aside(struct loading *loading, uint64_t number,
                                const struct nj_error *why, struct nj_error *err)
{
    char name[NJ_SEGMENT_NAME_BYTES];
    char aside[NJ_SEGMENT_NAME_BYTES];
    struct nj_snapshot_loaded *loaded = &loading->loaded;
    enum nj_status status = nj_segment_put_aside(
        loading->loader->fs, loading->wanted.directory_fd, number, aside, err);
    if (status != NJ_OK) {
        return status;
    }
    loaded->n_put_aside += 1;
    (void)snprintf(loaded->complaint, sizeof loaded->complaint, "%s: %.150s",
                   nj_segment_name(number, name), why->text);
    nj_log_write(loading->loader->log, NJ_LOG_WARNING,
                 "item %" PRIu64 ": %s; it was put aside as %s",
                 loading->wanted.identity->item_index, loaded->complaint, aside);
    return NJ_OK;
}

/* Not synced: one that comes back after a power cut is removed again. */
static enum nj_status remove_unfinished(struct loading *loading, uint64_t number,
                                        struct nj_error *err)
{
    loading->loaded.n_unfinished += 1;
    return nj_segment_remove(loading->loader->fs, loading->wanted.directory_fd, number, err);
}

/* The segment is of no use. Only the newest can have been under way when a run was killed: what
 * is torn with others behind it was damaged later. */
static enum nj_status dispose(struct loading *loading, size_t index, const struct nj_error *why,
                              struct nj_error *err)
{
    uint64_t number = loading->listing.list.numbers[index];
    bool is_newest = index + 1 == loading->listing.list.n_numbers;
    return is_newest && nj_segment_is_unfinished(loading->loader->fs,
                                                 loading->wanted.directory_fd, number)
               ? remove_unfinished(loading, number, err)
               : put_aside(loading, number, why, err);
}

/* What the next snapshot needs to know. The one before the newest is the next lower number:
 * what was of no use and newer is gone or aside. */
static void note_chain(struct loading *loading, size_t index)
{
    const struct nj_generation *generation = &loading->generation;
    const struct nj_segment_listing *listing = &loading->listing;
    loading->chain.number = listing->list.numbers[index];
    loading->chain.previous_number = index > 0 ? listing->list.numbers[index - 1] : 0;
    loading->chain.chain = generation->chain;
    loading->chain.n_positions = generation->shape.n_positions;
    loading->chain.n_segments = generation->n_sources;
    loading->loaded.number = loading->chain.number;
    loading->loaded.n_positions = generation->shape.n_positions;
    loading->loaded.n_bytes = generation->n_bytes;
}

/* NJ_E_STATE: this one is of no use. */
static enum nj_status try_one(struct loading *loading, size_t index, struct nj_error *err)
{
    const struct nj_snapshot_loader *loader = loading->loader;
    enum nj_status status = nj_generation_open(&loading->generation, &loading->wanted,
                                               loading->listing.list.numbers[index], err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_generation_restore(&loading->generation, loading->sequence->state, loader->pool,
                                   loader->budget, err);
    if (status == NJ_OK) {
        note_chain(loading, index);
    }
    nj_generation_close(&loading->generation);
    return status;
}

/* From the newest to the oldest, until one serves. */
static enum nj_status try_all(struct loading *loading, struct nj_error *err)
{
    struct nj_error why;
    for (size_t i = loading->listing.list.n_numbers; i > 0; i--) {
        enum nj_status status = try_one(loading, i - 1, &why);
        if (status == NJ_OK) {
            return NJ_OK;
        }
        if (status != NJ_E_STATE) {
            return nj_fail(err, status, "%s", why.text);
        }
        status = dispose(loading, i - 1, &why, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    return NJ_OK;
}

static enum nj_status load(struct loading *loading, struct nj_error *err)
{
    enum nj_status status = nj_segment_list(loading->loader->fs, loading->wanted.directory_fd,
                                            &loading->listing, err);
    if (status != NJ_OK) {
        return status;
    }
    loading->chain.highest_number = loading->listing.highest_number;
    return try_all(loading, err);
}

enum nj_status nj_snapshot_load(const struct nj_snapshot_loader *loader, int directory_fd,
                                const struct nj_snapshot_identity *identity,
                                struct nj_sequence *sequence, struct nj_snapshot_chain *chain,
                                struct nj_snapshot_loaded *loaded, struct nj_error *err)
{
    assert(nj_state_length(sequence->state) == 0);
    struct loading *loading = calloc(1, sizeof *loading);
    if (loading == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "load a snapshot: out of memory");
    }
    loading->loader = loader;
    loading->sequence = sequence;
    loading->wanted = (struct nj_generation_wanted){.fs = loader->fs,
                                                    .directory_fd = directory_fd,
                                                    .dims = loader->dims,
                                                    .identity = identity,
                                                    .sequence = sequence};
    enum nj_status status = load(loading, err);
    if (status == NJ_OK) {
        *chain = loading->chain;
        *loaded = loading->loaded;
    }
    nj_segment_listing_deinit(&loading->listing);
    free(loading);
    return status;
}
