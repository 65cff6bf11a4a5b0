/* Compares the engine with what an independent implementation recorded, and with itself.
 *
 *     golden_test GOLDEN.json MODEL [LEVEL]
 *
 * MODEL is a directory, or t5, t13, t5e or kl5 for a tiny model made on the spot. The golden's
 * format is in tests/oracle/README.md. Against the oracle there is a tolerance; against itself,
 * over chunks, threads, instruction sets and company, there is none.
 *
 * With a CPU level, only what was recorded about single positions is compared, at that level
 * and fed a few tokens at a time: what an error that was made on purpose must not survive.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/value_types.h"
#include "kernels/kernels.h"
#include "model/model.h"
#include "model/state.h"
#include "model/sweep.h"
#include "support/check.h"
#include "support/tiny_model.h"

/* Of the range between the largest and the smallest logit. */
static const double tolerance = 2e-5;
enum { MAX_ROWS = 256, SHORT_CHUNK = 5, SEQUENCES_LIMIT = 64, PATH_BYTES = 4096 };

struct token_list {
    nj_token *ids;
    uint32_t n;
};

struct sequence {
    struct token_list ids;
    struct token_list argmax; /* n is 0 when the golden has none */
    bool *is_skipped;         /* (ids.n) */
    double logit_range;
    const struct nj_json_value *logits;
    float *ours; /* (ids.n, vocabulary): the run that is compared with everything */
};

struct greedy {
    struct token_list prompt;
    struct token_list continuation;
};

static struct {
    const char *directory;
    struct nj_arena arena;
    struct nj_json *document;
    const struct nj_json_value *root;
    double latent_norm_eps;
    struct sequence sequences[SEQUENCES_LIMIT];
    uint32_t n_sequences;
    struct greedy greedy[SEQUENCES_LIMIT];
    uint32_t n_greedy;
    uint32_t n_vocabulary;
} golden;

static void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "golden_test: %s: %s\n", what, why);
    exit(1);
}

static void *take(size_t count, size_t item_bytes)
{
    void *memory = nj_arena_take_array(&golden.arena, count, item_bytes);
    if (memory == NULL) {
        die("memory", "none left");
    }
    return memory;
}

static struct nj_model *open_model(const char *level, uint32_t n_threads)
{
    struct nj_model_options options = {.path = golden.directory,
                                       .cpu_level = level,
                                       .n_threads = n_threads,
                                       .max_rows = MAX_ROWS,
                                       .latent_norm_eps = golden.latent_norm_eps};
    struct nj_model *model = NULL;
    struct nj_error error;
    if (nj_model_open(&options, &model, &error) != NJ_OK) {
        die("open model", error.text);
    }
    return model;
}

static struct nj_state *make_state(struct nj_model *model)
{
    struct nj_state *state = NULL;
    struct nj_error error;
    if (nj_state_create(nj_model_dims(model), nj_model_budget(model), &state, &error) !=
        NJ_OK) {
        die("create state", error.text);
    }
    return state;
}

static void sweep(struct nj_model *model, const struct nj_row *rows, uint32_t n_rows,
                  float *logits)
{
    struct nj_error error;
    if (nj_sweep_run(model, rows, n_rows, NULL, logits, &error) != NJ_OK) {
        die("sweep", error.text);
    }
}

/* Appends rows of one sequence to a row list; all of them want logits. */
static uint32_t add_rows(struct nj_row *rows, uint32_t n_rows, struct nj_state *state,
                         const nj_token *ids, uint32_t n)
{
    uint32_t length = nj_state_length(state);
    for (uint32_t i = 0; i < n; i++) {
        rows[n_rows + i] = (struct nj_row){
            .state = state, .position = length + i, .token = ids[i], .wants_logits = true};
    }
    return n_rows + n;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Feeds ids to an empty state in chunks; logits (n, vocabulary). */
static void feed_state(struct nj_model *model, struct nj_state *state,
                       const struct token_list *ids, uint32_t chunk, float *logits)
{
    struct nj_row rows[MAX_ROWS];
    for (uint32_t done = 0; done < ids->n;) {
        uint32_t n = smaller(smaller(chunk, MAX_ROWS), ids->n - done);
        (void)add_rows(rows, 0, state, ids->ids + done, n);
        sweep(model, rows, n, logits + (size_t)done * golden.n_vocabulary);
        done += n;
    }
}

static void feed(struct nj_model *model, const struct token_list *ids, uint32_t chunk,
                 float *logits)
{
    struct nj_state *state = make_state(model);
    feed_state(model, state, ids, chunk, logits);
    nj_state_destroy(state);
}

static nj_token best_token(const float *logits)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < golden.n_vocabulary; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return (nj_token)best;
}

