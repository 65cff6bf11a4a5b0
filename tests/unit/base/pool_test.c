#include "base/pool.h"

#include <fenv.h>
#include <stdatomic.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "support/check.h"

enum { MANY_PIECES = 1000, MANY_RUNS = 3000 };

struct tally {
    atomic_uint n_calls[MANY_PIECES];
    atomic_uint n_bad_thread_indices;
    uint32_t n_threads;
};

static void count_piece(void *context, uint32_t piece, uint32_t thread_index)
{
    struct tally *tally = context;
    (void)atomic_fetch_add(&tally->n_calls[piece], 1);
    if (thread_index >= tally->n_threads) {
        (void)atomic_fetch_add(&tally->n_bad_thread_indices, 1);
    }
}

static void check_each_piece_once(uint32_t n_threads, uint32_t n_pieces)
{
    struct nj_pool *pool = NULL;
    struct nj_error error;
    struct tally *tally = calloc(1, sizeof *tally);
    REQUIRE(tally != NULL);
    tally->n_threads = n_threads;
    REQUIRE_OK(nj_pool_create(n_threads, &pool, &error), &error);

    nj_pool_run(pool, n_pieces, count_piece, tally);

    for (uint32_t piece = 0; piece < MANY_PIECES; piece++) {
        CHECK_EQ(atomic_load(&tally->n_calls[piece]), piece < n_pieces ? 1 : 0);
    }
    CHECK_EQ(atomic_load(&tally->n_bad_thread_indices), 0);
    nj_pool_destroy(pool);
    free(tally);
}

static void every_piece_runs_exactly_once_on_any_number_of_threads(void)
{
    const uint32_t n_threads[] = {1, 2, 3, 9};
    const uint32_t n_pieces[] = {0, 1, 2, 7, MANY_PIECES};
    for (size_t t = 0; t < sizeof n_threads / sizeof *n_threads; t++) {
        for (size_t p = 0; p < sizeof n_pieces / sizeof *n_pieces; p++) {
            check_each_piece_once(n_threads[t], n_pieces[p]);
        }
    }
}

static void add_one(void *context, uint32_t piece, uint32_t thread_index)
{
    (void)thread_index;
    uint32_t *values = context;
    values[piece]++;
}

/* Plain memory, no atomics: also shows that what a piece writes is visible after the run and
 * to the next run's piece, whichever threads they land on. */
static void many_short_runs_follow_each_other_without_losing_a_piece(void)
{
    struct nj_pool *pool = NULL;
    struct nj_error error;
    uint32_t values[5] = {0};
    REQUIRE_OK(nj_pool_create(3, &pool, &error), &error);

    for (uint32_t run = 0; run < MANY_RUNS; run++) {
        nj_pool_run(pool, 2 + run % 4, add_one, values);
    }

    CHECK_EQ(values[0], MANY_RUNS);
    CHECK_EQ(values[1], MANY_RUNS);
    CHECK_EQ(values[2], MANY_RUNS * 3 / 4);
    CHECK_EQ(values[3], MANY_RUNS / 2);
    CHECK_EQ(values[4], MANY_RUNS / 4);
    nj_pool_destroy(pool);
}

/* Each piece holds its thread until as many pieces run as there are threads. */
static void wait_for_company(void *context, uint32_t piece, uint32_t thread_index)
{
    atomic_uint *thread_is_here = context;
    (void)piece;
    atomic_store(&thread_is_here[thread_index], 1);
    while (atomic_load(&thread_is_here[0]) + atomic_load(&thread_is_here[1]) +
               atomic_load(&thread_is_here[2]) <
           3) {
    }
}

static void each_thread_takes_part_under_its_own_index(void)
{
    struct nj_pool *pool = NULL;
    struct nj_error error;
    atomic_uint thread_is_here[3] = {0};
    REQUIRE_OK(nj_pool_create(3, &pool, &error), &error);

    nj_pool_run(pool, 3, wait_for_company, thread_is_here);

    CHECK_EQ(nj_pool_n_threads(pool), 3);
    nj_pool_destroy(pool);
}

struct modes {
    atomic_uint thread_is_here[2];
    int rounding[2];
    int denormal_survives[2];
};

