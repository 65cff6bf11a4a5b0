/* Ten thousand random events: jobs of four models arrive, are paused, wait for hours and for
 * each other, their items run, fail and finish. Nothing starves, nothing runs twice, and models
 * change no more often than the rules give reason to. */
#include "queue/policy.h"

#include <string.h>

#include "base/random.h"
#include "support/check.h"

enum {
    N_EVENTS = 10000,
    N_LAST_STEPS = 20 * N_EVENTS, /* until all is done, far more than are needed */
    JOBS_LIMIT = 600,
    ITEMS_LIMIT = 12,
    PLACES_LIMIT = 8,
    N_MODELS = 4,
    SWEEP_SECONDS = 90
};

static const int64_t hour = 3600;

enum item_state { READY, RUNNING, WAITING, DONE };

struct item {
    enum item_state state;
    int64_t retry_at;
    unsigned sweeps_left;
};

struct sim_job {
    struct nj_policy_job policy; /* the constant part */
    struct item items[ITEMS_LIMIT];
    size_t n_items;
    size_t n_done;
    size_t awaited;  /* index, or SIZE_MAX */
    bool is_nightly; /* open in every other half of a day */
    bool has_ended;
    int64_t waits_since; /* steady; INT64_MAX: does not */
};

struct sim_place {
    size_t job;
    size_t item;
    uint64_t claim_sequence;
    bool is_granted;
};

struct sim {
    struct sim_job jobs[JOBS_LIMIT];
    size_t n_jobs;
    struct sim_place places[PLACES_LIMIT];
    size_t n_taken;
    uint32_t n_places;
    struct nj_policy_turn turn;
    int64_t now;
    uint64_t claims;
    uint64_t draws;
    size_t n_switches;
    size_t n_urgent; /* arrivals that may bring another model up before its turn */
    int64_t longest_wait;
    /* What the policy is handed, and its answer. */
    struct nj_policy_job handed[JOBS_LIMIT];
    size_t job_of[JOBS_LIMIT];
    size_t n_handed;
    struct nj_policy_place handed_places[PLACES_LIMIT];
    struct nj_policy_verdict verdicts[JOBS_LIMIT];
    size_t order[JOBS_LIMIT];
    bool puts_down[PLACES_LIMIT];
};

static unsigned draw(struct sim *sim, unsigned below)
{
    return (unsigned)(nj_draw_uniform(7, 0, sim->draws++, 9) * below);
}

/* --- events --- */

static void submit(struct sim *sim)
{
    if (sim->n_jobs == JOBS_LIMIT) {
        return;
    }
    struct sim_job *job = &sim->jobs[sim->n_jobs];
    *job = (struct sim_job){.n_items = 1 + draw(sim, ITEMS_LIMIT),
                            .awaited = SIZE_MAX,
                            .is_nightly = draw(sim, 4) == 0,
                            .waits_since = INT64_MAX};
    job->policy = (struct nj_policy_job){.job_id = sim->n_jobs + 1,
                                         .model = (int32_t)draw(sim, N_MODELS),
                                         .priority = (int)draw(sim, 3) - 1,
                                         .preempts = draw(sim, 8) == 0,
                                         .start_at = sim->now + (int64_t)draw(sim, 2) * 600,
                                         .deadline = INT64_MAX,
                                         .on_window_end = (enum nj_window_end)draw(sim, 3),
                                         .sweep_ns = SWEEP_SECONDS * UINT64_C(1000000000),
                                         .held_until = INT64_MAX};
    if (draw(sim, 10) == 0) {
        job->policy.deadline = sim->now + hour * (int64_t)(1 + draw(sim, 200));
    }
    if (sim->n_jobs > 0 && draw(sim, 5) == 0) {
        job->awaited = draw(sim, (unsigned)sim->n_jobs);
    }
    for (size_t i = 0; i < job->n_items; i++) {
        job->items[i] = (struct item){.sweeps_left = 1 + draw(sim, 12)};
    }
    sim->n_urgent++;
    sim->n_jobs++;
}

static void toggle_pause(struct sim *sim)
{
    struct sim_job *job = &sim->jobs[draw(sim, (unsigned)sim->n_jobs)];
    bool was_paused = job->policy.held == NJ_WAIT_PAUSED;
    job->policy.held = was_paused ? NJ_WAIT_NONE : NJ_WAIT_PAUSED;
    job->policy.held_items_finish = draw(sim, 2) == 0;
    sim->n_urgent++;
}

static void free_place(struct sim *sim, size_t place)
{
    sim->places[place] = sim->places[--sim->n_taken];
}

