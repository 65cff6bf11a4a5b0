/* Twenty-four sequences that differ in a private code word run side by side, a third of them is
 * cancelled at random, what they leave behind is poisoned, and others take their places. Each
 * survivor must choose what it chooses alone, with the same bits: nothing of a neighbour may
 * leak into it.
 *
 *     cross_talk_test MODEL
 */
#include <malloc.h>
#include <string.h>

#include "base/random.h"
#include "identity/crowd.h"
#include "identity/subject.h"
#include "nightjar/generate.h"
#include "support/check.h"

enum {
    N_SEQUENCES = 24,
    N_CANCELLED = N_SEQUENCES / 3,
    COMMON_IDS = 12, /* before the code word, and half as many after it */
    CODE_WORD_IDS = 8,
    MOST_TOKENS = 20
};

static struct {
    const char *directory;
    struct probe members[N_SEQUENCES];
    struct probe successors[N_CANCELLED];
} talk;

static void write_prompt(const struct nj_model *model, struct probe *probe, uint32_t code_word)
{
    *probe = (struct probe){
        .max_tokens = MOST_TOKENS,
        .sampling = {.temperature = code_word % 2 == 0 ? 0.0 : 1.0, .seed = code_word}};
    for (uint64_t i = 0; i < COMMON_IDS + CODE_WORD_IDS + COMMON_IDS / 2; i++) {
        bool is_private = i >= COMMON_IDS && i < COMMON_IDS + CODE_WORD_IDS;
        probe->prompt[probe->n_prompt++] =
            subject_random_token(model, is_private ? 100 + code_word : 1, i);
    }
}

static void run_alone(struct nj_model *model, struct probe *probe)
{
    static const struct crowd_setting alone = {.batch = 1};
    struct crowd_report report;
    crowd_run(model, &alone, probe, 1, &probe->alone, &report);
}

static void prepare(void)
{
    struct nj_model *model = subject_open(talk.directory, "auto", 1);
    for (uint32_t i = 0; i < N_SEQUENCES; i++) {
        write_prompt(model, &talk.members[i], i);
        run_alone(model, &talk.members[i]);
    }
    for (uint32_t i = 0; i < N_CANCELLED; i++) {
        write_prompt(model, &talk.successors[i], N_SEQUENCES + i);
        run_alone(model, &talk.successors[i]);
    }
    nj_model_close(model);
}

static void every_code_word_shows_in_what_its_owner_chooses(void)
{
    for (uint32_t i = 0; i < N_SEQUENCES; i++) {
        for (uint32_t k = 0; k < i; k++) {
            CHECK(memcmp(&talk.members[i].alone, &talk.members[k].alone,
                         sizeof talk.members[i].alone) != 0);
        }
    }
}

struct place {
    const struct probe *probe;
    struct nj_sequence *sequence;
    struct transcript transcript;
    uint32_t cancel_after; /* sweeps; UINT32_MAX: never */
};

struct party {
    struct nj_model *model;
    struct nj_generator *generator;
    struct place places[N_SEQUENCES];
    uint32_t n_cancelled;
};

static void take_place(struct party *party, struct place *place, const struct probe *probe)
{
    struct nj_sequence_options options = {.prompt = probe->prompt,
                                          .n_prompt = probe->n_prompt,
                                          .max_tokens = probe->max_tokens,
                                          .sampling = probe->sampling,
                                          .owner = place};
    struct nj_error error;
    if (nj_generator_add(party->generator, &options, &place->sequence, &error) != NJ_OK) {
        subject_die("add a sequence", error.text);
    }
    *place =
        (struct place){.probe = probe, .sequence = place->sequence, .cancel_after = UINT32_MAX};
}

