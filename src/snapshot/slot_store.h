/* What earlier runs left in files of slots: finds an item's newest state that verifies and
 * fills a sequence's state with it, wherever that lives now.
 *
 * A file is only read here. Of each both tables count: an entry is of use if it is this item's,
 * after ids that the token log knows, and if every layer has the checksum that the entry says;
 * otherwise the next best is tried, and without any the ids are read again. Either way the bits
 * are the same.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_SNAPSHOT_SLOT_STORE_H
#define NJ_SNAPSHOT_SLOT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "generate/sequence.h"
#include "model/dims.h"
#include "snapshot/fingerprint.h"

struct nj_slot_store;

/* All borrowed for the store's life. */
struct nj_slot_store_options {
    const struct nj_file_system *fs;
    int directory_fd;
    const struct nj_dims *dims;
    const struct nj_log *log; /* hears of what is of no use; may be NULL */
};

struct nj_slot_loaded {
    uint32_t n_positions; /* that need not be read again; 0: nothing was of use */
    uint64_t n_bytes;     /* read for it */
    char complaint[200];  /* about the last that was of no use; else empty */
};

/* Files that cannot be used are named in a warning and left as they are. NJ_E_IO, NJ_E_STORAGE
 * (the folder), NJ_E_MEMORY. Caller owns `*store`. */
enum nj_status nj_slot_store_open(const struct nj_slot_store_options *options,
                                  struct nj_slot_store **store, struct nj_error *err);
/* NULL is allowed. */
void nj_slot_store_close(struct nj_slot_store *store);

/* The highest number of a file, 0 without any: new files go above it. */
uint64_t nj_slot_store_highest_number(const struct nj_slot_store *store);
/* Items that have an entry; the i-th of them, each once, in no particular order. */
size_t nj_slot_store_n_items(const struct nj_slot_store *store);
uint64_t nj_slot_store_item(const struct nj_slot_store *store, size_t i);

/* `sequence` has accepted all ids that the token log knows. Replaces its state by one that has
 * read more than it has, if there is such a one. NJ_E_MEMORY, NJ_E_BUDGET, and from the
 * state's home NJ_E_STORAGE; the state is then empty. */
enum nj_status nj_slot_store_load(struct nj_slot_store *store,
                                  const struct nj_snapshot_identity *identity,
                                  struct nj_sequence *sequence, struct nj_slot_loaded *loaded,
                                  struct nj_error *err);

/* Closes and removes all of its files, those of no use included. Nothing to do the second time.
 * NJ_E_STORAGE. */
enum nj_status nj_slot_store_remove(struct nj_slot_store *store, struct nj_error *err);

#endif
