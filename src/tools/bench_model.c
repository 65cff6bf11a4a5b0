#include "tools/bench_model.h"

#include <stdlib.h>
#include <unistd.h>

#include "model/model.h"
#include "nightjar/generate.h"

enum { MOST_SEQUENCES = 32, MOST_STEPS = 512, PROMPT_STRIDE = 7919 };

static const uint32_t phase_sequences[NJ_BENCH_PHASES] = {0, 1, 8, MOST_SEQUENCES};

struct bench {
    struct nj_bench_model_plan plan;
    uint32_t n_threads;
    struct nj_model *model;
    struct nj_generator *generator;
    struct nj_profile profile;
    int32_t *prompt;
    double samples[NJ_BENCH_PHASES][NJ_BENCH_MOST_ROUNDS]; /* tokens/s */
    uint64_t spent_ns[NJ_BENCH_PHASES][NJ_OPERATIONS];
};

struct nj_bench_model_plan nj_bench_model_plan_for(bool is_quick)
{
    struct nj_bench_model_plan plan = {.n_rounds = 5,
                                       .n_prompt_tokens = 512,
                                       .n_earlier = 16,
                                       .sample_ns = 400000000,
                                       .clock = nj_clock_system()};
    if (is_quick) {
        plan.n_rounds = 1;
        plan.sample_ns = 50000000;
    }
    return plan;
}

bool nj_bench_is_main_work(enum nj_operation operation)
{
    switch (operation) {
    case NJ_OPERATION_DELTA_PRODUCTS:
    case NJ_OPERATION_DELTA_STEP:
    case NJ_OPERATION_LATENT_PRODUCTS:
    case NJ_OPERATION_ABSORPTION:
    case NJ_OPERATION_ROUTER_PRODUCT:
    case NJ_OPERATION_DOWN_UP_PRODUCTS:
    case NJ_OPERATION_EXPERT_PRODUCTS:
    case NJ_OPERATION_FORWARD_PRODUCTS:
    case NJ_OPERATION_HEAD_PRODUCT:
        return true;
    default:
        return false;
    }
}

