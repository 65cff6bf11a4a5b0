/* One layer of every kind at the widths of the released model, against the oracle: sizes that
 * overflow only show there.
 *
 *     wide_test                  against tests/golden/identity_wide.json
 *     wide_test --dump FILE      writes every logit (little-endian F32) for wide_model.py
 * compare
 *
 * Three tokens in one sweep: KDA and the dense feed-forward, MLA and 16 of 896 experts, output
 * head.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "identity/subject.h"
#include "identity/wide_model.h"
#include "identity/wide_stream.h"
#include "model/state.h"
#include "model/sweep.h"
#include "support/check.h"

enum { N_ROWS = 3, MOST_CHOSEN = 16, MOE_LAYER = 1, MOST_PEAK_MEBIBYTES = 1024 };

/* Of the range of what is compared, as for the small models. */
static const double tolerance = 2e-5;

static struct {
    struct wide_model weights;
    struct nj_model *model;
    struct nj_state *state;
    float *logits; /* (N_ROWS, vocabulary) */
    uint32_t experts[N_ROWS][MOST_CHOSEN];
    float expert_weights[N_ROWS][MOST_CHOSEN];
    struct nj_arena arena;
    struct nj_json *document;
    const struct nj_json_value *golden;
} wide;

static const nj_token ids[N_ROWS] = {5, 90001, 163839};

static void open_model(void)
{
    struct nj_model_options options = {
        .path = test_folder(), .n_threads = 2, .max_rows = N_ROWS};
    struct nj_error error;
    wide_model_create(&wide.weights, test_folder());
    wide_stream_use(&wide.weights);
    if (nj_model_open(&options, &wide.model, &error) != NJ_OK ||
        nj_state_create(nj_model_dims(wide.model), NULL, &wide.state, &error) != NJ_OK) {
        subject_die("open the wide model", error.text);
    }
    wide.logits =
        calloc((size_t)N_ROWS * nj_model_n_vocabulary(wide.model), sizeof *wide.logits);
    if (wide.logits == NULL) {
        subject_die("memory", "none left");
    }
}

static void see_routing(void *context, uint32_t layer, uint32_t row, const uint32_t *experts,
                        const float *weights, uint32_t n_chosen)
{
    (void)context;
    if (layer == MOE_LAYER && n_chosen == MOST_CHOSEN) {
        memcpy(wide.experts[row], experts, sizeof wide.experts[row]);
        memcpy(wide.expert_weights[row], weights, sizeof wide.expert_weights[row]);
    }
}

static void run(void)
{
    static const struct nj_sweep_hooks hooks = {.on_routing = see_routing};
    struct nj_row rows[N_ROWS];
    struct nj_error error;
    for (uint32_t i = 0; i < N_ROWS; i++) {
        rows[i] = (struct nj_row){
            .state = wide.state, .position = i, .token = ids[i], .wants_logits = true};
    }
    if (nj_sweep_run(wide.model, rows, N_ROWS, &hooks, wide.logits, &error) != NJ_OK) {
        subject_die("sweep", error.text);
    }
}

static void read_golden(void)
{
    char path[4096];
    struct nj_bytes content;
    struct nj_error error;
    (void)snprintf(path, sizeof path, "%s/tests/golden/identity_wide.json",
                   test_source_directory());
    if (nj_file_read_whole(nj_file_system_real(), AT_FDCWD, path, 1 << 20, &wide.arena,
                           &content, &error) != NJ_OK) {
        subject_die("golden", error.text);
    }
    struct nj_text text = {(const char *)content.data, content.length_bytes};
    if (nj_json_parse(text, path, &wide.document, &error) != NJ_OK) {
        subject_die("golden", error.text);
    }
    wide.golden = nj_json_root(wide.document);
}

static double number_at(const struct nj_json_value *array, size_t i)
{
    double value = 0.0;
    if (!nj_json_as_number(nj_json_at(array, i), &value)) {
        subject_die("golden", "an entry is not a number");
    }
    return value;
}

/* The largest difference between every stride-th value and the golden's, relative to `range`,
 * or to the golden's largest magnitude when that is 0. */
static double difference(const char *key, const float *values, size_t n_values, double range)
{
    const struct nj_json_value *sample = nj_json_get(wide.golden, key);
    const struct nj_json_value *wanted = nj_json_get(sample, "values");
    int64_t stride = 0;
    if (!nj_json_as_integer(nj_json_get(sample, "stride"), &stride) || stride < 1 ||
        nj_json_count(wanted) != (n_values + (size_t)stride - 1) / (size_t)stride) {
        subject_die("golden", key);
    }
    double largest = 0.0;
    double magnitude = 0.0;
    for (size_t i = 0; i < nj_json_count(wanted); i++) {
        double value = number_at(wanted, i);
        double apart = fabs((double)values[i * (size_t)stride] - value);
        largest = apart > largest || isnan(apart) ? apart : largest;
        magnitude = fabs(value) > magnitude ? fabs(value) : magnitude;
    }
    double relative = largest / (range > 0.0 ? range : magnitude);
    (void)printf("    %s: %zu values, largest difference %.2g\n", key, nj_json_count(wanted),
                 relative);
    return relative;
}

