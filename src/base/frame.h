/* Messages on a pipe: whole ones, bounded, and checked.
 *
 * A pipe gives bytes in pieces of any size, its other end may be a program that has lost its
 * mind, and a library in it may print to the same descriptor. So each message carries its type,
 * its length and two checksums, of which the header's is checked before the length is believed.
 * Bytes to structs only: descriptors are the caller's.
 *
 * Bytes: docs/formats/worker-pipe.md.
 *
 * Threads: one owner.
 */
#ifndef NJ_BASE_FRAME_H
#define NJ_BASE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

enum {
    NJ_FRAME_HEADER_BYTES = 20,
    NJ_FRAME_PAYLOAD_LIMIT_BYTES = 256 * 1024 /* an event is below 1 KiB, paths are below 4 */
};

struct nj_frame {
    uint16_t type;
    struct nj_bytes payload; /* valid until more bytes are taken in */
};

/* What goes before the payload, which must not be longer than the limit. */
void nj_frame_write_header(const struct nj_frame *frame, uint8_t header[NJ_FRAME_HEADER_BYTES]);

/* Bytes that came in and are not yet messages. Zeroed is empty. */
struct nj_frame_reader {
    uint8_t *bytes;
    size_t capacity;
    size_t begin; /* of what is not yet handed out */
    size_t end;
    bool is_broken; /* nothing behind this can be believed */
};

void nj_frame_reader_deinit(struct nj_frame_reader *reader);

/* Takes in what a read gave. NJ_E_MEMORY leaves the reader as it was. */
enum nj_status nj_frame_reader_add(struct nj_frame_reader *reader, struct nj_bytes bytes,
                                   struct nj_error *err);

/* The next message, if all of it is there. NJ_E_INPUT for anything that is none; then and from
 * then on: the other end is to be given up. */
enum nj_status nj_frame_reader_next(struct nj_frame_reader *reader, struct nj_frame *frame,
                                    bool *has_frame, struct nj_error *err);

/* Whether the bytes end inside a message: the other end died while it wrote. */
bool nj_frame_reader_is_torn(const struct nj_frame_reader *reader);

#endif
