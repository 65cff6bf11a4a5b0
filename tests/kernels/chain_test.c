/* Operations whose lanes run over outputs: axpy, convolution and the delta rule. */
#include <stdio.h>
#include <string.h>

#include "kernels/bits.h"
#include "kernels/guarded.h"
#include "kernels/level.h"
#include "kernels/patterns.h"
#include "support/check.h"

enum { LARGEST_MATRIX = 200 * 600 };

/* Outputs of one case: the level's and the definition's, from equal beginnings. */
struct memory {
    struct guarded matrix;
    struct guarded vectors;
    struct guarded out[2];
    struct guarded state[2];
};

static void memory_init(struct memory *memory)
{
    guarded_init(&memory->matrix, LARGEST_MATRIX * sizeof(float));
    guarded_init(&memory->vectors, LARGEST_MATRIX * sizeof(float));
    for (int i = 0; i < 2; i++) {
        guarded_init(&memory->out[i], LARGEST_MATRIX * sizeof(float));
        guarded_init(&memory->state[i], LARGEST_MATRIX * sizeof(float));
    }
}

static void memory_deinit(struct memory *memory)
{
    guarded_deinit(&memory->matrix);
    guarded_deinit(&memory->vectors);
    for (int i = 0; i < 2; i++) {
        guarded_deinit(&memory->out[i]);
        guarded_deinit(&memory->state[i]);
    }
}

static float *place(struct guarded *guarded, size_t n, enum pattern pattern, uint64_t seed)
{
    float *values = guarded_place(guarded, n * sizeof *values, 0);
    pattern_fill(pattern, seed, values, n);
    return values;
}

/* How many tables a case runs on: the level, and the definition where that is another one. */
static int n_tables(void)
{
    return definition() == NULL ? 1 : 2;
}

static const struct nj_kernels *table(int i)
{
    return i == 0 ? level_under_test() : definition();
}

struct axpy_case {
    uint32_t n_terms;
    uint32_t n_outputs;
    uint32_t stride;
    bool is_bf16;
    enum pattern pattern;
};

static void run_axpy(const struct axpy_case *c, const struct nj_kernels *kernels,
                     struct memory *memory, float *out)
{
    /* The last row ends where its outputs end: the gap after it is not the kernel's to read. */
    size_t n = c->n_terms == 0 ? 0 : (size_t)(c->n_terms - 1) * c->stride + c->n_outputs;
    const float *a = place(&memory->vectors, c->n_terms, c->pattern, 22);
    if (c->is_bf16) {
        void *m = guarded_place(&memory->matrix, n * sizeof(uint16_t), 0);
        pattern_fill_bf16(c->pattern, 21, m, n);
        kernels->axpy_bf16(a, c->n_terms, m, c->stride, c->n_outputs, out);
    } else {
        const float *m = place(&memory->matrix, n, c->pattern, 21);
        kernels->axpy(a, c->n_terms, m, c->stride, c->n_outputs, out);
    }
}

static bool check_axpy(const struct axpy_case *c, struct memory *memory, uint64_t *hash)
{
    float *out[2] = {NULL, NULL};
    for (int i = 0; i < n_tables(); i++) {
        out[i] = place(&memory->out[i], c->n_outputs, c->pattern, 23);
        run_axpy(c, table(i), memory, out[i]);
        if (!CHECK(guarded_is_intact(&memory->out[i]))) {
            return false;
        }
    }
    *hash = hash_values(*hash, out[0], c->n_outputs);
    char what[128];
    (void)snprintf(what, sizeof what, "axpy%s of %u x %u, pattern %d",
                   c->is_bf16 ? "_bf16" : "", c->n_terms, c->n_outputs, (int)c->pattern);
    return out[1] == NULL || check_same_values(out[0], out[1], c->n_outputs, what);
}

static void check_axpy_at_all_sizes(bool is_bf16)
{
    static const uint32_t terms[] = {0, 1, 2, 7, 64, 128};
    struct memory memory;
    memory_init(&memory);
    uint64_t hash = HASH_BEGIN;
    bool is_right = true;
    for (uint32_t n_outputs = 0; is_right && n_outputs <= 140; n_outputs++) {
        for (size_t t = 0; is_right && t < sizeof terms / sizeof *terms; t++) {
            struct axpy_case c = {terms[t], n_outputs, n_outputs + n_outputs % 3, is_bf16,
                                  (enum pattern)((n_outputs + t) % N_PATTERNS)};
            is_right = check_axpy(&c, &memory, &hash);
        }
    }
    for (int pattern = 0; is_right && pattern < N_PATTERNS; pattern++) {
        struct axpy_case c = {64, 512, 576, is_bf16, (enum pattern)pattern};
        is_right = check_axpy(&c, &memory, &hash);
    }
    if (is_right) {
        check_recorded_hash(is_bf16 ? "axpy_bf16" : "axpy", hash);
    }
    memory_deinit(&memory);
}

static void axpy_equals_the_definition_at_all_sizes(void)
{
    check_axpy_at_all_sizes(false);
    check_axpy_at_all_sizes(true);
}

static void axpy_reads_bf16_at_odd_addresses(void)
{
    enum { N_TERMS = 3, N_OUTPUTS = 70, N_VALUES = N_TERMS * N_OUTPUTS };
    struct guarded memory;
    guarded_init(&memory, 4096);
    uint8_t *bytes = guarded_place(&memory, N_VALUES * sizeof(uint16_t), 1);
    pattern_fill_bf16(PATTERN_PLAIN, 3, bytes, N_VALUES);
    uint16_t aligned[N_VALUES];
    memcpy(aligned, bytes, sizeof aligned);
    const float a[N_TERMS] = {1.5F, -0.3F, 7.0F};
    float out[N_OUTPUTS] = {0};
    float wanted[N_OUTPUTS] = {0};

    level_under_test()->axpy_bf16(a, N_TERMS, (const void *)bytes, N_OUTPUTS, N_OUTPUTS, out);

    nj_kernels_scalar()->axpy_bf16(a, N_TERMS, aligned, N_OUTPUTS, N_OUTPUTS, wanted);
    (void)check_same_values(out, wanted, N_OUTPUTS, "axpy_bf16 at an odd address");
    guarded_deinit(&memory);
}