/* A random third, each after a random number of sweeps. */
static void choose_the_cancelled(struct party *party, uint64_t seed)
{
    uint64_t n_draws = 0;
    for (uint32_t n = 0; n < N_CANCELLED; n_draws++) {
        struct place *place =
            &party->places[(uint32_t)(nj_draw_uniform(seed, 0, n_draws, 1) * N_SEQUENCES)];
        if (place->cancel_after == UINT32_MAX) {
            place->cancel_after =
                1 + (uint32_t)(nj_draw_uniform(seed, 1, n_draws, 1) * (MOST_TOKENS / 2));
            n += 1;
        }
    }
}

static bool step(struct party *party)
{
    struct nj_step_event events[N_SEQUENCES];
    struct nj_error error;
    uint32_t n_events = 0;
    if (nj_generator_step(party->generator, events, &n_events, &error) != NJ_OK) {
        subject_die("step", error.text);
    }
    for (uint32_t i = 0; i < n_events; i++) {
        struct transcript *transcript =
            &((struct place *)nj_sequence_owner(events[i].sequence))->transcript;
        CHECK(events[i].type != NJ_STEP_FAILED);
        if (events[i].type == NJ_STEP_TOKEN) {
            transcript->tokens[transcript->n_tokens] = events[i].token;
            transcript->logprobs[transcript->n_tokens++] = events[i].logprob;
        }
    }
    return n_events > 0;
}

static void cancel(struct party *party, struct place *place)
{
    crowd_poison(place->sequence, party->model, true);
    nj_generator_remove(party->generator, place->sequence);
    take_place(party, place, &talk.successors[party->n_cancelled++]);
}

static void run_party(struct party *party)
{
    for (uint32_t n_sweeps = 1; step(party); n_sweeps++) {
        for (uint32_t i = 0; i < N_SEQUENCES; i++) {
            struct place *place = &party->places[i];
            if (place->cancel_after == n_sweeps &&
                nj_sequence_finish(place->sequence) == NJ_FINISH_NONE) {
                cancel(party, place);
            }
        }
    }
}

static void check_party(uint32_t n_threads, uint32_t prefill_chunk, uint64_t seed)
{
    struct party party = {.model = subject_open(talk.directory, "auto", n_threads)};
    struct nj_generator_options options = {.max_sequences = N_SEQUENCES,
                                           .prefill_chunk = prefill_chunk};
    struct nj_error error;
    REQUIRE_OK(nj_generator_create(party.model, NULL, &options, &party.generator, &error),
               &error);
    for (uint32_t i = 0; i < N_SEQUENCES; i++) {
        take_place(&party, &party.places[i], &talk.members[i]);
    }
    choose_the_cancelled(&party, seed);

    run_party(&party);

    CHECK(party.n_cancelled > N_CANCELLED / 2);
    for (uint32_t i = 0; i < N_SEQUENCES; i++) {
        CHECK_BYTES(&party.places[i].transcript, &party.places[i].probe->alone,
                    sizeof party.places[i].transcript);
    }
    nj_generator_destroy(party.generator);
    nj_model_close(party.model);
}

/* Freed memory reads as NaN. (A sanitizer's allocator refuses the setting and poisons by
 * itself.) */
static void survivors_equal_lone_runs_when_freed_memory_is_not_a_number(void)
{
    (void)mallopt(M_PERTURB, 0xff);
    check_party(1, 0, 1);
    check_party(2, 3, 2);
}

/* Memory that nobody wrote to reads as -1.7e38. */
static void survivors_equal_lone_runs_when_fresh_memory_is_huge(void)
{
    (void)mallopt(M_PERTURB, 0x01);
    check_party(1, 5, 3);
    check_party(3, 0, 4);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        subject_die("usage", "cross_talk_test MODEL");
    }
    talk.directory = subject_directory(argv[1]);
    RUN(prepare);
    RUN(every_code_word_shows_in_what_its_owner_chooses);
    RUN(survivors_equal_lone_runs_when_freed_memory_is_not_a_number);
    RUN(survivors_equal_lone_runs_when_fresh_memory_is_huge);
    return test_result();
}
