#include "generate/prefix_sharing.h"

#include <stdio.h>
#include <string.h>

#include "generate/generator.h"
#include "support/check.h"
#include "support/tiny_model.h"

enum { N_PROMPTS = 6, N_COMMON = 70, N_PROMPT = 75, N_CHOSEN = 5, LEAST_IDS = 4 };

static char model_path[256];
static struct nj_model *model;

/* Prompts that begin with the same 70 ids: beyond a page, and not at its end. */
struct fixture {
    struct nj_prefix_tree *tree;
    struct nj_generator *generator;
    int32_t prompts[N_PROMPTS][N_PROMPT];
    struct nj_sequence *sequences[N_PROMPTS];
};

static void make_prompts(struct fixture *fixture)
{
    for (int32_t i = 0; i < N_PROMPTS; i++) {
        for (int32_t k = 0; k < N_PROMPT; k++) {
            fixture->prompts[i][k] = k < N_COMMON ? 1 + k % 50 : 60 + i + k - N_COMMON;
        }
    }
}

static void open_generator(struct fixture *fixture, uint32_t batch, uint32_t chunk)
{
    struct nj_error err;
    struct nj_generator_options options = {.max_sequences = batch, .prefill_chunk = chunk};
    memset(fixture, 0, sizeof *fixture);
    make_prompts(fixture);
    REQUIRE_OK(nj_prefix_tree_create(&fixture->tree, &err), &err);
    REQUIRE_OK(nj_generator_create(model, NULL, &options, &fixture->generator, &err), &err);
}

static void share(struct fixture *fixture, uint64_t n_states)
{
    struct nj_error err;
    const struct nj_prefix_options options = {
        .tree = fixture->tree,
        .least_ids = LEAST_IDS,
        .shelf_bytes = n_states * nj_prefix_state_bytes(nj_model_dims(model), N_PROMPT)};
    for (int i = 0; i < N_PROMPTS; i++) {
        REQUIRE_OK(
            nj_prefix_tree_announce(fixture->tree, fixture->prompts[i], N_PROMPT - 1, &err),
            &err);
    }
    nj_generator_share_prefixes(fixture->generator, &options);
}

static void close_generator(struct fixture *fixture)
{
    nj_generator_destroy(fixture->generator);
    nj_prefix_tree_destroy(fixture->tree);
}

static void add(struct fixture *fixture, int i)
{
    struct nj_error err;
    const struct nj_sequence_options options = {
        .prompt = fixture->prompts[i],
        .n_prompt = N_PROMPT,
        .max_tokens = N_CHOSEN,
        .sampling = {.temperature = 0.9, .seed = 4, .sample = (uint32_t)i}};
    REQUIRE_OK(nj_generator_add(fixture->generator, &options, &fixture->sequences[i], &err),
               &err);
}

static void step(struct fixture *fixture)
{
    struct nj_error err;
    REQUIRE_OK(nj_generator_step(fixture->generator, NULL, NULL, &err), &err);
}

/* Removes what is finished; its ids go to their place. */
static void collect(struct fixture *fixture, int32_t ids[N_PROMPTS][N_CHOSEN])
{
    for (int i = 0; i < N_PROMPTS; i++) {
        size_t n = 0;
        if (fixture->sequences[i] == NULL ||
            nj_sequence_finish(fixture->sequences[i]) == NJ_FINISH_NONE) {
            continue;
        }
        memcpy(ids[i], nj_sequence_chosen(fixture->sequences[i], &n), sizeof ids[i]);
        CHECK_EQ(n, N_CHOSEN);
        nj_generator_remove(fixture->generator, fixture->sequences[i]);
        fixture->sequences[i] = NULL;
    }
}

