#include "tiny_model.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/random.h"

/* A sum of eight 16-bit halves has mean 262140 and standard deviation 53509.97. */
#define HALVES_MEAN  262140
#define HALVES_SIGMA 53510.0
/* (offset + draw) * 0.3 / 53510 is 1 + N(0, 0.3^2). */
#define NORM_OFFSET 178367
#define U16_RANGE   65536.0

#define MAX_LAYER_TENSORS 96
#define MAX_NAME          96
#define MAX_PATH          4096

enum family { FAMILY_K3, FAMILY_LINEAR };

enum storage_order { ORDER_NATURAL, ORDER_SHUFFLED_EXPERTS, ORDER_REVERSED };

struct dims {
    const char *name;
    enum family family;
    uint32_t seed;
    uint32_t layers;
    uint32_t full_attention[4]; /* one-based, zero-terminated unless full */
    uint32_t block_size;        /* 0: plain residuals */
    uint32_t hidden, vocab, dense;
    uint32_t kda_heads, kda_dim, a_log_entries;
    uint32_t mla_heads, q_lora, kv_lora, nope, rope, v;
    uint32_t experts, used, shared, moe, latent;
    const char *rms_eps, *routed_scale; /* as the config spells them */
    double embed_sigma, mix_sigma, qk_gain, latent_gain;
    double a_log_low, a_log_high, gate_gain, up_gain;
    uint8_t scale_w1, scale_w2, scale_w3; /* lowest of seven E8M0 bytes */
    enum storage_order order;
};

/* clang-format off */
static const struct dims kinds[TINY_MODEL_COUNT] = {
    [TINY_MODEL_T5] = {
        .name = "t5", .family = FAMILY_K3, .seed = 5,
        .layers = 5, .full_attention = {4, 5}, .block_size = 2,
        .hidden = 96, .vocab = 256, .dense = 160,
        .kda_heads = 4, .kda_dim = 32, .a_log_entries = 32,
        .mla_heads = 4, .q_lora = 48, .kv_lora = 40, .nope = 24, .rope = 8, .v = 20,
        .experts = 8, .used = 2, .shared = 2, .moe = 64, .latent = 64,
        .rms_eps = "1e-05", .routed_scale = "1.0",
        .embed_sigma = 3.0, .mix_sigma = 0.1, .qk_gain = 1.0, .latent_gain = 0.004,
        .a_log_low = 0.0, .a_log_high = 2.75, .gate_gain = 3.0, .up_gain = 10.0,
        .scale_w1 = 121, .scale_w2 = 121, .scale_w3 = 122, .order = ORDER_NATURAL,
    },
    [TINY_MODEL_T13] = {
        .name = "t13", .family = FAMILY_K3, .seed = 13,
        .layers = 13, .full_attention = {4, 8, 12, 13}, .block_size = 3,
        .hidden = 160, .vocab = 512, .dense = 224,
        .kda_heads = 4, .kda_dim = 32, .a_log_entries = 32,
        .mla_heads = 4, .q_lora = 48, .kv_lora = 40, .nope = 24, .rope = 8, .v = 20,
        .experts = 8, .used = 3, .shared = 2, .moe = 64, .latent = 96,
        .rms_eps = "1e-05", .routed_scale = "1.0",
        .embed_sigma = 4.0, .mix_sigma = 0.06, .qk_gain = 1.0, .latent_gain = 0.004,
        .a_log_low = 0.0, .a_log_high = 2.75, .gate_gain = 3.0, .up_gain = 10.0,
        .scale_w1 = 121, .scale_w2 = 121, .scale_w3 = 122, .order = ORDER_SHUFFLED_EXPERTS,
    },
    [TINY_MODEL_T5E] = {
        .name = "t5e", .family = FAMILY_K3, .seed = 29,
        .layers = 5, .full_attention = {2, 5}, .block_size = 3,
        .hidden = 88, .vocab = 200, .dense = 120,
        .kda_heads = 3, .kda_dim = 40, .a_log_entries = 7,
        .mla_heads = 5, .q_lora = 44, .kv_lora = 36, .nope = 20, .rope = 12, .v = 28,
        .experts = 10, .used = 3, .shared = 1, .moe = 96, .latent = 32,
        .rms_eps = "0.001", .routed_scale = "2.0",
        .embed_sigma = 3.0, .mix_sigma = 0.1, .qk_gain = 0.003, .latent_gain = 0.004,
        .a_log_low = 0.0, .a_log_high = 2.75, .gate_gain = 3.0, .up_gain = 10.0,
        .scale_w1 = 121, .scale_w2 = 133, .scale_w3 = 97, .order = ORDER_REVERSED,
    },
    [TINY_MODEL_KL5] = {
        .name = "kl5", .family = FAMILY_LINEAR, .seed = 48,
        .layers = 5, .full_attention = {2, 5}, .block_size = 0,
        .hidden = 80, .vocab = 224, .dense = 144,
        .kda_heads = 3, .kda_dim = 32, .a_log_entries = 3,
        .mla_heads = 3, .q_lora = 0, .kv_lora = 40, .nope = 24, .rope = 8, .v = 20,
        .experts = 12, .used = 4, .shared = 1, .moe = 56, .latent = 0,
        .rms_eps = "1e-05", .routed_scale = "2.446",
        .embed_sigma = 1.0, .mix_sigma = 0.0, .qk_gain = 1.0, .latent_gain = 0.004,
        .a_log_low = -2.0, .a_log_high = 1.0, .gate_gain = 2.0, .up_gain = 3.0,
        .order = ORDER_NATURAL,
    },
};
/* clang-format on */

