/* Framed, chained, append-only records: the shape of tokens.log, results.log and journal.log.
 *
 * A log is a header and records. Each record carries its type, length and sequence number, a
 * checksum of that header (checked before the length is believed), a checksum of its payload,
 * and the chain value of the record before, so a stale or foreign record behind a torn one is
 * not taken for ours. Bytes to structs only: files are the caller's (base/file).
 *
 * Recovery rules R3 to R6: reading stops at the first record that does not verify. Zeros from
 * there to the end are a clean end; nothing valid behind it is a torn tail, to be cut; valid
 * records behind it are damage inside.
 *
 * File: docs/formats/record-log.md.
 */
#ifndef NJ_FORMAT_RECORD_LOG_H
#define NJ_FORMAT_RECORD_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

enum {
    NJ_RECORD_LOG_HEADER_BYTES = 64,
    NJ_RECORD_HEADER_BYTES = 32,
    NJ_RECORD_PAYLOAD_LIMIT_BYTES = 64 * 1024 * 1024
};

/* What the log is (first four bytes after the magic) and which run it belongs to. */
struct nj_record_log_identity {
    uint32_t kind;           /* four characters, e.g. 'T','O','K','S' */
    uint32_t format_version; /* newer than known: touch nothing (R2) */
    uint64_t salt;           /* random per file */
    uint8_t fingerprint[32]; /* the run it belongs to */
};

/* Where the next record goes. */
struct nj_record_cursor {
    uint64_t sequence; /* of the next record; the first is 0 */
    uint32_t chain;    /* over all records before it */
    uint32_t salt_low;
};

struct nj_record {
    uint32_t type;
    uint64_t sequence;
    struct nj_bytes payload; /* valid during the visit */
    uint64_t offset_bytes;   /* of the record's header in the log */
};

enum nj_log_end {
    NJ_LOG_END_CLEAN, /* the last byte belongs to a valid record, or zeros follow */
    NJ_LOG_END_TORN, /* unverifiable bytes follow, nothing valid behind them: cut at valid_bytes
                      */
    NJ_LOG_END_DAMAGED,   /* unverifiable bytes, then valid records: quarantine, keep what
                             verified */
    NJ_LOG_END_NO_HEADER, /* empty, or the header itself is torn */
    NJ_LOG_END_NEWER      /* format version newer than known: touch nothing */
};

struct nj_record_log_scan {
    struct nj_record_log_identity identity;
    struct nj_record_cursor cursor; /* after the last valid record */
    uint64_t valid_bytes;           /* length of header and valid records */
    uint64_t n_records;
    enum nj_log_end end;
    char complaint[160]; /* what did not verify and at which offset; empty when clean */
};

typedef enum nj_status nj_record_visit(void *context, const struct nj_record *record,
                                       struct nj_error *err);

/* Writes the 64-byte file header. */
void nj_record_log_encode_header(const struct nj_record_log_identity *identity,
                                 uint8_t header[NJ_RECORD_LOG_HEADER_BYTES],
                                 struct nj_record_cursor *cursor);

/* Bytes one record takes in the file: header, payload, padding to 8. */
size_t nj_record_encoded_bytes(size_t payload_bytes);

/* Encodes one record at `out` (which has nj_record_encoded_bytes room) and moves the cursor on.
 * The payload is at most NJ_RECORD_PAYLOAD_LIMIT_BYTES. */
void nj_record_encode(struct nj_record_cursor *cursor, uint32_t type, struct nj_bytes payload,
                      uint8_t *out);

/* Where a log's bytes come from, so that a log of any size can be scanned in little memory. */
struct nj_record_source {
    void *context;
    uint64_t length_bytes; /* of the log */
    /* Shows `n_bytes` (at most the longest record's, all of them inside the log) at `offset`;
     * valid until the next call. */
    enum nj_status (*view)(void *context, uint64_t offset, size_t n_bytes, const uint8_t **data,
                           struct nj_error *err);
};

/* Visits every verified record in order. Only a status from `visit` or from the source makes it
 * fail; `scan` then says how far it came, and the record refused is the one at `valid_bytes`.
 * What is wrong with the log is in `scan`. `newest_version` is the highest format version
 * known. */
enum nj_status nj_record_log_scan_source(const struct nj_record_source *source,
                                         uint32_t newest_version, nj_record_visit *visit,
                                         void *context, struct nj_record_log_scan *scan,
                                         struct nj_error *err);

/* The same over a log in memory. */
enum nj_status nj_record_log_scan(struct nj_bytes log, uint32_t newest_version,
                                  nj_record_visit *visit, void *context,
                                  struct nj_record_log_scan *scan, struct nj_error *err);

#endif
