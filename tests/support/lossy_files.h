/* A file system that forgets, when the power goes, what nobody synced.
 *
 *     lossy_files_init(&lossy, nj_file_system_real());
 *     lossy_files_cut_power_at(&lossy, n);      the n-th changing call does not happen any more
 *     ... code under test with &lossy.table ...
 *     lossy_files_lose(&lossy, seed);           the disk as the next start may find it
 *
 * Until the power goes every call works on the real files. From then on all fail. Losing then
 * decides by the seed for each write since its file's last sync whether it reached the disk,
 * half of it did, or nothing (later writes may have: what is missing reads as zeros),
 * and for each name made, renamed or removed since its folder's last sync whether that did.
 *
 * Threads: one at a time.
 */
#ifndef NJ_TESTS_SUPPORT_LOSSY_FILES_H
#define NJ_TESTS_SUPPORT_LOSSY_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"

enum {
    LOSSY_NAME_BYTES = 64,
    LOSSY_FILES_LIMIT = 256,
    LOSSY_WRITES_LIMIT = 4096,
    LOSSY_CHANGES_LIMIT = 256
};

/* A file opened for writing. */
struct lossy_file {
    int fd; /* -1: closed */
    int directory_fd;
    char name[LOSSY_NAME_BYTES];
    uint64_t length_bytes;
    bool is_reserved; /* its length does not depend on what is written */
};

/* A write that was not synced since. */
struct lossy_write {
    uint32_t file;
    uint64_t offset;
    uint64_t length_bytes;
};

enum lossy_change_kind { LOSSY_CREATED, LOSSY_RENAMED, LOSSY_REMOVED };

/* A change of names that was not synced since. What is removed lies under `to` until then. */
struct lossy_change {
    enum lossy_change_kind kind;
    int directory_fd;
    char from[LOSSY_NAME_BYTES];
    char to[LOSSY_NAME_BYTES];
};

struct lossy_files {
    struct nj_file_system table; /* hand this to the code under test */
    const struct nj_file_system *below;
    unsigned long n_changing_calls;
    unsigned long cut_at; /* 0: never */
    bool is_dark;
    struct lossy_file files[LOSSY_FILES_LIMIT];
    uint32_t n_files;
    struct lossy_write writes[LOSSY_WRITES_LIMIT];
    uint32_t n_writes;
    struct lossy_change changes[LOSSY_CHANGES_LIMIT];
    uint32_t n_changes;
    uint32_t n_removed;
};

/* The struct must stay where it is while the table is in use. Folders must stay open. */
void lossy_files_init(struct lossy_files *lossy, const struct nj_file_system *below);

/* Counted from now: open for writing, write, sync, rename and remove change something. */
void lossy_files_cut_power_at(struct lossy_files *lossy, unsigned long n);

/* Leaves one of the disks that may be found; `seed` says which. */
void lossy_files_lose(struct lossy_files *lossy, uint64_t seed);

#endif