static bool check_conv(uint32_t n_channels, uint32_t n_taps, enum pattern pattern,
                       struct memory *memory, uint64_t *hash)
{
    size_t n_history = (size_t)(n_taps - 1) * n_channels;
    const float *taps = place(&memory->matrix, (size_t)n_channels * n_taps, pattern, 31);
    float *history[2] = {NULL, NULL};
    float *y[2] = {NULL, NULL};
    for (int i = 0; i < n_tables(); i++) {
        history[i] = place(&memory->state[i], n_history, pattern, 32);
        y[i] = place(&memory->out[i], n_channels, PATTERN_PLAIN, 34);
        for (uint64_t token = 0; token < 3; token++) {
            const float *x = place(&memory->vectors, n_channels, pattern, 33 + token * 100);
            table(i)->conv_step(taps, n_channels, n_taps, history[i], x, y[i]);
        }
        if (!CHECK(guarded_is_intact(&memory->state[i]) &&
                   guarded_is_intact(&memory->out[i]))) {
            return false;
        }
    }
    *hash = hash_values(*hash, history[0], n_history);
    *hash = hash_values(*hash, y[0], n_channels);
    char what[128];
    (void)snprintf(what, sizeof what, "conv_step of %u channels, %u taps, pattern %d",
                   n_channels, n_taps, (int)pattern);
    return y[1] == NULL || (check_same_values(y[0], y[1], n_channels, what) &&
                            check_same_values(history[0], history[1], n_history, what));
}

static void conv_step_equals_the_definition_at_all_sizes(void)
{
    struct memory memory;
    memory_init(&memory);
    uint64_t hash = HASH_BEGIN;
    bool is_right = true;
    for (uint32_t n_channels = 0; is_right && n_channels <= 130; n_channels++) {
        for (uint32_t n_taps = 1; is_right && n_taps <= 5; n_taps++) {
            enum pattern pattern = (enum pattern)((n_channels + n_taps) % N_PATTERNS);
            is_right = check_conv(n_channels, n_taps, pattern, &memory, &hash);
        }
    }
    if (is_right) {
        check_recorded_hash("conv_step", hash);
    }
    memory_deinit(&memory);
}

static void run_kda(const struct nj_kernels *kernels, uint32_t n_keys, uint32_t n_values,
                    enum pattern pattern, struct memory *memory, float *state, float *out)
{
    /* q, k, decay and v lie one after the other; out holds work, then o. */
    size_t n = (size_t)3 * n_keys + n_values;
    const float *q = place(&memory->vectors, n, pattern, 42);
    kernels->kda_step(state, n_keys, n_values, q, q + n_keys, q + (size_t)3 * n_keys,
                      q + (size_t)2 * n_keys, 0x1.2p-1F, out, out + n_values);
}

static bool check_kda(uint32_t n_keys, uint32_t n_values, enum pattern pattern,
                      struct memory *memory, uint64_t *hash)
{
    size_t n_state = (size_t)n_keys * n_values;
    size_t n_out = (size_t)2 * n_values;
    float *state[2] = {NULL, NULL};
    float *out[2] = {NULL, NULL};
    for (int i = 0; i < n_tables(); i++) {
        state[i] = place(&memory->state[i], n_state, pattern, 41);
        out[i] = place(&memory->out[i], n_out, PATTERN_ANY_BITS, 43);
        run_kda(table(i), n_keys, n_values, pattern, memory, state[i], out[i]);
        run_kda(table(i), n_keys, n_values, pattern, memory, state[i], out[i]);
        if (!CHECK(guarded_is_intact(&memory->state[i]) &&
                   guarded_is_intact(&memory->out[i]))) {
            return false;
        }
    }
    *hash = hash_values(*hash, state[0], n_state);
    *hash = hash_values(*hash, out[0], n_out);
    char what[128];
    (void)snprintf(what, sizeof what, "kda_step of %u x %u, pattern %d", n_keys, n_values,
                   (int)pattern);
    return out[1] == NULL || (check_same_values(out[0], out[1], n_out, what) &&
                              check_same_values(state[0], state[1], n_state, what));
}

static void kda_step_equals_the_definition_at_all_sizes(void)
{
    struct memory memory;
    memory_init(&memory);
    uint64_t hash = HASH_BEGIN;
    bool is_right = true;
    for (uint32_t n_values = 0; is_right && n_values <= 130; n_values++) {
        uint32_t n_keys = 1 + n_values * 5 % 37;
        is_right =
            check_kda(n_keys, n_values, (enum pattern)(n_values % N_PATTERNS), &memory, &hash);
    }
    for (int pattern = 0; is_right && pattern < N_PATTERNS; pattern++) {
        is_right = check_kda(128, 128, (enum pattern)pattern, &memory, &hash);
    }
    if (is_right) {
        check_recorded_hash("kda_step", hash);
    }
    memory_deinit(&memory);
}

void run_chain_tests(void)
{
    RUN(axpy_equals_the_definition_at_all_sizes);
    RUN(axpy_reads_bf16_at_odd_addresses);
    RUN(conv_step_equals_the_definition_at_all_sizes);
    RUN(kda_step_equals_the_definition_at_all_sizes);
}