enum element_type { TYPE_BF16, TYPE_F32, TYPE_U8 };

static const char *const type_names[] = {"BF16", "F32", "U8"};
static const size_t type_bytes[] = {2, 4, 1};

/* Where the integer of an element comes from. */
enum source {
    SOURCE_HALVES, /* about normal */
    SOURCE_U16,    /* uniform */
    SOURCE_CODES,  /* raw bytes: MXFP4 codes */
    SOURCE_SCALES  /* offset + 0..6: E8M0 bytes */
};

struct tensor {
    char name[MAX_NAME];
    enum element_type type;
    uint32_t shape[4];
    uint32_t n_dims;
    enum source source;
    /* value = (draw + offset) * scale; elements from `head` on use the second pair. */
    size_t head;
    int32_t offset, offset2;
    double scale, scale2;
};

struct tensor_list {
    struct tensor items[MAX_LAYER_TENSORS];
    size_t count;
};

/* ---- recipes */

static size_t element_count(const struct tensor *tensor)
{
    size_t count = 1;
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        count *= tensor->shape[i];
    }
    return count;
}

static size_t byte_count(const struct tensor *tensor)
{
    return element_count(tensor) * type_bytes[tensor->type];
}

static uint32_t integer_root(uint32_t value)
{
    uint32_t root = 0;
    while ((root + 1) * (root + 1) <= value) {
        root++;
    }
    return root;
}

/* Scale of a matrix whose outputs have about `gain` times the spread of its inputs. */
static double spread(double gain, uint32_t fan_in)
{
    return gain * 16.0 / (double)integer_root(256 * fan_in) / HALVES_SIGMA;
}

/* A name too long for its place would be a mistake in this file. */
static void join(char out[MAX_NAME], const char *prefix, const char *name)
{
    int length = snprintf(out, MAX_NAME, "%s%s", prefix, name);
    if (length < 0 || length >= MAX_NAME) {
        abort();
    }
}

static struct tensor *add(struct tensor_list *list, const char *prefix, const char *name,
                          enum element_type type, enum source source)
{
    assert(list->count < MAX_LAYER_TENSORS);
    struct tensor *tensor = &list->items[list->count++];
    memset(tensor, 0, sizeof *tensor);
    join(tensor->name, prefix, name);
    tensor->type = type;
    tensor->source = source;
    tensor->head = SIZE_MAX;
    return tensor;
}

static void set_shape(struct tensor *tensor, uint32_t n_dims, uint32_t first, uint32_t second)
{
    tensor->n_dims = n_dims;
    tensor->shape[0] = first;
    tensor->shape[1] = second;
}

static struct tensor *add_matrix(struct tensor_list *list, const char *prefix, const char *name,
                                 uint32_t rows, uint32_t columns, double gain)
{
    struct tensor *tensor = add(list, prefix, name, TYPE_BF16, SOURCE_HALVES);
    set_shape(tensor, 2, rows, columns);
    tensor->scale = spread(gain, columns);
    return tensor;
}

static struct tensor *add_vector(struct tensor_list *list, const char *prefix, const char *name,
                                 enum element_type type, uint32_t size, double sigma)
{
    struct tensor *tensor = add(list, prefix, name, type, SOURCE_HALVES);
    set_shape(tensor, 1, size, 0);
    tensor->scale = sigma / HALVES_SIGMA;
    return tensor;
}

