#include "model/memory_plan.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"

#define GIB (UINT64_C(1) << 30)

enum { TINY_LAYERS = 4, K3_LAYERS = 93 };

/* Round numbers, so that a reader can add them up: 4 trunks of 100, head 50, experts 4 x 1000,
 * frames of 10. */
static const uint64_t tiny_trunks[TINY_LAYERS] = {100, 100, 100, 100};
static const struct nj_memory_needs tiny = {.common_bytes = 200,
                                            .sequence_bytes = 20,
                                            .whole_bytes = 4500,
                                            .tables_bytes = 30,
                                            .frame_bytes = 10,
                                            .least_frames_bytes = 40,
                                            .useful_frames_bytes = 4500,
                                            .head_bytes = 50,
                                            .trunk_bytes = tiny_trunks,
                                            .n_layers = TINY_LAYERS};

/* Kimi K3: 92 layers of 896 experts, trunk 108.81 GB, head 2.35 GB; a sequence of 4,096
 * positions, 256 rows a sweep. */
static uint64_t k3_trunks[K3_LAYERS];
static struct nj_memory_needs k3(void)
{
    const uint64_t expert_bytes = 17547264;
    const uint64_t frame_bytes = 17555456;
    for (uint32_t i = 0; i < K3_LAYERS; i++) {
        k3_trunks[i] = UINT64_C(108810000000) / K3_LAYERS;
    }
    uint64_t weights = 92 * 896 * expert_bytes + UINT64_C(108810000000) + 2 * 2350000000ULL;
    return (struct nj_memory_needs){.common_bytes = 600 << 20,
                                    .sequence_bytes = UINT64_C(650) << 20,
                                    .whole_bytes = weights + (200 << 20),
                                    .tables_bytes = 250 << 20,
                                    .frame_bytes = frame_bytes,
                                    .least_frames_bytes = 4 * frame_bytes,
                                    .useful_frames_bytes = (92 * 896 + 6300) * frame_bytes,
                                    .head_bytes = 2350000000,
                                    .trunk_bytes = k3_trunks,
                                    .n_layers = K3_LAYERS};
}

static struct nj_memory_plan plan_of(const struct nj_memory_needs *needs, uint64_t memory_bytes,
                                     uint32_t n_sequences)
{
    struct nj_memory_plan plan;
    struct nj_error error = {NJ_OK, ""};
    CHECK_EQ(nj_memory_plan_make(needs, memory_bytes, n_sequences, &plan, &error), NJ_OK);
    CHECK_TEXT(error.text, "");
    return plan;
}

static uint64_t spent(const struct nj_memory_needs *needs, const struct nj_memory_plan *plan)
{
    return needs->common_bytes + plan->states_bytes +
           (plan->is_whole ? needs->whole_bytes
                           : needs->tables_bytes + plan->resident_bytes + plan->frames_bytes);
}

static void what_holds_everything_is_whole_and_no_byte_less(void)
{
    uint64_t enough = 200 + 4500 + 3 * 20;

    CHECK(plan_of(&tiny, enough, 3).is_whole);
    CHECK(!plan_of(&tiny, enough - 1, 3).is_whole);
    CHECK_EQ(plan_of(&tiny, enough, 3).useful_bytes, enough);
}

static void the_floor_is_common_things_states_tables_and_the_fewest_frames(void)
{
    uint64_t floor = 200 + 30 + 40 + 2 * 20;
    struct nj_memory_plan plan;
    struct nj_error error;

    plan = plan_of(&tiny, floor, 2);
    CHECK_EQ(plan.frames_bytes, 40);
    CHECK_EQ(plan.resident_bytes, 0);
    CHECK_EQ(plan.states_bytes, 40);

    CHECK_EQ(nj_memory_plan_make(&tiny, floor - 1, 2, &plan, &error), NJ_E_BUDGET);
    CHECK_EQ(plan.floor_bytes, floor);
    CHECK_CONTAINS(error.text, "2 sequences of this model need at least 310 bytes of memory");
    CHECK_CONTAINS(error.text, "(4740 are useful), the ceiling is 309: 0.1 MB are wanted");
}

