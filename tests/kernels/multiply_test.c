/* The matrix product: all types, lengths, tails and widths; and that a row's result is its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/bits.h"
#include "kernels/guarded.h"
#include "kernels/level.h"
#include "kernels/patterns.h"
#include "quant/mxfp4.h"
#include "support/check.h"

enum { LARGEST_INPUTS = 7300, MOST_ROWS = 160, MOST_OUTPUTS = 100, N_TYPES = 3 };

struct shape {
    enum nj_matrix_type type;
    uint32_t n_inputs;
    uint32_t n_outputs;
    uint32_t n_rows;
    enum pattern pattern;
};

struct memory {
    struct guarded weights;
    struct guarded scales;
    struct guarded x;
    struct guarded y[2];
    struct guarded scratch;
};

static void memory_init(struct memory *memory)
{
    guarded_init(&memory->weights, (size_t)LARGEST_INPUTS * MOST_OUTPUTS * sizeof(float));
    guarded_init(&memory->scales, (size_t)LARGEST_INPUTS * MOST_OUTPUTS / 32);
    guarded_init(&memory->x, (size_t)LARGEST_INPUTS * MOST_ROWS * sizeof(float));
    guarded_init(&memory->y[0], (size_t)MOST_OUTPUTS * 2 * MOST_ROWS * sizeof(float));
    guarded_init(&memory->y[1], (size_t)MOST_OUTPUTS * 2 * MOST_ROWS * sizeof(float));
    guarded_init(&memory->scratch, (size_t)2 << 20);
}

static void memory_deinit(struct memory *memory)
{
    guarded_deinit(&memory->weights);
    guarded_deinit(&memory->scales);
    guarded_deinit(&memory->x);
    guarded_deinit(&memory->y[0]);
    guarded_deinit(&memory->y[1]);
    guarded_deinit(&memory->scratch);
}

static size_t weight_bytes(enum nj_matrix_type type, size_t n_values)
{
    static const size_t bits[N_TYPES] = {32, 16, 4};
    return n_values * bits[type] / 8;
}

/* Weights end at the forbidden page or one to three bytes before it, so that they begin at odd
 * addresses as well. */
static struct nj_matrix make_matrix(const struct shape *shape, struct memory *memory)
{
    size_t n = (size_t)shape->n_inputs * shape->n_outputs;
    size_t slack = (shape->n_inputs + shape->n_outputs) % 4;
    struct nj_matrix matrix = {
        .type = shape->type, .n_outputs = shape->n_outputs, .n_inputs = shape->n_inputs};
    uint8_t *weights = guarded_place(&memory->weights, weight_bytes(shape->type, n), slack);
    switch (shape->type) {
    case NJ_MATRIX_F32:
        for (size_t i = 0; i < n; i++) {
            float value = pattern_value(shape->pattern, 51, i);
            memcpy(weights + i * sizeof value, &value, sizeof value);
        }
        break;
    case NJ_MATRIX_BF16:
        pattern_fill_bf16(shape->pattern, 51, weights, n);
        break;
    case NJ_MATRIX_MXFP4: {
        uint8_t *scales = guarded_place(&memory->scales, n / NJ_MXFP4_BLOCK_VALUES, slack);
        pattern_fill_nibbles(51, weights, n / 2);
        pattern_fill_scales(shape->pattern, 52, scales, n / NJ_MXFP4_BLOCK_VALUES);
        matrix.scales = scales;
        break;
    }
    }
    matrix.weights = weights;
    return matrix;
}

/* Rows of x have a gap of NaN between them; the last ends at the forbidden page. */
static const float *make_inputs(const struct shape *shape, size_t stride, struct memory *memory)
{
    size_t n = (shape->n_rows - 1) * stride + shape->n_inputs;
    float *x = guarded_place(&memory->x, n * sizeof *x, 0);
    for (uint32_t r = 0; r < shape->n_rows; r++) {
        pattern_fill(shape->pattern, 1000 + r, x + r * stride, shape->n_inputs);
    }
    return x;
}