/* All prompts, as many at once as there is room for. */
static void run_all(struct fixture *fixture, uint32_t batch, int32_t ids[N_PROMPTS][N_CHOSEN])
{
    int next = 0;
    for (int n_steps = 0; n_steps < 1000; n_steps++) {
        while (next < N_PROMPTS && nj_generator_count(fixture->generator) < batch) {
            add(fixture, next++);
        }
        if (nj_generator_count(fixture->generator) == 0) {
            return;
        }
        step(fixture);
        collect(fixture, ids);
    }
    test_fail(__FILE__, __LINE__, "a thousand steps, and not all are done");
}

static void expected_ids(int32_t ids[N_PROMPTS][N_CHOSEN])
{
    struct fixture fixture;
    open_generator(&fixture, N_PROMPTS, 0);
    run_all(&fixture, N_PROMPTS, ids);
    close_generator(&fixture);
}

static void sharing_changes_no_id_and_reads_the_prefix_once(void)
{
    static const uint32_t batches[] = {1, 2, 6};
    static const uint32_t chunks[] = {0, 1, 7, 64};
    int32_t wanted[N_PROMPTS][N_CHOSEN];
    expected_ids(wanted);
    for (size_t b = 0; b < 3; b++) {
        for (size_t c = 0; c < 4; c++) {
            struct fixture fixture;
            int32_t ids[N_PROMPTS][N_CHOSEN] = {{0}};
            open_generator(&fixture, batches[b], chunks[c]);
            share(&fixture, 1);

            run_all(&fixture, batches[b], ids);

            const struct nj_prefix_counts counts =
                nj_generator_prefix_counts(fixture.generator);
            CHECK_BYTES(ids, wanted, sizeof wanted);
            CHECK_EQ(nj_generator_n_rows(fixture.generator),
                     N_COMMON + N_PROMPTS * (N_PROMPT - N_COMMON + N_CHOSEN - 1));
            CHECK_EQ(counts.n_read_once, N_COMMON);
            CHECK_EQ(counts.n_forks, N_PROMPTS - 1);
            CHECK_EQ(counts.n_spared, (N_PROMPTS - 1) * N_COMMON);
            close_generator(&fixture);
        }
    }
}

/* Those that are there together take over from the one that reads, shelf or no shelf. */
static void without_a_shelf_the_batch_shares_all_the_same(void)
{
    int32_t wanted[N_PROMPTS][N_CHOSEN];
    int32_t ids[N_PROMPTS][N_CHOSEN] = {{0}};
    struct fixture fixture;
    expected_ids(wanted);
    open_generator(&fixture, N_PROMPTS, 0);
    share(&fixture, 0);

    run_all(&fixture, N_PROMPTS, ids);

    CHECK_BYTES(ids, wanted, sizeof wanted);
    CHECK_EQ(nj_generator_prefix_counts(fixture.generator).n_forks, N_PROMPTS - 1);
    close_generator(&fixture);
}

/* One at a time and nowhere to keep a state: a fork would spare nobody anything. */
static void alone_and_without_a_shelf_nothing_is_cut(void)
{
    struct fixture fixture;
    open_generator(&fixture, 1, 0);
    share(&fixture, 0);
    add(&fixture, 0);

    step(&fixture);

    CHECK_EQ(nj_generator_n_rows(fixture.generator), N_PROMPT);
    close_generator(&fixture);
}

/* Samples of one prompt share all of it but the last id, which gives each its logits. */
static void samples_of_one_prompt_read_it_once(void)
{
    struct fixture fixture;
    int32_t wanted[N_PROMPTS][N_CHOSEN];
    int32_t ids[N_PROMPTS][N_CHOSEN];
    for (int shares = 0; shares < 2; shares++) {
        open_generator(&fixture, N_PROMPTS, 0);
        for (int i = 1; i < N_PROMPTS; i++) {
            memcpy(fixture.prompts[i], fixture.prompts[0], sizeof fixture.prompts[0]);
        }
        if (shares == 1) {
            share(&fixture, 1);
        }
        run_all(&fixture, N_PROMPTS, shares == 1 ? ids : wanted);
        CHECK_EQ(nj_generator_n_rows(fixture.generator),
                 shares == 0 ? N_PROMPTS * (N_PROMPT + N_CHOSEN - 1)
                             : N_PROMPT - 1 + N_PROMPTS * N_CHOSEN);
        close_generator(&fixture);
    }
    CHECK_BYTES(ids, wanted, sizeof wanted);
    CHECK(memcmp(ids[0], ids[1], sizeof ids[0]) != 0); /* they are samples, not copies */
}

