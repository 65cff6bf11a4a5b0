/* Records that were appended to a log and are not known to be on the disk: kept until they are,
 * so that they can be written once more, to another file.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_HELD_RECORDS_H
#define NJ_RUNNER_HELD_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

/* Where a record's payload lies in a log. */
struct nj_log_spot {
    uint32_t segment; /* from 1 */
    uint32_t n_bytes;
    uint64_t offset_bytes; /* in the segment */
};

struct nj_held_record {
    uint32_t type;
    size_t begin; /* of its payload in `bytes` */
    struct nj_log_spot spot;
};

/* Zeroed is valid and empty. */
struct nj_held_records {
    struct nj_held_record *records;
    size_t n_records;
    size_t records_capacity;
    size_t n_durable; /* of the first of them it is known that they are on the disk */
    uint8_t *bytes;
    size_t n_bytes;
    size_t bytes_capacity;
};

void nj_held_records_deinit(struct nj_held_records *held);
void nj_held_records_clear(struct nj_held_records *held); /* keeps the memory */

/* Copies the payload. */
enum nj_status nj_held_records_add(struct nj_held_records *held, uint32_t type,
                                   struct nj_bytes payload, struct nj_error *err);

/* A view, valid until the next add. */
struct nj_bytes nj_held_records_payload(const struct nj_held_records *held, size_t index);

#endif
