/* Room set aside in the state directory, so that a full disk can still be written down:
 * "paused, the disk is full" is a commit, and needs a few pages of the database's log.
 *
 * Dropped when a write fails for want of room, taken on again when there is some. It is not
 * part of any format: a start without it is a start without a reserve.
 *
 * Threads: one owner.
 */
#ifndef NJ_QUEUE_BALLAST_H
#define NJ_QUEUE_BALLAST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"

enum { NJ_QUEUE_BALLAST_BYTES = 64 * 1024 * 1024 };

/* Writes the file up to this size, if it is smaller; really written, since a hole reserves
 * nothing. NJ_E_BUDGET when there is no room, and then no ballast; NJ_E_STORAGE for another
 * failure. */
enum nj_status nj_queue_ballast_take_on(const struct nj_file_system *fs, int directory_fd,
                                        const char *name, uint64_t bytes, struct nj_error *err);

/* Gives the room back. Absent is an answer: `*was_there` says so. */
enum nj_status nj_queue_ballast_drop(const struct nj_file_system *fs, int directory_fd,
                                     const char *name, bool *was_there, struct nj_error *err);

#endif