static void add_norm(struct tensor_list *list, const char *prefix, const char *name,
                     enum element_type type, uint32_t size)
{
    add_vector(list, prefix, name, type, size, 0.3)->offset = NORM_OFFSET;
}

/* ---- tensors of a layer, in the order of a released shard */

static void add_residual_mix(struct tensor_list *list, const char *prefix, const char *norm,
                             const char *projection, const struct dims *dims)
{
    add_norm(list, prefix, norm, TYPE_BF16, dims->hidden);
    struct tensor *tensor = add_vector(list, prefix, projection, TYPE_BF16, 1, dims->mix_sigma);
    set_shape(tensor, 2, 1, dims->hidden);
}

/* One value per head, then zeros; Kimi-Linear stores [1, 1, heads, 1]. */
static void add_decay_log(struct tensor_list *list, const char *prefix, const struct dims *dims)
{
    struct tensor *tensor = add(list, prefix, "A_log", TYPE_F32, SOURCE_U16);
    set_shape(tensor, 1, dims->a_log_entries, 0);
    if (dims->family == FAMILY_LINEAR) {
        set_shape(tensor, 4, 1, 1);
        tensor->shape[2] = dims->a_log_entries;
        tensor->shape[3] = 1;
    }
    tensor->scale = (dims->a_log_high - dims->a_log_low) / U16_RANGE;
    tensor->offset = (int32_t)(dims->a_log_low / tensor->scale);
    tensor->head = dims->kda_heads;
}

static void add_short_conv(struct tensor_list *list, const char *prefix, const char *name,
                           uint32_t width)
{
    struct tensor *tensor = add_vector(list, prefix, name, TYPE_F32, width, 0.6);
    set_shape(tensor, 3, width, 1);
    tensor->shape[2] = 4;
}

static void add_delta_attention(struct tensor_list *list, const char *prefix,
                                const struct dims *dims)
{
    uint32_t hidden = dims->hidden;
    uint32_t dim = dims->kda_dim;
    uint32_t width = dims->kda_heads * dim;

    add_matrix(list, prefix, "q_proj.weight", width, hidden, dims->qk_gain);
    add_matrix(list, prefix, "k_proj.weight", width, hidden, dims->qk_gain);
    add_matrix(list, prefix, "v_proj.weight", width, hidden, 1.5);
    add_short_conv(list, prefix, "q_conv1d.weight", width);
    add_short_conv(list, prefix, "k_conv1d.weight", width);
    add_short_conv(list, prefix, "v_conv1d.weight", width);
    add_matrix(list, prefix, "f_a_proj.weight", dim, hidden, 1.0);
    add_matrix(list, prefix, "f_b_proj.weight", width, dim, 1.0);
    if (dims->family == FAMILY_K3) {
        add_matrix(list, prefix, "g_proj.weight", width, hidden, 1.0);
    } else {
        add_matrix(list, prefix, "g_a_proj.weight", dim, hidden, 1.0);
        add_matrix(list, prefix, "g_b_proj.weight", width, dim, 1.0);
    }
    add_matrix(list, prefix, "b_proj.weight", dims->kda_heads, hidden, 1.5);
    add_decay_log(list, prefix, dims);
    add_vector(list, prefix, "dt_bias", TYPE_F32, width, 1.0);
    add_norm(list, prefix, "o_norm.weight", TYPE_F32, dim);
    add_matrix(list, prefix, "o_proj.weight", hidden, width, 1.0);
}

/* Tiny rows for the normed latents, so that their eps shows; ordinary ones for the key part
 * that all heads share. */
static void add_latent_projections(struct tensor_list *list, const char *prefix,
                                   const struct dims *dims)
{
    uint32_t hidden = dims->hidden;
    struct tensor *tensor = add_matrix(list, prefix, "kv_a_proj_with_mqa.weight",
                                       dims->kv_lora + dims->rope, hidden, 1.0);
    tensor->scale2 = tensor->scale;
    tensor->scale = spread(dims->latent_gain, 1);
    tensor->head = (size_t)dims->kv_lora * hidden;
}

static void add_latent_query(struct tensor_list *list, const char *prefix,
                             const struct dims *dims)
{
    uint32_t width = dims->mla_heads * (dims->nope + dims->rope);
    if (dims->q_lora == 0) {
        add_matrix(list, prefix, "q_proj.weight", width, dims->hidden, 1.5);
        return;
    }
    add_matrix(list, prefix, "q_a_proj.weight", dims->q_lora, dims->hidden, 1.0)->scale =
        spread(dims->latent_gain, 1);
    add_norm(list, prefix, "q_a_layernorm.weight", TYPE_BF16, dims->q_lora);
    add_matrix(list, prefix, "q_b_proj.weight", width, dims->q_lora, 1.0);
}

