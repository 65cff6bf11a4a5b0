#include "queue/policy_parts.h"

enum { NOBODY = -1 };

/* Jobs as indices, or NOBODY. */
struct candidates {
    ptrdiff_t own;   /* the first of the model that has its turn, running or runnable */
    ptrdiff_t other; /* of the highest priority elsewhere, the most pressing that is runnable */
    ptrdiff_t starved; /* the longest waiting elsewhere, if too long */
};

static bool waits_longer(const struct nj_policy_input *input, size_t job, ptrdiff_t than)
{
    return than == NOBODY || input->jobs[job].waited_seconds > input->jobs[than].waited_seconds;
}

/* Among equals: those that preempt, then the longest waiting. */
static bool is_more_pressing(const struct nj_policy_input *input, size_t job, ptrdiff_t than)
{
    if (than == NOBODY || input->jobs[job].preempts == input->jobs[than].preempts) {
        return waits_longer(input, job, than);
    }
    return input->jobs[job].preempts;
}

static void consider_other(const struct nj_policy_input *input,
                           const struct nj_policy_decision *decision, size_t job,
                           struct candidates *found)
{
    if (!nj_policy_is_runnable(input, decision, job)) {
        return;
    }
    /* In order of rank, so the first seen has the highest priority. */
    bool is_equal = found->other == NOBODY ||
                    input->jobs[job].priority == input->jobs[found->other].priority;
    if (is_equal && is_more_pressing(input, job, found->other)) {
        found->other = (ptrdiff_t)job;
    }
    if (nj_policy_is_starved(input, decision, job) &&
        waits_longer(input, job, found->starved)) {
        found->starved = (ptrdiff_t)job;
    }
}

static struct candidates find_candidates(const struct nj_policy_input *input,
                                         const struct nj_policy_decision *decision)
{
    struct candidates found = {NOBODY, NOBODY, NOBODY};
    for (size_t i = 0; i < input->n_jobs; i++) {
        size_t job = decision->order[i];
        if (input->jobs[job].model != input->turn.model) {
            consider_other(input, decision, job, &found);
        } else if (found.own == NOBODY && (nj_policy_is_runnable(input, decision, job) ||
                                           decision->verdicts[job].n_kept > 0)) {
            found.own = (ptrdiff_t)job;
        }
    }
    return found;
}

static bool has_kept_places(const struct nj_policy_input *input,
                            const struct nj_policy_decision *decision)
{
    for (size_t i = 0; i < input->n_jobs; i++) {
        if (decision->verdicts[i].n_kept > 0) {
            return true;
        }
    }
    return false;
}

static void begin_turn(const struct nj_policy_input *input, struct nj_policy_decision *decision,
                       ptrdiff_t job, bool is_granted)
{
    decision->switches = true;
    decision->turn = (struct nj_policy_turn){
        .model = input->jobs[job].model, .began_at = input->steady, .is_granted = is_granted};
}

/* Whom the model gives way to, or NOBODY. */
static ptrdiff_t successor(const struct nj_policy_input *input, const struct candidates *found)
{
    int64_t lasted = input->steady - input->turn.began_at;
    if (input->turn.is_granted && lasted < input->limits.short_turn_seconds) {
        return NOBODY;
    }
    if (found->starved != NOBODY || found->other == NOBODY) {
        return found->starved;
    }
    int own = input->jobs[found->own].priority;
    int other = input->jobs[found->other].priority;
    bool is_over = lasted >= input->limits.turn_seconds;
    return other > own || (other == own && is_over) ? found->other : NOBODY;
}

static void drain(const struct nj_policy_input *input, struct nj_policy_decision *decision,
                  ptrdiff_t next, bool is_starved, int own_priority)
{
    struct nj_policy_turn *turn = &decision->turn;
    if (!turn->is_draining) {
        turn->is_draining = true;
        turn->drains_since = input->steady;
    }
    bool is_over = input->steady - turn->drains_since >= input->limits.drain_seconds;
    bool preempts = input->jobs[next].preempts && input->jobs[next].priority > own_priority;
    decision->next_job_id = input->jobs[next].job_id;
    if (is_over || preempts || !has_kept_places(input, decision)) {
        begin_turn(input, decision, next, is_starved);
    }
}

void nj_policy_choose_model(const struct nj_policy_input *input,
                            struct nj_policy_decision *decision)
{
    struct candidates found = find_candidates(input, decision);
    decision->turn = input->turn;
    decision->switches = false;
    decision->next_job_id = 0;
    if (found.own == NOBODY) { /* nothing to do here: whoever comes */
        bool is_starved = found.starved != NOBODY;
        decision->turn.is_draining = false;
        if (is_starved || found.other != NOBODY) {
            begin_turn(input, decision, is_starved ? found.starved : found.other, is_starved);
        }
        return;
    }
    ptrdiff_t next = successor(input, &found);
    if (next == NOBODY) {
        decision->turn.is_draining = false;
        return;
    }
    drain(input, decision, next, next == found.starved, input->jobs[found.own].priority);
}
