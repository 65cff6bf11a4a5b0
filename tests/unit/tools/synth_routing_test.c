/* How made-up models choose their experts, and that long answers of theirs stay finite. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "model/model.h"
#include "model/sweep.h"
#include "support/check.h"
#include "tools/synth.h"

enum { N_STATES = 32, N_SWEEPS = 60, N_LONG_SWEEPS = 800 };

struct census {
    uint32_t n_experts;
    uint64_t *n_times; /* (n_layers, n_experts) */
    uint8_t *is_used;  /* the same, in this sweep */
};

/* A model with as many sequences as a batch, fed with random tokens. */
struct bench {
    struct nj_model *model;
    const struct nj_dims *dims;
    struct nj_state *states[N_STATES];
    struct census census;
    float *logits;
};

static size_t n_counts(const struct bench *bench)
{
    return (size_t)bench->dims->n_layers * bench->dims->n_experts;
}

static bool bench_open(struct bench *bench, const struct nj_synth_options *options,
                       const char *name)
{
    char path[256];
    struct nj_error err = {0};
    const struct nj_file_system *fs = nj_file_system_real();
    (void)snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    memset(bench, 0, sizeof *bench);
    const struct nj_model_options model_options = {
        .path = path, .n_threads = 1, .max_rows = N_STATES};
    if (nj_synth_write(fs, options, path, NULL, &err) != NJ_OK ||
        nj_model_open(&model_options, &bench->model, &err) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", err.text);
        return false;
    }
    bench->dims = nj_model_dims(bench->model);
    bench->census.n_experts = bench->dims->n_experts;
    bench->census.n_times = calloc(n_counts(bench), sizeof(uint64_t));
    bench->census.is_used = calloc(n_counts(bench), 1);
    bench->logits = calloc((size_t)N_STATES * bench->dims->n_vocabulary, sizeof(float));
    for (uint32_t i = 0; i < N_STATES; i++) {
        if (nj_state_create(bench->dims, NULL, &bench->states[i], &err) != NJ_OK) {
            test_fail(__FILE__, __LINE__, "%s", err.text);
            return false;
        }
    }
    return bench->census.n_times != NULL && bench->census.is_used != NULL &&
           bench->logits != NULL;
}

static void bench_close(struct bench *bench)
{
    for (uint32_t i = 0; i < N_STATES; i++) {
        nj_state_destroy(bench->states[i]);
    }
    free(bench->census.n_times);
    free(bench->census.is_used);
    free(bench->logits);
    nj_model_close(bench->model);
}

static void count(void *context, uint32_t layer, uint32_t row, const uint32_t *experts,
                  const float *weights, uint32_t n_chosen)
{
    struct census *census = context;
    (void)row;
    (void)weights;
    for (uint32_t i = 0; i < n_chosen; i++) {
        size_t at = (size_t)layer * census->n_experts + experts[i];
        census->n_times[at] += 1;
        census->is_used[at] = 1;
    }
}

/* One token more for the first `n_rows` states; returns how many experts a layer needed. */
static double sweep(struct bench *bench, uint32_t n_rows, uint64_t position)
{
    struct nj_row rows[N_STATES];
    struct nj_error err = {0};
    for (uint32_t i = 0; i < n_rows; i++) {
        double drawn = nj_draw_uniform(7, i, position, 0) * bench->dims->n_vocabulary;
        rows[i] = (struct nj_row){.state = bench->states[i],
                                  .position = nj_state_length(bench->states[i]),
                                  .token = (nj_token)drawn,
                                  .wants_logits = true};
    }
    memset(bench->census.is_used, 0, n_counts(bench));
    const struct nj_sweep_hooks hooks = {.context = &bench->census, .on_routing = count};
    CHECK_EQ(nj_sweep_run(bench->model, rows, n_rows, &hooks, bench->logits, &err), NJ_OK);
    size_t n_used = 0;
    for (size_t i = 0; i < n_counts(bench); i++) {
        n_used += bench->census.is_used[i];
    }
    return (double)n_used / (bench->dims->n_layers - 1); /* the first is dense */
}

