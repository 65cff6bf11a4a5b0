#include "generate/batch.h"

struct plan {
    struct nj_row *rows;
    uint32_t n_rows;
    struct nj_batch_share *shares;
    uint32_t n_shares;
};

static void add_share(struct plan *plan, struct nj_sequence *sequence, uint32_t n_rows)
{
    uint32_t position = nj_state_length(sequence->state);
    struct nj_batch_share *share = &plan->shares[plan->n_shares++];
    *share = (struct nj_batch_share){.sequence = sequence,
                                     .first_row = plan->n_rows,
                                     .n_rows = n_rows,
                                     .wants_logits = position + n_rows == sequence->n_tokens};
    for (uint32_t i = 0; i < n_rows; i++) {
        plan->rows[plan->n_rows++] =
            (struct nj_row){.state = sequence->state,
                            .position = position + i,
                            .token = sequence->tokens[position + i],
                            .wants_logits = share->wants_logits && i + 1 == n_rows};
    }
}

static uint32_t at_most(size_t wanted, uint32_t limit)
{
    return wanted < limit ? (uint32_t)wanted : limit;
}

/* Ids that the sequence may read in one sweep. */
static uint32_t most_rows(const struct nj_sequence *sequence, uint32_t chunk)
{
    uint32_t position = nj_state_length(sequence->state);
    uint32_t n = at_most(nj_sequence_n_pending(sequence), chunk);
    return sequence->fork_at > position ? at_most(n, sequence->fork_at - position) : n;
}

void nj_batch_plan(struct nj_sequence *const *sequences, uint32_t n_sequences,
                   const struct nj_batch_limits *limits, struct nj_row *rows, uint32_t *n_rows,
                   struct nj_batch_share *shares, uint32_t *n_shares)
{
    struct plan plan = {.rows = rows, .shares = shares};
    uint32_t chunk = limits->prefill_chunk > 0 ? limits->prefill_chunk : limits->max_rows;
    for (uint32_t i = 0; i < n_sequences && plan.n_rows < limits->max_rows; i++) {
        if (sequences[i]->finish == NJ_FINISH_NONE &&
            nj_sequence_n_pending(sequences[i]) == 1) {
            add_share(&plan, sequences[i], 1);
        }
    }
    for (uint32_t i = 0; i < n_sequences && plan.n_rows < limits->max_rows; i++) {
        if (sequences[i]->finish == NJ_FINISH_NONE && !sequences[i]->waits &&
            nj_sequence_n_pending(sequences[i]) > 1) {
            uint32_t n_left = limits->max_rows - plan.n_rows;
            add_share(&plan, sequences[i], at_most(most_rows(sequences[i], chunk), n_left));
        }
    }
    *n_rows = plan.n_rows;
    *n_shares = plan.n_shares;
}