static void add_latent_attention(struct tensor_list *list, const char *prefix,
                                 const struct dims *dims)
{
    uint32_t wide = dims->mla_heads * dims->v;

    add_latent_query(list, prefix, dims);
    add_latent_projections(list, prefix, dims);
    add_norm(list, prefix, "kv_a_layernorm.weight", TYPE_BF16, dims->kv_lora);
    add_matrix(list, prefix, "kv_b_proj.weight", dims->mla_heads * (dims->nope + dims->v),
               dims->kv_lora, 1.5);
    if (dims->family == FAMILY_K3) {
        add_matrix(list, prefix, "g_proj.weight", wide, dims->hidden, 1.0);
    }
    add_matrix(list, prefix, "o_proj.weight", dims->hidden, wide, 1.5);
}

static void add_feed_forward(struct tensor_list *list, const char *prefix,
                             const struct dims *dims, uint32_t width)
{
    double down = dims->family == FAMILY_K3 ? 0.05 : 0.15;
    add_matrix(list, prefix, "gate_proj.weight", width, dims->hidden, dims->gate_gain);
    add_matrix(list, prefix, "up_proj.weight", width, dims->hidden, dims->up_gain);
    add_matrix(list, prefix, "down_proj.weight", dims->hidden, width, down);
}

static void add_packed(struct tensor_list *list, const char *prefix, const char *name,
                       uint32_t rows, uint32_t columns, uint8_t lowest_scale)
{
    char stem[MAX_NAME];
    join(stem, prefix, name);

    struct tensor *codes = add(list, stem, ".weight_packed", TYPE_U8, SOURCE_CODES);
    set_shape(codes, 2, rows, columns / 2);

    struct tensor *scales = add(list, stem, ".weight_scale", TYPE_U8, SOURCE_SCALES);
    set_shape(scales, 2, rows, columns / 32);
    scales->offset = lowest_scale;
}

static void add_expert(struct tensor_list *list, const char *moe_prefix,
                       const struct dims *dims, uint32_t number)
{
    char prefix[MAX_NAME];
    (void)snprintf(prefix, sizeof prefix, "%.64sexperts.%u.", moe_prefix, number);
    if (dims->family == FAMILY_LINEAR) {
        add_matrix(list, prefix, "w1.weight", dims->moe, dims->hidden, dims->gate_gain);
        add_matrix(list, prefix, "w2.weight", dims->hidden, dims->moe, 0.15);
        add_matrix(list, prefix, "w3.weight", dims->moe, dims->hidden, dims->up_gain);
        return;
    }
    add_packed(list, prefix, "w1", dims->moe, dims->latent, dims->scale_w1);
    add_packed(list, prefix, "w2", dims->latent, dims->moe, dims->scale_w2);
    add_packed(list, prefix, "w3", dims->moe, dims->latent, dims->scale_w3);
}

/* The expert stored at a place of the shard; shuffled ones differ from layer to layer. */
static uint32_t expert_at(const struct dims *dims, uint32_t layer, uint32_t slot)
{
    return dims->order == ORDER_SHUFFLED_EXPERTS ? (5 * slot + layer) % dims->experts : slot;
}

static void add_experts(struct tensor_list *list, const char *prefix, const struct dims *dims,
                        uint32_t layer)
{
    char shared[MAX_NAME];
    join(shared, prefix, "shared_experts.");

    add_matrix(list, prefix, "gate.weight", dims->experts, dims->hidden, 1.5);
    add_vector(list, prefix, "gate.e_score_correction_bias", TYPE_F32, dims->experts, 0.5);
    if (dims->latent != 0) {
        add_matrix(list, prefix, "routed_expert_down_proj.weight", dims->latent, dims->hidden,
                   0.5);
        add_norm(list, prefix, "routed_expert_norm.weight", TYPE_BF16, dims->latent);
        add_matrix(list, prefix, "routed_expert_up_proj.weight", dims->hidden, dims->latent,
                   0.8);
    }
    add_feed_forward(list, shared, dims, dims->shared * dims->moe);
    for (uint32_t slot = 0; slot < dims->experts; slot++) {
        add_expert(list, prefix, dims, expert_at(dims, layer, slot));
    }
}

static bool is_full_attention(const struct dims *dims, uint32_t one_based_layer)
{
    for (size_t i = 0; i < 4; i++) {
        if (dims->full_attention[i] == one_based_layer) {
            return true;
        }
    }
    return false;
}

