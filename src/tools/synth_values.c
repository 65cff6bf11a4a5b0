#include "tools/synth_values.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "format/checksum.h"

enum {
    CHUNK_BYTES = 4096,
    POOL_VALUES = 1 << 18, /* 512 KiB of BF16: stays in a cache, and windows rarely meet */
    POOL_BYTES = 2 * POOL_VALUES,
    N_SCALES = 7,
    N_TILES = 32 /* spreads that differ in one model: some twenty */
};

/* Streams of the generator that are no tensor's: their second counter word is not 0. */
enum { POOL_OF_NORMALS = 1, POOL_OF_BYTES = 2, POOL_OF_SCALES = 3 };

/* A sum of eight 16-bit halves has this mean and standard deviation. */
static const int halves_mean = 262140;
static const double halves_sigma = 53510.0;

/* Sign and two lowest bits of four BF16 values. */
static const uint64_t value_bits = 0x8003800380038003U;
static const uint64_t lowest_bits = 0x0003000300030003U;

/* The pool of normal values as BF16 of one mean and spread. */
struct tile {
    float mean, sigma;
    uint8_t *bytes; /* POOL_BYTES and a chunk */
};

struct nj_synth_values {
    uint32_t seed;
    float *normals;  /* POOL_VALUES */
    uint8_t *random; /* POOL_BYTES and a chunk */
    uint8_t *scales; /* 0 .. 6; POOL_BYTES and a chunk */
    struct tile tiles[N_TILES];
    uint32_t n_tiles;
};

static void draw(uint32_t seed, uint32_t pool, uint64_t index, uint32_t stream,
                 uint32_t words[4])
{
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), stream, pool};
    const uint32_t key[2] = {seed, 0};
    nj_philox4x32_10(counter, key, words);
}

static float normal_of(const uint32_t words[4])
{
    uint32_t sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += (words[i] & 0xffffU) + (words[i] >> 16);
    }
    return (float)((double)((int)sum - halves_mean) / halves_sigma);
}

/* The last chunk repeats the first, so that a window may begin anywhere in the pool. */
static void draw_pools(struct nj_synth_values *values)
{
    uint32_t words[4];
    for (uint32_t i = 0; i < POOL_VALUES; i++) {
        draw(values->seed, POOL_OF_NORMALS, i, 0, words);
        values->normals[i] = normal_of(words);
    }
    for (uint32_t i = 0; i < POOL_BYTES; i += sizeof words) {
        draw(values->seed, POOL_OF_BYTES, i, 0, words);
        memcpy(values->random + i, words, sizeof words);
        draw(values->seed, POOL_OF_SCALES, i, 0, words);
        for (uint32_t j = 0; j < sizeof words; j++) {
            values->scales[i + j] = (uint8_t)((words[j / 4] >> (8 * (j % 4)) & 255) % N_SCALES);
        }
    }
    memcpy(values->random + POOL_BYTES, values->random, CHUNK_BYTES);
    memcpy(values->scales + POOL_BYTES, values->scales, CHUNK_BYTES);
}

enum nj_status nj_synth_values_create(uint32_t seed, struct nj_synth_values **values,
                                      struct nj_error *err)
{
    struct nj_synth_values *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "values of a model: out of memory");
    }
    made->seed = seed;
    made->normals = malloc(POOL_VALUES * sizeof(float));
    made->random = malloc(POOL_BYTES + CHUNK_BYTES);
    made->scales = malloc(POOL_BYTES + CHUNK_BYTES);
    if (made->normals == NULL || made->random == NULL || made->scales == NULL) {
        nj_synth_values_destroy(made);
        return nj_fail(err, NJ_E_MEMORY, "values of a model: out of memory");
    }
    draw_pools(made);
    *values = made;
    return NJ_OK;
}

void nj_synth_values_destroy(struct nj_synth_values *values)
{
    if (values == NULL) {
        return;
    }
    for (uint32_t i = 0; i < values->n_tiles; i++) {
        free(values->tiles[i].bytes);
    }
    free(values->normals);
    free(values->random);
    free(values->scales);
    free(values);
}

