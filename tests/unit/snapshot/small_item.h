/* One item with a state of a few hundred bytes, moved on without a model: what a state holds
 * after n ids is a function of n, so that any restored state can be compared byte by byte.
 *
 *     small_item_open(&item, n_prompt);
 *     small_item_sweep(&item, 3);              reads three more ids
 *     small_item_snapshot(&item, &writer_files);
 */
#ifndef NJ_TESTS_UNIT_SNAPSHOT_SMALL_ITEM_H
#define NJ_TESTS_UNIT_SNAPSHOT_SMALL_ITEM_H

#include <stdbool.h>

#include "base/file.h"
#include "generate/sequence.h"
#include "snapshot/loader.h"
#include "snapshot/writer.h"

struct small_item {
    struct nj_dims dims; /* K M K, the smallest there are */
    struct nj_sequence sequence;
    struct nj_snapshot_identity identity;
    struct nj_snapshot_chain chain;
    int directory_fd;
};

enum { SMALL_ITEM_IDS = 400 };

/* The real files without waiting for the disk: enough wherever nothing is said about power. */
const struct nj_file_system *small_item_files(void);

/* All ids are known and none is read; the chain is empty and there is no folder yet. */
void small_item_open(struct small_item *item);
void small_item_close(struct small_item *item);

/* A fresh folder below the test's; its descriptor is closed with the item. */
void small_item_make_folder(struct small_item *item);

/* Reads so many more ids, with the writer's hook in the middle (NULL: none). */
void small_item_sweep(struct small_item *item, uint32_t n_ids,
                      struct nj_snapshot_writer *writer);

/* Whether the state is what reading so many ids gives, bit by bit. */
bool small_item_state_is(const struct small_item *item, uint32_t n_ids);

struct nj_snapshot_writer *small_item_writer(const struct small_item *item,
                                             const struct nj_file_system *fs, int pack_level);

/* One round in one sweep of so many ids, waited for and pruned. */
struct nj_snapshot_outcome
small_item_snapshot(struct small_item *item, struct nj_snapshot_writer *writer, uint32_t n_ids);

/* Forgets the state and loads what the folder holds. */
struct nj_snapshot_loaded small_item_load(struct small_item *item,
                                          const struct nj_file_system *fs,
                                          enum nj_status *status, struct nj_error *err);

#endif