/* A tiny model may take less whole than the fewest frames of a stream would. */
static void the_floor_of_a_model_smaller_than_its_frames_is_itself(void)
{
    struct nj_memory_needs needs = tiny;
    struct nj_memory_plan plan;
    needs.whole_bytes = 50;

    CHECK_EQ(nj_memory_plan_make(&needs, 269, 1, &plan, NULL), NJ_E_BUDGET);
    CHECK_EQ(plan.floor_bytes, 270);
    CHECK(plan_of(&needs, 270, 1).is_whole);
}

/* Frames for the drive come first: 16 of 10. The trunk follows, and only whole layers count. */
static void the_trunk_stays_from_the_front_once_the_drive_is_busy(void)
{
    uint64_t base = 200 + 30 + 20 + 160;
    struct nj_memory_plan plan = plan_of(&tiny, base + 49, 1);
    CHECK(!plan.has_resident_head);
    CHECK_EQ(plan.frames_bytes, 160 + 49);

    plan = plan_of(&tiny, base + 50, 1);
    CHECK(plan.has_resident_head);
    CHECK_EQ(plan.n_resident_layers, 0);
    CHECK_EQ(plan.frames_bytes, 160);

    plan = plan_of(&tiny, base + 50 + 199, 1);
    CHECK_EQ(plan.n_resident_layers, 1);
    CHECK_EQ(plan.resident_bytes, 150);
    CHECK_EQ(plan.frames_bytes, 160 + 99);

    plan = plan_of(&tiny, base + 450 + 1000, 1);
    CHECK_EQ(plan.n_resident_layers, 4);
    CHECK_EQ(plan.frames_bytes, 1160);
}

static void every_byte_given_is_spent_and_none_more(void)
{
    for (uint64_t memory = 310; memory < 4720; memory += 7) {
        for (uint32_t n_sequences = 1; n_sequences <= 2; n_sequences++) {
            struct nj_memory_plan plan = plan_of(&tiny, memory, n_sequences);

            CHECK_EQ(spent(&tiny, &plan), memory);
            CHECK(plan.frames_bytes >= tiny.least_frames_bytes);
        }
    }
}

static void more_memory_never_keeps_fewer_bytes_of_the_trunk(void)
{
    struct nj_memory_needs needs = k3();
    uint64_t resident_bytes = 0;
    for (uint64_t memory = 2 * GIB; memory < 200 * GIB; memory += GIB) {
        struct nj_memory_plan plan = plan_of(&needs, memory, 1);

        CHECK(plan.resident_bytes >= resident_bytes);
        resident_bytes = plan.resident_bytes;
    }
    CHECK_EQ(resident_bytes, needs.head_bytes + K3_LAYERS * k3_trunks[0]);
}

struct k3_case {
    uint64_t memory_bytes;
    uint32_t n_sequences;
    uint32_t n_resident_layers;
    bool has_resident_head;
    bool is_whole;
};

/* By hand: 8,192 MiB less 850 and 650 a sequence leave 6,692, of which 683, a twelfth of all,
 * are frames; the head takes 2,241 and a trunk 1,116, so three layers stay. Beside eight
 * sequences the head does not fit, but a layer does. */
static void kimi_k3_is_split_as_reckoned_by_hand(void)
{
    static const struct k3_case cases[] = {
        {8 * GIB, 1, 3, true, false},      {8 * GIB, 8, 1, false, false},
        {32 * GIB, 1, 23, true, false},    {32 * GIB, 32, 5, true, false},
        {64 * GIB, 1, 50, true, false},    {64 * GIB, 64, 13, true, false},
        {192 * GIB, 1, 93, true, false},   {256 * GIB, 256, 63, true, false},
        {512 * GIB, 256, 93, true, false}, {2048 * GIB, 256, 0, false, true},
    };
    struct nj_memory_needs needs = k3();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct k3_case *wanted = &cases[i];
        struct nj_memory_plan plan = plan_of(&needs, wanted->memory_bytes, wanted->n_sequences);

        CHECK_EQ(plan.n_resident_layers, wanted->n_resident_layers);
        CHECK_EQ(plan.has_resident_head, wanted->has_resident_head);
        CHECK_EQ(plan.is_whole, wanted->is_whole);
        CHECK(spent(&needs, &plan) <= wanted->memory_bytes);
    }
}

