#include "queue/policy_parts.h"

/* Jobs of the model that has its turn, by rank. */
struct filling {
    const struct nj_policy_input *input;
    struct nj_policy_decision *decision;
    uint64_t n_free;
};

static bool is_of_the_model(const struct filling *filling, size_t job)
{
    return filling->input->jobs[job].model == filling->decision->turn.model;
}

static void take(struct filling *filling, size_t job, uint64_t n_items)
{
    filling->decision->verdicts[job].n_takes += n_items;
    filling->decision->n_takes += n_items;
    filling->n_free -= n_items;
}

/* Each that waited too long gets one place, so that it cannot hold up the others in turn. */
static void grant_to_starved(struct filling *filling)
{
    for (size_t i = 0; i < filling->input->n_jobs && filling->n_free > 0; i++) {
        size_t job = filling->decision->order[i];
        if (is_of_the_model(filling, job) &&
            nj_policy_is_starved(filling->input, filling->decision, job)) {
            filling->decision->verdicts[job].is_granted = true;
            take(filling, job, 1);
        }
    }
}

/* Of the places of lower priority that may be taken: the lowest rank, there the last begun. */
static bool find_victim(const struct filling *filling, int below_priority, size_t *place)
{
    const struct nj_policy_input *input = filling->input;
    bool is_found = false;
    for (size_t i = 0; i < input->n_taken; i++) {
        const struct nj_policy_place *one = &input->places[i];
        const struct nj_policy_job *job = &input->jobs[one->job];
        if (filling->decision->puts_down[i] || one->is_granted ||
            job->priority >= below_priority) {
            continue;
        }
        const struct nj_policy_place *best = &input->places[*place];
        const struct nj_policy_job *best_job = &input->jobs[best->job];
        bool is_later = one->job == best->job && one->claim_sequence > best->claim_sequence;
        if (!is_found || is_later ||
            (one->job != best->job && nj_policy_goes_before(input, best_job, job))) {
            *place = i;
            is_found = true;
        }
    }
    return is_found;
}

static void make_places(struct filling *filling, size_t job, uint64_t n_wanted)
{
    size_t place = 0;
    int priority = filling->input->jobs[job].priority;
    while (filling->n_free < n_wanted && find_victim(filling, priority, &place)) {
        struct nj_policy_verdict *loser =
            &filling->decision->verdicts[filling->input->places[place].job];
        filling->decision->puts_down[place] = true;
        loser->n_kept--;
        loser->n_put_down++;
        filling->n_free++;
    }
}

static void fill_by_rank(struct filling *filling)
{
    for (size_t i = 0; i < filling->input->n_jobs; i++) {
        size_t job = filling->decision->order[i];
        if (!is_of_the_model(filling, job) ||
            !nj_policy_is_runnable(filling->input, filling->decision, job)) {
            continue;
        }
        uint64_t n_wanted =
            filling->input->jobs[job].n_ready - filling->decision->verdicts[job].n_takes;
        if (filling->input->jobs[job].preempts) {
            make_places(filling, job, n_wanted);
        }
        take(filling, job, n_wanted < filling->n_free ? n_wanted : filling->n_free);
    }
}

void nj_policy_fill_places(const struct nj_policy_input *input,
                           struct nj_policy_decision *decision)
{
    uint64_t n_kept = 0;
    for (size_t i = 0; i < input->n_jobs; i++) {
        n_kept += decision->verdicts[i].n_kept;
    }
    /* A worker that was given fewer places than it had keeps what it has. */
    struct filling filling = {.input = input,
                              .decision = decision,
                              .n_free =
                                  input->n_places > n_kept ? input->n_places - n_kept : 0};
    grant_to_starved(&filling);
    fill_by_rank(&filling);
}
