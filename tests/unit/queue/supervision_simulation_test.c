/* Nights with poisoned items, kills from outside and batches that are too wide: every innocent
 * item finishes, every poisoned one is parked and nobody else, in few deaths. */
#include <signal.h>
#include <string.h>

#include "base/random.h"
#include "queue/supervision.h"
#include "support/check.h"

enum {
    N_NIGHTS = 300,
    ITEMS_LIMIT = 40,
    PLACES_LIMIT = 16,
    MOST_ATTEMPTS = 3,
    DEATHS_LIMIT = 2000,
    DEATHS_OF_ONE = 4 + MOST_ATTEMPTS + 1,  /* halvings of 16, and its attempts */
    DEATHS_OF_WIDTHS = 5 * 2 * PLACES_LIMIT /* a search for each width that is too much */
};

struct item {
    bool is_poisoned; /* crashes its worker in the first sweep of every try */
    bool has_ended;
    bool is_parked;
    unsigned sweeps_left;
    uint32_t n_attempts;
};

struct night {
    struct item items[ITEMS_LIMIT];
    size_t n_items;
    size_t most_together; /* a wider batch dies of its memory */
    size_t n_places;
    unsigned kill_percent; /* of sweeps, from outside */
    size_t n_own_deaths;
    size_t n_kills;
    uint64_t draws;
    struct nj_supervision *supervision;
};

static unsigned draw(struct night *night, unsigned below)
{
    return (unsigned)(nj_draw_uniform(11, 0, night->draws++, 3) * below);
}

static void begin_night(struct night *night, uint64_t number)
{
    struct nj_supervision_limits limits = nj_supervision_limits_default();
    *night = (struct night){.draws = number << 32};
    night->n_items = 1 + draw(night, ITEMS_LIMIT);
    night->n_places = 1 + draw(night, PLACES_LIMIT);
    night->most_together = draw(night, 3) == 0 ? 1 + draw(night, PLACES_LIMIT) : PLACES_LIMIT;
    night->kill_percent = draw(night, 3) * 10;
    for (size_t i = 0; i < night->n_items; i++) {
        night->items[i] = (struct item){.is_poisoned = draw(night, 12) == 0,
                                        .sweeps_left = 1 + draw(night, 9)};
    }
    CHECK_EQ(nj_supervision_create(&limits, &night->supervision, NULL), NJ_OK);
}

static bool is_open(const struct night *night, uint64_t item)
{
    return !night->items[item].has_ended && !night->items[item].is_parked;
}

static size_t add(struct night *night, uint64_t item, struct nj_suspect *batch, size_t n_batch)
{
    if (is_open(night, item) && n_batch < night->n_places &&
        n_batch < nj_supervision_most_places(night->supervision)) {
        night->items[item].n_attempts++;
        batch[n_batch++] = (struct nj_suspect){1, item, MOST_ATTEMPTS};
    }
    return n_batch;
}

/* What the daemon does: those on trial and nobody else, or the next ones. */
static size_t claim(struct night *night, struct nj_suspect *batch)
{
    size_t n_trial = 0;
    size_t n_batch = 0;
    const struct nj_suspect *trial = nj_supervision_trial(night->supervision, &n_trial);
    for (size_t i = 0; i < n_trial; i++) {
        CHECK(is_open(night, trial[i].item_index));
        n_batch = add(night, trial[i].item_index, batch, n_batch);
    }
    for (uint64_t i = 0; i < night->n_items && trial == NULL; i++) {
        n_batch = add(night, i, batch, n_batch);
    }
    return n_batch;
}

static struct nj_death fate(struct night *night, const struct nj_suspect *batch, size_t n_batch)
{
    if (draw(night, 100) < night->kill_percent) {
        return (struct nj_death){NJ_DEATH_KILLED, SIGKILL};
    }
    if (n_batch > night->most_together) {
        return (struct nj_death){NJ_DEATH_MEMORY, SIGKILL};
    }
    for (size_t i = 0; i < n_batch; i++) {
        if (night->items[batch[i].item_index].is_poisoned) {
            return (struct nj_death){NJ_DEATH_CRASH, SIGSEGV};
        }
    }
    return (struct nj_death){NJ_DEATH_DONE, 0};
}

