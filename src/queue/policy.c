#include "queue/policy.h"

#include <assert.h>
#include <stdlib.h>

#include "queue/policy_parts.h"

static const int64_t minute_seconds = 60;
static const int64_t hour_seconds = 3600;

struct nj_policy_limits nj_policy_limits_default(void)
{
    return (struct nj_policy_limits){.turn_seconds = 2 * hour_seconds,
                                     .short_turn_seconds = 30 * minute_seconds,
                                     .drain_seconds = 30 * minute_seconds,
                                     .patience_seconds = 8 * hour_seconds,
                                     .near_deadline_seconds = 24 * hour_seconds};
}

bool nj_wait_counts(enum nj_wait wait)
{
    return wait == NJ_WAIT_PRIORITY || wait == NJ_WAIT_PLACE || wait == NJ_WAIT_MODEL;
}

const char *nj_wait_name(enum nj_wait wait)
{
    static const char *const names[] = {
        "none",       "paused",  "queue_paused", "parked", "drain",       "disk",
        "battery",    "guard",   "model_file",   "worker", "suspects",    "after",
        "unmeetable", "expired", "start",        "window", "window_ends", "retry",
        "priority",   "place",   "model",        "opening"};
    return names[wait];
}

/* --- rank and what is kept --- */

static int compare(const void *left, const void *right, void *context)
{
    const struct nj_policy_input *input = context;
    const struct nj_policy_job *a = &input->jobs[*(const size_t *)left];
    const struct nj_policy_job *b = &input->jobs[*(const size_t *)right];
    return nj_policy_goes_before(input, a, b) ? -1 : 1; /* no two jobs rank the same */
}

static void judge_all(const struct nj_policy_input *input, struct nj_policy_decision *decision)
{
    struct nj_policy_input unchanged = *input; /* qsort_r's context is not const */
    for (size_t i = 0; i < input->n_jobs; i++) {
        decision->verdicts[i] = nj_policy_judge(input, &input->jobs[i]);
        decision->order[i] = i;
    }
    qsort_r(decision->order, input->n_jobs, sizeof decision->order[0], compare, &unchanged);
    for (size_t i = 0; i < input->n_taken; i++) {
        struct nj_policy_verdict *verdict = &decision->verdicts[input->places[i].job];
        decision->puts_down[i] = !verdict->may_keep;
        verdict->n_kept += verdict->may_keep ? 1 : 0;
        verdict->n_put_down += verdict->may_keep ? 0 : 1;
    }
}

static void put_all_down(const struct nj_policy_input *input,
                         struct nj_policy_decision *decision)
{
    for (size_t i = 0; i < input->n_taken; i++) {
        struct nj_policy_verdict *verdict = &decision->verdicts[input->places[i].job];
        verdict->n_put_down += decision->puts_down[i] ? 0 : 1;
        verdict->n_kept = 0;
        decision->puts_down[i] = true;
    }
}

/* --- reasons --- */

/* The first of the jobs that have a place of the model whose turn it is, or the first that
 * could. */
static const struct nj_policy_job *leader(const struct nj_policy_input *input,
                                          const struct nj_policy_decision *decision)
{
    const struct nj_policy_job *first = NULL;
    for (size_t i = 0; i < input->n_jobs; i++) {
        size_t job = decision->order[i];
        const struct nj_policy_verdict *verdict = &decision->verdicts[job];
        if (verdict->n_kept + verdict->n_takes > 0) {
            return &input->jobs[job];
        }
        if (first == NULL && input->jobs[job].model == decision->turn.model &&
            nj_policy_is_runnable(input, decision, job)) {
            first = &input->jobs[job];
        }
    }
    return first;
}

static int64_t turn_end(const struct nj_policy_input *input,
                        const struct nj_policy_decision *decision)
{
    int64_t lasted = input->steady - decision->turn.began_at;
    int64_t left = input->limits.turn_seconds - lasted;
    return input->now + (left > 0 ? left : 0);
}

