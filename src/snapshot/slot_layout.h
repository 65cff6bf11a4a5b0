/* Where what lies in a file of slots: header, two tables, recurrent parts in two generations,
 * latent caches. Bytes to structs and back; files are the caller's.
 *
 * A seat is one sequence's place in all of it. The parts of one layer lie together, seat after
 * seat, so that a layer of many sequences is one long read. Recurrent parts have two places, of
 * which a table says which is current; the latent cache has one and only grows.
 *
 * File: docs/formats/slots.md.
 */
#ifndef NJ_SNAPSHOT_SLOT_LAYOUT_H
#define NJ_SNAPSHOT_SLOT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/status.h"
#include "model/dims.h"

enum { NJ_SLOT_VERSION = 1, NJ_SLOT_HEADER_BYTES = 4096, NJ_SLOT_TABLES = 2 };

/* Whose states, and how many. */
struct nj_slot_header {
    uint64_t salt; /* random per file */
    struct nj_digest weights;
    struct nj_digest template;
    uint32_t numerics_version;
    float latent_norm_eps;
    uint32_t n_seats;
    uint32_t n_positions; /* of the latent cache of a seat */
    uint32_t n_layers;
    uint32_t position_values;
    uint64_t layer_values; /* of a recurrent layer */
    enum nj_mixer mixers[NJ_LAYERS_LIMIT];
};

/* Offsets and lengths that follow. */
struct nj_slot_layout {
    struct nj_slot_header header;
    uint32_t ordinals[NJ_LAYERS_LIMIT]; /* of a layer among those of its kind */
    uint64_t table_bytes;
    uint64_t seat_bytes;       /* of a seat, both generations: what a sequence more costs */
    uint64_t generation_bytes; /* all recurrent parts of one generation */
    uint64_t recurrent_offset;
    uint64_t latent_offset;
    uint64_t file_bytes;
};

/* A seat in a table. */
struct nj_slot_entry {
    uint64_t item_index;
    struct nj_digest item;
    uint32_t sample;
    uint32_t length;            /* positions that the state has read; 0: nobody is here */
    uint32_t generation;        /* of its recurrent parts: 0 or 1 */
    uint32_t ids_crc32;         /* of the `length` ids that it has read */
    const uint8_t *layer_crc32; /* (n_layers) of 4 bytes: what each layer holds */
};

/* Of a table as a whole. */
struct nj_slot_table {
    uint64_t number; /* of the commit, from 1; the higher one is the newer */
    uint64_t sweep;  /* of the process that wrote it */
};

/* NJ_E_USAGE when no file can be so large. */
enum nj_status nj_slot_layout_make(const struct nj_slot_header *header,
                                   struct nj_slot_layout *layout, struct nj_error *err);

void nj_slot_header_encode(const struct nj_slot_header *header,
                           uint8_t bytes[NJ_SLOT_HEADER_BYTES]);
/* NJ_E_STATE and why when it is none of this version. */
enum nj_status nj_slot_header_decode(const uint8_t bytes[NJ_SLOT_HEADER_BYTES],
                                     struct nj_slot_header *header, struct nj_error *err);

uint64_t nj_slot_table_offset(const struct nj_slot_layout *layout, uint32_t table);
/* Of a recurrent layer's first value, or of a position of a latent layer. */
uint64_t nj_slot_recurrent_offset(const struct nj_slot_layout *layout, uint32_t generation,
                                  uint32_t layer, uint32_t seat);
uint64_t nj_slot_latent_offset(const struct nj_slot_layout *layout, uint32_t layer,
                               uint32_t seat, uint32_t position);

/* A table being written into table_bytes: begin, entries in any order (seats without one are
 * empty), finish. */
void nj_slot_table_begin(const struct nj_slot_layout *layout, const struct nj_slot_table *table,
                         uint8_t *bytes);
/* `layer_crc32` of the entry is not looked at: (n_layers) come beside it. */
void nj_slot_table_set(const struct nj_slot_layout *layout, uint8_t *bytes, uint32_t seat,
                       const struct nj_slot_entry *entry, const uint32_t *layer_crc32);
enum nj_status nj_slot_table_finish(const struct nj_slot_layout *layout, uint8_t *bytes,
                                    struct nj_error *err);

/* Whether these table_bytes are a table of this file, whole. */
bool nj_slot_table_verify(const struct nj_slot_layout *layout, const uint8_t *bytes,
                          struct nj_slot_table *table);
/* Of one that is: valid as long as the bytes. */
void nj_slot_table_get(const struct nj_slot_layout *layout, const uint8_t *bytes, uint32_t seat,
                       struct nj_slot_entry *entry);
uint32_t nj_slot_entry_crc32(const struct nj_slot_entry *entry, uint32_t layer);

/* What an entry says of ids. */
uint32_t nj_slot_ids_crc32(const int32_t *ids, uint32_t n_ids);

#endif