static void note_mode(void *context, uint32_t piece, uint32_t thread_index)
{
    struct modes *modes = context;
    (void)piece;
    volatile float smallest_normal = 0x1p-126F;
    volatile float half = smallest_normal * 0.5F;
    modes->denormal_survives[thread_index] = half + half == smallest_normal;
    modes->rounding[thread_index] = fegetround();
    atomic_store(&modes->thread_is_here[thread_index], 1);
    while (atomic_load(&modes->thread_is_here[0]) + atomic_load(&modes->thread_is_here[1]) <
           2) {
    }
}

static void set_hostile_mode(void)
{
    (void)fesetround(FE_UPWARD);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040U); /* flush to zero, denormals are zero */
#endif
}

static void check_hostile_mode_is_back(void)
{
    CHECK_EQ(fegetround(), FE_UPWARD);
#if defined(__x86_64__)
    CHECK_EQ(_mm_getcsr() & 0x8040U, 0x8040U);
#endif
}

static void pieces_round_to_nearest_with_denormals_and_the_caller_gets_its_mode_back(void)
{
    struct nj_pool *pool = NULL;
    struct nj_error error;
    struct modes modes = {{0}, {-1, -1}, {0, 0}};
    fenv_t before;
    (void)fegetenv(&before);
    set_hostile_mode(); /* threads inherit the mode of their maker */
    REQUIRE_OK(nj_pool_create(2, &pool, &error), &error);

    nj_pool_run(pool, 2, note_mode, &modes);

    check_hostile_mode_is_back();
    (void)fesetenv(&before);
    for (int thread = 0; thread < 2; thread++) {
        CHECK_EQ(modes.rounding[thread], FE_TONEAREST);
        CHECK(modes.denormal_survives[thread]);
    }
    nj_pool_destroy(pool);
}

static void note_lone_mode(void *context, uint32_t piece, uint32_t thread_index)
{
    (void)piece;
    (void)thread_index;
    int *rounding = context;
    *rounding = fegetround();
}

static void a_pool_of_one_thread_sets_and_restores_the_mode_too(void)
{
    struct nj_pool *pool = NULL;
    struct nj_error error;
    int rounding = -1;
    fenv_t before;
    (void)fegetenv(&before);
    REQUIRE_OK(nj_pool_create(1, &pool, &error), &error);
    set_hostile_mode();

    nj_pool_run(pool, 4, note_lone_mode, &rounding);

    check_hostile_mode_is_back();
    (void)fesetenv(&before);
    CHECK_EQ(rounding, FE_TONEAREST);
    nj_pool_destroy(pool);
}

static void zero_threads_means_one_per_processor(void)
{
    struct nj_pool *pool = NULL;
    struct nj_error error;
    REQUIRE_OK(nj_pool_create(0, &pool, &error), &error);
    CHECK(nj_pool_n_threads(pool) >= 1);
    nj_pool_destroy(pool);
}

static void an_absurd_number_of_threads_is_refused_with_the_limit(void)
{
    struct nj_pool *pool = NULL;
    struct nj_error error;
    CHECK_EQ(nj_pool_create(100000, &pool, &error), NJ_E_USAGE);
    CHECK_CONTAINS(error.text, "at most 1024");
    CHECK(pool == NULL);
}

static void a_pool_that_never_ran_can_be_destroyed(void)
{
    struct nj_pool *pool = NULL;
    struct nj_error error;
    REQUIRE_OK(nj_pool_create(4, &pool, &error), &error);
    nj_pool_destroy(pool);
    nj_pool_destroy(NULL);
}

int main(void)
{
    RUN(every_piece_runs_exactly_once_on_any_number_of_threads);
    RUN(many_short_runs_follow_each_other_without_losing_a_piece);
    RUN(each_thread_takes_part_under_its_own_index);
    RUN(pieces_round_to_nearest_with_denormals_and_the_caller_gets_its_mode_back);
    RUN(a_pool_of_one_thread_sets_and_restores_the_mode_too);
    RUN(zero_threads_means_one_per_processor);
    RUN(an_absurd_number_of_threads_is_refused_with_the_limit);
    RUN(a_pool_that_never_ran_can_be_destroyed);
    return test_result();
}
