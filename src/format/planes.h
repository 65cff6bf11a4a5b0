/* Packs 4-byte values as byte planes through zlib, where that pays.
 *
 * The bytes of float32 states are noise in the low places and nearly constant in the high ones.
 * Standing together by place (all lowest bytes, then the next ...), the constant ones deflate
 * well and the noise can be left alone: a plane whose sample does not shrink goes into the
 * stream stored, which costs next to no time. Whoever unpacks needs to know none of this: the
 * packed bytes are one zlib stream of the planes in order.
 *
 * Threads: each packer and unpacker has one owner.
 */
#ifndef NJ_FORMAT_PLANES_H
#define NJ_FORMAT_PLANES_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

enum {
    NJ_PACK_AUTO = -1,            /* level 1 for the planes whose sample shrinks */
    NJ_PACK_OFF = 0,              /* 1 to 9: that level for every plane */
    NJ_PACK_LIMIT_BYTES = 1 << 20 /* of values packed at once */
};

struct nj_packer;
struct nj_unpacker;

/* Memory that one packer or one unpacker holds, at most: what a budget is asked for. */
enum {
    NJ_PACKER_BYTES = NJ_PACK_LIMIT_BYTES + (288 << 10),
    NJ_UNPACKER_BYTES = NJ_PACKER_BYTES
};

/* `level` is one of the above. NJ_E_USAGE for another one, NJ_E_MEMORY. Caller owns
 * `*packer`. */
enum nj_status nj_packer_create(int level, struct nj_packer **packer, struct nj_error *err);
void nj_packer_destroy(struct nj_packer *packer);

/* Packs at most NJ_PACK_LIMIT_BYTES into `packed`, which has room for as many bytes as `raw`
 * has. Returns the packed length, less than that of `raw`, or 0: leave these bytes as they are
 * (they do not shrink, are no whole number of values, or packing is off). */
size_t nj_packer_pack(struct nj_packer *packer, struct nj_bytes raw, uint8_t *packed);

enum nj_status nj_unpacker_create(struct nj_unpacker **unpacker, struct nj_error *err);
void nj_unpacker_destroy(struct nj_unpacker *unpacker);

/* Fills `raw` with exactly `raw_bytes` (at most NJ_PACK_LIMIT_BYTES). NJ_E_INPUT when `packed`
 * is not what packing so many bytes gives; `raw` is then undefined. */
enum nj_status nj_unpacker_unpack(struct nj_unpacker *unpacker, struct nj_bytes packed,
                                  uint8_t *raw, size_t raw_bytes, struct nj_error *err);

#endif