/* Each running item gets a sweep; some finish, some fail and are tried again later. */
static void sweep(struct sim *sim)
{
    sim->now += SWEEP_SECONDS;
    for (size_t i = sim->n_taken; i-- > 0;) {
        struct sim_job *job = &sim->jobs[sim->places[i].job];
        struct item *item = &job->items[sim->places[i].item];
        CHECK(item->state == RUNNING);
        if (draw(sim, 60) == 0) {
            *item = (struct item){.state = WAITING,
                                  .retry_at = sim->now + 30 + draw(sim, 300),
                                  .sweeps_left = item->sweeps_left};
            sim->n_urgent++;
            free_place(sim, i);
        } else if (--item->sweeps_left == 0) {
            item->state = DONE;
            job->n_done++;
            free_place(sim, i);
        }
    }
}

/* --- what the policy is handed --- */

static struct nj_schedule_state hours_of(const struct sim *sim, const struct sim_job *job)
{
    int64_t half_day = sim->now / (12 * hour);
    int64_t next = (half_day + 1) * 12 * hour;
    if (!job->is_nightly) {
        return (struct nj_schedule_state){true, 0, INT64_MAX, INT64_MAX};
    }
    return half_day % 2 == 0 ? (struct nj_schedule_state){true, 0, next, next + 12 * hour}
                             : (struct nj_schedule_state){false, 0, 0, next};
}

static void count_items(const struct sim *sim, const struct sim_job *job,
                        struct nj_policy_job *handed)
{
    handed->n_ready = 0;
    handed->retry_at = INT64_MAX;
    for (size_t i = 0; i < job->n_items; i++) {
        const struct item *item = &job->items[i];
        bool is_due = item->state == WAITING && item->retry_at <= sim->now;
        handed->n_ready += item->state == READY || is_due ? 1 : 0;
        if (item->state == WAITING && !is_due && item->retry_at < handed->retry_at) {
            handed->retry_at = item->retry_at;
        }
    }
}

static void hand_job(struct sim *sim, size_t index)
{
    struct sim_job *job = &sim->jobs[index];
    struct nj_policy_job *handed = &sim->handed[sim->n_handed];
    *handed = job->policy;
    handed->hours = hours_of(sim, job);
    handed->waited_seconds = job->waits_since == INT64_MAX ? 0 : sim->now - job->waits_since;
    if (job->awaited != SIZE_MAX && !sim->jobs[job->awaited].has_ended) {
        handed->dependency = NJ_DEPENDENCY_OPEN;
    }
    count_items(sim, job, handed);
    sim->job_of[sim->n_handed++] = index;
}

static void hand_all(struct sim *sim)
{
    sim->n_handed = 0;
    for (size_t i = 0; i < sim->n_jobs; i++) {
        sim->jobs[i].has_ended =
            sim->jobs[i].has_ended || sim->jobs[i].n_done == sim->jobs[i].n_items;
        if (!sim->jobs[i].has_ended) {
            hand_job(sim, i);
        }
    }
    for (size_t i = 0; i < sim->n_taken; i++) {
        size_t job = 0;
        while (sim->job_of[job] != sim->places[i].job) {
            job++;
        }
        sim->handed_places[i] = (struct nj_policy_place){job, sim->places[i].claim_sequence,
                                                         sim->places[i].is_granted};
    }
}

/* --- carrying out what it says --- */

static void put_down(struct sim *sim)
{
    for (size_t i = sim->n_taken; i-- > 0;) {
        if (sim->puts_down[i]) {
            sim->jobs[sim->places[i].job].items[sim->places[i].item].state = READY;
            free_place(sim, i);
        }
    }
}

static void claim(struct sim *sim, size_t index, const struct nj_policy_verdict *verdict)
{
    struct sim_job *job = &sim->jobs[index];
    uint64_t n_left = verdict->n_takes;
    for (size_t i = 0; i < job->n_items && n_left > 0; i++) {
        struct item *item = &job->items[i];
        bool is_due = item->state == WAITING && item->retry_at <= sim->now;
        if (item->state != READY && !is_due) {
            continue;
        }
        CHECK(sim->n_taken < sim->n_places);
        item->state = RUNNING;
        sim->places[sim->n_taken++] = (struct sim_place){
            index, i, ++sim->claims, verdict->is_granted && n_left == verdict->n_takes};
        n_left--;
    }
    CHECK_EQ(n_left, 0);
    job->policy.has_begun = job->policy.has_begun || verdict->n_takes > 0;
}

static void note_waiting(struct sim *sim, size_t index, const struct nj_policy_verdict *verdict)
{
    struct sim_job *job = &sim->jobs[index];
    bool is_served = verdict->n_kept + verdict->n_takes > 0 || job->has_ended;
    if (!is_served && nj_wait_counts(verdict->wait)) {
        job->waits_since = job->waits_since == INT64_MAX ? sim->now : job->waits_since;
    } else if (is_served || verdict->wait != NJ_WAIT_OPENING) {
        job->waits_since = INT64_MAX; /* the time before counts no more */
    }
    if (job->waits_since != INT64_MAX && sim->now - job->waits_since > sim->longest_wait) {
        sim->longest_wait = sim->now - job->waits_since;
    }
}

