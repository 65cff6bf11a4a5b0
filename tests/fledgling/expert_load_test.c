/* How evenly the model that ships uses its experts: every shipped job is run on it as a run
 * would, and what the router chose is counted over all rows, of prompts and of answers.
 *
 * One job alone may well have favourites: a router is balanced over what a model is for.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "generate/generator.h"
#include "job/spec_yaml.h"
#include "model/model.h"
#include "runner/item_source.h"
#include "runner/ledger.h"
#include "runner/prompt.h"
#include "runner/slot.h"
#include "runner/survey.h"
#include "support/check.h"

/* Of an even share, (rows * n_chosen) / n_experts. */
static const double least_share_wanted = 0.25;
enum { BATCH = 64, PATH_BYTES = 4096 };

struct load {
    uint64_t *n_times; /* (n_layers, n_experts): how often each was chosen */
    uint64_t n_rows;
};

/* Of an even share: the least and the most used expert. */
struct spread {
    double least;
    double most;
};

static struct {
    const struct nj_file_system *fs;
    struct nj_arena arena; /* of paths, counts and what the jobs' readers say */
    struct nj_model *model;
    const struct nj_dims *dims;
    struct nj_tokenizer *tokenizer;
    struct nj_generator *generator;
    struct nj_slot slots[BATCH];
    struct load total;
    struct load of_job; /* the one that runs */
} bench;

static void count_routing(void *context, uint32_t layer, uint32_t row, const uint32_t *experts,
                          const float *weights, uint32_t n_chosen)
{
    struct load *load = context;
    uint64_t *n_times = &load->n_times[(size_t)layer * bench.dims->n_experts];
    (void)row;
    (void)weights;
    for (uint32_t slot = 0; slot < n_chosen; slot++) {
        n_times[experts[slot]]++;
    }
}

static struct spread spread_of_layer(const struct load *load, uint32_t layer)
{
    uint32_t n_experts = bench.dims->n_experts;
    double even = (double)load->n_rows * bench.dims->n_chosen / n_experts;
    struct spread spread = {.least = n_experts};
    for (uint32_t expert = 0; expert < n_experts; expert++) {
        double share = (double)load->n_times[(size_t)layer * n_experts + expert] / even;
        spread.least = share < spread.least ? share : spread.least;
        spread.most = share > spread.most ? share : spread.most;
    }
    return spread;
}

static struct spread spread_of_all(const struct load *load)
{
    struct spread all = {.least = bench.dims->n_experts};
    for (uint32_t layer = 0; layer < bench.dims->n_layers; layer++) {
        if (nj_dims_layer_is_moe(bench.dims, layer)) {
            struct spread spread = spread_of_layer(load, layer);
            all.least = spread.least < all.least ? spread.least : all.least;
            all.most = spread.most > all.most ? spread.most : all.most;
        }
    }
    return all;
}

static size_t n_counts(void)
{
    return (size_t)bench.dims->n_layers * bench.dims->n_experts;
}

/* Adds what the job chose to the total, shows it, and empties it for the next. */
static void close_job(const char *path, uint64_t n_items)
{
    struct spread spread = spread_of_all(&bench.of_job);
    const char *name = strrchr(path, '/');
    printf("%-18s %5llu items %7llu rows, experts get %.2f to %.2f of an even share\n",
           name != NULL ? name + 1 : path, (unsigned long long)n_items,
           (unsigned long long)bench.of_job.n_rows, spread.least, spread.most);
    for (size_t i = 0; i < n_counts(); i++) {
        bench.total.n_times[i] += bench.of_job.n_times[i];
        bench.of_job.n_times[i] = 0;
    }
    bench.total.n_rows += bench.of_job.n_rows;
}

static enum nj_status fill_slots(const struct nj_slot_supply *supply, uint64_t *next_index,
                                 struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (int i = 0; i < BATCH && status == NJ_OK; i++) {
        if (bench.slots[i].sequence == NULL && *next_index < supply->ledger->n_items) {
            status = nj_slot_begin(&bench.slots[i], supply, (*next_index)++, err);
        }
    }
    return status;
}

static void end_slots(bool only_finished)
{
    for (int i = 0; i < BATCH; i++) {
        struct nj_slot *slot = &bench.slots[i];
        if (slot->sequence == NULL) {
            continue;
        }
        if (!only_finished || nj_sequence_finish(slot->sequence) != NJ_FINISH_NONE) {
            CHECK(nj_slot_is_ok(slot));
            nj_slot_end(slot, bench.generator);
        }
    }
}

/* What nj_loop_run does, without anything durable. */
static enum nj_status generate(const struct nj_slot_supply *supply, struct nj_error *err)
{
    uint64_t next_index = 0;
    enum nj_status status = fill_slots(supply, &next_index, err);
    while (status == NJ_OK && nj_generator_count(bench.generator) > 0) {
        status = nj_generator_step(bench.generator, NULL, NULL, err);
        if (status == NJ_OK) {
            end_slots(true);
            status = fill_slots(supply, &next_index, err);
        }
    }
    end_slots(false);
    return status;
}

