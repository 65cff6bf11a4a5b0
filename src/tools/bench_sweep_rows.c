#include "tools/bench_sweep_rows.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/random.h"
#include "model/sweep.h"

enum { RANDOM_SEED = 20261201 };

static enum nj_status make_states(struct nj_swept *swept, uint32_t n, struct nj_error *err)
{
    const struct nj_dims *dims = nj_model_dims(swept->model);
    for (; swept->n_states < n; swept->n_states++) {
        enum nj_status status = nj_state_create(dims, nj_model_budget(swept->model),
                                                &swept->states[swept->n_states], err);
        if (status != NJ_OK) {
            return status;
        }
    }
    swept->logits = calloc((size_t)n * dims->n_vocabulary, sizeof(float));
    return swept->logits != NULL ? NJ_OK : nj_fail(err, NJ_E_MEMORY, "logits: out of memory");
}

enum nj_status nj_swept_init(struct nj_swept *swept, struct nj_model *model, uint32_t n_states,
                             struct nj_error *err)
{
    uint32_t n = nj_model_n_sequences(model);
    *swept = (struct nj_swept){.model = model, .clock = nj_clock_system()};
    assert(n >= 1 && n_states <= NJ_SWEPT_MOST_STATES); /* what opens has room for one */
    return make_states(swept, n < n_states ? n : n_states, err);
}

void nj_swept_deinit(struct nj_swept *swept)
{
    for (uint32_t i = 0; i < swept->n_states; i++) {
        nj_state_destroy(swept->states[i]);
    }
    free(swept->logits);
    nj_model_close(swept->model);
    memset(swept, 0, sizeof *swept);
}

/* --- one sweep --- */

static nj_token draw_token(struct nj_swept *swept)
{
    double drawn = nj_draw_uniform(RANDOM_SEED, 0, swept->n_drawn++, 0);
    return (nj_token)(drawn * nj_model_n_vocabulary(swept->model));
}

/* RUSAGE_SELF: of all threads; RUSAGE_THREAD: of the engine's. */
static double processor_seconds(int who)
{
    struct rusage usage;
    if (getrusage(who, &usage) != 0) {
        return 0.0;
    }
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* What the clocks say so far. */
static struct nj_swept_time read_clocks(const struct nj_swept *swept)
{
    struct nj_stream_report report;
    nj_model_stream_report(swept->model, &report);
    return (struct nj_swept_time){.wall_ns = swept->clock.monotonic_ns(swept->clock.context),
                                  .waited_ns = report.waited_ns,
                                  .engine_s = processor_seconds(RUSAGE_THREAD),
                                  .processor_s = processor_seconds(RUSAGE_SELF)};
}

static enum nj_status sweep_rows(struct nj_swept *swept, const struct nj_row *rows,
                                 uint32_t n_rows, struct nj_swept_time *took,
                                 struct nj_error *err)
{
    struct nj_swept_time before = read_clocks(swept);
    enum nj_status status = nj_sweep_run(swept->model, rows, n_rows, NULL, swept->logits, err);
    struct nj_swept_time after = read_clocks(swept);
    *took = (struct nj_swept_time){.wall_ns = after.wall_ns - before.wall_ns,
                                   .waited_ns = after.waited_ns - before.waited_ns,
                                   .engine_s = after.engine_s - before.engine_s,
                                   .processor_s = after.processor_s - before.processor_s};
    return status;
}

enum nj_status nj_swept_batch(struct nj_swept *swept, uint32_t n_rows,
                              struct nj_swept_time *took, struct nj_error *err)
{
    struct nj_row rows[NJ_SWEPT_MOST_STATES];
    assert(n_rows <= swept->n_states);
    for (uint32_t i = 0; i < n_rows; i++) {
        rows[i] = (struct nj_row){.state = swept->states[i],
                                  .position = nj_state_length(swept->states[i]),
                                  .token = draw_token(swept),
                                  .wants_logits = true};
    }
    return sweep_rows(swept, rows, n_rows, took, err);
}

enum nj_status nj_swept_prompt(struct nj_swept *swept, uint32_t n_rows,
                               struct nj_swept_time *took, struct nj_error *err)
{
    struct nj_row rows[NJ_SWEPT_MOST_ROWS];
    assert(n_rows <= NJ_SWEPT_MOST_ROWS);
    nj_state_reset(swept->states[0]);
    for (uint32_t i = 0; i < n_rows; i++) {
        rows[i] = (struct nj_row){.state = swept->states[0],
                                  .position = i,
                                  .token = draw_token(swept),
                                  .wants_logits = i + 1 == n_rows};
    }
    return sweep_rows(swept, rows, n_rows, took, err);
}
