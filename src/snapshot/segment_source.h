/* A segment on disk as bytes to scan, in little memory.
 *
 * Threads: each source has one owner.
 */
#ifndef NJ_SNAPSHOT_SEGMENT_SOURCE_H
#define NJ_SNAPSHOT_SEGMENT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "format/segment.h"
#include "snapshot/folder.h"

/* Open for reading; holds a window of at most a few MiB. */
struct nj_segment_source {
    const struct nj_file_system *fs;
    char name[NJ_SEGMENT_NAME_BYTES];
    int fd;
    uint64_t length_bytes;
    uint8_t *window;
    size_t window_capacity;
    uint64_t window_offset;
    size_t n_window;
};

/* NJ_E_NOT_FOUND, NJ_E_INPUT (no regular file), NJ_E_PERMISSION, NJ_E_IO. On failure nothing is
 * open. */
enum nj_status nj_segment_source_open(struct nj_segment_source *source,
                                      const struct nj_file_system *fs, int directory_fd,
                                      uint64_t number, struct nj_error *err);
void nj_segment_source_close(struct nj_segment_source *source);

/* Scans it (nj_segment_scan_source). */
enum nj_status nj_segment_source_scan(struct nj_segment_source *source, nj_segment_visit *visit,
                                      void *context, struct nj_segment_scan *scan,
                                      struct nj_error *err);

/* The file header alone; false when there is none that verifies. */
bool nj_segment_header_read(const struct nj_file_system *fs, int directory_fd, uint64_t number,
                            struct nj_segment_header *header);

/* Whether the segment was begun and never finished, as a kill leaves it: it ends before any
 * commit, and nothing valid stands behind the break. False when it cannot be read. */
bool nj_segment_is_unfinished(const struct nj_file_system *fs, int directory_fd,
                              uint64_t number);

#endif