/* Only K3 names the model it is a part of. */
static const char *name_prefix(const struct dims *dims)
{
    return dims->family == FAMILY_K3 ? "language_model." : "";
}

static void add_layer(struct tensor_list *list, const struct dims *dims, uint32_t layer)
{
    char prefix[48];
    char part[MAX_NAME];
    (void)snprintf(prefix, sizeof prefix, "%smodel.layers.%u.", name_prefix(dims), layer);

    add_norm(list, prefix, "input_layernorm.weight", TYPE_BF16, dims->hidden);
    add_norm(list, prefix, "post_attention_layernorm.weight", TYPE_BF16, dims->hidden);
    if (dims->block_size != 0) {
        add_residual_mix(list, prefix, "self_attention_res_norm.weight",
                         "self_attention_res_proj.weight", dims);
        add_residual_mix(list, prefix, "mlp_res_norm.weight", "mlp_res_proj.weight", dims);
    }
    join(part, prefix, "self_attn.");
    if (is_full_attention(dims, layer + 1)) {
        add_latent_attention(list, part, dims);
    } else {
        add_delta_attention(list, part, dims);
    }
    if (layer == 0) {
        join(part, prefix, "mlp.");
        add_feed_forward(list, part, dims, dims->dense);
    } else {
        join(part, prefix, "block_sparse_moe.");
        add_experts(list, part, dims, layer);
    }
}

static void add_globals(struct tensor_list *list, const struct dims *dims)
{
    const char *prefix = name_prefix(dims);
    struct tensor *embedding = add_vector(list, prefix, "model.embed_tokens.weight", TYPE_BF16,
                                          dims->vocab, dims->embed_sigma);
    set_shape(embedding, 2, dims->vocab, dims->hidden);
    add_matrix(list, prefix, "lm_head.weight", dims->vocab, dims->hidden, 2.5);
    add_norm(list, prefix, "model.norm.weight", TYPE_BF16, dims->hidden);
    if (dims->block_size != 0) {
        add_residual_mix(list, prefix, "model.output_attn_res_norm.weight",
                         "model.output_attn_res_proj.weight", dims);
    }
}

static void reverse(struct tensor_list *list)
{
    for (size_t i = 0, j = list->count; i + 1 < j; i++) {
        struct tensor last = list->items[--j];
        list->items[j] = list->items[i];
        list->items[i] = last;
    }
}

/* Shard numbers count from 0 here: one per layer, then the tensors that belong to none. */
static void list_shard(struct tensor_list *list, const struct dims *dims, uint32_t shard)
{
    list->count = 0;
    if (shard < dims->layers) {
        add_layer(list, dims, shard);
    } else {
        add_globals(list, dims);
    }
    if (dims->order == ORDER_REVERSED) {
        reverse(list);
    }
}

/* ---- values */

/* CRC-32 as in zlib: the tensor's number in the generator's counter. */
static uint32_t name_number(const char *name)
{
    uint32_t crc = 0xffffffffU;
    for (; *name != '\0'; name++) {
        crc ^= (uint8_t)*name;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xedb88320U & (0U - (crc & 1U)));
        }
    }
    return ~crc;
}

static void draw_words(uint32_t seed, uint32_t stream, size_t index, uint32_t words[4])
{
    const uint32_t counter[4] = {(uint32_t)index, stream, 0, 0};
    const uint32_t key[2] = {seed, 0};
    nj_philox4x32_10(counter, key, words);
}

static int32_t sum_of_halves(const uint32_t words[4])
{
    uint32_t sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += (words[i] & 0xffffU) + (words[i] >> 16);
    }
    return (int32_t)sum - HALVES_MEAN;
}

static float element_value(const struct tensor *tensor, size_t index, const uint32_t words[4])
{
    bool is_head = index < tensor->head;
    int32_t draw =
        tensor->source == SOURCE_U16 ? (int32_t)(words[0] >> 16) : sum_of_halves(words);
    int32_t whole = draw + (is_head ? tensor->offset : tensor->offset2);
    return (float)((double)whole * (is_head ? tensor->scale : tensor->scale2));
}