/* The least and the most used expert of any layer, as shares of an even load. */
static void print_spread(const struct bench *bench, const char *what, double *least,
                         double *most)
{
    const struct census *census = &bench->census;
    uint64_t total = 0;
    for (size_t i = census->n_experts; i < n_counts(bench); i++) {
        total += census->n_times[i];
    }
    double even = (double)total / (double)(n_counts(bench) - census->n_experts);
    *least = 1e9;
    *most = 0.0;
    for (size_t i = census->n_experts; i < n_counts(bench); i++) {
        double share = (double)census->n_times[i] / even;
        *least = share < *least ? share : *least;
        *most = share > *most ? share : *most;
    }
    printf("%s: experts get %.2f to %.2f of an even share\n", what, *least, *most);
}

static void random_tokens_use_all_experts_about_equally_when_routing_is_flat(void)
{
    const struct nj_synth_options options = {.seed = 3};
    struct bench bench;
    double least = 0.0;
    double most = 0.0;
    REQUIRE(bench_open(&bench, &options, "flat"));
    for (uint64_t i = 0; i < N_SWEEPS; i++) {
        (void)sweep(&bench, N_STATES, i);
    }

    print_spread(&bench, "flat", &least, &most);
    CHECK(least > 0.2);
    CHECK(most < 2.5);
    bench_close(&bench);
}

static void some_experts_are_favoured_when_routing_is_skewed(void)
{
    const struct nj_synth_options options = {.seed = 3, .is_skewed = true};
    struct bench bench;
    double least = 0.0;
    double most = 0.0;
    REQUIRE(bench_open(&bench, &options, "skewed"));
    for (uint64_t i = 0; i < N_SWEEPS; i++) {
        (void)sweep(&bench, N_STATES, i);
    }

    print_spread(&bench, "skewed", &least, &most);
    CHECK(least < 0.1);
    CHECK(most > 2.5);
    bench_close(&bench);
}

/* n (1 - (1 - k / n)^rows): rows that have nothing to do with each other choose alike. */
static void a_batch_needs_as_many_experts_as_independent_choices_would(void)
{
    const struct nj_synth_options options = {.seed = 3};
    const uint32_t widths[] = {1, 8, 32};
    struct bench bench;
    REQUIRE(bench_open(&bench, &options, "independent"));
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        double n = bench.dims->n_experts;
        double wanted = n * (1.0 - pow(1.0 - bench.dims->n_chosen / n, widths[i]));
        double found = 0.0;
        for (uint64_t j = 0; j < N_SWEEPS; j++) {
            found += sweep(&bench, widths[i], 1000 * i + j) / N_SWEEPS;
        }
        printf("%u rows: %.2f experts a layer, by the formula %.2f\n", widths[i], found,
               wanted);
        CHECK_NEAR(found, wanted, 0.05 * wanted);
    }
    bench_close(&bench);
}

static void logits_stay_finite_over_a_long_answer(void)
{
    const struct nj_synth_options options = {.seed = 4};
    struct bench bench;
    REQUIRE(bench_open(&bench, &options, "long"));
    for (uint64_t i = 0; i < N_LONG_SWEEPS; i++) {
        (void)sweep(&bench, 1, i);
        REQUIRE(nj_sweep_first_bad_layer(bench.model, 0) == -1);
    }

    double largest = 0.0;
    for (uint32_t i = 0; i < bench.dims->n_vocabulary; i++) {
        largest = fmax(largest, fabs((double)bench.logits[i]));
    }
    CHECK(largest > 0.5); /* neither nothing nor beyond all bounds */
    CHECK(largest < 100.0);
    bench_close(&bench);
}

int main(void)
{
    RUN(random_tokens_use_all_experts_about_equally_when_routing_is_flat);
    RUN(some_experts_are_favoured_when_routing_is_skewed);
    RUN(a_batch_needs_as_many_experts_as_independent_choices_would);
    RUN(logits_stay_finite_over_a_long_answer);
    return test_result();
}