static float *new_logits(uint32_t n)
{
    float *logits = calloc((size_t)n * golden.n_vocabulary, sizeof *logits);
    if (logits == NULL) {
        die("memory", "none left");
    }
    return logits;
}

/* ---- the golden file ---- */

static struct token_list read_tokens(const struct nj_json_value *array)
{
    struct token_list list = {.n = (uint32_t)nj_json_count(array)};
    list.ids = take(list.n, sizeof *list.ids);
    for (uint32_t i = 0; i < list.n; i++) {
        int64_t id = -1;
        if (!nj_json_as_integer(nj_json_at(array, i), &id)) {
            die("golden", "a token id is not an integer");
        }
        list.ids[i] = (nj_token)id;
    }
    return list;
}

static void read_sequence(const struct nj_json_value *value, struct sequence *sequence)
{
    sequence->ids = read_tokens(nj_json_get(value, "ids"));
    sequence->argmax = read_tokens(nj_json_get(value, "argmax"));
    sequence->logits = nj_json_get(value, "logits");
    sequence->is_skipped = take(sequence->ids.n, sizeof *sequence->is_skipped);
    if (sequence->logits != NULL &&
        !nj_json_as_number(nj_json_get(value, "logit_range"), &sequence->logit_range)) {
        die("golden", "a sequence has no logit_range");
    }
    const struct nj_json_value *skipped = nj_json_get(value, "skipped");
    for (size_t i = 0; i < nj_json_count(skipped); i++) {
        int64_t position = -1;
        if (!nj_json_as_integer(nj_json_get(nj_json_at(skipped, i), "position"), &position) ||
            position < 0 || position >= (int64_t)sequence->ids.n) {
            die("golden", "a skipped position is out of range");
        }
        sequence->is_skipped[position] = true;
    }
}

static void read_golden(const char *path)
{
    struct nj_error error;
    struct nj_bytes content;
    if (nj_file_read_whole(nj_file_system_real(), AT_FDCWD, path, 256 << 20, &golden.arena,
                           &content, &error) != NJ_OK) {
        die("golden", error.text);
    }
    struct nj_text text = {(const char *)content.data, content.length_bytes};
    if (nj_json_parse(text, path, &golden.document, &error) != NJ_OK) {
        die("golden", error.text);
    }
    golden.root = nj_json_root(golden.document);
    (void)nj_json_as_number(nj_json_get(golden.root, "latent_norm_eps"),
                            &golden.latent_norm_eps);
    const struct nj_json_value *sequences = nj_json_get(golden.root, "sequences");
    const struct nj_json_value *greedy = nj_json_get(golden.root, "greedy");
    golden.n_sequences = (uint32_t)nj_json_count(sequences);
    golden.n_greedy = (uint32_t)nj_json_count(greedy);
    if (golden.n_sequences > SEQUENCES_LIMIT || golden.n_greedy > SEQUENCES_LIMIT) {
        die("golden", "more sequences than this test has room for");
    }
    for (uint32_t i = 0; i < golden.n_sequences; i++) {
        read_sequence(nj_json_at(sequences, i), &golden.sequences[i]);
    }
    for (uint32_t i = 0; i < golden.n_greedy; i++) {
        const struct nj_json_value *value = nj_json_at(greedy, i);
        golden.greedy[i].prompt = read_tokens(nj_json_get(value, "prompt"));
        golden.greedy[i].continuation = read_tokens(nj_json_get(value, "continuation"));
    }
}

/* ---- against the oracle ---- */