static void the_batch_is_as_wide_as_states_fit_beside_busy_frames(void)
{
    struct nj_memory_needs needs = k3();

    /* 8 GiB: 850 MiB and a twelfth, 683 MiB, go first; 650 MiB each. */
    CHECK_EQ(nj_memory_plan_width(&needs, 8 * GIB, 256), 10);
    CHECK_EQ(nj_memory_plan_width(&needs, 8 * GIB, 4), 4);
    CHECK_EQ(nj_memory_plan_width(&needs, 64 * GIB, 256), 91);
    CHECK_EQ(nj_memory_plan_width(&needs, 512 * GIB, 256), 256);
    CHECK_EQ(nj_memory_plan_width(&needs, 2048 * GIB, 256), 256);
}

/* Rather whole with ten than streaming for thirty; rather streaming for thirty than whole with
 * seven. */
static void a_whole_model_is_worth_more_than_a_wide_batch_unless_it_leaves_room_for_few(void)
{
    CHECK_EQ(nj_memory_plan_width(&tiny, 200 + 4500 + 20 * 10, 30), 10);
    CHECK_EQ(nj_memory_plan_width(&tiny, 200 + 4500 + 20 * 7, 30), 30);
    CHECK_EQ(nj_memory_plan_width(&tiny, 200 + 4500 + 20 * 7, 5), 5);
    CHECK_EQ(nj_memory_plan_whole_width(&tiny, 200 + 4500 + 20 * 7, 30), 0);
    CHECK_EQ(nj_memory_plan_whole_width(&tiny, 200 + 4499, 1), 0);
}

/* Less than the drive wants is still one sequence; whether it fits the plan says. */
static void the_batch_is_never_empty(void)
{
    CHECK_EQ(nj_memory_plan_width(&tiny, 0, 8), 1);
    CHECK_EQ(nj_memory_plan_width(&tiny, 290, 8), 1);
}

static void the_width_found_fits(void)
{
    struct nj_memory_needs needs = k3();
    for (uint64_t memory = 2 * GIB; memory < 2200 * GIB; memory += 17 * GIB) {
        uint32_t width = nj_memory_plan_width(&needs, memory, 256);

        CHECK_EQ(plan_of(&needs, memory, width).n_sequences, width);
    }
}

static void figures_that_would_wrap_are_refused(void)
{
    struct nj_memory_needs needs = tiny;
    struct nj_memory_plan plan;
    struct nj_error error;
    needs.sequence_bytes = UINT64_MAX / 2;

    CHECK_EQ(nj_memory_plan_make(&needs, UINT64_MAX - 1, 3, &plan, &error), NJ_E_BUDGET);
    CHECK(plan.floor_bytes == UINT64_MAX);
    CHECK_EQ(nj_memory_plan_width(&needs, UINT64_MAX, 256), 1);

    needs = tiny;
    needs.common_bytes = UINT64_MAX;
    CHECK_EQ(nj_memory_plan_make(&needs, 1 << 30, 1, &plan, &error), NJ_E_BUDGET);
}

/* A model that was found to fit was never asked how it would stream. */
static void without_frames_only_the_whole_fits(void)
{
    struct nj_memory_needs needs = {.common_bytes = 200,
                                    .sequence_bytes = 20,
                                    .whole_bytes = 4500,
                                    .least_frames_bytes = UINT64_MAX};
    struct nj_memory_plan plan;

    CHECK(plan_of(&needs, 4720, 1).is_whole);
    CHECK_EQ(nj_memory_plan_make(&needs, 4719, 1, &plan, NULL), NJ_E_BUDGET);
    CHECK_EQ(plan.floor_bytes, 4720);
}

int main(void)
{
    RUN(what_holds_everything_is_whole_and_no_byte_less);
    RUN(the_floor_is_common_things_states_tables_and_the_fewest_frames);
    RUN(the_floor_of_a_model_smaller_than_its_frames_is_itself);
    RUN(the_trunk_stays_from_the_front_once_the_drive_is_busy);
    RUN(every_byte_given_is_spent_and_none_more);
    RUN(more_memory_never_keeps_fewer_bytes_of_the_trunk);
    RUN(kimi_k3_is_split_as_reckoned_by_hand);
    RUN(the_batch_is_as_wide_as_states_fit_beside_busy_frames);
    RUN(a_whole_model_is_worth_more_than_a_wide_batch_unless_it_leaves_room_for_few);
    RUN(the_batch_is_never_empty);
    RUN(the_width_found_fits);
    RUN(figures_that_would_wrap_are_refused);
    RUN(without_frames_only_the_whole_fits);
    return test_result();
}