static void the_recurrent_state_of_96_heads_is_the_oracles(void)
{
    const struct nj_dims *dims = nj_model_dims(wide.model);
    uint64_t n_values = (uint64_t)dims->n_delta_heads * dims->n_delta * dims->n_delta;
    uint64_t n_with_history = 0;
    const float *recurrent = nj_state_recurrent(wide.state, 0, &n_with_history);

    CHECK(n_with_history > n_values);
    CHECK(difference("recurrent", recurrent, n_values, 0.0) < tolerance);
}

static void the_latents_kept_for_attention_are_the_oracles(void)
{
    const struct nj_dims *dims = nj_model_dims(wide.model);
    const float *page = nj_state_page(wide.state, MOE_LAYER, 0);

    CHECK(difference("latent", page, (size_t)N_ROWS * (dims->kv_rank + dims->n_rope), 0.0) <
          tolerance);
}

static void sixteen_of_896_experts_are_the_oracles(void)
{
    const struct nj_json_value *experts = nj_json_get(wide.golden, "experts");
    const struct nj_json_value *weights = nj_json_get(wide.golden, "expert_weights");
    for (uint32_t row = 0; row < N_ROWS; row++) {
        for (uint32_t slot = 0; slot < MOST_CHOSEN; slot++) {
            CHECK_EQ(wide.experts[row][slot], number_at(nj_json_at(experts, row), slot));
            CHECK_NEAR((double)wide.expert_weights[row][slot],
                       number_at(weights, row * MOST_CHOSEN + slot), tolerance);
        }
    }
}

static void logits_of_the_whole_vocabulary_are_the_oracles(void)
{
    size_t n_vocabulary = nj_model_n_vocabulary(wide.model);
    const struct nj_json_value *best = nj_json_get(wide.golden, "argmax");
    double range = 0.0;
    REQUIRE(nj_json_as_number(nj_json_get(wide.golden, "logit_range"), &range));

    CHECK(difference("logits", wide.logits, N_ROWS * n_vocabulary, range) < tolerance);
    for (uint32_t row = 0; row < N_ROWS; row++) {
        nj_token second = 0;
        CHECK_EQ(
            subject_best(wide.logits + row * n_vocabulary, (uint32_t)n_vocabulary, &second),
            number_at(best, row));
    }
}

static void only_what_is_read_was_ever_in_memory(void)
{
    struct wide_stream_report report = wide_stream_report();
    (void)printf("    %llu records, %llu MiB drawn, at most %llu MiB held\n",
                 (unsigned long long)report.n_pins,
                 (unsigned long long)(report.drawn_bytes >> 20),
                 (unsigned long long)(report.peak_bytes >> 20));
    CHECK_EQ(report.held_bytes, 0);
    CHECK(report.peak_bytes >> 20 < MOST_PEAK_MEBIBYTES);
}

static void dump(const char *path)
{
    size_t n_values = (size_t)N_ROWS * nj_model_n_vocabulary(wide.model);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(wide.logits, sizeof *wide.logits, n_values, file) != n_values ||
        fclose(file) != 0) {
        subject_die(path, "cannot be written");
    }
}

static void compare(void)
{
    read_golden();
    RUN(the_recurrent_state_of_96_heads_is_the_oracles);
    RUN(the_latents_kept_for_attention_are_the_oracles);
    RUN(sixteen_of_896_experts_are_the_oracles);
    RUN(logits_of_the_whole_vocabulary_are_the_oracles);
    RUN(only_what_is_read_was_ever_in_memory);
    nj_json_destroy(wide.document);
    nj_arena_deinit(&wide.arena);
}

int main(int argc, char **argv)
{
    bool is_dump = argc == 3 && strcmp(argv[1], "--dump") == 0;
    if (argc != 1 && !is_dump) {
        subject_die("usage", "wide_test [--dump FILE]");
    }
    open_model();
    run();
    if (is_dump) {
        dump(argv[2]);
    } else {
        compare();
    }
    nj_state_destroy(wide.state);
    nj_model_close(wide.model);
    free(wide.logits);
    wide_model_destroy(&wide.weights);
    return is_dump ? 0 : test_result();
}
