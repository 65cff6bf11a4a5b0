#include "generate/batch.h"

#include <string.h>

#include "support/check.h"

enum { N_SEQUENCES = 4, MAX_TOKENS = 40 };

/* Sequences with nothing but ids and an empty state: all that planning looks at. */
struct fixture {
    struct nj_dims dims;
    nj_token tokens[N_SEQUENCES][MAX_TOKENS];
    struct nj_sequence sequences[N_SEQUENCES];
    struct nj_sequence *list[N_SEQUENCES];
    struct nj_row rows[64];
    struct nj_batch_share shares[N_SEQUENCES];
    uint32_t n_rows;
    uint32_t n_shares;
};

/* `n_tokens` ids each, of which none has been fed. */
static void prepare(struct fixture *fixture, const size_t n_tokens[N_SEQUENCES])
{
    memset(fixture, 0, sizeof *fixture);
    fixture->dims = (struct nj_dims){.n_layers = 1,
                                     .n_delta_heads = 1,
                                     .n_delta = 4,
                                     .n_taps = 2,
                                     .mixers = {NJ_MIXER_DELTA}};
    for (int i = 0; i < N_SEQUENCES; i++) {
        struct nj_sequence *sequence = &fixture->sequences[i];
        for (int t = 0; t < MAX_TOKENS; t++) {
            fixture->tokens[i][t] = 100 * i + t;
        }
        sequence->tokens = fixture->tokens[i];
        sequence->n_tokens = n_tokens[i];
        REQUIRE(nj_state_create(&fixture->dims, NULL, &sequence->state, NULL) == NJ_OK);
        fixture->list[i] = sequence;
    }
}

static void release(struct fixture *fixture)
{
    for (int i = 0; i < N_SEQUENCES; i++) {
        nj_state_destroy(fixture->sequences[i].state);
    }
}

static void plan(struct fixture *fixture, uint32_t max_rows, uint32_t prefill_chunk)
{
    struct nj_batch_limits limits = {.max_rows = max_rows, .prefill_chunk = prefill_chunk};
    nj_batch_plan(fixture->list, N_SEQUENCES, &limits, fixture->rows, &fixture->n_rows,
                  fixture->shares, &fixture->n_shares);
}

static void a_decoding_sequence_has_its_row_before_any_prompt(void)
{
    struct fixture fixture;
    prepare(&fixture, (size_t[]){30, 1, 30, 1});

    plan(&fixture, 10, 0);

    CHECK_EQ(fixture.n_rows, 10);
    CHECK_EQ(fixture.n_shares, 3);
    CHECK(fixture.shares[0].sequence == fixture.list[1]);
    CHECK(fixture.shares[1].sequence == fixture.list[3]);
    CHECK(fixture.shares[2].sequence == fixture.list[0]);
    CHECK_EQ(fixture.shares[2].n_rows, 8);
    CHECK(!fixture.shares[2].wants_logits);
    release(&fixture);
}

static void prompts_share_what_is_left_in_chunks(void)
{
    struct fixture fixture;
    prepare(&fixture, (size_t[]){30, 6, 3, 1});

    plan(&fixture, 16, 5);

    CHECK_EQ(fixture.n_shares, 4);
    CHECK_EQ(fixture.n_rows, 1 + 5 + 5 + 3);
    CHECK_EQ(fixture.shares[1].n_rows, 5);
    CHECK(!fixture.shares[2].wants_logits);
    CHECK(fixture.shares[3].wants_logits);
    release(&fixture);
}

static void rows_continue_where_the_state_ends_and_only_the_last_wants_logits(void)
{
    struct fixture fixture;
    prepare(&fixture, (size_t[]){8, 0, 0, 0});
    for (int i = 1; i < N_SEQUENCES; i++) {
        fixture.sequences[i].finish = NJ_FINISH_STOP;
    }
    nj_state_advance(fixture.sequences[0].state, 3);

    plan(&fixture, 16, 0);

    REQUIRE(fixture.n_rows == 5);
    for (uint32_t i = 0; i < 5; i++) {
        CHECK_EQ(fixture.rows[i].position, 3 + i);
        CHECK_EQ(fixture.rows[i].token, 3 + i);
        CHECK_EQ(fixture.rows[i].wants_logits, i == 4);
    }
    release(&fixture);
}

static void finished_sequences_have_no_rows(void)
{
    struct fixture fixture;
    prepare(&fixture, (size_t[]){5, 1, 5, 1});
    for (int i = 0; i < N_SEQUENCES; i++) {
        fixture.sequences[i].finish = NJ_FINISH_LENGTH;
    }

    plan(&fixture, 16, 0);

    CHECK_EQ(fixture.n_rows, 0);
    CHECK_EQ(fixture.n_shares, 0);
    release(&fixture);
}

int main(void)
{
    RUN(a_decoding_sequence_has_its_row_before_any_prompt);
    RUN(prompts_share_what_is_left_in_chunks);
    RUN(rows_continue_where_the_state_ends_and_only_the_last_wants_logits);
    RUN(finished_sequences_have_no_rows);
    return test_result();
}