static bool multiply(const struct nj_kernels *kernels, const struct nj_matrix *matrix,
                     const float *x, size_t x_stride, uint32_t n_rows, float *y,
                     size_t y_stride, struct memory *memory)
{
    size_t n_bytes = nj_kernels_scratch_bytes(matrix->n_inputs, n_rows);
    void *scratch = guarded_place(&memory->scratch, n_bytes, 0);
    kernels->multiply(matrix, x, x_stride, n_rows, y, y_stride, scratch);
    return CHECK_EQ((uintptr_t)scratch % 64, 0) && CHECK(guarded_is_intact(&memory->scratch));
}

static bool check_shape(const struct shape *shape, struct memory *memory, uint64_t *hash)
{
    size_t x_stride = shape->n_inputs + shape->n_rows % 3;
    size_t y_stride = shape->n_outputs + shape->n_inputs % 2;
    size_t n_results = (shape->n_rows - 1) * y_stride + shape->n_outputs;
    struct nj_matrix matrix = make_matrix(shape, memory);
    const float *x = make_inputs(shape, x_stride, memory);
    const struct nj_kernels *tables[2] = {level_under_test(), definition()};
    float *y[2] = {NULL, NULL};
    for (int i = 0; i < 2 && tables[i] != NULL; i++) {
        y[i] = guarded_place(&memory->y[i], n_results * sizeof *y[i], 0);
        pattern_fill(PATTERN_PLAIN, 77, y[i], n_results); /* gaps keep these values */
        if (!multiply(tables[i], &matrix, x, x_stride, shape->n_rows, y[i], y_stride, memory) ||
            !CHECK(guarded_is_intact(&memory->y[i]))) {
            return false;
        }
    }
    *hash = hash_values(*hash, y[0], n_results);
    char what[128];
    (void)snprintf(what, sizeof what, "multiply of type %d, %u x %u by %u rows, pattern %d",
                   (int)shape->type, shape->n_outputs, shape->n_inputs, shape->n_rows,
                   (int)shape->pattern);
    return y[1] == NULL || check_same_values(y[0], y[1], n_results, what);
}

static bool is_possible(const struct shape *shape)
{
    return shape->type != NJ_MATRIX_MXFP4 || shape->n_inputs % NJ_MXFP4_BLOCK_VALUES == 0;
}

/* Every length from 1 to 130 in every pattern, at widths that use every kind of tile. */
static bool check_short_lengths(enum nj_matrix_type type, struct memory *memory, uint64_t *hash)
{
    static const uint32_t widths[] = {1, 2, 3, 4, 5, 7, 8, 10};
    bool is_right = true;
    for (int pattern = 0; pattern < N_PATTERNS; pattern++) {
        for (uint32_t n_inputs = 1; n_inputs <= 130; n_inputs++) {
            for (size_t w = 0; is_right && w < sizeof widths / sizeof *widths; w += 2) {
                uint32_t n_rows = widths[w + (n_inputs + (uint32_t)pattern) % 2];
                struct shape shape = {type, n_inputs, 7 + n_inputs % 6, n_rows,
                                      (enum pattern)pattern};
                is_right = !is_possible(&shape) || check_shape(&shape, memory, hash);
            }
        }
    }
    return is_right;
}

static bool check_widths(enum nj_matrix_type type, struct memory *memory, uint64_t *hash)
{
    static const uint32_t widths[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  15,  16, 17,
                                      31, 32, 33, 47, 48, 49, 64, 96, 97, 128, 129};
    static const uint32_t outputs[] = {1, 2, 3, 4, 5, 6, 7, 11, 48, 51, 97};
    static const uint32_t lengths[] = {96, 40, 576, 105};
    bool is_right = true;
    uint32_t n_cases = 0;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        for (size_t o = 0; o < sizeof outputs / sizeof *outputs; o++) {
            uint32_t n_inputs = type == NJ_MATRIX_MXFP4 ? 96 : lengths[n_cases % 4];
            struct shape shape = {type, n_inputs, outputs[o], widths[w],
                                  (enum pattern)(n_cases++ % N_PATTERNS)};
            is_right = is_right && check_shape(&shape, memory, hash);
        }
    }
    return is_right;
}

/* Longer than a panel, with and without a tail; at the last width also more than one block of
 * weights and of rows. */
