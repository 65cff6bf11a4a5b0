/* Runs probes among strangers who join, leave, fail and are cancelled at random.
 *
 * Strangers have random prompts and settings. A failing one has its recurrent state filled with
 * NaN, so that its row of every tensor is not finite from then on. Whatever leaves, its state
 * is filled with NaN before its memory is freed. Which slot a probe gets and who stands beside
 * it is drawn from the setting's seed, so a run can be repeated.
 *
 * Threads: the model's.
 */
#ifndef NJ_TESTS_IDENTITY_CROWD_H
#define NJ_TESTS_IDENTITY_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "identity/probes.h"
#include "nightjar/model.h"

enum { CROWD_MOST_SEQUENCES = 128 };

struct crowd_setting {
    uint32_t batch;         /* sequences at once; 1: no strangers */
    uint32_t prefill_chunk; /* 0: no limit */
    bool shuffles_experts;
    bool restarts; /* probes are thrown away and added again after every token */
    uint64_t seed;
};

struct crowd_report {
    uint32_t n_sweeps;
    uint32_t n_failed;
    uint32_t n_cancelled;
    uint32_t n_restarts;
};

/* transcripts (n_probes). Reports through support/check.h when a probe fails or a poisoned
 * stranger does not; ends the program when a call fails. */
void crowd_run(struct nj_model *model, const struct crowd_setting *setting,
               const struct probe *probes, uint32_t n_probes, struct transcript *transcripts,
               struct crowd_report *report);

/* Fills the state with NaN: the recurrent part, or the pages as well. */
void crowd_poison(struct nj_sequence *sequence, const struct nj_model *model, bool with_pages);

#endif
