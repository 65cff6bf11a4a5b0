/* Snapshot segments: one file that holds one item's state at the end of one sweep.
 *
 * A segment is a header, records, a commit and an end mark. A snapshot exists only if its
 * commit is intact and every record before it verifies. Segments of an item form a chain: what
 * only grows (the latent cache) is stored for new positions only, and the header names the
 * segment that holds the older ones, with its last chain value.
 *
 * A record carries its lengths under a checksum of its own, checked before they are believed, a
 * checksum of its payload, and the chain value of the record before it. A payload is at most 1
 * MiB, so that writer and reader need little memory for states of any size; larger sections are
 * several records. Bytes to structs only: files are the caller's.
 *
 * Writing: format/segment_encoder.h. File: docs/formats/snapshot.md.
 */
#ifndef NJ_FORMAT_SEGMENT_H
#define NJ_FORMAT_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/status.h"
#include "format/planes.h"
#include "format/record_log.h"

enum {
    NJ_SEGMENT_VERSION = 1,
    NJ_SEGMENT_HEADER_BYTES = 184,
    NJ_SEGMENT_RECORD_HEADER_BYTES = 56,
    NJ_SEGMENT_PAYLOAD_LIMIT_BYTES = NJ_PACK_LIMIT_BYTES,
    /* the longest record: header, payload, its checksum, padding */
    NJ_SEGMENT_RECORD_LIMIT_BYTES = NJ_SEGMENT_PAYLOAD_LIMIT_BYTES + 64,
    NJ_SEGMENT_JOB_BYTES = 16
};

enum nj_segment_record_type {
    NJ_SEGMENT_SNAP_BEGIN = 1, /* the first record: the shape of what follows */
    NJ_SEGMENT_TOKENS = 2,
    NJ_SEGMENT_KV = 3,
    NJ_SEGMENT_RECURRENT = 4,
    NJ_SEGMENT_SAMPLER = 5,
    NJ_SEGMENT_OUTPUT_MARK = 6,
    NJ_SEGMENT_SNAP_COMMIT = 7,
    NJ_SEGMENT_END = 8
};

enum nj_segment_kv_type { NJ_SEGMENT_KV_F32 = 1 };

/* Whose state it is, and what must be the same for it to be of use. */
struct nj_segment_header {
    uint8_t job[NJ_SEGMENT_JOB_BYTES];
    uint64_t item_index; /* in the run */
    struct nj_digest item;
    uint32_t sample;
    uint32_t numerics_version;
    uint32_t kv_type;
    float latent_norm_eps;
    uint64_t number;          /* from 1, grows along the chain */
    uint64_t previous_number; /* 0: a base, nothing before it is needed */
    uint32_t previous_chain;  /* after the commit of that one; 0 for a base */
    uint64_t salt;            /* random per file */
    struct nj_digest weights;
    struct nj_digest template;
};

/* What an encoded record is about; places count in values for RECURRENT, else in positions. */
struct nj_segment_section {
    enum nj_segment_record_type type;
    uint32_t layer;
    uint32_t first;
    uint32_t count;
};

/* Where the next record goes. */
struct nj_segment_cursor {
    uint64_t sequence;
    uint32_t chain;
    uint32_t salt_low;
};

/* One record that verified. */
struct nj_segment_record {
    struct nj_segment_section section;
    bool is_packed;          /* format/planes.h */
    uint32_t raw_bytes;      /* once unpacked */
    struct nj_bytes payload; /* as stored; valid during the visit */
    uint32_t payload_crc32;
    uint64_t payload_offset; /* in the file */
};

enum nj_segment_verdict {
    NJ_SEGMENT_WHOLE,        /* committed; nothing but zeros behind it */
    NJ_SEGMENT_TAILED,       /* committed; other bytes behind it, which mean nothing */
    NJ_SEGMENT_TORN,         /* no commit, and nothing valid behind the break */
    NJ_SEGMENT_DAMAGED,      /* no commit verifies, but a later record does */
    NJ_SEGMENT_EMPTY,        /* no byte but zeros */
    NJ_SEGMENT_NO_HEADER,    /* its header does not verify */
    NJ_SEGMENT_OTHER_VERSION /* newer or older than known */
};

struct nj_segment_scan {
    enum nj_segment_verdict verdict;
    struct nj_segment_header header; /* zeroed unless it verified, in this version */
    uint32_t format_version;
    uint64_t n_records;
    uint64_t valid_bytes;    /* header and records that verified */
    uint32_t commit_chain;   /* after the commit; 0 without one */
    struct nj_digest commit; /* what the commit says: SHA-256 over all checksums */
    char complaint[160];     /* what did not verify and where; empty for a whole segment */
};

typedef enum nj_status nj_segment_visit(void *context, const struct nj_segment_record *record,
                                        struct nj_error *err);

/* Visits every record that verifies, in order, up to and with SNAP_COMMIT. That they verify one
 * by one does not make a snapshot: only a scan that ends WHOLE or TAILED does. Fails only if
 * the source or the visit does, or for want of memory. */
enum nj_status nj_segment_scan_source(const struct nj_record_source *source,
                                      nj_segment_visit *visit, void *context,
                                      struct nj_segment_scan *scan, struct nj_error *err);

/* The same over a segment in memory. */
enum nj_status nj_segment_scan(struct nj_bytes segment, nj_segment_visit *visit, void *context,
                               struct nj_segment_scan *scan, struct nj_error *err);

/* "whole", "torn" ... for messages. */
const char *nj_segment_verdict_name(enum nj_segment_verdict verdict);

#endif