static void put_little_endian(uint8_t *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

static void put_float(uint8_t *out, float value, enum element_type type)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (type == TYPE_F32) {
        put_little_endian(out, bits, 4);
        return;
    }
    put_little_endian(out, (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16, 2);
}

static void put_codes(uint8_t *out, size_t count, uint32_t seed, uint32_t stream)
{
    uint32_t words[4];
    for (size_t i = 0; i < count; i++) {
        if (i % 16 == 0) {
            draw_words(seed, stream, i / 16, words);
        }
        out[i] = (uint8_t)(words[i % 16 / 4] >> (8 * (i % 4)));
    }
}

static void put_tensor(uint8_t *out, const struct tensor *tensor, uint32_t seed)
{
    uint32_t stream = name_number(tensor->name);
    size_t count = element_count(tensor);
    if (tensor->source == SOURCE_CODES) {
        put_codes(out, count, seed, stream);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t words[4];
        draw_words(seed, stream, i, words);
        if (tensor->source == SOURCE_SCALES) {
            out[i] = (uint8_t)((uint32_t)tensor->offset + words[0] % 7);
        } else {
            put_float(out + i * type_bytes[tensor->type], element_value(tensor, i, words),
                      tensor->type);
        }
    }
}

/* ---- files */

static FILE *create(const char *directory, const char *name)
{
    char path[MAX_PATH];
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return fopen(path, "wb");
}

/* 0 when everything that was written so far has reached the file. */
static int finish(FILE *file)
{
    bool is_bad = ferror(file) != 0;
    if (fclose(file) != 0 || is_bad) {
        errno = is_bad ? EIO : errno;
        return -1;
    }
    return 0;
}

static void shard_name(char out[40], const struct dims *dims, uint32_t shard)
{
    (void)snprintf(out, 40, "model-%05u-of-%06u.safetensors", shard + 1, dims->layers + 1);
}

/* Writes one header entry at `at`, or only counts when `at` is NULL. */
static size_t header_entry(char *at, size_t room, const struct tensor *tensor, size_t begin)
{
    char shape[64];
    size_t used = 0;
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%u", i == 0 ? "" : ",",
                                 tensor->shape[i]);
    }
    int length = snprintf(
        at, room, "\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
        tensor->name, type_names[tensor->type], shape, begin, begin + byte_count(tensor));
    assert(length > 0);
    return (size_t)length;
}

/* The JSON header, padded with blanks to a multiple of 8, after its length. */
static void write_header(FILE *file, const struct tensor_list *list)
{
    static const char blanks[8] = "       ";
    char entry[2 * MAX_NAME + 64];
    uint8_t length[8];
    size_t total = 1 + list->count; /* braces and the commas between entries */
    size_t begin = 0;
    for (size_t i = 0; i < list->count; i++) {
        total += header_entry(NULL, 0, &list->items[i], begin);
        begin += byte_count(&list->items[i]);
    }
    size_t padding = (8 - total % 8) % 8;
    put_little_endian(length, total + padding, sizeof length);
    (void)fwrite(length, 1, sizeof length, file);

    begin = 0;
    for (size_t i = 0; i < list->count; i++) {
        (void)header_entry(entry, sizeof entry, &list->items[i], begin);
        (void)fprintf(file, "%c%s", i == 0 ? '{' : ',', entry);
        begin += byte_count(&list->items[i]);
    }
    (void)fprintf(file, "}%.*s", (int)padding, blanks);
}

static int write_tensor(FILE *file, const struct tensor *tensor, uint32_t seed)
{
    size_t bytes = byte_count(tensor);
    uint8_t *data = malloc(bytes);
    if (data == NULL) {
        return -1;
    }
    put_tensor(data, tensor, seed);
    (void)fwrite(data, 1, bytes, file); /* finish() asks the stream */
    free(data);
    return 0;
}

static int write_shard(const struct dims *dims, uint32_t shard, const char *directory)
{
    struct tensor_list list;
    char name[40];
    list_shard(&list, dims, shard);
    shard_name(name, dims, shard);
    FILE *file = create(directory, name);
    if (file == NULL) {
        return -1;
    }
    write_header(file, &list);
    int result = 0;
    for (size_t i = 0; i < list.count && result == 0; i++) {
        result = write_tensor(file, &list.items[i], dims->seed);
    }
    return finish(file) != 0 ? -1 : result;
}

static size_t total_bytes(const struct dims *dims)
{
    struct tensor_list list;
    size_t total = 0;
    for (uint32_t shard = 0; shard <= dims->layers; shard++) {
        list_shard(&list, dims, shard);
        for (size_t i = 0; i < list.count; i++) {
            total += byte_count(&list.items[i]);
        }
    }
    return total;
}