static struct nj_policy_decision decide(struct sim *sim)
{
    hand_all(sim);
    struct nj_policy_input input = {.jobs = sim->handed,
                                    .n_jobs = sim->n_handed,
                                    .places = sim->handed_places,
                                    .n_taken = sim->n_taken,
                                    .n_places = sim->n_places,
                                    .now = sim->now,
                                    .steady = sim->now,
                                    .turn = sim->turn,
                                    .limits = nj_policy_limits_default()};
    struct nj_policy_decision decision = {
        .verdicts = sim->verdicts, .order = sim->order, .puts_down = sim->puts_down};
    nj_policy_decide(&input, &decision);
    return decision;
}

static void check_decision(const struct sim *sim, const struct nj_policy_decision *decision)
{
    for (size_t i = 0; i < sim->n_handed; i++) {
        const struct nj_policy_verdict *verdict = &sim->verdicts[i];
        bool is_of_the_model = sim->handed[i].model == decision->turn.model;
        CHECK(verdict->n_takes == 0 || (is_of_the_model && verdict->may_take));
        bool has_place = verdict->n_kept + verdict->n_takes > 0;
        CHECK(has_place || verdict->wait != NJ_WAIT_NONE);
        CHECK(!has_place || is_of_the_model);
    }
    CHECK(decision->look_again_at > sim->now);
}

static void step(struct sim *sim)
{
    struct nj_policy_decision decision = decide(sim);
    check_decision(sim, &decision);
    put_down(sim);
    for (size_t i = 0; i < sim->n_handed; i++) {
        note_waiting(sim, sim->job_of[i], &sim->verdicts[i]);
        if (sim->verdicts[i].wait == NJ_WAIT_EXPIRED) {
            sim->jobs[sim->job_of[i]].has_ended = true;
        } else {
            claim(sim, sim->job_of[i], &sim->verdicts[i]);
        }
    }
    sim->turn = decision.turn;
    if (decision.switches) {
        CHECK_EQ(sim->n_taken, 0);
        sim->n_switches++;
        sim->n_places = 0;
    } else if (sim->turn.model != NJ_NO_MODEL) {
        sim->n_places = PLACES_LIMIT; /* the worker has opened the model */
    }
    if (sim->n_taken == 0 && decision.n_takes == 0 && !decision.switches &&
        decision.look_again_at != INT64_MAX) {
        sim->now = decision.look_again_at; /* nothing runs: sleep */
    } else {
        sweep(sim);
    }
}

static size_t n_open(const struct sim *sim)
{
    size_t n = 0;
    for (size_t i = 0; i < sim->n_jobs; i++) {
        n += sim->jobs[i].n_done < sim->jobs[i].n_items && !sim->jobs[i].has_ended ? 1 : 0;
    }
    return n;
}

static struct sim simulation;

static void resume_all(struct sim *sim)
{
    for (size_t i = 0; i < sim->n_jobs; i++) {
        sim->jobs[i].policy.held = NJ_WAIT_NONE;
    }
}

static void ten_thousand_events_starve_nobody_and_run_nothing_twice(void)
{
    struct sim *sim = &simulation;
    *sim = (struct sim){.now = 1000000, .turn = {.model = NJ_NO_MODEL}};
    submit(sim);
    for (size_t event = 0; event < N_EVENTS; event++) {
        unsigned kind = draw(sim, 40);
        if (kind < 2) {
            submit(sim);
        } else if (kind == 2) {
            toggle_pause(sim);
        } else {
            step(sim);
        }
    }
    resume_all(sim);
    for (size_t i = 0; i < N_LAST_STEPS && n_open(sim) > 0; i++) {
        step(sim);
    }
    CHECK_EQ(n_open(sim), 0);
    CHECK(sim->n_jobs > 400);

    /* Each of the other models may come first, with a drain and a turn of its own. */
    struct nj_policy_limits limits = nj_policy_limits_default();
    int64_t bound = limits.patience_seconds +
                    N_MODELS * (limits.short_turn_seconds + limits.drain_seconds) +
                    (int64_t)ITEMS_LIMIT * SWEEP_SECONDS * JOBS_LIMIT / PLACES_LIMIT;
    CHECK(sim->longest_wait <= bound);
    /* A switch needs an arrival, a pause, a failure or a turn that is over. */
    size_t n_turns = (size_t)((sim->now - 1000000) / limits.short_turn_seconds);
    CHECK(sim->n_switches <= 2 * sim->n_urgent + n_turns);
    CHECK(sim->n_switches > 50);
}

int main(void)
{
    RUN(ten_thousand_events_starve_nobody_and_run_nothing_twice);
    return test_result();
}