static uint16_t bf16_of(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

static void make_tile(const struct nj_synth_values *values, struct tile *tile)
{
    for (uint32_t i = 0; i < POOL_VALUES; i++) {
        uint16_t value = bf16_of(tile->mean + tile->sigma * values->normals[i]);
        memcpy(tile->bytes + 2 * (size_t)i, &value, sizeof value);
    }
    memcpy(tile->bytes + POOL_BYTES, tile->bytes, CHUNK_BYTES);
}

/* NULL when there is no memory. The oldest makes room when there are too many. */
static const uint8_t *find_tile(struct nj_synth_values *values, float mean, float sigma)
{
    for (uint32_t i = 0; i < values->n_tiles; i++) {
        if (values->tiles[i].mean == mean && values->tiles[i].sigma == sigma) {
            return values->tiles[i].bytes;
        }
    }
    uint8_t *bytes = NULL;
    if (values->n_tiles < N_TILES) {
        bytes = malloc(POOL_BYTES + CHUNK_BYTES);
    } else {
        bytes = values->tiles[0].bytes;
        values->n_tiles--;
        memmove(values->tiles, values->tiles + 1, values->n_tiles * sizeof values->tiles[0]);
    }
    if (bytes == NULL) {
        return NULL;
    }
    struct tile *tile = &values->tiles[values->n_tiles++];
    *tile = (struct tile){mean, sigma, bytes};
    make_tile(values, tile);
    return tile->bytes;
}

/* How the bytes of a tensor come from a pool: (byte ^ mask of its chunk) + more. */
struct rule {
    const uint8_t *pool;
    uint64_t flipped; /* bits that the mask may flip */
    uint64_t more;    /* the same byte eight times; no sum passes 255 */
    uint32_t unit;    /* a window begins at a multiple of it */
};

static bool find_rule(struct nj_synth_values *values, const struct nj_synth_tensor *tensor,
                      struct rule *rule)
{
    *rule = (struct rule){NULL, 0, 0, 1};
    switch (tensor->source) {
    case NJ_SYNTH_CODES:
        rule->pool = values->random;
        rule->flipped = UINT64_MAX;
        break;
    case NJ_SYNTH_SCALES:
        rule->pool = values->scales;
        rule->more = 0x0101010101010101U * tensor->lowest_scale;
        break;
    case NJ_SYNTH_NORMAL:
        rule->pool = find_tile(values, tensor->mean, tensor->sigma);
        /* Around another mean than 0 a sign is no detail. */
        rule->flipped = tensor->mean == 0.0F ? value_bits : lowest_bits;
        rule->unit = 2;
        break;
    }
    return rule->pool != NULL;
}

static void combine(uint8_t *out, const uint8_t *pool, uint64_t length_bytes, uint64_t mask,
                    uint64_t more)
{
    uint64_t i = 0;
    for (; i + sizeof(uint64_t) <= length_bytes; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, pool + i, sizeof word);
        word = (word ^ mask) + more;
        memcpy(out + i, &word, sizeof word);
    }
    for (; i < length_bytes; i++) {
        unsigned shift = 8 * (unsigned)(i % sizeof(uint64_t));
        out[i] = (uint8_t)((pool[i] ^ (uint8_t)(mask >> shift)) + (uint8_t)(more >> shift));
    }
}

/* The mask that a reader meets who begins `skipped` bytes later. */
static uint64_t shifted(uint64_t mask, uint32_t skipped)
{
    unsigned shift = 8 * (skipped % (unsigned)sizeof mask);
    return shift == 0 ? mask : mask >> shift | mask << (64 - shift);
}

/* One chunk or a part of it, which begins `skipped` bytes into it. */
static void fill_chunk(const struct nj_synth_values *values, const struct rule *rule,
                       uint32_t stream, uint64_t chunk, uint32_t skipped, uint8_t *out,
                       uint64_t length_bytes)
{
    uint32_t words[4];
    draw(values->seed, 0, chunk, stream, words);
    uint32_t begin = words[0] % (POOL_BYTES / rule->unit) * rule->unit;
    uint64_t mask = ((uint64_t)words[1] | (uint64_t)words[2] << 32) & rule->flipped;
    combine(out, rule->pool + begin + skipped, length_bytes, shifted(mask, skipped),
            rule->more);
}

static uint32_t stream_of(const char *name)
{
    const struct nj_bytes bytes = {(const uint8_t *)name, strlen(name)};
    return nj_crc32(0, bytes);
}

/* F32 tensors are short vectors: value by value. */
static void fill_singles(const struct nj_synth_values *values,
                         const struct nj_synth_tensor *tensor, uint64_t offset_bytes,
                         uint8_t *out, uint64_t length_bytes)
{
    uint32_t stream = stream_of(tensor->name);
    for (uint64_t at = 0; at < length_bytes;) {
        uint64_t index = (offset_bytes + at) / sizeof(float);
        uint64_t inside = (offset_bytes + at) % sizeof(float);
        float value = 0.0F;
        if (index < tensor->n_used) {
            uint32_t words[4];
            draw(values->seed, 0, index, stream, words);
            value = tensor->mean + tensor->sigma * normal_of(words);
        }
        uint8_t bytes[sizeof value];
        memcpy(bytes, &value, sizeof value);
        uint64_t left = length_bytes - at;
        uint64_t take = sizeof value - inside < left ? sizeof value - inside : left;
        memcpy(out + at, bytes + inside, take);
        at += take;
    }
}

enum nj_status nj_synth_values_fill(struct nj_synth_values *values,
                                    const struct nj_synth_tensor *tensor, uint64_t offset_bytes,
                                    uint8_t *out, uint64_t length_bytes, struct nj_error *err)
{
    struct rule rule;
    if (tensor->type == NJ_VALUE_F32) {
        fill_singles(values, tensor, offset_bytes, out, length_bytes);
        return NJ_OK;
    }
    if (!find_rule(values, tensor, &rule)) {
        return nj_fail(err, NJ_E_MEMORY, "values of %s: out of memory", tensor->name);
    }
    uint32_t stream = stream_of(tensor->name);
    for (uint64_t at = 0; at < length_bytes;) {
        uint64_t chunk = (offset_bytes + at) / CHUNK_BYTES;
        uint32_t skipped = (uint32_t)((offset_bytes + at) % CHUNK_BYTES);
        uint64_t left = length_bytes - at;
        uint64_t take = CHUNK_BYTES - skipped < left ? CHUNK_BYTES - skipped : left;
        fill_chunk(values, &rule, stream, chunk, skipped, out + at, take);
        at += take;
    }
    return NJ_OK;
}
