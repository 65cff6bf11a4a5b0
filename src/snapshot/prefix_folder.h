/* The folder of the prefix cache: what lies in it, how large it is and what was used last.
 *
 * Files are segments (docs/formats/prefix-cache.md); one that was found damaged has another
 * ending, still counts, and goes first. When each was last used stands in a small file that is
 * replaced whole: a count of uses, not a time. Without it all are equally old.
 *
 * Threads: none of its own.
 */
#ifndef NJ_SNAPSHOT_PREFIX_FOLDER_H
#define NJ_SNAPSHOT_PREFIX_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "snapshot/folder.h"

enum { NJ_PREFIX_FILES_LIMIT = 4096 };

struct nj_prefix_file {
    char name[NJ_SEGMENT_NAME_BYTES];
    uint64_t number; /* 0: it was put aside */
    uint64_t n_bytes;
    uint64_t use; /* when it was last used; 0: not known */
};

/* Zeroed is empty; the owner's to deinit. */
struct nj_prefix_folder {
    struct nj_prefix_file *files;
    size_t n_files;
    size_t capacity;
    uint64_t held_bytes;
    uint64_t last_use; /* the newest of all */
};

/* Anything but segments is passed over. Files behind the limit are too. NJ_E_IO, NJ_E_STORAGE,
 * NJ_E_MEMORY. */
enum nj_status nj_prefix_folder_read(struct nj_prefix_folder *folder,
                                     const struct nj_file_system *fs, int directory_fd,
                                     struct nj_error *err);
void nj_prefix_folder_deinit(struct nj_prefix_folder *folder);

/* NULL when none has this number. */
struct nj_prefix_file *nj_prefix_folder_find(struct nj_prefix_folder *folder, uint64_t number);

/* It was used now. */
void nj_prefix_folder_use(struct nj_prefix_folder *folder, struct nj_prefix_file *file);

/* Removes files, those put aside first, then those unused for longest, until `n_bytes` more are
 * within the limit. NJ_E_STORAGE when one cannot be removed. */
enum nj_status nj_prefix_folder_make_room(struct nj_prefix_folder *folder,
                                          const struct nj_file_system *fs, int directory_fd,
                                          uint64_t n_bytes, uint64_t limit_bytes,
                                          struct nj_error *err);

/* Writes down when each file was last used. NJ_E_STORAGE, NJ_E_MEMORY. */
enum nj_status nj_prefix_folder_save_uses(const struct nj_prefix_folder *folder,
                                          const struct nj_file_system *fs, int directory_fd,
                                          struct nj_error *err);

#endif
