#include "identity/crowd.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "generate/generator.h"
#include "identity/subject.h"
#include "support/check.h"

enum { STRANGER_MOST_IDS = 40, STRANGER_MOST_TOKENS = 12 };

/* One place of the crowd; free while there is no sequence. */
struct slot {
    struct nj_sequence *sequence;
    const struct probe *probe; /* NULL: a stranger */
    struct transcript *transcript;
    bool has_new_token;
    bool is_poisoned;
};

struct crowd {
    struct nj_model *model;
    const struct crowd_setting *setting;
    struct nj_generator *generator;
    struct slot slots[CROWD_MOST_SEQUENCES];
    const struct probe *probes;
    struct transcript *transcripts;
    uint32_t n_probes;
    uint32_t n_joined; /* probes */
    uint32_t n_done;
    uint64_t n_draws;
    struct crowd_report report;
};

/* One of 0 .. n - 1. */
static uint32_t draw(struct crowd *crowd, uint32_t n)
{
    return (uint32_t)(nj_draw_uniform(crowd->setting->seed, 1, crowd->n_draws++, 0) * n);
}

static void shuffle_experts(void *context, uint32_t layer, uint32_t *experts,
                            uint32_t n_experts)
{
    struct crowd *crowd = context;
    (void)layer;
    for (uint32_t left = n_experts; left > 1; left--) {
        uint32_t at = draw(crowd, left);
        uint32_t other = experts[left - 1];
        experts[left - 1] = experts[at];
        experts[at] = other;
    }
}

static void fill(float *values, uint64_t n, float value)
{
    for (uint64_t i = 0; i < n; i++) {
        values[i] = value;
    }
}

void crowd_poison(struct nj_sequence *sequence, const struct nj_model *model, bool with_pages)
{
    const struct nj_dims *dims = nj_model_dims(model);
    struct nj_state *state = sequence->state;
    uint32_t n_pages = (nj_state_length(state) + NJ_PAGE_POSITIONS - 1) / NJ_PAGE_POSITIONS;
    uint64_t page_values = (uint64_t)NJ_PAGE_POSITIONS * (dims->kv_rank + dims->n_rope);
    for (uint32_t layer = 0; layer < dims->n_layers; layer++) {
        uint64_t n_values = 0;
        float *recurrent = nj_state_recurrent(state, layer, &n_values);
        fill(recurrent, n_values, NAN);
        for (uint32_t page = 0; recurrent == NULL && with_pages && page < n_pages; page++) {
            fill(nj_state_page(state, layer, page), page_values, NAN);
        }
    }
}

static void add(struct crowd *crowd, struct slot *slot, struct nj_sequence_options *options)
{
    struct nj_error error;
    options->owner = slot;
    if (nj_generator_add(crowd->generator, options, &slot->sequence, &error) != NJ_OK) {
        subject_die("add a sequence", error.text);
    }
    slot->has_new_token = false;
    slot->is_poisoned = false;
}

static void add_probe(struct crowd *crowd, struct slot *slot)
{
    const struct transcript *transcript = slot->transcript;
    struct nj_sequence_options options = {.prompt = slot->probe->prompt,
                                          .n_prompt = slot->probe->n_prompt,
                                          .chosen = transcript->tokens,
                                          .n_chosen = transcript->n_tokens,
                                          .max_tokens = slot->probe->max_tokens,
                                          .sampling = slot->probe->sampling};
    add(crowd, slot, &options);
}

static void add_stranger(struct crowd *crowd, struct slot *slot)
{
    nj_token prompt[STRANGER_MOST_IDS];
    uint64_t seed = crowd->setting->seed + crowd->n_draws;
    struct nj_sequence_options options = {
        .prompt = prompt,
        .n_prompt = 1 + draw(crowd, STRANGER_MOST_IDS),
        .max_tokens = 1 + draw(crowd, STRANGER_MOST_TOKENS),
        .sampling = {.temperature = draw(crowd, 2) == 0 ? 0.0 : 1.0, .seed = seed}};
    for (uint32_t i = 0; i < options.n_prompt; i++) {
        prompt[i] = subject_random_token(crowd->model, seed, i);
    }
    add(crowd, slot, &options);
}

static void leave(struct crowd *crowd, struct slot *slot)
{
    crowd_poison(slot->sequence, crowd->model, true);
    nj_generator_remove(crowd->generator, slot->sequence);
    slot->sequence = NULL;
}

