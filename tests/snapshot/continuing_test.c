/* A sequence that was killed goes on from its snapshot with the bits that it would have had. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/lives.h"
#include "support/check.h"
#include "support/tiny_model.h"
#include "unit/snapshot/forge.h"

enum { N_PROMPT = 70, N_IDS = 12, CHUNK = 16 };

static int32_t prompt[N_PROMPT];

static struct nj_model *open_tiny(enum tiny_model_kind kind, const char *cpu_level)
{
    char path[512];
    struct nj_error error;
    struct nj_model *model = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", test_folder(), tiny_model_name(kind));
    CHECK_EQ(tiny_model_write(kind, path), 0);
    /* What is the same on every machine stays out of it: threads and level change no bit. */
    struct nj_model_options options = {
        .path = path, .cpu_level = cpu_level, .n_threads = cpu_level == NULL ? 2 : 1};
    if (nj_model_open(&options, &model, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
    }
    return model;
}

static struct lives sampled(void)
{
    for (int32_t i = 0; i < N_PROMPT; i++) {
        prompt[i] = 3 + i * 5 % 60;
    }
    return (struct lives){.options = {.prompt = prompt,
                                      .n_prompt = N_PROMPT,
                                      .max_tokens = N_IDS,
                                      .sampling = {.temperature = 0.9,
                                                   .seed = 4,
                                                   .presence_penalty = 0.7,
                                                   .frequency_penalty = 0.3,
                                                   .repeat_penalty = 1.1,
                                                   .n_top_logprobs = 20}},
                          .prefill_chunk = CHUNK,
                          .pack_level = NJ_PACK_AUTO};
}

static void live_to_the_end(struct life *life, uint32_t every)
{
    for (int i = 0; i < 100 && !life_is_over(life); i++) {
        life_sweep(life, every > 0 && life->n_sweeps % every == every - 1);
    }
    CHECK(life_is_over(life));
}

static void speak_undisturbed(struct nj_model *model, struct spoken_ids *wanted)
{
    struct lives lives = sampled();
    struct life life;
    lives_begin(&lives);
    life_begin(&life, &lives, model);
    live_to_the_end(&life, 0);
    life_end(&life);
    *wanted = lives.log;
    lives_end(&lives);
    CHECK_EQ(wanted->n, N_IDS);
}

/* The same ids, with the same bits of log-probabilities. */
static void check_same(const struct spoken_ids *found, const struct spoken_ids *wanted)
{
    CHECK_EQ(found->n, wanted->n);
    CHECK_BYTES(found->ids, wanted->ids, wanted->n * sizeof *wanted->ids);
    for (uint32_t i = 0; i < wanted->n; i++) {
        CHECK_BYTES(&found->events[i].logprob, &wanted->events[i].logprob, sizeof(float));
        CHECK_BYTES(found->events[i].top, wanted->events[i].top,
                    20 * sizeof *wanted->events[i].top);
    }
}

/* Reads the ids that the restored state has read once more, in one chunk. */
static void check_equal_to_a_replay(struct life *restored)
{
    struct nj_error error;
    struct nj_model *model = restored->model;
    const struct nj_dims *dims = nj_model_dims(model);
    uint32_t n = nj_state_length(restored->sequence->state);
    struct nj_state *replayed = NULL;
    struct nj_row rows[N_PROMPT + N_IDS];
    REQUIRE_OK(nj_state_create(dims, NULL, &replayed, &error), &error);
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = (struct nj_row){
            .state = replayed, .position = i, .token = restored->sequence->tokens[i]};
    }
    REQUIRE_OK(nj_sweep_run(model, rows, n, NULL, NULL, &error), &error);
    CHECK(states_are_equal(replayed, restored->sequence->state, dims));
    float *wanted = logits_after(model, replayed, restored->sequence->tokens[n]);
    float *found =
        logits_after(model, restored->sequence->state, restored->sequence->tokens[n]);
    CHECK_BYTES(found, wanted, nj_model_n_vocabulary(model) * sizeof *found);
    free(wanted);
    free(found);
    nj_state_destroy(replayed);
}

/* Killed after every number of sweeps, with a snapshot in every second one. */
static void kill_everywhere(struct nj_model *first, struct nj_model *second)
{
    struct spoken_ids wanted;
    uint32_t n_restored = 0;
    uint32_t n_sweeps = (N_PROMPT + CHUNK - 1) / CHUNK + N_IDS - 1;
    speak_undisturbed(first, &wanted);
    for (uint32_t killed_after = 1; killed_after < n_sweeps; killed_after++) {
        struct lives lives = sampled();
        struct life life;
        lives_begin(&lives);
        life_begin(&life, &lives, first);
        CHECK_EQ(life.loaded.number, 0);
        while (life.n_sweeps < killed_after) {
            life_sweep(&life, life.n_sweeps % 2 == 1);
        }
        uint32_t n_read = nj_state_length(life.sequence->state);
        life_end(&life);

        life_begin(&life, &lives, second);
        CHECK_EQ(life.loaded.n_put_aside, 0);
        CHECK_EQ(life.loaded.number, killed_after / 2);
        CHECK(life.loaded.n_positions + CHUNK >= n_read);
        n_restored += life.loaded.n_positions;
        if (life.loaded.number > 0 && killed_after % 3 == 0) {
            check_equal_to_a_replay(&life);
        }
        live_to_the_end(&life, 2);
        life_end(&life);

        check_same(&lives.log, &wanted);
        lives_end(&lives);
    }
    CHECK(n_restored > 0);
}

