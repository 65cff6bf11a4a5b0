/* Reading the resident groups, once, when a stream is opened.
 *
 * Threads: the engine thread only.
 */
#ifndef NJ_STREAM_RESIDENT_H
#define NJ_STREAM_RESIDENT_H

#include <stdint.h>

#include "base/status.h"
#include "stream/loader.h"
#include "stream/stream.h"
#include "stream/weight_block.h"

/* Gives each resident group its place behind those before it: `places[group]` is its offset,
 * those of other groups stay. Returns where the last one ends. */
uint64_t nj_resident_lay_out(const struct nj_group_table *table, uint64_t *places);

/* Reads them into `block` at their places, and has each record looked at. NJ_E_WEIGHTS,
 * NJ_E_MEMORY, or the check's refusal. */
enum nj_status nj_resident_read(const struct nj_group_table *table, const uint64_t *places,
                                const struct nj_weight_block *block, struct nj_loader *loader,
                                const struct nj_stream_options *options, struct nj_error *err);

/* Has each record of a group in memory looked at. */
enum nj_status nj_check_group(const struct nj_group_table *table, uint32_t group,
                              const uint8_t *memory, nj_record_check *check, void *context,
                              struct nj_error *err);

#endif
