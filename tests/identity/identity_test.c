/* What a sequence chooses, and the bits of its log probabilities, in every company.
 *
 *     identity_test MODEL [long | LEVEL]
 *
 * MODEL is t13 or fledgling. By default every value of every setting occurs, not every
 * combination; `long` runs them all. With a CPU level only that level is compared with the one
 * the machine would choose, which is what the negative control runs.
 */
#include <stdio.h>
#include <string.h>

#include "identity/crowd.h"
#include "identity/near_tie_list.h"
#include "identity/probes.h"
#include "identity/subject.h"
#include "kernels/kernels.h"
#include "support/check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const uint32_t batches[] = {1, 2, 16, 44, 128};
static const uint32_t chunks[] = {1, 3, 17, 64, 0};
enum { MOST_THREADS = 3, LEAST_BUSY_BATCH = 16 };

static struct {
    const char *name;
    const char *directory;
    struct probe_list probes;
    uint32_t n_compared; /* transcripts */
} suite;

/* Each probe alone in its generator: what every other run must repeat. */
static void run_alone(void)
{
    static const struct crowd_setting alone = {.batch = 1};
    struct nj_model *model = subject_open(suite.directory, "auto", 1);
    struct crowd_report report;
    for (uint32_t i = 0; i < suite.probes.n; i++) {
        struct probe *probe = &suite.probes.probes[i];
        crowd_run(model, &alone, probe, 1, &probe->alone, &report);
    }
    nj_model_close(model);
}

static bool is_same(const struct transcript *a, const struct transcript *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void compare(const struct crowd_setting *setting, const struct transcript *transcripts)
{
    for (uint32_t i = 0; i < suite.probes.n; i++) {
        suite.n_compared += 1;
        if (!is_same(&transcripts[i], &suite.probes.probes[i].alone)) {
            test_fail(__FILE__, __LINE__, "probe %u differs: batch %u, chunk %u, seed %llu", i,
                      setting->batch, setting->prefill_chunk,
                      (unsigned long long)setting->seed);
        }
    }
}

static void check_setting(struct nj_model *model, const struct crowd_setting *setting)
{
    static struct transcript transcripts[PROBES_LIMIT];
    struct crowd_report report;

    crowd_run(model, setting, suite.probes.probes, suite.probes.n, transcripts, &report);

    compare(setting, transcripts);
    if (setting->batch >= LEAST_BUSY_BATCH) {
        CHECK(report.n_failed > 0);
        CHECK(report.n_cancelled > 0);
    }
    CHECK(!setting->restarts || report.n_restarts > 2 * suite.probes.n);
}

static void check_on(const char *level, uint32_t n_threads,
                     const struct crowd_setting *settings, size_t n_settings)
{
    struct nj_model *model = subject_open(suite.directory, level, n_threads);
    for (size_t i = 0; i < n_settings; i++) {
        check_setting(model, &settings[i]);
    }
    nj_model_close(model);
}

static void the_probes_are_worth_comparing(void)
{
    CHECK(suite.probes.n_near_ties > 0);
    const struct probe *samples = &suite.probes.probes[2];
    CHECK(!is_same(&samples[0].alone, &samples[1].alone));
    CHECK(!is_same(&samples[1].alone, &samples[2].alone));
    for (uint32_t i = 0; i < suite.probes.n; i++) {
        CHECK(suite.probes.probes[i].alone.n_tokens > 0);
    }
}

static void near_ties_choose_what_the_golden_says(void)
{
    static struct near_tie_list ties;
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/tests/golden/identity_near_ties_%s.txt",
                   test_source_directory(), suite.name);
    near_tie_list_read(&ties, path);
    const struct probe *probes =
        suite.probes.probes + suite.probes.n - suite.probes.n_near_ties;
    for (uint32_t i = 0; i < suite.probes.n_near_ties; i++) {
        CHECK_EQ(probes[i].alone.tokens[0], ties.ties[i].best);
    }
}

static void one_thread_in_any_batch_equals_a_run_alone(void)
{
    static const struct crowd_setting settings[] = {
        {.batch = 1, .prefill_chunk = 17, .seed = 1},
        {.batch = 2, .prefill_chunk = 1, .seed = 2},
        {.batch = 16, .prefill_chunk = 64, .seed = 3},
        {.batch = 44, .prefill_chunk = 0, .seed = 4},
        {.batch = 128, .prefill_chunk = 3, .seed = 5}};
    check_on("auto", 1, settings, COUNT(settings));
}

