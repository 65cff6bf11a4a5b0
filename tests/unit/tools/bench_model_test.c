/* That the phases of a model's bench do the work they are named for, and that a report adds up.
 * Time is made up: rates are asserted nowhere else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "support/check.h"
#include "support/tiny_model.h"
#include "tools/bench_model_report.h"

static const char *t5_directory(void)
{
    static char path[256];
    if (path[0] == '\0') {
        (void)snprintf(path, sizeof path, "%s/t5", test_folder());
        CHECK_EQ(tiny_model_write(TINY_MODEL_T5, path), 0);
    }
    return path;
}

/* A microsecond passes whenever the clock is read. */
static uint64_t ticking_ns(void *context)
{
    uint64_t *ticks = context;
    *ticks += 1;
    return *ticks * 1000;
}

static uint64_t ticks;

static struct nj_bench_model_plan small_plan(void)
{
    struct nj_bench_model_plan plan = nj_bench_model_plan_for(true);
    plan.n_rounds = 1;
    plan.n_prompt_tokens = 40;
    plan.n_earlier = 5;
    plan.sample_ns = 20000;
    plan.clock.context = &ticks;
    plan.clock.monotonic_ns = ticking_ns;
    return plan;
}

static bool measure(struct nj_bench_model_report *report)
{
    struct nj_error err = {0};
    struct nj_bench_model_plan plan = small_plan();
    return CHECK_EQ(nj_bench_model_measure(t5_directory(), "auto", 1, &plan, report, &err),
                    NJ_OK);
}

static void every_phase_spends_all_of_its_time_on_named_operations(void)
{
    struct nj_bench_model_report report;
    REQUIRE(measure(&report));

    for (int phase = 0; phase < NJ_BENCH_PHASES; phase++) {
        double all = 0.0;
        for (int i = 0; i < NJ_OPERATIONS; i++) {
            all += nj_bench_phase_share(&report.phases[phase], (enum nj_operation)i);
        }
        CHECK(all > 0.999999 && all < 1.000001);
        CHECK(report.phases[phase].tokens_s.median > 0.0);
        CHECK(report.phases[phase].tokens_s.best >= report.phases[phase].tokens_s.median);
    }
    CHECK_EQ(report.phases[0].n_sequences, 0);
    CHECK_EQ(report.phases[NJ_BENCH_PHASES - 1].n_sequences, 32);
    CHECK_EQ(report.n_threads, 1);
}

/* With a clock that ticks at each lap, what is spent counts laps: T5 has three layers of delta
 * attention, two of latent attention and four with experts. */
static void laps_are_where_the_work_is(void)
{
    struct nj_bench_model_report report;
    REQUIRE(measure(&report));

    const uint64_t *spent_ns = report.phases[0].spent_ns;
    uint64_t a_layer = spent_ns[NJ_OPERATION_DELTA_STEP] / 3;
    CHECK(a_layer > 0);
    CHECK_EQ(spent_ns[NJ_OPERATION_CONVOLUTION], 3 * a_layer);
    CHECK_EQ(spent_ns[NJ_OPERATION_ATTENTION], 2 * a_layer);
    CHECK_EQ(spent_ns[NJ_OPERATION_ABSORPTION], 4 * a_layer);
    CHECK_EQ(spent_ns[NJ_OPERATION_ROUTING], 4 * a_layer);
    CHECK_EQ(spent_ns[NJ_OPERATION_COMBINATION], 4 * a_layer);
    CHECK_EQ(spent_ns[NJ_OPERATION_HEAD_PRODUCT], a_layer);
    CHECK_EQ(spent_ns[NJ_OPERATION_WAITING], 0);
}

static void operations_have_names_of_their_own(void)
{
    for (int i = 0; i < NJ_OPERATIONS; i++) {
        for (int j = 0; j < i; j++) {
            CHECK(strcmp(nj_operation_name((enum nj_operation)i),
                         nj_operation_name((enum nj_operation)j)) != 0);
        }
    }
}

static void a_model_that_is_not_there_is_an_error(void)
{
    struct nj_bench_model_report report;
    struct nj_error err = {0};
    struct nj_bench_model_plan plan = small_plan();

    CHECK_EQ(nj_bench_model_measure("/nowhere/at/all", "auto", 1, &plan, &report, &err),
             NJ_E_NOT_FOUND);
    CHECK_CONTAINS(err.text, "/nowhere/at/all");
}

static struct nj_bench_model_report made_up_report(void)
{
    struct nj_bench_model_report report = {
        .cpu_level = "avx2", .n_threads = 3, .weight_bytes = 1500000, .plan = small_plan()};
    report.phases[1].n_sequences = 1;
    report.phases[1].tokens_s = (struct nj_bench_figure){12.5, 13.5};
    report.phases[1].spent_ns[NJ_OPERATION_EXPERT_PRODUCTS] = 600;
    report.phases[1].spent_ns[NJ_OPERATION_NORM] = 300;
    report.phases[1].spent_ns[NJ_OPERATION_ATTENTION] = 100;
    return report;
}

static void a_printed_report_names_the_largest_share_that_is_no_product(void)
{
    struct nj_bench_model_report report = made_up_report();
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    REQUIRE(out != NULL);
    nj_bench_model_print(out, &report, "some/model", "a processor");
    CHECK_EQ(fclose(out), 0);

    CHECK_CONTAINS(text, "some/model, 1.5 MB of weights");
    CHECK_CONTAINS(text, "decode, 1 at once                  12.5       13.5");
    CHECK_CONTAINS(text, "expert products                  0.0    60.0     0.0     0.0");
    CHECK_CONTAINS(text, "largest besides products and delta step: norms, 30.0 %");
    CHECK(strstr(text, "residual mix") == NULL);
    free(text);
}

static void a_report_is_one_json_document_too(void)
{
    struct nj_bench_model_report report = made_up_report();
    struct nj_json_writer writer;
    struct nj_text text = {0};
    struct nj_error err = {0};
    nj_json_writer_init(&writer);
    nj_bench_model_write(&writer, &report, "some/model", "a processor");
    REQUIRE(nj_json_finish(&writer, &text, &err) == NJ_OK);

    CHECK_CONTAINS(writer.data, "\"model\":\"some/model\"");
    CHECK_CONTAINS(writer.data, "\"n_threads\":3");
    CHECK_CONTAINS(writer.data, "\"tokens_per_s\":12.5");
    CHECK_CONTAINS(writer.data, "\"expert products\":0.6");
    nj_json_writer_deinit(&writer);
}

int main(void)
{
    RUN(every_phase_spends_all_of_its_time_on_named_operations);
    RUN(laps_are_where_the_work_is);
    RUN(operations_have_names_of_their_own);
    RUN(a_model_that_is_not_there_is_an_error);
    RUN(a_printed_report_names_the_largest_share_that_is_no_product);
    RUN(a_report_is_one_json_document_too);
    return test_result();
}