static void a_leader_that_is_taken_away_is_replaced(void)
{
    int32_t wanted[N_PROMPTS][N_CHOSEN];
    int32_t ids[N_PROMPTS][N_CHOSEN] = {{0}};
    expected_ids(wanted);
    /* Away before it read anything, in the middle, and just when it got there. */
    for (int n_steps = 0; n_steps <= 3; n_steps++) {
        struct fixture fixture;
        open_generator(&fixture, N_PROMPTS, N_COMMON / 3 + 1);
        share(&fixture, 1);
        for (int i = 0; i < N_PROMPTS; i++) {
            add(&fixture, i);
        }
        for (int i = 0; i < n_steps; i++) {
            step(&fixture);
        }
        nj_generator_remove(fixture.generator, fixture.sequences[0]);
        fixture.sequences[0] = NULL;

        while (nj_generator_count(fixture.generator) > 0) {
            step(&fixture);
            collect(&fixture, ids);
        }

        CHECK_BYTES(ids[1], wanted[1], (N_PROMPTS - 1) * sizeof ids[1]);
        CHECK_EQ(nj_generator_prefix_counts(fixture.generator).n_forks, N_PROMPTS - 2);
        close_generator(&fixture);
    }
}

static bool stop_now(void *context)
{
    int *n_left = context;
    return (*n_left)-- == 0;
}

/* A sweep that breaks off takes the leader's state; what was forked before is untouched. */
static void a_broken_sweep_is_read_again_and_forks_stay_whole(void)
{
    int32_t wanted[N_PROMPTS][N_CHOSEN];
    int32_t ids[N_PROMPTS][N_CHOSEN] = {{0}};
    expected_ids(wanted);
    for (int n_before = 0; n_before < 4; n_before++) {
        struct fixture fixture;
        struct nj_error err;
        int n_layers_left = 1;
        const struct nj_sweep_hooks hooks = {.context = &n_layers_left,
                                             .should_stop = stop_now};
        open_generator(&fixture, N_PROMPTS, N_COMMON / 2);
        share(&fixture, 1);
        for (int i = 0; i < N_PROMPTS; i++) {
            add(&fixture, i);
        }
        for (int i = 0; i < n_before; i++) {
            step(&fixture);
        }
        nj_generator_set_hooks(fixture.generator, &hooks);
        CHECK_EQ(nj_generator_step(fixture.generator, NULL, NULL, &err), NJ_E_STOPPED);
        nj_generator_set_hooks(fixture.generator, NULL);

        while (nj_generator_count(fixture.generator) > 0) {
            step(&fixture);
            collect(&fixture, ids);
        }

        CHECK_BYTES(ids, wanted, sizeof wanted);
        close_generator(&fixture);
    }
}

/* A fork that would cost a sweep more than it spares is not made. */
static void a_fork_that_spares_too_little_is_not_made(void)
{
    struct fixture fixture;
    int32_t ids[N_PROMPTS][N_CHOSEN];
    open_generator(&fixture, N_PROMPTS, 0);
    for (int spares = 0; spares < 2; spares++) {
        const struct nj_prefix_options options = {.tree = fixture.tree,
                                                  .least_ids = LEAST_IDS,
                                                  .least_rows = (N_PROMPTS - 1) * N_COMMON +
                                                                (spares == 0 ? 1 : 0)};
        nj_generator_share_prefixes(fixture.generator, &options);
        run_all(&fixture, N_PROMPTS, ids);
        CHECK_EQ(nj_generator_prefix_counts(fixture.generator).n_forks,
                 spares == 0 ? 0 : N_PROMPTS - 1);
    }
    close_generator(&fixture);
}