static void two_threads_in_any_batch_equal_a_run_alone(void)
{
    static const struct crowd_setting settings[] = {
        {.batch = 1, .prefill_chunk = 3, .seed = 6},
        {.batch = 2, .prefill_chunk = 0, .seed = 7},
        {.batch = 44, .prefill_chunk = 1, .seed = 8},
        {.batch = 128, .prefill_chunk = 17, .seed = 9}};
    check_on("auto", 2, settings, COUNT(settings));
}

static void three_threads_in_any_batch_equal_a_run_alone(void)
{
    static const struct crowd_setting settings[] = {
        {.batch = 2, .prefill_chunk = 64, .seed = 10},
        {.batch = 16, .prefill_chunk = 3, .seed = 11},
        {.batch = 128, .prefill_chunk = 0, .seed = 12}};
    check_on("auto", 3, settings, COUNT(settings));
}

static void experts_in_any_order_equal_a_run_alone(void)
{
    static const struct crowd_setting settings[] = {
        {.batch = 1, .shuffles_experts = true, .seed = 13},
        {.batch = 16, .prefill_chunk = 17, .shuffles_experts = true, .seed = 14},
        {.batch = 128, .shuffles_experts = true, .seed = 15}};
    check_on("auto", 2, settings, COUNT(settings));
}

static void probes_restarted_at_every_token_equal_those_that_never_stopped(void)
{
    static const struct crowd_setting settings[] = {
        {.batch = 1, .restarts = true, .seed = 16},
        {.batch = 16, .prefill_chunk = 17, .restarts = true, .seed = 17}};
    check_on("auto", 2, settings, COUNT(settings));
}

static void check_level(enum nj_cpu_level level)
{
    /* Few strangers: level scalar is a hundred times slower than the fastest. */
    static const struct crowd_setting setting = {
        .batch = 3, .prefill_chunk = 17, .shuffles_experts = true, .seed = 18};
    if (nj_cpu_level_is_available(level)) {
        check_on(nj_cpu_level_name(level), 2, &setting, 1);
    } else {
        (void)printf("    not on this machine: %s\n", nj_cpu_level_name(level));
    }
}

static void every_instruction_set_here_equals_a_run_alone(void)
{
    for (int level = NJ_CPU_SCALAR; level < NJ_CPU_LEVELS; level++) {
        check_level((enum nj_cpu_level)level);
    }
}

static void level_scalar_equals_a_run_alone(void)
{
    check_level(NJ_CPU_SCALAR);
}

/* Every batch with every chunk, experts shuffled in every other run, restarts in every third.
 */
static void check_all_settings(const char *level, uint32_t n_threads)
{
    struct nj_model *model = subject_open(suite.directory, level, n_threads);
    uint64_t seed = 1000 * (uint64_t)n_threads;
    for (size_t b = 0; b < COUNT(batches); b++) {
        for (size_t c = 0; c < COUNT(chunks); c++) {
            struct crowd_setting setting = {.batch = batches[b],
                                            .prefill_chunk = chunks[c],
                                            .shuffles_experts = seed % 2 == 0,
                                            .restarts = seed % 3 == 0,
                                            .seed = seed};
            check_setting(model, &setting);
            seed += 1;
        }
    }
    nj_model_close(model);
}

static void all_settings_at_every_level_and_thread_count_equal_a_run_alone(void)
{
    for (int level = NJ_CPU_SCALAR; level < NJ_CPU_LEVELS; level++) {
        for (uint32_t n = 1; n <= MOST_THREADS; n++) {
            if (nj_cpu_level_is_available((enum nj_cpu_level)level)) {
                check_all_settings(nj_cpu_level_name((enum nj_cpu_level)level), n);
            }
        }
    }
}

static void run_default(void)
{
    RUN(one_thread_in_any_batch_equals_a_run_alone);
    RUN(two_threads_in_any_batch_equal_a_run_alone);
    RUN(three_threads_in_any_batch_equal_a_run_alone);
    RUN(experts_in_any_order_equal_a_run_alone);
    RUN(probes_restarted_at_every_token_equal_those_that_never_stopped);
    RUN(every_instruction_set_here_equals_a_run_alone);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) {
        subject_die("usage", "identity_test MODEL [long | scalar]");
    }
    suite.name = argv[1];
    suite.directory = subject_directory(argv[1]);
    probes_read(&suite.probes, argv[1]);
    run_alone();
    RUN(the_probes_are_worth_comparing);
    RUN(near_ties_choose_what_the_golden_says);
    if (argc == 2) {
        run_default();
    } else if (strcmp(argv[2], "long") == 0) {
        RUN(all_settings_at_every_level_and_thread_count_equal_a_run_alone);
    } else {
        RUN(level_scalar_equals_a_run_alone);
    }
    (void)printf("    %u transcripts compared\n", suite.n_compared);
    return test_result();
}