static void the_golden_was_recorded_from_this_config(void)
{
    struct nj_text wanted;
    if (!nj_json_as_text(nj_json_get(golden.root, "config_sha256"), &wanted)) {
        test_fail(__FILE__, __LINE__, "the golden names no config");
        return;
    }
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/config.json", golden.directory);
    struct nj_error error;
    struct nj_bytes content;
    struct nj_digest digest;
    char hex[NJ_DIGEST_HEX_BYTES];
    REQUIRE_OK(nj_file_read_whole(nj_file_system_real(), AT_FDCWD, path, 1 << 20, &golden.arena,
                                  &content, &error),
               &error);
    REQUIRE_OK(nj_digest_of(content, &digest, &error), &error);

    nj_digest_to_hex(&digest, hex);

    CHECK(nj_text_equals(wanted, hex));
}

static void the_best_next_token_is_the_oracles_at_every_position(void)
{
    uint32_t n_compared = 0;
    uint32_t n_skipped = 0;
    for (uint32_t i = 0; i < golden.n_sequences; i++) {
        const struct sequence *sequence = &golden.sequences[i];
        for (uint32_t position = 0; position < sequence->argmax.n; position++) {
            const float *logits = sequence->ours + (size_t)position * golden.n_vocabulary;
            n_compared += 1;
            n_skipped += sequence->is_skipped[position];
            if (!sequence->is_skipped[position] &&
                best_token(logits) != sequence->argmax.ids[position]) {
                test_fail(__FILE__, __LINE__, "sequence %u, position %u: %d instead of %d", i,
                          position, best_token(logits), sequence->argmax.ids[position]);
            }
        }
    }
    CHECK(n_compared > 0);
    CHECK(n_skipped * 100 <= n_compared);
}

/* The largest difference of one position relative to the sequence's range. */
static double position_difference(const struct sequence *sequence, struct nj_text key,
                                  const struct nj_json_value *wanted)
{
    uint32_t position = (uint32_t)strtoul(key.data, NULL, 10);
    if (position >= sequence->ids.n || nj_json_count(wanted) != golden.n_vocabulary) {
        die("golden", "logits of a position that there is none of");
    }
    const float *logits = sequence->ours + (size_t)position * golden.n_vocabulary;
    double largest = 0.0;
    for (uint32_t i = 0; i < golden.n_vocabulary; i++) {
        double value = 0.0;
        (void)nj_json_as_number(nj_json_at(wanted, i), &value);
        double difference = fabs((double)logits[i] - value);
        largest = difference > largest || isnan(difference) ? difference : largest;
    }
    return largest / sequence->logit_range;
}

static void logits_differ_from_the_oracles_by_less_than_2e_5_of_their_range(void)
{
    double largest = 0.0;
    uint32_t n_positions = 0;
    for (uint32_t i = 0; i < golden.n_sequences; i++) {
        const struct sequence *sequence = &golden.sequences[i];
        struct nj_text key;
        for (size_t j = 0;; j++) {
            const struct nj_json_value *wanted = nj_json_member(sequence->logits, j, &key);
            if (wanted == NULL) {
                break;
            }
            double difference = position_difference(sequence, key, wanted);
            largest = difference > largest || isnan(difference) ? difference : largest;
            n_positions += 1;
        }
    }
    (void)printf("    largest difference %.2g of the range, %u positions\n", largest,
                 n_positions);
    CHECK(n_positions > 0);
    CHECK(largest < tolerance);
}

static void greedy_continuations_are_the_oracles(void)
{
    struct nj_model *model = open_model("auto", 1);
    struct nj_state *states[SEQUENCES_LIMIT] = {NULL};
    nj_token next[SEQUENCES_LIMIT] = {0};
    struct nj_row rows[MAX_ROWS];
    float *logits = new_logits(MAX_ROWS);
    for (uint32_t i = 0; i < golden.n_greedy; i++) {
        const struct token_list *prompt = &golden.greedy[i].prompt;
        states[i] = make_state(model);
        sweep(model, rows, add_rows(rows, 0, states[i], prompt->ids, prompt->n), logits);
        next[i] = best_token(logits + (size_t)(prompt->n - 1) * golden.n_vocabulary);
    }
    uint32_t n_steps = golden.n_greedy > 0 ? golden.greedy[0].continuation.n : 0;
    uint32_t n_wrong = 0;
    for (uint32_t step = 0; step < n_steps; step++) {
        uint32_t n_rows = 0;
        for (uint32_t i = 0; i < golden.n_greedy; i++) {
            n_wrong += next[i] != golden.greedy[i].continuation.ids[step];
            n_rows = add_rows(rows, n_rows, states[i], &next[i], 1);
        }
        sweep(model, rows, n_rows, logits);
        for (uint32_t i = 0; i < golden.n_greedy; i++) {
            next[i] = best_token(logits + (size_t)i * golden.n_vocabulary);
        }
    }
    for (uint32_t i = 0; i < golden.n_greedy; i++) {
        nj_state_destroy(states[i]);
    }
    free(logits);
    nj_model_close(model);

    CHECK(n_steps > 0);
    CHECK_EQ(n_wrong, 0);
}

