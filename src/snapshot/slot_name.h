/* The files of slots of a run folder: names, what is there, removing.
 *
 * Threads: none of its own; each call uses its arguments only.
 */
#ifndef NJ_SNAPSHOT_SLOT_NAME_H
#define NJ_SNAPSHOT_SLOT_NAME_H

#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "snapshot/number_list.h"

enum { NJ_SLOT_NAME_BYTES = 48 };

/* "states-000017.slots"; returns `name`. */
const char *nj_slot_name(uint64_t number, char name[NJ_SLOT_NAME_BYTES]);

/* The numbers that are there, rising. Other names are passed over: they are not ours. NJ_E_IO,
 * NJ_E_STORAGE, NJ_E_MEMORY. Deinit `listing` also after a failure. */
enum nj_status nj_slot_list(const struct nj_file_system *fs, int directory_fd,
                            struct nj_number_list *listing, struct nj_error *err);

/* Removes the file, durably. One that is not there is as good. NJ_E_STORAGE. */
enum nj_status nj_slot_remove(const struct nj_file_system *fs, int directory_fd,
                              uint64_t number, struct nj_error *err);

#endif
