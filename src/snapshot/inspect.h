/* Looks at one segment for people: what it is, what it holds, whether it is sound, without
 * knowing whose it should be and without a state to restore it to.
 *
 * Threads: none of its own; each call uses its arguments only.
 */
#ifndef NJ_SNAPSHOT_INSPECT_H
#define NJ_SNAPSHOT_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "format/segment.h"
#include "snapshot/folder.h"
#include "snapshot/shape.h"

/* All records of one type and layer together. */
struct nj_inspected_section {
    enum nj_segment_record_type type;
    uint32_t layer; /* 0 where a type has none */
    uint32_t n_records;
    uint32_t n_packed;
    uint64_t raw_bytes;
    uint64_t stored_bytes;
};

/* SAMPLER and OUTPUT_MARK, as far as people ask for it. */
struct nj_inspected_text {
    uint64_t seed;
    uint32_t sample;
    uint32_t n_prompt;
    uint64_t n_reasoning;
    uint32_t part;           /* 0 structure, 1 reasoning, 2 response */
    uint32_t n_tag_ids;      /* of a tag that is being read */
    uint32_t n_pending;      /* bytes of a character that is not complete */
    uint64_t n_held;         /* bytes that a stop string may begin with */
    uint64_t response_bytes; /* written so far */
    uint64_t reasoning_bytes;
    struct nj_digest output;
};

/* Zeroed is valid to deinit. */
struct nj_inspection {
    char name[NJ_SEGMENT_NAME_BYTES];
    uint64_t file_bytes;
    int64_t written_unix_ms;
    struct nj_segment_scan scan;
    bool has_shape; /* SNAP_BEGIN verified */
    struct nj_snapshot_shape shape;
    uint32_t n_tokens;
    int32_t *tokens; /* (n_tokens): owned */
    size_t tokens_capacity;
    struct nj_inspected_text text;
    struct nj_inspected_section *sections; /* in file order: owned */
    size_t n_sections;
    size_t sections_capacity;
    uint64_t raw_bytes; /* of all records, unpacked */
    uint64_t stored_bytes;
    bool is_sound; /* committed, and its records fill its shape; its chain is not looked at */
    char complaint[200]; /* else: what is wrong */
    bool has_place;      /* and where: */
    uint64_t bad_record; /* with which record, from 0, ... */
    uint64_t bad_offset; /* ... at which byte of the file */
};

/* Reads the whole segment. With `unpacks`, everything that is packed is unpacked too, which
 * checksums cannot replace when the packer itself was wrong. What is wrong with the segment is
 * in the inspection: only a file that cannot be read makes it fail. NJ_E_NOT_FOUND,
 * NJ_E_PERMISSION, NJ_E_IO, NJ_E_MEMORY. */
enum nj_status nj_inspect_segment(const struct nj_file_system *fs, int directory_fd,
                                  uint64_t number, bool unpacks,
                                  struct nj_inspection *inspection, struct nj_error *err);
void nj_inspection_deinit(struct nj_inspection *inspection);

/* "RECURRENT", "KV" ... */
const char *nj_segment_record_name(enum nj_segment_record_type type);

#endif