/* ---- against itself, by bits ---- */

/* Feeds every sequence in chunks and compares with the one-chunk logits. */
static void check_equal(struct nj_model *model, uint32_t chunk)
{
    for (uint32_t i = 0; i < golden.n_sequences; i++) {
        const struct sequence *sequence = &golden.sequences[i];
        float *logits = new_logits(sequence->ids.n);
        feed(model, &sequence->ids, chunk, logits);
        CHECK_BYTES(logits, sequence->ours,
                    (size_t)sequence->ids.n * golden.n_vocabulary * sizeof *logits);
        free(logits);
    }
}

static void token_by_token_equals_one_chunk_by_bits(void)
{
    struct nj_model *model = open_model("auto", 1);

    check_equal(model, 1);

    nj_model_close(model);
}

static void chunks_of_3_17_and_64_equal_one_chunk_by_bits(void)
{
    struct nj_model *model = open_model("auto", 1);

    check_equal(model, 3);
    check_equal(model, 17);
    check_equal(model, 64);

    nj_model_close(model);
}

/* Feeds the first `n` ids afresh: the last logits must be those of the longer run. */
static void recomputing_a_prefix_equals_going_on_by_bits(void)
{
    struct nj_model *model = open_model("auto", 1);
    const struct sequence *sequence = &golden.sequences[0];
    float *logits = new_logits(sequence->ids.n);
    for (uint32_t n = 1; n <= sequence->ids.n; n += 3) {
        struct token_list prefix = {sequence->ids.ids, n};
        size_t last = (size_t)(n - 1) * golden.n_vocabulary;

        feed(model, &prefix, n, logits);

        CHECK_BYTES(logits + last, sequence->ours + last, golden.n_vocabulary * sizeof *logits);
    }
    free(logits);
    nj_model_close(model);
}

static void two_and_three_threads_equal_one_by_bits(void)
{
    for (uint32_t n_threads = 2; n_threads <= 3; n_threads++) {
        struct nj_model *model = open_model("auto", n_threads);

        check_equal(model, MAX_ROWS);
        check_equal(model, 1);

        nj_model_close(model);
    }
}

static void every_instruction_set_here_equals_scalar_by_bits(void)
{
    for (int level = NJ_CPU_SCALAR; level < NJ_CPU_LEVELS; level++) {
        const char *name = nj_cpu_level_name((enum nj_cpu_level)level);
        if (!nj_cpu_level_is_available((enum nj_cpu_level)level)) {
            (void)printf("    not on this machine: %s\n", name);
            continue;
        }
        struct nj_model *model = open_model(name, 1);

        check_equal(model, MAX_ROWS);
        check_equal(model, 5);

        nj_model_close(model);
    }
}

