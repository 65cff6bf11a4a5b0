/* States on disk give the bits that states in memory give, in one life or in many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/disk_crowd.h"
#include "support/check.h"
#include "support/tiny_model.h"

static struct nj_model *open_path(const char *path, const char *cpu_level)
{
    struct nj_error error;
    struct nj_model *model = NULL;
    struct nj_model_options options = {.path = path, .cpu_level = cpu_level, .n_threads = 2};
    if (nj_model_open(&options, &model, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
        exit(1);
    }
    return model;
}

static struct nj_model *open_tiny(enum tiny_model_kind kind, const char *cpu_level)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", test_folder(), tiny_model_name(kind));
    CHECK_EQ(tiny_model_write(kind, path), 0);
    return open_path(path, cpu_level);
}

/* Lives to the end; at most `n_sweeps` sweeps (0: no limit). */
static void live(struct disk_crowd *crowd, struct nj_model *model,
                 const struct crowd_place *place, uint32_t n_sweeps, struct crowd_life *life)
{
    struct nj_error error = {.text = ""};
    bool goes_on = true;
    enum nj_status status = crowd_life_begin(life, crowd, model, place, &error);
    while (status == NJ_OK && goes_on && (n_sweeps == 0 || life->n_sweeps < n_sweeps)) {
        status = crowd_life_sweep(life, true, &goes_on, &error);
    }
    CHECK_EQ(status, NJ_OK);
    CHECK_TEXT(error.text, "");
    crowd_life_end(life);
}

static void live_in_memory(struct disk_crowd *crowd, struct nj_model *model, uint32_t n)
{
    struct crowd_life life;
    struct crowd_place memory = {.prefill_chunk = 0};
    disk_crowd_begin(crowd, n);
    live(crowd, model, &memory, 0, &life);
    disk_crowd_end(crowd);
}

static void compare_places(struct nj_model *model, uint32_t n_sequences)
{
    static const struct crowd_place places[] = {
        {.is_on_disk = true},
        {.is_on_disk = true, .n_windows = 2, .prefill_chunk = 7},
        {.is_on_disk = true, .window_bytes = 1 << 20, .prefill_chunk = 64},
        {.is_on_disk = true, .window_bytes = 60000, .n_windows = 5}};
    struct disk_crowd wanted;
    live_in_memory(&wanted, model, n_sequences);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct disk_crowd found;
        struct crowd_life life;
        disk_crowd_begin(&found, n_sequences);
        live(&found, model, &places[i], 0, &life);
        disk_crowd_compare(&found, &wanted);
        disk_crowd_end(&found);
    }
}

static void compare_widths(enum tiny_model_kind kind, uint32_t n_widths)
{
    static const uint32_t widths[] = {8, 1, 16};
    struct nj_model *model = open_tiny(kind, NULL);
    for (uint32_t i = 0; i < n_widths; i++) {
        compare_places(model, widths[i]);
    }
    nj_model_close(model);
}

static void on_disk_and_in_memory_are_the_same_on_the_small_k3_graph(void)
{
    compare_widths(TINY_MODEL_T5, 3);
}

static void on_disk_and_in_memory_are_the_same_on_the_larger_k3_graph(void)
{
    compare_widths(TINY_MODEL_T13, 1);
}

static void on_disk_and_in_memory_are_the_same_on_the_linear_graph(void)
{
    compare_widths(TINY_MODEL_KL5, 1);
}

/* Ended after every number of sweeps, and taken up where `next` says. */
static void move(struct nj_model *model, struct nj_model *other, struct crowd_place first,
                 struct crowd_place next)
{
    struct disk_crowd wanted;
    live_in_memory(&wanted, model, 8);
    for (uint32_t n_sweeps = 1; n_sweeps < 8; n_sweeps += 2) {
        struct disk_crowd found;
        struct crowd_life life;
        disk_crowd_begin(&found, 8);
        live(&found, model, &first, n_sweeps, &life);
        live(&found, other, &next, 1, &life);
        CHECK_EQ(life.n_restored, 8);
        CHECK(life.n_positions_restored > 8);
        live(&found, model, &first, 0, &life);
        disk_crowd_compare(&found, &wanted);
        disk_crowd_end(&found);
    }
}

static void a_life_on_disk_goes_on_on_disk_with_other_windows(void)
{
    struct nj_model *model = open_tiny(TINY_MODEL_T5, NULL);
    struct nj_model *scalar = open_tiny(TINY_MODEL_T5, "scalar");
    struct crowd_place first = {.is_on_disk = true, .prefill_chunk = 20};
    struct crowd_place next = {.is_on_disk = true, .window_bytes = 100000, .n_windows = 2};
    move(model, scalar, first, next);
    nj_model_close(model);
    nj_model_close(scalar);
}

