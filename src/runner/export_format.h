/* The file in which a run is carried to another machine: files one after the other, in the
 * frame of record logs.
 *
 * Bytes to structs only; what is in the files is not looked at.
 *
 * File: docs/formats/export.md. Threads: one owner.
 */
#ifndef NJ_RUNNER_EXPORT_FORMAT_H
#define NJ_RUNNER_EXPORT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/status.h"
#include "base/text.h"
#include "format/record_log.h"

enum {
    NJ_EXPORT_VERSION = 1,
    NJ_EXPORT_KIND = 'E' | 'X' << 8 | 'P' << 16 | 'O' << 24,
    NJ_EXPORT_NAME_LIMIT_BYTES = 1024,
    NJ_EXPORT_PIECE_BYTES = 1 << 20, /* of a file in one record, at most */
    NJ_EXPORT_HEAD_LIMIT_BYTES = 16 << 20,
    NJ_EXPORT_END_BYTES = 2 * 8 + NJ_DIGEST_BYTES
};

enum nj_export_record {
    NJ_EXPORT_HEAD = 1,  /* JSON: what the export is of, and how to go on */
    NJ_EXPORT_FILE = 2,  /* a file begins: its length and name */
    NJ_EXPORT_BYTES = 3, /* its next bytes */
    NJ_EXPORT_END = 4    /* all files are there: how many, how long, their digest */
};

/* Whether a name stays inside the folder that files are laid out in: relative, of plain parts.
 */
bool nj_export_name_is_safe(struct nj_text name);

/* What a reader of exports is told, in order. Each may be NULL. */
struct nj_export_visitor {
    void *context;
    enum nj_status (*head)(void *context, struct nj_text json, struct nj_error *err);
    enum nj_status (*begin_file)(void *context, const char *name, uint64_t n_bytes,
                                 struct nj_error *err);
    enum nj_status (*bytes)(void *context, struct nj_bytes bytes, struct nj_error *err);
    enum nj_status (*end_file)(void *context, struct nj_error *err);
};

/* Follows the records. Zeroed, then with its visitor filled in, is the beginning. */
struct nj_export_reader {
    struct nj_export_visitor visitor;
    struct nj_digest_stream *digest; /* owned: of all payloads so far */
    bool has_head;
    bool has_end;
    bool is_in_file;
    uint64_t n_bytes_left; /* of the file */
    char name[NJ_EXPORT_NAME_LIMIT_BYTES + 1];
    uint64_t n_files;
    uint64_t n_bytes;
};

/* A nj_record_visit; the context is the reader. NJ_E_STATE for a record that cannot follow
 * those before it; NJ_E_MEMORY, or what the visitor returned. */
enum nj_status nj_export_take(void *context, const struct nj_record *record,
                              struct nj_error *err);
void nj_export_reader_deinit(struct nj_export_reader *reader);

/* The payload of the end. */
void nj_export_end_encode(uint64_t n_files, uint64_t n_bytes, const struct nj_digest *digest,
                          uint8_t payload[NJ_EXPORT_END_BYTES]);

#endif
