/* Segments with something changed and all checksums right again, as no accident makes them.
 */
#ifndef NJ_TESTS_UNIT_SNAPSHOT_FORGE_H
#define NJ_TESTS_UNIT_SNAPSHOT_FORGE_H

#include <stddef.h>
#include <stdint.h>

#include "format/segment.h"

/* What is changed; either may be NULL. */
struct forgery {
    void *context;
    void (*change_header)(void *context, struct nj_segment_header *header);
    /* May change the values of a record, unpacked, its section, and not its length. */
    void (*change_record)(void *context, struct nj_segment_section *section, uint8_t *raw,
                          size_t n_bytes);
};

/* Reads the whole segment `segment` and encodes it again, unpacked, with the change; caller
 * frees `*forged`. */
void forge_segment(struct nj_bytes segment, const struct forgery *forgery, uint8_t **forged,
                   size_t *n_forged);

/* Zeroed, never NULL; the caller's to free. */
uint8_t *forge_memory(size_t n_bytes);

/* A small file of a folder: read whole (caller frees), replaced. */
uint8_t *read_segment(int directory_fd, const char *name, size_t *n_bytes);
void write_segment(int directory_fd, const char *name, const uint8_t *bytes, size_t n_bytes);

#endif
