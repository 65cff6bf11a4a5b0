#include "queue/policy_parts.h"

static struct nj_policy_verdict waits(enum nj_wait wait, int64_t until, bool keeps)
{
    return (struct nj_policy_verdict){.wait = wait, .until = until, .may_keep = keeps};
}

/* A job that finishes in spite of its window, and has begun, has none any more. */
static bool obeys_window(const struct nj_policy_job *job)
{
    return job->on_window_end != NJ_WINDOW_END_FINISH_JOB || !job->has_begun;
}

static struct nj_policy_verdict judge_window(const struct nj_policy_input *input,
                                             const struct nj_policy_job *job)
{
    bool keeps = job->on_window_end != NJ_WINDOW_END_PAUSE;
    if (!job->hours.is_open || job->hours.closes_at <= input->now) {
        return waits(NJ_WAIT_WINDOW, job->hours.opens_at, keeps);
    }
    if (!nj_schedule_leaves(&job->hours, input->now, job->sweep_ns)) {
        return waits(NJ_WAIT_WINDOW_ENDS, job->hours.opens_at, keeps);
    }
    return waits(NJ_WAIT_NONE, INT64_MAX, true);
}

static struct nj_policy_verdict judge_dependency(const struct nj_policy_job *job)
{
    bool is_open = job->dependency == NJ_DEPENDENCY_OPEN;
    struct nj_policy_verdict verdict =
        waits(is_open ? NJ_WAIT_AFTER : NJ_WAIT_UNMEETABLE, INT64_MAX, false);
    verdict.job_id = job->awaited_job_id;
    return verdict;
}

struct nj_policy_verdict nj_policy_judge(const struct nj_policy_input *input,
                                         const struct nj_policy_job *job)
{
    if (job->deadline <= input->now) {
        return waits(NJ_WAIT_EXPIRED, INT64_MAX, false);
    }
    if (job->held != NJ_WAIT_NONE) {
        return waits(job->held, job->held_until, job->held_items_finish);
    }
    if (job->dependency != NJ_DEPENDENCY_MET) {
        return judge_dependency(job);
    }
    if (job->start_at > input->now) {
        return waits(NJ_WAIT_START, job->start_at, false);
    }
    struct nj_policy_verdict verdict = waits(NJ_WAIT_NONE, INT64_MAX, true);
    if (obeys_window(job)) {
        verdict = judge_window(input, job);
    }
    verdict.may_take = verdict.wait == NJ_WAIT_NONE;
    return verdict;
}

static bool has_near_deadline(const struct nj_policy_input *input,
                              const struct nj_policy_job *job)
{
    return job->deadline != INT64_MAX &&
           job->deadline - input->now <= input->limits.near_deadline_seconds;
}

bool nj_policy_goes_before(const struct nj_policy_input *input, const struct nj_policy_job *a,
                           const struct nj_policy_job *b)
{
    if (a->priority != b->priority) {
        return a->priority > b->priority;
    }
    int64_t deadline_a = has_near_deadline(input, a) ? a->deadline : INT64_MAX;
    int64_t deadline_b = has_near_deadline(input, b) ? b->deadline : INT64_MAX;
    if (deadline_a != deadline_b) {
        return deadline_a < deadline_b;
    }
    return a->job_id < b->job_id;
}

bool nj_policy_is_runnable(const struct nj_policy_input *input,
                           const struct nj_policy_decision *decision, size_t job)
{
    return decision->verdicts[job].may_take && input->jobs[job].n_ready > 0;
}

bool nj_policy_is_starved(const struct nj_policy_input *input,
                          const struct nj_policy_decision *decision, size_t job)
{
    return nj_policy_is_runnable(input, decision, job) && decision->verdicts[job].n_kept == 0 &&
           input->jobs[job].waited_seconds >= input->limits.patience_seconds;
}