/* Every sequence advances by its own number of rows a sweep, until it has no more. */
static void sequences_in_company_equal_sequences_alone_by_bits(void)
{
    struct nj_model *model = open_model("auto", 2);
    struct nj_state *states[SEQUENCES_LIMIT] = {NULL};
    float *logits = new_logits(MAX_ROWS);
    struct nj_row rows[MAX_ROWS];
    uint32_t longest = 0;
    for (uint32_t i = 0; i < golden.n_sequences; i++) {
        states[i] = make_state(model);
        longest = golden.sequences[i].ids.n > longest ? golden.sequences[i].ids.n : longest;
    }
    for (uint32_t round = 0; round < longest; round++) {
        uint32_t n_rows = 0;
        uint32_t counts[SEQUENCES_LIMIT] = {0};
        for (uint32_t i = 0; i < golden.n_sequences; i++) {
            const struct token_list *ids = &golden.sequences[i].ids;
            uint32_t done = nj_state_length(states[i]);
            counts[i] = smaller(smaller(1 + (i + round) % 5, ids->n - done), MAX_ROWS - n_rows);
            n_rows = add_rows(rows, n_rows, states[i], ids->ids + done, counts[i]);
        }
        if (n_rows == 0) {
            break;
        }
        sweep(model, rows, n_rows, logits);
        const float *row_logits = logits;
        for (uint32_t i = 0; i < golden.n_sequences; i++) {
            size_t done = nj_state_length(states[i]) - counts[i];
            size_t n_values = (size_t)counts[i] * golden.n_vocabulary;
            CHECK_BYTES(row_logits, golden.sequences[i].ours + done * golden.n_vocabulary,
                        n_values * sizeof *logits);
            row_logits += n_values;
        }
    }
    for (uint32_t i = 0; i < golden.n_sequences; i++) {
        nj_state_destroy(states[i]);
    }
    free(logits);
    nj_model_close(model);
}

/* ---- */

static const char *model_directory(const char *argument)
{
    static char directory[PATH_BYTES];
    for (int kind = 0; kind < TINY_MODEL_COUNT; kind++) {
        if (strcmp(argument, tiny_model_name((enum tiny_model_kind)kind)) == 0) {
            (void)snprintf(directory, sizeof directory, "%s/%s", test_folder(), argument);
            if (tiny_model_write((enum tiny_model_kind)kind, directory) != 0) {
                die("write tiny model", directory);
            }
            return directory;
        }
    }
    return argument;
}

/* All sequences one after another in the same state, so that emptying one counts too. */
static void run_reference(const char *level, uint32_t chunk)
{
    struct nj_model *model = open_model(level, 1);
    struct nj_state *state = make_state(model);
    golden.n_vocabulary = nj_model_n_vocabulary(model);
    for (uint32_t i = 0; i < golden.n_sequences; i++) {
        struct sequence *sequence = &golden.sequences[i];
        sequence->ours = new_logits(sequence->ids.n);
        nj_state_reset(state);
        feed_state(model, state, &sequence->ids, chunk, sequence->ours);
    }
    nj_state_destroy(state);
    nj_model_close(model);
}

static void compare_positions(const char *level)
{
    run_reference(level, SHORT_CHUNK);
    RUN(logits_differ_from_the_oracles_by_less_than_2e_5_of_their_range);
    RUN(the_best_next_token_is_the_oracles_at_every_position);
}

/* Recordings of foreign programs say less; their models' bits are compared elsewhere. */
static bool is_complete(void)
{
    return golden.n_sequences > 0 && golden.sequences[0].argmax.n > 0;
}

static bool has_logits(void)
{
    return golden.n_sequences > 0 && golden.sequences[0].logits != NULL;
}

static void release(void)
{
    for (uint32_t i = 0; i < golden.n_sequences; i++) {
        free(golden.sequences[i].ours);
    }
    nj_json_destroy(golden.document);
    nj_arena_deinit(&golden.arena);
}

static void compare_everything(void)
{
    run_reference("auto", MAX_ROWS);
    RUN(the_golden_was_recorded_from_this_config);
    if (has_logits()) {
        RUN(logits_differ_from_the_oracles_by_less_than_2e_5_of_their_range);
    }
    RUN(greedy_continuations_are_the_oracles);
    if (is_complete()) {
        RUN(the_best_next_token_is_the_oracles_at_every_position);
        RUN(token_by_token_equals_one_chunk_by_bits);
        RUN(chunks_of_3_17_and_64_equal_one_chunk_by_bits);
        RUN(recomputing_a_prefix_equals_going_on_by_bits);
        RUN(two_and_three_threads_equal_one_by_bits);
        RUN(every_instruction_set_here_equals_scalar_by_bits);
        RUN(sequences_in_company_equal_sequences_alone_by_bits);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        die("usage", "golden_test GOLDEN.json MODEL [LEVEL]");
    }
    golden.directory = model_directory(argv[2]);
    read_golden(argv[1]);
    if (argc == 4) {
        compare_positions(argv[3]);
    } else {
        compare_everything();
    }
    release();
    return test_result();
}
