/* The same logits, bit by bit, whatever part of the weights is in memory and however the rest
 * arrives. Wider batches and all budgets: tests/stream_proof. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edited_model.h"
#include "model/state.h"
#include "model/sweep.h"
#include "stream/reader.h"
#include "support/check.h"
#include "support/slow_reader.h"

enum { MOST_ROWS = 64, MOST_SEQUENCES = 8, PROMPT = 3, N_STEPS = 2, LONG_PROMPT = 66 };

/* How a model is opened. */
struct setting {
    uint64_t memory_bytes; /* 0: all there is */
    const struct nj_reader_table *readers;
    const char *reader;
    uint32_t n_sequences;
};

static const char *directories[2]; /* T13 and the fledgling */

static struct nj_model *open_model(const char *directory, const struct setting *setting)
{
    struct nj_model_seams seams = {.fs = nj_file_system_real(),
                                   .readers = setting->readers,
                                   .machine_root = "",
                                   .poisons = true};
    struct nj_model_options options = {.path = directory,
                                       .n_threads = 2,
                                       .max_rows = MOST_ROWS,
                                       .memory_bytes = setting->memory_bytes,
                                       .n_sequences = setting->n_sequences,
                                       .n_positions = LONG_PROMPT + N_STEPS,
                                       .reader = setting->reader};
    struct nj_model *model = NULL;
    struct nj_error error;
    if (nj_model_open_with(&seams, &options, &model, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
        abort();
    }
    return model;
}

static struct nj_memory_plan least_plan(const char *directory, uint32_t n_sequences)
{
    struct nj_model_seams seams = {.fs = nj_file_system_real(), .machine_root = ""};
    struct nj_model_options options = {.path = directory,
                                       .n_threads = 2,
                                       .max_rows = MOST_ROWS,
                                       .memory_bytes = 1,
                                       .n_sequences = n_sequences,
                                       .n_positions = LONG_PROMPT + N_STEPS};
    struct nj_memory_plan plan = {.floor_bytes = 0};
    CHECK_EQ(nj_model_plan_with(&seams, &options, &plan, NULL), NJ_E_BUDGET);
    return plan;
}

static nj_token token_at(uint32_t sequence, uint32_t position)
{
    return (nj_token)((sequence * 31 + position * 97 + position * position * 5) % 127);
}

/* The next `n` positions of each state in one sweep, all with logits. */
static void feed(struct nj_model *model, struct nj_state **states, uint32_t n_states,
                 uint32_t n, float *logits)
{
    struct nj_row rows[MOST_ROWS];
    struct nj_error error;
    uint32_t n_rows = 0;
    for (uint32_t i = 0; i < n_states; i++) {
        uint32_t length = nj_state_length(states[i]);
        for (uint32_t j = 0; j < n; j++) {
            rows[n_rows++] = (struct nj_row){.state = states[i],
                                             .position = length + j,
                                             .token = token_at(i, length + j),
                                             .wants_logits = true};
        }
    }
    if (nj_sweep_run(model, rows, n_rows, NULL, logits, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
        abort();
    }
}

/* `n_states` prompts side by side and a few tokens each; with one state a long prompt in
 * chunks. Returns the logits of it all, for the caller to free. */
static float *run(struct nj_model *model, uint32_t n_states, uint32_t chunk, size_t *n_bytes)
{
    struct nj_state *states[MOST_SEQUENCES];
    size_t width = nj_model_n_vocabulary(model);
    uint32_t prompt = n_states == 1 ? LONG_PROMPT : PROMPT;
    *n_bytes = (size_t)n_states * (prompt + N_STEPS) * width * sizeof(float);
    float *logits = malloc(*n_bytes);
    float *next = logits;
    if (logits == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < n_states; i++) {
        struct nj_error error;
        if (nj_state_create(nj_model_dims(model), nj_model_budget(model), &states[i], &error) !=
            NJ_OK) {
            test_fail(__FILE__, __LINE__, "%s", error.text);
            abort();
        }
    }
    for (uint32_t done = 0; done < prompt + N_STEPS;) {
        uint32_t n = done < prompt ? chunk : 1;
        n = done < prompt && prompt - done < n ? prompt - done : n;
        feed(model, states, n_states, n, next);
        next += (size_t)n_states * n * width;
        done += n;
    }
    for (uint32_t i = 0; i < n_states; i++) {
        nj_state_destroy(states[i]);
    }
    return logits;
}

/* What comes out with everything in memory. */
struct reference {
    float *logits;
    size_t n_bytes;
};

static void check_same(const char *directory, const struct setting *setting, uint32_t chunk,
                       const struct reference *reference)
{
    size_t n_bytes = 0;
    struct nj_model *model = open_model(directory, setting);
    float *logits = run(model, setting->n_sequences, chunk, &n_bytes);

    CHECK_EQ(n_bytes, reference->n_bytes);
    CHECK_BYTES(logits, reference->logits, n_bytes);
    CHECK(!nj_model_plan(model)->is_whole);
    CHECK(nj_model_budget(model)->peak_bytes <= setting->memory_bytes);
    struct nj_stream_report report;
    nj_model_stream_report(model, &report);
    CHECK_EQ(report.n_rereads, 0);

    free(logits);
    nj_model_close(model);
}

static struct reference make_reference(const char *directory, uint32_t n_sequences,
                                       uint32_t chunk)
{
    struct setting whole = {.memory_bytes = 0, .n_sequences = n_sequences};
    struct reference reference;
    struct nj_model *model = open_model(directory, &whole);
    CHECK(nj_model_plan(model)->is_whole);
    reference.logits = run(model, n_sequences, chunk, &reference.n_bytes);
    nj_model_close(model);
    return reference;
}

/* The floor, or a share of what would hold everything if that is more. */
static uint64_t budget_of(const char *directory, uint32_t n_sequences, uint32_t percent)
{
    struct nj_memory_plan plan = least_plan(directory, n_sequences);
    uint64_t bytes = plan.useful_bytes / 100 * percent;
    return bytes < plan.floor_bytes ? plan.floor_bytes : bytes;
}

struct shape {
    uint32_t percent;
    uint32_t n_sequences;
    uint32_t chunk; /* of each prompt in a sweep */
};

static void check_shapes(const struct shape *shapes, size_t n_shapes, const struct setting *how)
{
    for (size_t i = 0; i < n_shapes * 2; i++) {
        const struct shape *shape = &shapes[i / 2];
        const char *directory = directories[i % 2];
        struct reference reference =
            make_reference(directory, shape->n_sequences, shape->chunk);
        struct setting setting = *how;
        setting.n_sequences = shape->n_sequences;
        setting.memory_bytes = budget_of(directory, shape->n_sequences, shape->percent);
        check_same(directory, &setting, shape->chunk, &reference);
        free(reference.logits);
    }
}

static void whatever_reads_here_changes_no_bit(void)
{
    static const struct shape shapes[] = {{0, 1, 7}, {0, 8, PROMPT}, {99, 8, PROMPT}};
    struct setting how = {.reader = "auto"};
    check_shapes(shapes, sizeof shapes / sizeof shapes[0], &how);
}

static const struct shape few_shapes[] = {{0, 3, PROMPT}, {60, 1, 64}};

static void threads_that_read_late_and_out_of_order_change_no_bit(void)
{
    struct slow_reader slow;
    slow_reader_init(&slow, nj_reader_threads(), 1);
    slow.shuffles = true;
    slow.delay_ns = 2000;
    struct setting how = {.readers = &slow.table};
    check_shapes(few_shapes, sizeof few_shapes / sizeof few_shapes[0], &how);
}

static bool has_ring(void)
{
    struct nj_model_options options = {.path = directories[1],
                                       .memory_bytes = budget_of(directories[1], 1, 0),
                                       .n_threads = 2,
                                       .max_rows = MOST_ROWS,
                                       .reader = "ring"};
    struct nj_model *model = NULL;
    enum nj_status status = nj_model_open(&options, &model, NULL);
    nj_model_close(model);
    return status == NJ_OK;
}

static void a_ring_whose_reads_come_out_of_order_changes_no_bit(void)
{
    struct slow_reader slow;
    if (!has_ring()) {
        printf("     no ring here\n");
        return;
    }
    slow_reader_init(&slow, nj_reader_ring(), 2);
    slow.shuffles = true;
    struct setting how = {.readers = &slow.table};
    check_shapes(few_shapes, sizeof few_shapes / sizeof few_shapes[0], &how);
}

int main(void)
{
    static char fledgling[4096];
    (void)snprintf(fledgling, sizeof fledgling, "%s/examples/fledgling",
                   test_source_directory());
    directories[0] = edited_model(TINY_MODEL_T13);
    directories[1] = fledgling;
    RUN(whatever_reads_here_changes_no_bit);
    RUN(threads_that_read_late_and_out_of_order_change_no_bit);
    RUN(a_ring_whose_reads_come_out_of_order_changes_no_bit);
    return test_result();
}
