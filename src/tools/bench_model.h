/* How fast a model reads a prompt and goes on with few or many sequences, and which operations
 * the time goes to.
 *
 * The whole engine is measured, with its threads, as a run of jobs uses it: a prompt in one
 * sweep, then single steps of 1, 8 and 32 sequences. Rounds of all of them follow each other,
 * so that a busy moment spoils one sample of each and medians hardly.
 *
 * Threads: the calling thread becomes the engine thread.
 */
#ifndef NJ_TOOLS_BENCH_MODEL_H
#define NJ_TOOLS_BENCH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/status.h"
#include "model/profile.h"
#include "tools/bench_figure.h"

enum { NJ_BENCH_PHASES = 4 };

struct nj_bench_model_plan {
    uint32_t n_rounds;        /* 1 .. NJ_BENCH_MOST_ROUNDS */
    uint32_t n_prompt_tokens; /* of the prompt that is timed */
    uint32_t n_earlier;       /* positions before the first step */
    uint64_t sample_ns;       /* steps go on for at least as long */
    struct nj_clock clock;
};

/* Reading a prompt, or steps of `n_sequences`. */
struct nj_bench_phase {
    uint32_t n_sequences; /* 0: the prompt */
    struct nj_bench_figure tokens_s;
    uint64_t spent_ns[NJ_OPERATIONS]; /* in all rounds */
};

struct nj_bench_model_report {
    const char *cpu_level;
    uint32_t n_threads;
    uint64_t weight_bytes; /* that stay in memory */
    struct nj_bench_model_plan plan;
    struct nj_bench_phase phases[NJ_BENCH_PHASES]; /* the prompt, then 1, 8 and 32 sequences */
};

/* What `nightjar bench model` measures: a prompt of 512 tokens, steps after 16. */
struct nj_bench_model_plan nj_bench_model_plan_for(bool is_quick);

/* Matrix products and the step of delta attention: what a sweep cannot do without. */
bool nj_bench_is_main_work(enum nj_operation operation);

/* Of all that a phase spent; 0 for one that spent nothing. */
double nj_bench_phase_share(const struct nj_bench_phase *phase, enum nj_operation operation);

/* As nj_model_open fails and as a generator does. `n_threads` 0 is one per processor. */
enum nj_status nj_bench_model_measure(const char *path, const char *cpu_level,
                                      uint32_t n_threads,
                                      const struct nj_bench_model_plan *plan,
                                      struct nj_bench_model_report *report,
                                      struct nj_error *err);

#endif
