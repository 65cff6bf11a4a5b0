#include "format/planes.h"

#include <stdbool.h>
#include <stdlib.h>

#define ZLIB_CONST /* what it reads is const */
#include <zlib.h>

enum {
    N_PLANES = 4,
    AUTO_LEVEL = 1,
    SAMPLE_BYTES = 4096, /* one piece of a plane */
    N_SAMPLES = 3,
    MEMORY_LEVEL = 8, /* zlib's default: 256 KiB with the window */
};

struct nj_packer {
    int level;
    bool is_ready; /* zlib holds its memory */
    z_stream stream;
    uint8_t planes[NJ_PACK_LIMIT_BYTES];
};

struct nj_unpacker {
    bool is_ready;
    z_stream stream;
    uint8_t planes[NJ_PACK_LIMIT_BYTES];
};

enum nj_status nj_packer_create(int level, struct nj_packer **packer, struct nj_error *err)
{
    if (level < NJ_PACK_AUTO || level > 9) {
        return nj_fail(err, NJ_E_USAGE, "pack at level %d: levels are 1 to 9", level);
    }
    struct nj_packer *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "create a packer: out of memory");
    }
    made->level = level;
    if (level != NJ_PACK_OFF && deflateInit2(&made->stream, AUTO_LEVEL, Z_DEFLATED, MAX_WBITS,
                                             MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(made);
        return nj_fail(err, NJ_E_MEMORY, "create a packer: zlib is out of memory");
    }
    made->is_ready = level != NJ_PACK_OFF;
    *packer = made;
    return NJ_OK;
}

void nj_packer_destroy(struct nj_packer *packer)
{
    if (packer == NULL) {
        return;
    }
    if (packer->is_ready) {
        (void)deflateEnd(&packer->stream); /* tells only whether bytes were left unread */
    }
    free(packer);
}

static void part(const uint8_t *raw, size_t n_values, uint8_t *planes)
{
    for (size_t i = 0; i < n_values; i++) {
        planes[i] = raw[N_PLANES * i];
        planes[n_values + i] = raw[N_PLANES * i + 1];
        planes[2 * n_values + i] = raw[N_PLANES * i + 2];
        planes[3 * n_values + i] = raw[N_PLANES * i + 3];
    }
}

static void join(const uint8_t *planes, size_t n_values, uint8_t *raw)
{
    for (size_t i = 0; i < n_values; i++) {
        raw[N_PLANES * i] = planes[i];
        raw[N_PLANES * i + 1] = planes[n_values + i];
        raw[N_PLANES * i + 2] = planes[2 * n_values + i];
        raw[N_PLANES * i + 3] = planes[3 * n_values + i];
    }
}

static bool begin_stream(struct nj_packer *packer, int level, uint8_t *out, size_t room)
{
    z_stream *stream = &packer->stream;
    if (deflateReset(stream) != Z_OK) {
        return false;
    }
    stream->next_in = packer->planes; /* nothing yet: levels change without a flush */
    stream->avail_in = 0;
    stream->next_out = out;
    stream->avail_out = (uInt)room;
    return deflateParams(stream, level, Z_DEFAULT_STRATEGY) == Z_OK;
}

static bool feed(z_stream *stream, const uint8_t *bytes, size_t n_bytes, int flush)
{
    stream->next_in = bytes;
    stream->avail_in = (uInt)n_bytes;
    int result = deflate(stream, flush);
    return stream->avail_in == 0 && result == (flush == Z_FINISH ? Z_STREAM_END : Z_OK);
}

/* Whether pieces from the plane's beginning, middle and end lose an eighth of their length.
 * `scratch` has room for what they deflate to if they do. */
static bool plane_pays(struct nj_packer *packer, const uint8_t *plane, size_t n_bytes,
                       uint8_t *scratch)
{
    size_t piece = n_bytes < SAMPLE_BYTES ? n_bytes : SAMPLE_BYTES;
    size_t step = (n_bytes - piece) / (N_SAMPLES - 1);
    size_t n_pieces = step == 0 ? 1 : N_SAMPLES;
    size_t room = n_pieces * piece - n_pieces * piece / 8;
    if (!begin_stream(packer, AUTO_LEVEL, scratch, room)) {
        return false;
    }
    for (size_t i = 0; i < n_pieces; i++) {
        int flush = i + 1 == n_pieces ? Z_FINISH : Z_NO_FLUSH;
        if (!feed(&packer->stream, plane + i * step, piece, flush)) {
            return false;
        }
    }
    return true;
}