static void preparing_twice_does_no_more_than_once(void)
{
    struct fixture fixture;
    int32_t ids[N_PROMPTS][N_CHOSEN] = {{0}};
    int32_t wanted[N_PROMPTS][N_CHOSEN];
    expected_ids(wanted);
    open_generator(&fixture, 2, 0);
    share(&fixture, 1);
    for (int next = 0; next < N_PROMPTS || nj_generator_count(fixture.generator) > 0;) {
        while (next < N_PROMPTS && nj_generator_count(fixture.generator) < 2) {
            add(&fixture, next++);
        }
        nj_generator_prepare(fixture.generator);
        const struct nj_prefix_counts before = nj_generator_prefix_counts(fixture.generator);
        nj_generator_prepare(fixture.generator);
        const struct nj_prefix_counts after = nj_generator_prefix_counts(fixture.generator);
        CHECK_BYTES(&after, &before, sizeof after);
        step(&fixture);
        collect(&fixture, ids);
    }
    CHECK_BYTES(ids, wanted, sizeof wanted);
    close_generator(&fixture);
}

/* A fork is used, or the tests above would prove nothing: a byte of the state on the shelf
 * changes what those choose who take it. */
static void an_altered_state_on_the_shelf_changes_ids(void)
{
    struct fixture fixture;
    int32_t wanted[N_PROMPTS][N_CHOSEN];
    int32_t ids[N_PROMPTS][N_CHOSEN] = {{0}};
    expected_ids(wanted);
    open_generator(&fixture, 1, 0);
    share(&fixture, 1);
    add(&fixture, 0);
    while (nj_sequence_finish(fixture.sequences[0]) == NJ_FINISH_NONE) {
        step(&fixture);
    }
    collect(&fixture, ids);
    const struct nj_prefix_shelf *shelf = nj_generator_prefix_shelf(fixture.generator);
    REQUIRE(shelf->n_entries == 1);
    const struct nj_dims *dims = nj_model_dims(model);
    for (uint32_t layer = 0; layer < dims->n_layers; layer++) {
        uint64_t n_values = 0;
        float *values = nj_state_recurrent(shelf->entries[0].state, layer, &n_values);
        for (uint64_t i = 0; i < n_values; i++) {
            values[i] = -values[i];
        }
    }

    for (int i = 1; i < N_PROMPTS; i++) {
        add(&fixture, i);
        while (nj_sequence_finish(fixture.sequences[i]) == NJ_FINISH_NONE) {
            step(&fixture);
        }
        collect(&fixture, ids);
    }

    CHECK_BYTES(ids[0], wanted[0], sizeof ids[0]);
    CHECK(memcmp(ids[1], wanted[1], (N_PROMPTS - 1) * sizeof ids[1]) != 0);
    close_generator(&fixture);
}

int main(void)
{
    struct nj_error err;
    (void)snprintf(model_path, sizeof model_path, "%s/model", test_folder());
    const struct nj_model_options options = {.path = model_path, .n_threads = 1};
    if (tiny_model_write(TINY_MODEL_T5, model_path) != 0 ||
        nj_model_open(&options, &model, &err) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", err.text);
        return 1;
    }
    RUN(sharing_changes_no_id_and_reads_the_prefix_once);
    RUN(without_a_shelf_the_batch_shares_all_the_same);
    RUN(alone_and_without_a_shelf_nothing_is_cut);
    RUN(samples_of_one_prompt_read_it_once);
    RUN(a_leader_that_is_taken_away_is_replaced);
    RUN(a_broken_sweep_is_read_again_and_forks_stay_whole);
    RUN(a_fork_that_spares_too_little_is_not_made);
    RUN(preparing_twice_does_no_more_than_once);
    RUN(an_altered_state_on_the_shelf_changes_ids);
    nj_model_close(model);
    return test_result();
}
