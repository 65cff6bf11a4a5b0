/* The three questions that make a decision, in their order; policy.h has the rules. Included by
 * policy*.c alone. */
#ifndef NJ_QUEUE_POLICY_PARTS_H
#define NJ_QUEUE_POLICY_PARTS_H

#include "queue/policy.h"

/* May this job run at all? Everything of the verdict but what places it gets. */
struct nj_policy_verdict nj_policy_judge(const struct nj_policy_input *input,
                                         const struct nj_policy_job *job);

/* Does this job go before that one, within a model? */
bool nj_policy_goes_before(const struct nj_policy_input *input, const struct nj_policy_job *a,
                           const struct nj_policy_job *b);

/* It could begin an item. */
bool nj_policy_is_runnable(const struct nj_policy_input *input,
                           const struct nj_policy_decision *decision, size_t job);

/* It has run nowhere for too long, and could. */
bool nj_policy_is_starved(const struct nj_policy_input *input,
                          const struct nj_policy_decision *decision, size_t job);

/* Whose turn is it? Fills `turn` and `switches`; verdicts and order are there, n_kept too. */
void nj_policy_choose_model(const struct nj_policy_input *input,
                            struct nj_policy_decision *decision);

/* Who takes which places of the model that runs? Fills n_takes and puts_down. */
void nj_policy_fill_places(const struct nj_policy_input *input,
                           struct nj_policy_decision *decision);

#endif