static int write_index(const struct dims *dims, const char *directory)
{
    FILE *file = create(directory, "model.safetensors.index.json");
    if (file == NULL) {
        return -1;
    }
    (void)fprintf(file, "{\"metadata\":{\"total_size\":%zu},\"weight_map\":{\n",
                  total_bytes(dims));
    const char *separator = "";
    for (uint32_t shard = 0; shard <= dims->layers; shard++) {
        struct tensor_list list;
        char name[40];
        list_shard(&list, dims, shard);
        shard_name(name, dims, shard);
        for (size_t i = 0; i < list.count; i++) {
            (void)fprintf(file, "%s\"%s\":\"%s\"", separator, list.items[i].name, name);
            separator = ",\n";
        }
    }
    (void)fprintf(file, "\n}}\n");
    return finish(file);
}

/* ---- config.json: one field a line, nested objects indented by one blank */

static void write_layer_list(FILE *file, const struct dims *dims, bool wants_full)
{
    const char *separator = "";
    (void)fputc('[', file);
    for (uint32_t layer = 1; layer <= dims->layers; layer++) {
        if (is_full_attention(dims, layer) == wants_full) {
            (void)fprintf(file, "%s%u", separator, layer);
            separator = ",";
        }
    }
    (void)fputc(']', file);
}

static void write_linear_attention(FILE *file, const struct dims *dims, const char *indent)
{
    (void)fprintf(file, ",\n%s\"linear_attn_config\": {\n", indent);
    (void)fprintf(file, "%s \"head_dim\": %u,\n", indent, dims->kda_dim);
    (void)fprintf(file, "%s \"num_heads\": %u,\n", indent, dims->kda_heads);
    (void)fprintf(file, "%s \"short_conv_kernel_size\": 4,\n", indent);
    if (dims->family == FAMILY_K3) {
        (void)fprintf(file, "%s \"gate_lower_bound\": -5.0,\n", indent);
        (void)fprintf(file, "%s \"use_full_rank_gate\": true,\n", indent);
    }
    (void)fprintf(file, "%s \"full_attn_layers\": ", indent);
    write_layer_list(file, dims, true);
    (void)fprintf(file, ",\n%s \"kda_layers\": ", indent);
    write_layer_list(file, dims, false);
    (void)fprintf(file, "\n%s}", indent);
}

struct field {
    const char *name;
    uint32_t value;
};

static void write_fields(FILE *file, const char *indent, const struct field *fields)
{
    for (; fields->name != NULL; fields++) {
        (void)fprintf(file, "%s\"%s\": %u,\n", indent, fields->name, fields->value);
    }
}

static void write_attention_fields(FILE *file, const struct dims *dims, const char *indent)
{
    const struct field fields[] = {{"kv_lora_rank", dims->kv_lora},
                                   {"qk_nope_head_dim", dims->nope},
                                   {"qk_rope_head_dim", dims->rope},
                                   {"v_head_dim", dims->v},
                                   {NULL, 0}};
    if (dims->q_lora != 0) {
        (void)fprintf(file, "%s\"q_lora_rank\": %u,\n", indent, dims->q_lora);
    } else {
        (void)fprintf(file, "%s\"q_lora_rank\": null,\n", indent);
    }
    write_fields(file, indent, fields);
    (void)fprintf(file, "%s\"mla_use_nope\": true,\n", indent);
    (void)fprintf(file, "%s\"num_nextn_predict_layers\": 0,\n", indent);
    (void)fprintf(file, "%s\"tie_word_embeddings\": false", indent);
}

/* The fields that both families have; ends without a comma. */
static void write_common(FILE *file, const struct dims *dims, const char *indent)
{
    const struct field sizes[] = {{"hidden_size", dims->hidden},
                                  {"num_hidden_layers", dims->layers},
                                  {"num_attention_heads", dims->mla_heads},
                                  {"num_key_value_heads", dims->mla_heads},
                                  {"vocab_size", dims->vocab},
                                  {"intermediate_size", dims->dense},
                                  {NULL, 0}};
    const struct field experts[] = {{"max_position_embeddings", 4096},
                                    {"first_k_dense_replace", 1},
                                    {"moe_layer_freq", 1},
                                    {"moe_intermediate_size", dims->moe},
                                    {"num_experts", dims->experts},
                                    {"num_experts_per_token", dims->used},
                                    {"num_shared_experts", dims->shared},
                                    {"num_expert_group", 1},
                                    {"topk_group", 1},
                                    {NULL, 0}};
    write_fields(file, indent, sizes);
    (void)fprintf(file, "%s\"rms_norm_eps\": %s,\n", indent, dims->rms_eps);
    write_fields(file, indent, experts);
    (void)fprintf(file, "%s\"use_grouped_topk\": true,\n", indent);
    (void)fprintf(file, "%s\"moe_renormalize\": true,\n", indent);
    (void)fprintf(file, "%s\"moe_router_activation_func\": \"sigmoid\",\n", indent);
    (void)fprintf(file, "%s\"routed_scaling_factor\": %s,\n", indent, dims->routed_scale);
    write_attention_fields(file, dims, indent);
}