/* Everyone who ended leaves the batch, and the supervision. */
static size_t sweep(struct night *night, struct nj_suspect *batch, size_t n_batch)
{
    size_t n_left = 0;
    nj_supervision_swept(night->supervision, batch, n_batch);
    for (size_t i = 0; i < n_batch; i++) {
        struct item *item = &night->items[batch[i].item_index];
        item->n_attempts = 0;
        if (--item->sweeps_left == 0) {
            item->has_ended = true;
            nj_supervision_ended(night->supervision, 1, batch[i].item_index);
        } else {
            batch[n_left++] = batch[i];
        }
    }
    return n_left;
}

static void settle_attempts(struct night *night, const struct nj_suspect *batch, size_t n_batch,
                            bool counts)
{
    for (size_t i = 0; i < n_batch && !counts; i++) {
        struct item *item = &night->items[batch[i].item_index];
        item->n_attempts -= item->n_attempts > 0 ? 1 : 0;
    }
}

static void bury(struct night *night, const struct nj_death *death,
                 const struct nj_suspect *batch, size_t n_batch)
{
    struct nj_supervision_answer answer;
    CHECK_EQ(nj_supervision_died(night->supervision, death, batch, n_batch,
                                 night->items[batch[0].item_index].n_attempts, 0, &answer,
                                 NULL),
             NJ_OK);
    night->n_kills += death->kind == NJ_DEATH_KILLED ? 1 : 0;
    night->n_own_deaths += death->kind == NJ_DEATH_KILLED ? 0 : 1;
    settle_attempts(night, batch, n_batch, answer.counts);
    if (answer.verdict == NJ_VERDICT_PARK_ITEM) {
        night->items[answer.parked.item_index].is_parked = true;
    } else {
        CHECK_EQ(answer.verdict, NJ_VERDICT_RESTART);
    }
}

/* The life of one worker: sweeps until it dies or has nothing to do. */
static bool run_worker(struct night *night)
{
    struct nj_suspect batch[PLACES_LIMIT];
    size_t n_batch = claim(night, batch);
    if (n_batch == 0) {
        return false;
    }
    while (n_batch > 0) {
        struct nj_death death = fate(night, batch, n_batch);
        if (death.kind != NJ_DEATH_DONE) {
            bury(night, &death, batch, n_batch);
            return true;
        }
        n_batch = sweep(night, batch, n_batch);
        size_t n_trial = 0;
        if (n_batch > 0 && nj_supervision_trial(night->supervision, &n_trial) != NULL) {
            return true; /* another group's turn, or the same again: put down and claimed anew
                          */
        }
    }
    return true;
}

static void check_night(struct night *night)
{
    size_t n_poisoned = 0;
    for (size_t i = 0; i < night->n_items; i++) {
        const struct item *item = &night->items[i];
        CHECK_EQ(item->is_parked, item->is_poisoned);
        CHECK_EQ(item->has_ended, !item->is_poisoned);
        n_poisoned += item->is_poisoned ? 1 : 0;
    }
    CHECK(night->n_own_deaths <= n_poisoned * DEATHS_OF_ONE + DEATHS_OF_WIDTHS);
}

static void nights_end_with_the_poisoned_items_parked_and_no_others(void)
{
    size_t n_deaths = 0;
    size_t n_kills = 0;
    for (uint64_t number = 0; number < N_NIGHTS; number++) {
        struct night night;
        size_t n_workers = 0;
        begin_night(&night, number);
        while (n_workers < DEATHS_LIMIT && run_worker(&night)) {
            n_workers++;
        }
        CHECK(n_workers < DEATHS_LIMIT);
        check_night(&night);
        n_deaths += night.n_own_deaths;
        n_kills += night.n_kills;
        nj_supervision_destroy(night.supervision);
    }
    CHECK(n_deaths > 1000 && n_kills > 1000);
}

int main(void)
{
    RUN(nights_end_with_the_poisoned_items_parked_and_no_others);
    return test_result();
}
