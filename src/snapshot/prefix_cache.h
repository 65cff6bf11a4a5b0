/* States of prefixes on disk, for runs to come: a private folder of bounded size.
 *
 * Only a cache, and nothing here can fail a run: what cannot be read is computed again, what
 * cannot be written is not there. A state is found by the SHA-256 of its ids, weights and
 * numerics; its segment (docs/formats/prefix-cache.md) is verified from end to end before it is
 * used, and put aside under a name that says so when it is damaged. It appears whole or not at
 * all. Several runs may use one folder: who writes takes its lock, and whoever finds it taken
 * does not write.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_SNAPSHOT_PREFIX_CACHE_H
#define NJ_SNAPSHOT_PREFIX_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byte_budget.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "generate/prefix_shelf.h"
#include "generate/sequence.h"
#include "model/dims.h"

struct nj_prefix_cache;

/* 16 prefixes of Kimi K3 of a few hundred tokens, and an hour of the default write budget of
 * snapshots is enough to fill it. */
#define NJ_PREFIX_CACHE_BYTES (UINT64_C(8) << 30)

/* All borrowed. */
struct nj_prefix_cache_place {
    const struct nj_file_system *fs; /* used by a thread too */
    const char *path;                /* the folder; made when something is stored */
    const struct nj_dims *dims;
    const struct nj_digest *weights; /* the model's fingerprint */
    struct nj_byte_budget *budget;   /* pays for buffers; NULL: not counted */
    const struct nj_log *log;        /* hears of what is put aside; may be NULL */
    struct nj_clock clock;
    uint64_t entropy;     /* for the salts of segments */
    uint64_t limit_bytes; /* of all files */
};

/* Looks at what is there. NJ_E_MEMORY; NJ_E_IO, NJ_E_PERMISSION, NJ_E_STORAGE the folder.
 * Caller owns `*cache`. */
enum nj_status nj_prefix_cache_open(const struct nj_prefix_cache_place *place,
                                    struct nj_prefix_cache **cache, struct nj_error *err);
/* Writes down what was used, if nobody else is writing. NULL is allowed. */
void nj_prefix_cache_close(struct nj_prefix_cache *cache);

/* Gives the sequence the state of the longest stored prefix of its ids, longer than what it has
 * read and without its last id. False: there is none, or none was of use; then the state is as
 * it was, or empty. */
bool nj_prefix_cache_load(struct nj_prefix_cache *cache, struct nj_sequence *sequence);

/* What storing a state of so many ids writes at most. */
uint64_t nj_prefix_cache_cost_bytes(const struct nj_prefix_cache *cache, uint32_t n_ids);

/* Stores the entry's state, in the place of what was not used for longest. `*n_written` is 0
 * when it is there already, is larger than the bound, or another run is writing. NJ_E_STORAGE,
 * NJ_E_IO, NJ_E_BUDGET, NJ_E_MEMORY; nothing is half there then. */
enum nj_status nj_prefix_cache_store(struct nj_prefix_cache *cache,
                                     const struct nj_prefix_entry *entry, uint64_t *n_written,
                                     struct nj_error *err);

/* Bytes of all files, as far as this run knows. */
uint64_t nj_prefix_cache_held_bytes(const struct nj_prefix_cache *cache);

#endif