static enum nj_status run_spec(const char *path, const struct nj_job_spec *spec,
                               struct nj_error *err)
{
    /* The fingerprint ties results to a model; here nothing outlives the model. */
    struct nj_prompt_setting setting = {.spec = spec,
                                        .dims = bench.dims,
                                        .tokenizer = bench.tokenizer,
                                        .latent_norm_eps = bench.dims->latent_norm_eps};
    struct nj_ledger ledger = {0};
    struct nj_survey survey;
    struct nj_item_source source = {.spec = spec, .fs = bench.fs, .job_seed = spec->job_seed};
    struct nj_slot_supply supply = {.generator = bench.generator,
                                    .source = &source,
                                    .setting = &setting,
                                    .ledger = &ledger};
    uint64_t n_rows_before = nj_generator_n_rows(bench.generator);
    const struct nj_survey_options options = {
        .setting = &setting, .fs = bench.fs, .job_seed = spec->job_seed};
    enum nj_status status = nj_survey_run(&options, &ledger, &survey, err);
    if (status == NJ_OK) {
        status = generate(&supply, err);
    }
    if (status == NJ_OK) {
        bench.of_job.n_rows = nj_generator_n_rows(bench.generator) - n_rows_before;
        close_job(path, survey.n_items);
    }
    nj_item_source_deinit(&source);
    nj_ledger_deinit(&ledger);
    return status;
}

static enum nj_status run_job(const char *path, struct nj_error *err)
{
    struct nj_diagnostics diagnostics;
    struct nj_bytes content;
    const struct nj_job_spec *spec = NULL;
    nj_diagnostics_init(&diagnostics, &bench.arena);
    enum nj_status status = nj_file_read_whole(
        bench.fs, AT_FDCWD, path, NJ_JOB_FILE_LIMIT_BYTES, &bench.arena, &content, err);
    if (status == NJ_OK) {
        status = nj_job_spec_read(path, content, &bench.arena, &diagnostics, &spec, err);
    }
    if (status == NJ_OK) {
        status = run_spec(path, spec, err);
    }
    nj_diagnostics_deinit(&diagnostics);
    return status;
}

static void every_shipped_job_runs_on_the_model(void)
{
    char pattern[PATH_BYTES];
    struct nj_error err;
    glob_t jobs;
    (void)snprintf(pattern, sizeof pattern, "%s/jobs/*.yaml", test_source_directory());
    REQUIRE(glob(pattern, 0, NULL, &jobs) == 0);

    for (size_t i = 0; i < jobs.gl_pathc; i++) {
        if (run_job(jobs.gl_pathv[i], &err) != NJ_OK) {
            test_fail(__FILE__, __LINE__, "%s: %s", jobs.gl_pathv[i], err.text);
        }
    }

    globfree(&jobs);
}

/* Else the shares below would be of something that was not counted whole. */
static void every_row_chooses_its_experts_in_every_layer_that_has_some(void)
{
    for (uint32_t layer = 0; layer < bench.dims->n_layers; layer++) {
        uint64_t n_choices = 0;
        for (uint32_t expert = 0; expert < bench.dims->n_experts; expert++) {
            n_choices += bench.total.n_times[(size_t)layer * bench.dims->n_experts + expert];
        }
        CHECK_EQ(n_choices, nj_dims_layer_is_moe(bench.dims, layer)
                                ? bench.total.n_rows * bench.dims->n_chosen
                                : 0);
    }
}

static void every_expert_of_every_layer_gets_a_quarter_of_its_even_share(void)
{
    uint32_t n_layers_with_experts = 0;
    REQUIRE(bench.total.n_rows > 0);

    printf("layer  least   most   over %llu rows\n", (unsigned long long)bench.total.n_rows);
    for (uint32_t layer = 0; layer < bench.dims->n_layers; layer++) {
        if (nj_dims_layer_is_moe(bench.dims, layer)) {
            struct spread spread = spread_of_layer(&bench.total, layer);
            printf("%5u %6.2f %6.2f\n", layer, spread.least, spread.most);
            CHECK(spread.least >= least_share_wanted);
            n_layers_with_experts++;
        }
    }

    CHECK(n_layers_with_experts > 0);
}

static enum nj_status open_bench(struct nj_error *err)
{
    char directory[PATH_BYTES];
    struct nj_generator_options generator = {.max_sequences = BATCH};
    (void)snprintf(directory, sizeof directory, "%s/examples/fledgling",
                   test_source_directory());
    struct nj_model_options model = {.path = directory};
    bench.fs = nj_file_system_real();
    enum nj_status status = nj_model_open(&model, &bench.model, err);
    if (status != NJ_OK) {
        return status;
    }
    bench.dims = nj_model_dims(bench.model);
    bench.total.n_times = nj_arena_take_array(&bench.arena, n_counts(), sizeof(uint64_t));
    bench.of_job.n_times = nj_arena_take_array(&bench.arena, n_counts(), sizeof(uint64_t));
    if (bench.total.n_times == NULL || bench.of_job.n_times == NULL) {
        return nj_arena_fail(&bench.arena, "count choices", err);
    }
    status =
        nj_tokenizer_open(bench.fs, directory, bench.dims->n_vocabulary, &bench.tokenizer, err);
    return status == NJ_OK ? nj_generator_create(bench.model, bench.tokenizer, &generator,
                                                 &bench.generator, err)
                           : status;
}

static void close_bench(void)
{
    nj_generator_destroy(bench.generator);
    nj_tokenizer_close(bench.tokenizer);
    nj_model_close(bench.model);
    nj_arena_deinit(&bench.arena);
}

int main(void)
{
    struct nj_error err;
    struct nj_sweep_hooks hooks = {.context = &bench.of_job, .on_routing = count_routing};
    if (open_bench(&err) == NJ_OK) {
        nj_generator_set_hooks(bench.generator, &hooks);
        RUN(every_shipped_job_runs_on_the_model);
        RUN(every_row_chooses_its_experts_in_every_layer_that_has_some);
        RUN(every_expert_of_every_layer_gets_a_quarter_of_its_even_share);
    } else {
        test_fail(__FILE__, __LINE__, "open the model: %s", err.text);
    }
    close_bench();
    return test_result();
}