static void explain_waiting(const struct nj_policy_input *input,
                            const struct nj_policy_decision *decision,
                            const struct nj_policy_job *first, size_t job,
                            struct nj_policy_verdict *verdict)
{
    bool is_own = input->jobs[job].model == decision->turn.model;
    if (is_own && (input->n_places == 0 || decision->switches)) {
        verdict->wait = NJ_WAIT_OPENING;
        return;
    }
    verdict->job_id = first == NULL ? 0 : first->job_id;
    if (is_own && decision->turn.is_draining) {
        verdict->wait = NJ_WAIT_MODEL;
        verdict->job_id = decision->next_job_id;
    } else if (first != NULL && first->priority > input->jobs[job].priority) {
        verdict->wait = NJ_WAIT_PRIORITY;
    } else if (is_own) {
        verdict->wait = NJ_WAIT_PLACE;
    } else {
        verdict->wait = NJ_WAIT_MODEL;
        verdict->until = turn_end(input, decision);
    }
}

/* A job that may run and has no place: is it held up by others, or by itself? */
static void explain_all(const struct nj_policy_input *input,
                        struct nj_policy_decision *decision)
{
    const struct nj_policy_job *first = leader(input, decision);
    for (size_t i = 0; i < input->n_jobs; i++) {
        struct nj_policy_verdict *verdict = &decision->verdicts[i];
        if (!verdict->may_take || verdict->n_kept + verdict->n_takes > 0) {
            continue;
        }
        if (input->jobs[i].n_ready + verdict->n_put_down > 0) {
            explain_waiting(input, decision, first, i, verdict);
        } else if (input->jobs[i].retry_at != INT64_MAX) {
            verdict->wait = NJ_WAIT_RETRY;
            verdict->until = input->jobs[i].retry_at;
        }
    }
}

/* --- when to look again --- */

static void sooner(int64_t now, int64_t instant, int64_t *look_again_at)
{
    if (instant > now && instant < *look_again_at) {
        *look_again_at = instant;
    }
}

static void look_for_job(const struct nj_policy_input *input, size_t i,
                         const struct nj_policy_verdict *verdict, int64_t *look_again_at)
{
    const struct nj_policy_job *job = &input->jobs[i];
    int64_t now = input->now;
    sooner(now, job->start_at, look_again_at);
    sooner(now, job->deadline, look_again_at);
    sooner(now, job->retry_at, look_again_at);
    sooner(now, job->held_until, look_again_at);
    sooner(now, job->hours.is_open ? job->hours.closes_at : job->hours.opens_at, look_again_at);
    if (nj_wait_counts(verdict->wait)) {
        sooner(now, now + input->limits.patience_seconds - job->waited_seconds, look_again_at);
        sooner(now, verdict->until, look_again_at);
    }
}

static int64_t next_look(const struct nj_policy_input *input,
                         const struct nj_policy_decision *decision)
{
    int64_t look_again_at = INT64_MAX;
    const struct nj_policy_turn *turn = &decision->turn;
    for (size_t i = 0; i < input->n_jobs; i++) {
        look_for_job(input, i, &decision->verdicts[i], &look_again_at);
    }
    if (turn->is_draining) {
        int64_t end = turn->drains_since + input->limits.drain_seconds - input->steady;
        sooner(input->now, input->now + end, &look_again_at);
    }
    if (turn->is_granted) {
        int64_t end = turn->began_at + input->limits.short_turn_seconds - input->steady;
        sooner(input->now, input->now + end, &look_again_at);
    }
    return look_again_at;
}

void nj_policy_decide(const struct nj_policy_input *input, struct nj_policy_decision *decision)
{
    decision->n_takes = 0;
    judge_all(input, decision);
    nj_policy_choose_model(input, decision);
    if (decision->switches) {
        put_all_down(input, decision);
    } else if (!decision->turn.is_draining) {
        nj_policy_fill_places(input, decision);
    }
    explain_all(input, decision);
    decision->look_again_at = next_look(input, decision);
    assert(decision->n_takes <= input->n_places);
}