/* Probes come one by one, each as likely as a stranger to get the next free slot. */
static void let_join(struct crowd *crowd)
{
    for (uint32_t i = 0; i < crowd->setting->batch; i++) {
        struct slot *slot = &crowd->slots[i];
        if (slot->sequence != NULL) {
            continue;
        }
        bool is_alone = crowd->setting->batch == 1;
        if (crowd->n_joined < crowd->n_probes && (is_alone || draw(crowd, 2) == 0)) {
            slot->probe = &crowd->probes[crowd->n_joined];
            slot->transcript = &crowd->transcripts[crowd->n_joined++];
            add_probe(crowd, slot);
        } else if (!is_alone) {
            slot->probe = NULL;
            add_stranger(crowd, slot);
        }
    }
}

static void note_event(struct crowd *crowd, const struct nj_step_event *event)
{
    struct slot *slot = nj_sequence_owner(event->sequence);
    if (slot->is_poisoned != (event->type == NJ_STEP_FAILED)) {
        test_fail(__FILE__, __LINE__, "a %s: %s",
                  slot->probe != NULL ? "probe failed" : "stranger failed, or did not",
                  nj_sequence_error(event->sequence));
    }
    crowd->report.n_failed += event->type == NJ_STEP_FAILED;
    if (event->type == NJ_STEP_TOKEN && slot->probe != NULL) {
        struct transcript *transcript = slot->transcript;
        transcript->tokens[transcript->n_tokens] = event->token;
        transcript->logprobs[transcript->n_tokens++] = event->logprob;
        slot->has_new_token = true;
    }
}

static void sweep(struct crowd *crowd)
{
    struct nj_step_event events[CROWD_MOST_SEQUENCES];
    struct nj_error error;
    uint32_t n_events = 0;
    if (nj_generator_step(crowd->generator, events, &n_events, &error) != NJ_OK) {
        subject_die("step", error.text);
    }
    crowd->report.n_sweeps += 1;
    for (uint32_t i = 0; i < n_events; i++) {
        note_event(crowd, &events[i]);
    }
}

static void decide_fate_of_stranger(struct crowd *crowd, struct slot *slot)
{
    uint32_t fate = draw(crowd, 10);
    if (fate == 0) {
        crowd->report.n_cancelled += 1;
        leave(crowd, slot);
    } else if (fate == 1 && nj_state_length(slot->sequence->state) > 0) {
        crowd_poison(slot->sequence, crowd->model, false);
        slot->is_poisoned = true;
    }
}

static void decide_fate(struct crowd *crowd, struct slot *slot)
{
    if (nj_sequence_finish(slot->sequence) != NJ_FINISH_NONE) {
        crowd->n_done += slot->probe != NULL;
        leave(crowd, slot);
    } else if (slot->probe == NULL) {
        decide_fate_of_stranger(crowd, slot);
    } else if (crowd->setting->restarts && slot->has_new_token) {
        crowd->report.n_restarts += 1;
        leave(crowd, slot);
        add_probe(crowd, slot);
    }
}

static void run_until_all_probes_are_done(struct crowd *crowd)
{
    while (crowd->n_done < crowd->n_probes) {
        let_join(crowd);
        sweep(crowd);
        for (uint32_t i = 0; i < crowd->setting->batch; i++) {
            if (crowd->slots[i].sequence != NULL) {
                decide_fate(crowd, &crowd->slots[i]);
            }
        }
    }
}

void crowd_run(struct nj_model *model, const struct crowd_setting *setting,
               const struct probe *probes, uint32_t n_probes, struct transcript *transcripts,
               struct crowd_report *report)
{
    struct crowd crowd = {.model = model,
                          .setting = setting,
                          .probes = probes,
                          .n_probes = n_probes,
                          .transcripts = transcripts};
    struct nj_sweep_hooks hooks = {.context = &crowd, .arrange_experts = shuffle_experts};
    struct nj_generator_options options = {.max_sequences = setting->batch,
                                           .prefill_chunk = setting->prefill_chunk};
    struct nj_error error;
    memset(transcripts, 0, n_probes * sizeof *transcripts);
    if (nj_generator_create(model, NULL, &options, &crowd.generator, &error) != NJ_OK) {
        subject_die("create a generator", error.text);
    }
    if (setting->shuffles_experts) {
        nj_generator_set_hooks(crowd.generator, &hooks);
    }
    run_until_all_probes_are_done(&crowd);
    nj_generator_destroy(crowd.generator);
    *report = crowd.report;
}