double nj_bench_phase_share(const struct nj_bench_phase *phase, enum nj_operation operation)
{
    uint64_t all_ns = 0;
    for (int i = 0; i < NJ_OPERATIONS; i++) {
        all_ns += phase->spent_ns[i];
    }
    return all_ns == 0 ? 0.0 : (double)phase->spent_ns[operation] / (double)all_ns;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t most_rows(const struct nj_bench_model_plan *plan)
{
    return larger(plan->n_prompt_tokens, MOST_SEQUENCES);
}

/* Sweeps before steps are timed: enough for all prompts, and one step to warm up. */
static uint32_t n_sweeps_before(const struct nj_bench_model_plan *plan, uint32_t n_sequences)
{
    return n_sequences * plan->n_earlier / most_rows(plan) + 2;
}

/* No sequence may end before its steps are done. */
static uint32_t most_tokens(const struct nj_bench_model_plan *plan)
{
    return n_sweeps_before(plan, MOST_SEQUENCES) + MOST_STEPS + 1;
}

static uint32_t n_longest(const struct nj_bench_model_plan *plan)
{
    return larger(plan->n_prompt_tokens + 1, plan->n_earlier + most_tokens(plan));
}

static uint64_t now_ns(const struct bench *bench)
{
    return bench->plan.clock.monotonic_ns(bench->plan.clock.context);
}

/* --- one phase --------------------------------------------------------------------------- */

/* `first` sets prompts apart. The end of text is made impossible: a sequence that ended would
 * leave the batch. */
static enum nj_status add_sequence(struct bench *bench, uint32_t first, uint32_t n_prompt,
                                   uint32_t max_tokens, struct nj_error *err)
{
    const struct nj_dims *dims = nj_model_dims(bench->model);
    struct nj_token_bias never = {(int32_t)dims->eos_token, -1e30};
    struct nj_sequence_options options = {
        .prompt = bench->prompt, .n_prompt = n_prompt, .max_tokens = max_tokens};
    struct nj_sequence *sequence = NULL;
    if (dims->eos_token >= 0) {
        options.sampling.logit_biases = &never;
        options.sampling.n_logit_biases = 1;
    }
    for (uint32_t i = 0; i < n_prompt; i++) {
        bench->prompt[i] = (int32_t)((first + i) * PROMPT_STRIDE % dims->n_vocabulary);
    }
    return nj_generator_add(bench->generator, &options, &sequence, err);
}

/* Steps until `n_steps` are done, or if that is 0 until the sample is long enough. */
static enum nj_status run_steps(struct bench *bench, uint32_t n_steps, uint32_t *n_done,
                                struct nj_error *err)
{
    uint64_t begin_ns = now_ns(bench);
    uint32_t most = n_steps == 0 ? MOST_STEPS : n_steps;
    *n_done = 0;
    while (*n_done < most) {
        uint32_t n_events = 0;
        enum nj_status status = nj_generator_step(bench->generator, NULL, &n_events, err);
        if (status != NJ_OK) {
            return status;
        }
        *n_done += 1;
        if (n_steps == 0 && now_ns(bench) - begin_ns >= bench->plan.sample_ns) {
            break;
        }
    }
    return NJ_OK;
}

/* Runs steps with a profile of their own and keeps their rate. */
static enum nj_status sample_steps(struct bench *bench, int phase, uint32_t round,
                                   uint32_t n_steps, uint32_t tokens_a_step,
                                   struct nj_error *err)
{
    uint32_t n_done = 0;
    nj_profile_attach(bench->model, &bench->profile, bench->plan.clock);
    uint64_t begin_ns = now_ns(bench);
    enum nj_status status = run_steps(bench, n_steps, &n_done, err);
    uint64_t passed_ns = now_ns(bench) - begin_ns;
    nj_profile_attach(bench->model, NULL, bench->plan.clock);
    if (status != NJ_OK) {
        return status;
    }
    bench->samples[phase][round] =
        (double)n_done * tokens_a_step * 1e9 / (double)(passed_ns == 0 ? 1 : passed_ns);
    for (int i = 0; i < NJ_OPERATIONS; i++) {
        bench->spent_ns[phase][i] += bench->profile.spent_ns[i];
    }
    return NJ_OK;
}

static enum nj_status sample_prompt(struct bench *bench, uint32_t round, struct nj_error *err)
{
    uint32_t n_tokens = bench->plan.n_prompt_tokens;
    enum nj_status status = add_sequence(bench, round, n_tokens, 1, err);
    return status != NJ_OK ? status : sample_steps(bench, 0, round, 1, n_tokens, err);
}

static enum nj_status sample_decode(struct bench *bench, int phase, uint32_t round,
                                    struct nj_error *err)
{
    uint32_t n_sequences = phase_sequences[phase];
    uint32_t n_done = 0;
    for (uint32_t i = 0; i < n_sequences; i++) {
        enum nj_status status =
            add_sequence(bench, i, bench->plan.n_earlier, most_tokens(&bench->plan), err);
        if (status != NJ_OK) {
            return status;
        }
    }
    enum nj_status status =
        run_steps(bench, n_sweeps_before(&bench->plan, n_sequences), &n_done, err);
    return status != NJ_OK ? status : sample_steps(bench, phase, round, 0, n_sequences, err);
}

static enum nj_status sample_phase(struct bench *bench, int phase, uint32_t round,
                                   struct nj_error *err)
{
    struct nj_generator_options options = {.max_sequences = MOST_SEQUENCES};
    enum nj_status status =
        nj_generator_create(bench->model, NULL, &options, &bench->generator, err);
    if (status != NJ_OK) {
        return status;
    }
    status = phase_sequences[phase] == 0 ? sample_prompt(bench, round, err)
                                         : sample_decode(bench, phase, round, err);
    nj_generator_destroy(bench->generator);
    bench->generator = NULL;
    return status;
}

/* --- all of them ------------------------------------------------------------------------- */

static enum nj_status sample_rounds(struct bench *bench, struct nj_error *err)
{
    for (uint32_t round = 0; round < bench->plan.n_rounds; round++) {
        for (int phase = 0; phase < NJ_BENCH_PHASES; phase++) {
            enum nj_status status = sample_phase(bench, phase, round, err);
            if (status != NJ_OK) {
                return status;
            }
        }
    }
    return NJ_OK;
}

static void fill_report(const struct bench *bench, struct nj_bench_model_report *report)
{
    *report = (struct nj_bench_model_report){.cpu_level = nj_model_cpu_level(bench->model),
                                             .n_threads = bench->n_threads,
                                             .weight_bytes = nj_model_read_bytes(bench->model),
                                             .plan = bench->plan};
    for (int phase = 0; phase < NJ_BENCH_PHASES; phase++) {
        struct nj_bench_phase *to = &report->phases[phase];
        to->n_sequences = phase_sequences[phase];
        to->tokens_s = nj_bench_figure_of(bench->samples[phase], bench->plan.n_rounds);
        for (int i = 0; i < NJ_OPERATIONS; i++) {
            to->spent_ns[i] = bench->spent_ns[phase][i];
        }
    }
}

enum nj_status nj_bench_model_measure(const char *path, const char *cpu_level,
                                      uint32_t n_threads,
                                      const struct nj_bench_model_plan *plan,
                                      struct nj_bench_model_report *report,
                                      struct nj_error *err)
{
    struct bench bench = {.plan = *plan, .n_threads = n_threads};
    if (n_threads == 0) {
        long n_online = sysconf(_SC_NPROCESSORS_ONLN);
        bench.n_threads = n_online < 1 ? 1 : (uint32_t)n_online;
    }
    struct nj_model_options options = {.path = path,
                                       .cpu_level = cpu_level,
                                       .n_threads = bench.n_threads,
                                       .max_rows = most_rows(plan),
                                       .n_sequences = MOST_SEQUENCES,
                                       .n_positions = n_longest(plan)};
    enum nj_status status = nj_model_open(&options, &bench.model, err);
    if (status != NJ_OK) {
        return status;
    }
    bench.prompt = malloc(n_longest(plan) * sizeof *bench.prompt);
    if (bench.prompt == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "bench: no memory for a prompt");
        goto out;
    }
    status = sample_rounds(&bench, err);
    if (status == NJ_OK) {
        fill_report(&bench, report);
    }
out:
    free(bench.prompt);
    nj_model_close(bench.model);
    return status;
}
