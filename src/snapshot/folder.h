/* The folder of one item's segments: names, what is there, putting aside.
 *
 * Threads: none of its own; each call uses its arguments only.
 */
#ifndef NJ_SNAPSHOT_FOLDER_H
#define NJ_SNAPSHOT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "snapshot/number_list.h"

enum { NJ_SEGMENT_NAME_BYTES = 48 };

/* "segment-000017.snap"; returns `name`. */
const char *nj_segment_name(uint64_t number, char name[NJ_SEGMENT_NAME_BYTES]);

/* Whether this is the name of a segment, and of which. */
bool nj_segment_name_read(const char *name, uint64_t *number);

/* Opens items/INDEX below a run folder, made 0700 and durable where it is missing if `create`;
 * else `*directory_fd` is -1 for one that is not there. NJ_E_STORAGE, NJ_E_IO. */
enum nj_status nj_segment_folder_open(const struct nj_file_system *fs, int run_directory_fd,
                                      uint64_t item_index, bool create, int *directory_fd,
                                      struct nj_error *err);

/* Removes items/INDEX, which `directory_fd` is open on, if nothing is in it any more; a file of
 * somebody else's keeps it. The parent is not synced: an
 * empty folder that comes back after a power cut is in nobody's way. NJ_E_STORAGE. */
enum nj_status nj_segment_folder_remove(const struct nj_file_system *fs, int directory_fd,
                                        uint64_t item_index, struct nj_error *err);

/* Visits the item indices that have a folder, in no particular order. NJ_E_IO, NJ_E_STORAGE, or
 * what `visit` returned. */
typedef enum nj_status nj_segment_folder_visit(void *context, uint64_t item_index,
                                               struct nj_error *err);
enum nj_status nj_segment_folders(const struct nj_file_system *fs, int run_directory_fd,
                                  nj_segment_folder_visit *visit, void *context,
                                  struct nj_error *err);

/* The segments of a folder. Zeroed is empty; the owner's to deinit. */
struct nj_segment_listing {
    struct nj_number_list list; /* rising; without those put aside */
    uint64_t highest_number;    /* those put aside included; 0: none */
};

/* Other names are passed over: they are not ours. NJ_E_IO, NJ_E_STORAGE, NJ_E_MEMORY. */
enum nj_status nj_segment_list(const struct nj_file_system *fs, int directory_fd,
                               struct nj_segment_listing *listing, struct nj_error *err);
void nj_segment_listing_deinit(struct nj_segment_listing *listing);

/* Renames a segment to the first free of NAME.bad, NAME.bad-2 ..., durably; `aside` (may be
 * NULL) receives that name. Its bytes stay as they are. NJ_E_STORAGE. */
enum nj_status nj_segment_put_aside(const struct nj_file_system *fs, int directory_fd,
                                    uint64_t number, char aside[NJ_SEGMENT_NAME_BYTES],
                                    struct nj_error *err);

/* Unlinks a segment; one that is not there is fine. The folder is not synced. NJ_E_STORAGE. */
enum nj_status nj_segment_remove(const struct nj_file_system *fs, int directory_fd,
                                 uint64_t number, struct nj_error *err);

/* Unlinks what was put aside; the folder is not synced. NJ_E_STORAGE, NJ_E_IO. */
enum nj_status nj_segment_remove_aside(const struct nj_file_system *fs, int directory_fd,
                                       bool *any_removed, struct nj_error *err);

/* fsync of the folder. NJ_E_STORAGE. */
enum nj_status nj_segment_folder_sync(const struct nj_file_system *fs, int directory_fd,
                                      struct nj_error *err);

#endif
