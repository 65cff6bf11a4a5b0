/* Operations on plain vectors: all lengths, patterns and alignments. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/bits.h"
#include "kernels/guarded.h"
#include "kernels/level.h"
#include "kernels/patterns.h"
#include "support/check.h"

enum { LONGEST = 3600, SHORT_LENGTHS = 130 };

/* `io` begins with values and is compared at the end, as is what comes back. */
typedef float run_function(const struct nj_kernels *kernels, uint32_t n, float *io,
                           const float *a, const float *b);

struct operation {
    const char *name;
    run_function *run;
    uint32_t longest;
};

/* NOLINTNEXTLINE(readability-non-const-parameter): the shape that the table asks for */
static float run_dot(const struct nj_kernels *kernels, uint32_t n, float *io, const float *a,
                     const float *b)
{
    (void)io;
    return kernels->dot(a, b, n);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the shape that the table asks for */
static float run_sum(const struct nj_kernels *kernels, uint32_t n, float *io, const float *a,
                     const float *b)
{
    (void)io;
    (void)b;
    return kernels->sum(a, n);
}

static float run_rms_norm(const struct nj_kernels *kernels, uint32_t n, float *io,
                          const float *a, const float *b)
{
    kernels->rms_norm(a, b, n, 1e-5F, io);
    return 0.0F;
}

static float run_rms_norm_in_place(const struct nj_kernels *kernels, uint32_t n, float *io,
                                   const float *a, const float *b)
{
    (void)b;
    kernels->rms_norm(io, a, n, 1e-6F, io);
    return 0.0F;
}

static float run_l2_normalize(const struct nj_kernels *kernels, uint32_t n, float *io,
                              const float *a, const float *b)
{
    (void)a;
    (void)b;
    kernels->l2_normalize(io, n, 1e-6F, 0x1.6a09e6p-4F);
    return 0.0F;
}

static float run_add(const struct nj_kernels *kernels, uint32_t n, float *io, const float *a,
                     const float *b)
{
    (void)b;
    kernels->add(io, a, n);
    return 0.0F;
}

static float run_scale(const struct nj_kernels *kernels, uint32_t n, float *io, const float *a,
                       const float *b)
{
    (void)b;
    kernels->scale(io, n > 0 ? a[n - 1] : 1.0F, n);
    return 0.0F;
}

static float run_accumulate(const struct nj_kernels *kernels, uint32_t n, float *io,
                            const float *a, const float *b)
{
    kernels->accumulate(io, a, n > 0 ? b[n - 1] : 1.0F, n);
    return 0.0F;
}

static float run_multiply_sigmoid(const struct nj_kernels *kernels, uint32_t n, float *io,
                                  const float *a, const float *b)
{
    (void)b;
    kernels->multiply_sigmoid(io, a, n);
    return 0.0F;
}

static float run_situ(const struct nj_kernels *kernels, uint32_t n, float *io, const float *a,
                      const float *b)
{
    kernels->situ(a, b, 4.0F, 25.0F, n, io);
    return 0.0F;
}

static float run_situ_in_place(const struct nj_kernels *kernels, uint32_t n, float *io,
                               const float *a, const float *b)
{
    (void)b;
    kernels->situ(io, a, 1.0F, 1.0F, n, io);
    return 0.0F;
}

static float run_swiglu(const struct nj_kernels *kernels, uint32_t n, float *io, const float *a,
                        const float *b)
{
    kernels->swiglu(a, b, n, io);
    return 0.0F;
}

static float run_exp_minus(const struct nj_kernels *kernels, uint32_t n, float *io,
                           const float *a, const float *b)
{
    return kernels->exp_minus(a, n > 0 ? b[0] : 0.0F, n, io);
}

static float run_decay_bounded(const struct nj_kernels *kernels, uint32_t n, float *io,
                               const float *a, const float *b)
{
    kernels->decay(a, b, 1.75F, -5.0F, n, io);
    return 0.0F;
}

static float run_decay_softplus(const struct nj_kernels *kernels, uint32_t n, float *io,
                                const float *a, const float *b)
{
    kernels->decay(a, b, 0.3F, 0.0F, n, io);
    return 0.0F;
}

static const struct operation operations[] = {
    {"dot", run_dot, LONGEST},
    {"sum", run_sum, LONGEST},
    {"rms_norm", run_rms_norm, LONGEST},
    {"rms_norm_in_place", run_rms_norm_in_place, LONGEST},
    {"l2_normalize", run_l2_normalize, LONGEST},
    {"add", run_add, LONGEST},
    {"scale", run_scale, LONGEST},
    {"accumulate", run_accumulate, LONGEST},
    {"multiply_sigmoid", run_multiply_sigmoid, LONGEST},
    {"situ", run_situ, LONGEST},
    {"situ_in_place", run_situ_in_place, LONGEST},
    {"swiglu", run_swiglu, LONGEST},
    {"exp_minus", run_exp_minus, 64},
    {"decay_bounded", run_decay_bounded, LONGEST},
    {"decay_softplus", run_decay_softplus, LONGEST},
};
enum { N_OPERATIONS = sizeof operations / sizeof operations[0] };

struct memory {
    struct guarded io;
    struct guarded wanted;
    struct guarded a;
    struct guarded b;
};

static void memory_init(struct memory *memory)
{
    guarded_init(&memory->io, LONGEST * sizeof(float));
    guarded_init(&memory->wanted, LONGEST * sizeof(float));
    guarded_init(&memory->a, LONGEST * sizeof(float));
    guarded_init(&memory->b, LONGEST * sizeof(float));
}

static void memory_deinit(struct memory *memory)
{
    guarded_deinit(&memory->io);
    guarded_deinit(&memory->wanted);
    guarded_deinit(&memory->a);
    guarded_deinit(&memory->b);
}

static float *place(struct guarded *guarded, uint32_t n, size_t slack_values,
                    enum pattern pattern, uint64_t seed)
{
    float *values = guarded_place(guarded, n * sizeof *values, slack_values * sizeof *values);
    pattern_fill(pattern, seed, values, n);
    return values;
}

static bool check_case(const struct operation *operation, uint32_t n, enum pattern pattern,
                       struct memory *memory, uint64_t *hash)
{
    const float *a = place(&memory->a, n, n % 5, pattern, 11);
    const float *b = place(&memory->b, n, n % 3, pattern, 12);
    float *io = place(&memory->io, n, n % 2, pattern, 13);
    float result = operation->run(level_under_test(), n, io, a, b);
    *hash = hash_values(*hash, io, n);
    *hash = hash_values(*hash, &result, 1);
    bool is_right = CHECK(guarded_is_intact(&memory->io));
    if (definition() != NULL) {
        char what[128];
        float *wanted = place(&memory->wanted, n, n % 2, pattern, 13);
        float wanted_result = operation->run(definition(), n, wanted, a, b);
        (void)snprintf(what, sizeof what, "%s of %u values, pattern %d", operation->name, n,
                       (int)pattern);
        is_right = check_same_values(io, wanted, n, what) && is_right;
        is_right = check_same_values(&result, &wanted_result, 1, what) && is_right;
    }
    return is_right;
}

/* Stops an operation's cases at the first failure: the rest would only repeat it. */
static void check_operation(const struct operation *operation, struct memory *memory)
{
    static const uint32_t long_lengths[] = {576, 896, 3584, 3597};
    uint64_t hash = HASH_BEGIN;
    bool is_right = true;
    for (int pattern = 0; pattern < N_PATTERNS; pattern++) {
        for (uint32_t n = 0; is_right && n <= SHORT_LENGTHS && n <= operation->longest; n++) {
            is_right = check_case(operation, n, (enum pattern)pattern, memory, &hash);
        }
        for (size_t i = 0; is_right && i < sizeof long_lengths / sizeof *long_lengths; i++) {
            if (long_lengths[i] <= operation->longest) {
                is_right = check_case(operation, long_lengths[i], (enum pattern)pattern, memory,
                                      &hash);
            }
        }
    }
    if (is_right) {
        check_recorded_hash(operation->name, hash);
    }
}

static void vector_operations_equal_the_definition_at_every_length(void)
{
    struct memory memory;
    memory_init(&memory);
    for (int i = 0; i < N_OPERATIONS; i++) {
        check_operation(&operations[i], &memory);
    }
    memory_deinit(&memory);
}

static uint64_t hash_all_floats(const struct operation *operation, struct memory *memory)
{
    enum { N = 64 };
    const uint64_t step = 4093; /* a prime: all exponents, most mantissa bits */
    uint64_t hash = HASH_BEGIN;
    const float *b = place(&memory->b, N, 0, PATTERN_PLAIN, 5);
    for (uint64_t begin = 0; begin <= UINT32_MAX; begin += N * step) {
        float *a = guarded_place(&memory->a, N * sizeof *a, 0);
        for (uint64_t i = 0; i < N; i++) {
            uint32_t bits = (uint32_t)(begin + i * step);
            memcpy(&a[i], &bits, sizeof bits);
        }
        float *io = place(&memory->io, N, 0, PATTERN_PLAIN, 6);
        float result = operation->run(level_under_test(), N, io, a, b);
        hash = hash_values(hash, io, N);
        if (definition() == NULL) {
            continue;
        }
        float *wanted = place(&memory->wanted, N, 0, PATTERN_PLAIN, 6);
        float wanted_result = operation->run(definition(), N, wanted, a, b);
        if (!check_same_values(io, wanted, N, operation->name) ||
            !check_same_values(&result, &wanted_result, 1, operation->name)) {
            break;
        }
    }
    return hash;
}

static void elementary_functions_equal_the_definition_on_a_million_floats(void)
{
    struct memory memory;
    memory_init(&memory);
    for (int i = 0; i < N_OPERATIONS; i++) {
        run_function *run = operations[i].run;
        if (run == run_multiply_sigmoid || run == run_situ || run == run_swiglu ||
            run == run_exp_minus || run == run_decay_bounded || run == run_decay_softplus) {
            char name[64];
            (void)snprintf(name, sizeof name, "%s_of_all_floats", operations[i].name);
            check_recorded_hash(name, hash_all_floats(&operations[i], &memory));
        }
    }
    memory_deinit(&memory);
}

void run_vector_tests(void)
{
    RUN(vector_operations_equal_the_definition_at_every_length);
    RUN(elementary_functions_equal_the_definition_on_a_million_floats);
}