static bool check_long_rows(enum nj_matrix_type type, struct memory *memory, uint64_t *hash)
{
    static const uint32_t lengths[] = {896, 911, 3584, 3600, 7168, 7177};
    static const uint32_t widths[] = {1, 4, 9, 50};
    bool is_right = true;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        for (size_t w = 0; is_right && w < sizeof widths / sizeof *widths; w++) {
            uint32_t n_outputs = widths[w] < 50 ? 9 : 51;
            struct shape shape = {type, lengths[l], n_outputs, widths[w],
                                  (enum pattern)((2 * l + w) % N_PATTERNS)};
            is_right = !is_possible(&shape) || check_shape(&shape, memory, hash);
        }
    }
    return is_right;
}

static void multiply_equals_the_definition_for_every_type_length_and_width(void)
{
    static const char *const names[N_TYPES] = {"multiply_f32", "multiply_bf16",
                                               "multiply_mxfp4"};
    struct memory memory;
    memory_init(&memory);
    for (int type = 0; type < N_TYPES; type++) {
        enum nj_matrix_type t = (enum nj_matrix_type)type;
        uint64_t hash = HASH_BEGIN;
        if (check_short_lengths(t, &memory, &hash) && check_widths(t, &memory, &hash) &&
            check_long_rows(t, &memory, &hash)) {
            check_recorded_hash(names[type], hash);
        }
    }
    memory_deinit(&memory);
}

static void widen_row(const struct nj_matrix *matrix, uint32_t output, float *row)
{
    const uint8_t *bytes = matrix->weights;
    size_t n = matrix->n_inputs;
    memset(row, 0, n * sizeof *row);
    switch (matrix->type) {
    case NJ_MATRIX_F32:
        memcpy(row, bytes + output * n * 4, n * 4);
        break;
    case NJ_MATRIX_BF16:
        for (size_t i = 0; i < n; i++) { /* a BF16 is the upper half of an F32 */
            memcpy((uint8_t *)&row[i] + 2, bytes + (output * n + i) * 2, 2);
        }
        break;
    case NJ_MATRIX_MXFP4:
        nj_mxfp4_expand(bytes + output * n / 2, matrix->scales + output * n / 32, n, row);
        break;
    }
}

/* Whatever the type of the weights, the product is the dot that the norms and scores use. */
static void multiply_is_dot_on_widened_weights(void)
{
    enum { N_INPUTS = 96, N_OUTPUTS = 13, N_ROWS = 9 };
    struct memory memory;
    memory_init(&memory);
    for (int type = 0; type < N_TYPES; type++) {
        struct shape shape = {(enum nj_matrix_type)type, N_INPUTS, N_OUTPUTS, N_ROWS,
                              PATTERN_PLAIN};
        struct nj_matrix matrix = make_matrix(&shape, &memory);
        const float *x = make_inputs(&shape, N_INPUTS, &memory);
        float y[N_ROWS * N_OUTPUTS];
        (void)multiply(level_under_test(), &matrix, x, N_INPUTS, N_ROWS, y, N_OUTPUTS, &memory);
        for (uint32_t o = 0; o < N_OUTPUTS; o++) {
            float row[N_INPUTS];
            widen_row(&matrix, o, row);
            for (size_t r = 0; r < N_ROWS; r++) {
                float wanted = level_under_test()->dot(row, x + r * N_INPUTS, N_INPUTS);
                (void)check_same_values(&y[r * N_OUTPUTS + o], &wanted, 1, "multiply and dot");
            }
        }
    }
    memory_deinit(&memory);
}

struct probe {
    struct nj_matrix matrix;
    uint32_t n_inputs;
    float *alone; /* (n_outputs): the probe row's results in a batch of one */
};

/* The probe row at `position` of `n_rows`, all other rows NaN. */
static bool check_probe(const struct probe *probe, uint32_t n_rows, uint32_t position,
                        struct memory *memory)
{
    size_t n = (size_t)n_rows * probe->n_inputs;
    uint32_t n_outputs = probe->matrix.n_outputs;
    float *x = guarded_place(&memory->x, n * sizeof *x, 0);
    float *y = guarded_place(&memory->y[0], (size_t)n_rows * n_outputs * sizeof *y, 0);
    pattern_fill(PATTERN_PLAIN, 61, x + (size_t)position * probe->n_inputs, probe->n_inputs);
    char what[64];
    (void)snprintf(what, sizeof what, "type %d, row %u of %u", (int)probe->matrix.type,
                   position, n_rows);
    return multiply(level_under_test(), &probe->matrix, x, probe->n_inputs, n_rows, y,
                    n_outputs, memory) &&
           check_same_values(y + (size_t)position * n_outputs, probe->alone, n_outputs, what);
}