static void a_killed_sequence_goes_on_with_the_same_bits_on_the_k3_graph(void)
{
    struct nj_model *model = open_tiny(TINY_MODEL_T5, NULL);
    kill_everywhere(model, model);
    nj_model_close(model);
}

static void a_killed_sequence_goes_on_with_the_same_bits_on_the_linear_graph(void)
{
    struct nj_model *model = open_tiny(TINY_MODEL_KL5, NULL);
    kill_everywhere(model, model);
    nj_model_close(model);
}

static void what_one_instruction_set_wrote_another_one_continues(void)
{
    struct nj_model *best = open_tiny(TINY_MODEL_T5E, NULL);
    struct nj_model *scalar = open_tiny(TINY_MODEL_T5E, "scalar");
    kill_everywhere(best, scalar);
    nj_model_close(best);
    nj_model_close(scalar);
}

/* --- that what is stored is what is used --- */

struct alteration {
    enum nj_segment_record_type type;
    bool is_done;
};

/* Where the largest of the values is: one that the next token is sure to feel. */
static size_t place_of_largest(const uint8_t *raw, size_t n_bytes)
{
    uint32_t largest = 0;
    size_t place = 0;
    for (size_t i = 0; i + 4 <= n_bytes; i += 4) {
        uint32_t bits;
        memcpy(&bits, raw + i, sizeof bits);
        bits &= 0x7FFFFFFFU;
        if (bits > largest) {
            largest = bits;
            place = i;
        }
    }
    return place;
}

/* The highest bit of its fraction, in the first such record. */
static void alter(void *context, struct nj_segment_section *section, uint8_t *raw,
                  size_t n_bytes)
{
    struct alteration *alteration = context;
    if (section->type == alteration->type && !alteration->is_done && n_bytes >= 4) {
        raw[place_of_largest(raw, n_bytes) + 2] ^= 0x40;
        alteration->is_done = true;
    }
}

static void lay_out_altered(int directory_fd, const char *name, const uint8_t *bytes,
                            size_t n_bytes, enum nj_segment_record_type type)
{
    struct alteration alteration = {.type = type};
    struct forgery forgery = {.context = &alteration, .change_record = alter};
    uint8_t *forged = NULL;
    size_t n_forged = 0;
    forge_segment((struct nj_bytes){bytes, n_bytes}, &forgery, &forged, &n_forged);
    CHECK(alteration.is_done);
    write_segment(directory_fd, name, forged, n_forged);
    free(forged);
}

/* If restored states were not used, nobody would notice that this one is wrong. */
static void a_bit_altered_in_a_stored_state_with_checksums_repaired_changes_the_logits(void)
{
    static const enum nj_segment_record_type types[] = {NJ_SEGMENT_RECURRENT, NJ_SEGMENT_KV};
    struct nj_model *model = open_tiny(TINY_MODEL_T5, NULL);
    struct lives lives = sampled();
    struct life life;
    size_t n_bytes = 0;
    lives_begin(&lives);
    life_begin(&life, &lives, model);
    for (int i = 0; i < 8; i++) {
        life_sweep(&life, i == 7);
    }
    int32_t next = life.sequence->tokens[nj_state_length(life.sequence->state)];
    float *wanted = logits_after(model, life.sequence->state, next);
    size_t n_logits = nj_model_n_vocabulary(model);
    life_end(&life);
    uint8_t *bytes = read_segment(lives.directory_fd, "segment-000001.snap", &n_bytes);

    for (size_t i = 0; i < 2; i++) {
        lay_out_altered(lives.directory_fd, "segment-000001.snap", bytes, n_bytes, types[i]);
        life_begin(&life, &lives, model);
        CHECK(life.loaded.n_positions > 0);
        float *found = logits_after(model, life.sequence->state, next);
        CHECK(memcmp(found, wanted, n_logits * sizeof *found) != 0);
        free(found);
        life_end(&life);
    }

    write_segment(lives.directory_fd, "segment-000001.snap", bytes, n_bytes);
    life_begin(&life, &lives, model);
    float *found = logits_after(model, life.sequence->state, next);
    CHECK_BYTES(found, wanted, n_logits * sizeof *found);
    free(found);
    life_end(&life);
    free(bytes);
    free(wanted);
    lives_end(&lives);
    nj_model_close(model);
}

static void a_state_of_another_model_is_not_taken(void)
{
    struct nj_model *model = open_tiny(TINY_MODEL_T5, NULL);
    struct nj_model *other = open_tiny(TINY_MODEL_T5E, NULL);
    struct lives lives = sampled();
    struct life life;
    lives_begin(&lives);
    life_begin(&life, &lives, model);
    life_sweep(&life, true);
    life_end(&life);

    life_begin(&life, &lives, other);

    CHECK_EQ(life.loaded.number, 0);
    CHECK_EQ(life.loaded.n_put_aside, 1);
    CHECK_CONTAINS(life.loaded.complaint, "another model");
    life_end(&life);
    lives_end(&lives);
    nj_model_close(model);
    nj_model_close(other);
}

int main(void)
{
    RUN(a_killed_sequence_goes_on_with_the_same_bits_on_the_k3_graph);
    RUN(a_killed_sequence_goes_on_with_the_same_bits_on_the_linear_graph);
    RUN(what_one_instruction_set_wrote_another_one_continues);
    RUN(a_bit_altered_in_a_stored_state_with_checksums_repaired_changes_the_logits);
    RUN(a_state_of_another_model_is_not_taken);
    return test_result();
}