static void a_life_on_disk_goes_on_in_memory_and_back(void)
{
    struct nj_model *model = open_tiny(TINY_MODEL_T5, NULL);
    struct crowd_place first = {.is_on_disk = true, .prefill_chunk = 20};
    struct crowd_place memory = {.prefill_chunk = 20};
    move(model, model, first, memory);
    nj_model_close(model);
}

/* A fork is a seat of its own: both go on alone. */
static void a_state_on_disk_is_forked_like_one_in_memory(void)
{
    struct nj_model *model = open_tiny(TINY_MODEL_T5, NULL);
    struct crowd_place place = {.is_on_disk = true};
    struct disk_crowd crowd;
    struct crowd_life life;
    struct nj_error error;
    struct nj_state *fork = NULL;
    bool goes_on = true;
    disk_crowd_begin(&crowd, 4);
    REQUIRE_OK(crowd_life_begin(&life, &crowd, model, &place, &error), &error);
    REQUIRE_OK(crowd_life_sweep(&life, true, &goes_on, &error), &error);
    CHECK_EQ(nj_state_fork(life.sequences[3]->state, &fork, &error), NJ_E_BUDGET);
    nj_generator_remove(life.generator, life.sequences[0]);
    life.sequences[0] = NULL;
    REQUIRE_OK(nj_state_fork(life.sequences[3]->state, &fork, &error), &error);
    uint32_t position = nj_state_length(fork);

    enum { LOGITS_LIMIT = 4096 };
    static float both[2 * LOGITS_LIMIT];
    size_t n_logits = nj_model_n_vocabulary(model);
    struct nj_row rows[2] = {
        {.state = fork, .position = position, .token = 9, .wants_logits = true},
        {.state = life.sequences[3]->state,
         .position = position,
         .token = 9,
         .wants_logits = true}};
    REQUIRE(n_logits <= LOGITS_LIMIT);
    REQUIRE_OK(nj_sweep_run(model, rows, 2, NULL, both, &error), &error);

    CHECK_BYTES(both, both + n_logits, n_logits * sizeof *both);
    nj_state_destroy(fork);
    crowd_life_end(&life);
    disk_crowd_end(&crowd);
    nj_model_close(model);
}

static bool stops(void *context)
{
    uint32_t *n_left = context;
    if (*n_left == 0) {
        return true;
    }
    *n_left -= 1;
    return false;
}

/* Nothing is fed again, which would take more sweeps: the states are what they were. */
static void a_sweep_that_breaks_off_leaves_every_state_as_it_was(void)
{
    struct nj_model *model = open_tiny(TINY_MODEL_T5, NULL);
    struct crowd_place place = {.is_on_disk = true, .prefill_chunk = 20};
    struct disk_crowd wanted;
    live_in_memory(&wanted, model, 8);
    for (uint32_t layer = 0; layer < nj_model_n_layers(model); layer++) {
        struct disk_crowd found;
        struct crowd_life life;
        struct nj_error error;
        bool goes_on = true;
        uint32_t n_left = 0;
        uint64_t n_sweeps = 0;
        struct nj_sweep_hooks hooks = {.context = &n_left, .should_stop = stops};
        disk_crowd_begin(&found, 8);
        REQUIRE_OK(crowd_life_begin(&life, &found, model, &place, &error), &error);
        while (goes_on) {
            uint64_t n_rows = nj_generator_n_rows(life.generator);
            n_left = layer;
            nj_generator_set_hooks(life.generator, &hooks);
            CHECK_EQ(crowd_life_sweep(&life, true, &goes_on, &error), NJ_E_STOPPED);
            nj_generator_set_hooks(life.generator, NULL);
            CHECK_EQ(nj_generator_n_rows(life.generator), n_rows);
            REQUIRE_OK(crowd_life_sweep(&life, true, &goes_on, &error), &error);
        }
        n_sweeps = life.n_sweeps;
        crowd_life_end(&life);
        CHECK(n_sweeps <= CROWD_TOKENS + CROWD_PROMPT_LIMIT / 20);
        disk_crowd_compare(&found, &wanted);
        disk_crowd_end(&found);
    }
    nj_model_close(model);
}

int main(void)
{
    RUN(on_disk_and_in_memory_are_the_same_on_the_small_k3_graph);
    RUN(on_disk_and_in_memory_are_the_same_on_the_larger_k3_graph);
    RUN(on_disk_and_in_memory_are_the_same_on_the_linear_graph);
    RUN(a_life_on_disk_goes_on_on_disk_with_other_windows);
    RUN(a_life_on_disk_goes_on_in_memory_and_back);
    RUN(a_state_on_disk_is_forked_like_one_in_memory);
    RUN(a_sweep_that_breaks_off_leaves_every_state_as_it_was);
    return test_result();
}