/* The level of each plane; false when none is worth the time. `scratch` is the output's. */
static bool choose_levels(struct nj_packer *packer, size_t n_values, uint8_t *scratch,
                          int levels[N_PLANES])
{
    bool any_pays = false;
    for (size_t i = 0; i < N_PLANES; i++) {
        levels[i] = packer->level;
        if (packer->level == NJ_PACK_AUTO) {
            const uint8_t *plane = packer->planes + i * n_values;
            levels[i] = plane_pays(packer, plane, n_values, scratch) ? AUTO_LEVEL : 0;
        }
        any_pays = any_pays || levels[i] > 0;
    }
    return any_pays;
}

size_t nj_packer_pack(struct nj_packer *packer, struct nj_bytes raw, uint8_t *packed)
{
    size_t n_values = raw.length_bytes / N_PLANES;
    int levels[N_PLANES];
    if (packer->level == NJ_PACK_OFF || n_values == 0 || raw.length_bytes % N_PLANES != 0 ||
        raw.length_bytes > NJ_PACK_LIMIT_BYTES) {
        return 0;
    }
    part(raw.data, n_values, packer->planes);
    if (!choose_levels(packer, n_values, packed, levels) ||
        !begin_stream(packer, levels[0], packed, raw.length_bytes - 1)) {
        return 0;
    }
    for (size_t i = 0; i < N_PLANES; i++) {
        int flush = i + 1 == N_PLANES ? Z_FINISH : Z_NO_FLUSH;
        packer->stream.avail_in = 0; /* a new level flushes what the one before it has read */
        if (deflateParams(&packer->stream, levels[i], Z_DEFAULT_STRATEGY) != Z_OK ||
            !feed(&packer->stream, packer->planes + i * n_values, n_values, flush)) {
            return 0; /* no room: it does not shrink */
        }
    }
    return raw.length_bytes - 1 - packer->stream.avail_out;
}

enum nj_status nj_unpacker_create(struct nj_unpacker **unpacker, struct nj_error *err)
{
    struct nj_unpacker *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "create an unpacker: out of memory");
    }
    if (inflateInit(&made->stream) != Z_OK) {
        free(made);
        return nj_fail(err, NJ_E_MEMORY, "create an unpacker: zlib is out of memory");
    }
    made->is_ready = true;
    *unpacker = made;
    return NJ_OK;
}

void nj_unpacker_destroy(struct nj_unpacker *unpacker)
{
    if (unpacker == NULL) {
        return;
    }
    if (unpacker->is_ready) {
        (void)inflateEnd(&unpacker->stream); /* cannot fail on a stream that began */
    }
    free(unpacker);
}

enum nj_status nj_unpacker_unpack(struct nj_unpacker *unpacker, struct nj_bytes packed,
                                  uint8_t *raw, size_t raw_bytes, struct nj_error *err)
{
    z_stream *stream = &unpacker->stream;
    if (raw_bytes > NJ_PACK_LIMIT_BYTES || raw_bytes % N_PLANES != 0 ||
        packed.length_bytes > NJ_PACK_LIMIT_BYTES || inflateReset(stream) != Z_OK) {
        return nj_fail(err, NJ_E_INPUT,
                       "unpack %zu bytes to %zu: these are not lengths of ours",
                       packed.length_bytes, raw_bytes);
    }
    stream->next_in = packed.data;
    stream->avail_in = (uInt)packed.length_bytes;
    stream->next_out = unpacker->planes;
    stream->avail_out = (uInt)raw_bytes;
    int result = inflate(stream, Z_FINISH);
    if (result != Z_STREAM_END || stream->avail_in != 0 || stream->avail_out != 0) {
        return nj_fail(err, NJ_E_INPUT, "unpack %zu bytes to %zu: %s", packed.length_bytes,
                       raw_bytes, stream->msg == NULL ? "another length" : stream->msg);
    }
    join(unpacker->planes, raw_bytes / N_PLANES, raw);
    return NJ_OK;
}