static void write_token_ids(FILE *file, const struct dims *dims)
{
    const struct field fields[] = {{"bos_token_id", dims->vocab - 3},
                                   {"eos_token_id", dims->vocab - 2},
                                   {"pad_token_id", dims->vocab - 1},
                                   {NULL, 0}};
    (void)fputs(" \"dtype\": \"bfloat16\",\n", file);
    if (dims->family == FAMILY_LINEAR) {
        (void)fputs(" \"hidden_act\": \"silu\",\n", file);
    }
    write_fields(file, " ", fields);
}

static const char quantization[] =
    "{\"quant_method\": \"compressed-tensors\", \"format\": \"mxfp4-pack-quantized\", "
    "\"quantization_status\": \"compressed\", \"config_groups\": {\"group_0\": {"
    "\"format\": \"mxfp4-pack-quantized\", \"targets\": [\"Linear\"], "
    "\"input_activations\": null, \"output_activations\": null, \"weights\": "
    "{\"num_bits\": 4, \"type\": \"float\", \"group_size\": 32, \"strategy\": \"group\", "
    "\"symmetric\": true, \"dynamic\": false, \"observer\": \"minmax\", "
    "\"scale_dtype\": \"torch.uint8\"}}}, \"ignore\": [\"re:.*self_attn.*\", "
    "\"re:.*shared_experts.*\", \"re:.*mlp\\\\.(gate|up|gate_up|down)_proj.*\", "
    "\"re:.*lm_head.*\", \"re:.*vision_tower.*\", \"re:.*mm_projector.*\"]}";

static void write_k3_config(FILE *file, const struct dims *dims)
{
    (void)fputs("{\n \"architectures\": [\"KimiK3ForConditionalGeneration\"],\n"
                " \"model_type\": \"kimi_k3\",\n",
                file);
    write_token_ids(file, dims);
    (void)fputs(" \"tie_word_embeddings\": false,\n"
                " \"text_config\": {\n"
                "  \"model_type\": \"kimi_linear\",\n"
                "  \"architectures\": [\"KimiLinearForCausalLM\"],\n"
                "  \"hidden_act\": \"situ\",\n"
                "  \"activation_situ_beta\": 4.0,\n"
                "  \"activation_situ_linear_beta\": 25.0,\n",
                file);
    write_common(file, dims, "  ");
    (void)fprintf(file, ",\n  \"topk_method\": \"noaux_tc\",\n");
    (void)fprintf(file, "  \"attn_res_block_size\": %u,\n", dims->block_size);
    (void)fprintf(file, "  \"routed_expert_hidden_size\": %u,\n", dims->latent);
    (void)fprintf(file, "  \"latent_moe_use_norm\": true,\n"
                        "  \"mla_use_output_gate\": true");
    write_linear_attention(file, dims, "  ");
    (void)fprintf(file, ",\n  \"quantization_config\": %s\n }\n}\n", quantization);
}

static void write_linear_config(FILE *file, const struct dims *dims)
{
    (void)fputs("{\n \"architectures\": [\"KimiLinearForCausalLM\"],\n"
                " \"model_type\": \"kimi_linear\",\n",
                file);
    write_token_ids(file, dims);
    write_common(file, dims, " ");
    write_linear_attention(file, dims, " ");
    (void)fputs("\n}\n", file);
}

static int write_config(const struct dims *dims, const char *directory)
{
    FILE *file = create(directory, "config.json");
    if (file == NULL) {
        return -1;
    }
    if (dims->family == FAMILY_K3) {
        write_k3_config(file, dims);
    } else {
        write_linear_config(file, dims);
    }
    return finish(file);
}

const char *tiny_model_name(enum tiny_model_kind kind)
{
    return kinds[kind].name;
}

int tiny_model_write(enum tiny_model_kind kind, const char *directory)
{
    const struct dims *dims = &kinds[kind];
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        return -1;
    }
    if (write_config(dims, directory) != 0 || write_index(dims, directory) != 0) {
        return -1;
    }
    for (uint32_t shard = 0; shard <= dims->layers; shard++) {
        if (write_shard(dims, shard, directory) != 0) {
            return -1;
        }
    }
    return 0;
}