static bool check_probe_everywhere(const struct probe *probe, struct memory *memory)
{
    bool is_right = true;
    for (uint32_t n_rows = 1; is_right && n_rows <= 129; n_rows++) {
        is_right = check_probe(probe, n_rows, 0, memory) &&
                   check_probe(probe, n_rows, n_rows - 1, memory) &&
                   check_probe(probe, n_rows, n_rows * 5 / 8, memory);
    }
    /* The last is more than any level does at once. */
    static const uint32_t widths[] = {5, 17, 50, 135};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        for (uint32_t position = 0; is_right && position < widths[w]; position++) {
            is_right = check_probe(probe, widths[w], position, memory);
        }
    }
    return is_right;
}

static void a_row_has_the_same_result_alone_and_anywhere_in_any_batch(void)
{
    enum { N_OUTPUTS = 14 };
    struct memory memory;
    memory_init(&memory);
    for (int type = 0; type < N_TYPES; type++) {
        struct shape shape = {(enum nj_matrix_type)type, 96, N_OUTPUTS, 1, PATTERN_PLAIN};
        shape.n_inputs = shape.type == NJ_MATRIX_MXFP4 ? 96 : 90;
        float alone[N_OUTPUTS];
        struct probe probe = {make_matrix(&shape, &memory), shape.n_inputs, alone};
        float *x = guarded_place(&memory.x, shape.n_inputs * sizeof *x, 0);
        pattern_fill(PATTERN_PLAIN, 61, x, shape.n_inputs);
        CHECK(multiply(level_under_test(), &probe.matrix, x, shape.n_inputs, 1, alone,
                       N_OUTPUTS, &memory));
        CHECK(check_probe_everywhere(&probe, &memory));
    }
    memory_deinit(&memory);
}

/* What a thread pool does: the same matrix in pieces of any size gives the same results. */
static void a_block_of_outputs_has_the_same_results_alone(void)
{
    enum { N_INPUTS = 96, N_OUTPUTS = 97, N_ROWS = 11 };
    struct memory memory;
    memory_init(&memory);
    struct shape shape = {NJ_MATRIX_MXFP4, N_INPUTS, N_OUTPUTS, N_ROWS, PATTERN_PLAIN};
    struct nj_matrix matrix = make_matrix(&shape, &memory);
    const float *x = make_inputs(&shape, N_INPUTS, &memory);
    static float whole[N_ROWS * N_OUTPUTS];
    static float pieces[N_ROWS * N_OUTPUTS];
    (void)multiply(level_under_test(), &matrix, x, N_INPUTS, N_ROWS, whole, N_OUTPUTS, &memory);

    const uint32_t begins[] = {0, 1, 9, 50, N_OUTPUTS};
    for (int i = 0; i < 4; i++) {
        struct nj_matrix piece = matrix;
        piece.n_outputs = begins[i + 1] - begins[i];
        piece.weights = (const uint8_t *)matrix.weights + (size_t)begins[i] * (N_INPUTS / 2);
        piece.scales = matrix.scales + (size_t)begins[i] * (N_INPUTS / 32);
        (void)multiply(level_under_test(), &piece, x, N_INPUTS, N_ROWS, pieces + begins[i],
                       N_OUTPUTS, &memory);
    }
    (void)check_same_values(pieces, whole, (size_t)N_ROWS * N_OUTPUTS, "pieces of a matrix");
    memory_deinit(&memory);
}

void run_multiply_tests(void)
{
    RUN(multiply_equals_the_definition_for_every_type_length_and_width);
    RUN(multiply_is_dot_on_widened_weights);
    RUN(a_row_has_the_same_result_alone_and_anywhere_in_any_batch);
    RUN(a_block_of_outputs_has_the_same_results_alone);
}
