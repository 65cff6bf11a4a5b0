#include "stream_proof/proof.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "support/check.h"

/* As many rows as all prompts together, so that they are read in one sweep. */
enum { MOST_PROMPT = 12, MAX_ROWS = 512, DELAY_NS = 300 * 1000 };

static const char *const reader_names[] = {"ring", "threads", "ring, shuffled",
                                           "delayed and shuffled"};

const char *proof_reader_name(enum proof_reader reader)
{
    return reader_names[reader];
}

static void choose_reader(struct proof_bench *bench)
{
    enum proof_reader reader = bench->setting.reader;
    const struct nj_reader_table *below =
        reader == PROOF_THREADS ? nj_reader_threads() : nj_reader_ring();
    slow_reader_init(&bench->slow, below, 1);
    bench->slow.shuffles = reader == PROOF_RING_SHUFFLED || reader == PROOF_DELAYED;
    bench->slow.delay_ns = reader == PROOF_DELAYED ? DELAY_NS : 0;
    bench->seams.readers = &bench->slow.table;
}

/* Asking with one byte is refused, and the refusal tells both figures. */
static enum nj_status choose_memory(struct proof_bench *bench, struct nj_error *err)
{
    struct nj_memory_plan plan;
    bench->options.memory_bytes = 1;
    memset(&plan, 0, sizeof plan);
    enum nj_status status = nj_model_plan_with(&bench->seams, &bench->options, &plan, err);
    if (status != NJ_E_BUDGET) {
        return status == NJ_OK ? nj_fail(err, NJ_E_INTERNAL, "one byte holds a model") : status;
    }
    uint64_t wanted = (uint64_t)(bench->setting.share * (double)plan.useful_bytes);
    bench->memory_bytes = wanted > plan.floor_bytes ? wanted : plan.floor_bytes;
    bench->options.memory_bytes = bench->memory_bytes;
    return NJ_OK;
}

enum nj_status proof_open(struct proof_bench *bench, const struct proof_setting *setting,
                          struct nj_error *err)
{
    memset(bench, 0, sizeof *bench);
    bench->setting = *setting;
    bench->seams.fs = setting->fs != NULL ? setting->fs : nj_file_system_real();
    bench->seams.machine_root = "";
    bench->options = (struct nj_model_options){.path = setting->path,
                                               .n_threads = 2,
                                               .max_rows = MAX_ROWS,
                                               .n_sequences = setting->batch,
                                               .n_positions = setting->n_positions};
    choose_reader(bench);
    enum nj_status status = choose_memory(bench, err);
    return status == NJ_OK
               ? nj_model_open_with(&bench->seams, &bench->options, &bench->model, err)
               : status;
}

void proof_close(struct proof_bench *bench)
{
    nj_model_close(bench->model);
    bench->model = NULL;
}

static enum nj_status begin_item(struct proof_run *run, struct nj_error *err)
{
    int32_t prompt[MOST_PROMPT];
    uint32_t item = run->n_begun;
    uint32_t n_prompt = 1 + item * 5 % MOST_PROMPT;
    uint32_t n_vocabulary = nj_model_n_vocabulary(run->bench->model);
    for (uint32_t i = 0; i < n_prompt; i++) {
        prompt[i] = (int32_t)(nj_draw_uniform(5, item, i, 0) * n_vocabulary);
    }
    const struct nj_sequence_options options = {
        .prompt = prompt,
        .n_prompt = n_prompt,
        .max_tokens = run->bench->setting.n_tokens,
        .sampling = {.temperature = item % 2 == 0 ? 0.0 : 0.8, .seed = item},
        .owner = &run->transcripts[item],
    };
    enum nj_status status =
        nj_generator_add(run->generator, &options, &run->sequences[item], err);
    if (status == NJ_OK) {
        run->n_begun++;
    }
    return status;
}

enum nj_status proof_run_begin(struct proof_run *run, struct proof_bench *bench,
                               uint32_t n_items, struct nj_error *err)
{
    const struct nj_generator_options options = {.max_sequences = bench->setting.batch};
    memset(run, 0, sizeof *run);
    run->bench = bench;
    run->n_items = n_items;
    return nj_generator_create(bench->model, NULL, &options, &run->generator, err);
}

static void take_events(const struct nj_step_event *events, uint32_t n_events)
{
    for (uint32_t i = 0; i < n_events; i++) {
        struct proof_transcript *transcript = nj_sequence_owner(events[i].sequence);
        if (events[i].type == NJ_STEP_TOKEN && transcript->n_tokens < PROOF_MOST_TOKENS) {
            transcript->tokens[transcript->n_tokens] = events[i].token;
            memcpy(&transcript->logprob_bits[transcript->n_tokens], &events[i].logprob,
                   sizeof(float));
            transcript->n_tokens++;
        }
    }
}

static void remove_finished(struct proof_run *run)
{
    for (uint32_t i = 0; i < run->n_begun; i++) {
        struct nj_sequence *sequence = run->sequences[i];
        if (sequence != NULL && nj_sequence_finish(sequence) != NJ_FINISH_NONE) {
            nj_generator_remove(run->generator, sequence);
            run->sequences[i] = NULL;
            run->n_finished++;
        }
    }
}

enum nj_status proof_run_step(struct proof_run *run, bool *is_done, struct nj_error *err)
{
    struct nj_step_event events[PROOF_MOST_ITEMS];
    uint32_t n_events = 0;
    enum nj_status status = NJ_OK;
    while (status == NJ_OK && run->n_begun < run->n_items &&
           run->n_begun - run->n_finished < run->bench->setting.batch) {
        status = begin_item(run, err);
    }
    if (status == NJ_OK) {
        status = nj_generator_step(run->generator, events, &n_events, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    take_events(events, n_events);
    remove_finished(run);
    *is_done = run->n_finished == run->n_items;
    return NJ_OK;
}

void proof_run_end(struct proof_run *run)
{
    nj_generator_destroy(run->generator);
    run->generator = NULL;
}

enum nj_status proof_transcribe(const struct proof_setting *setting, uint32_t n_items,
                                struct proof_transcript *transcripts, struct nj_error *err)
{
    static struct proof_bench bench;
    static struct proof_run run;
    bool is_done = false;
    enum nj_status status = proof_open(&bench, setting, err);
    if (status != NJ_OK) {
        return status;
    }
    status = proof_run_begin(&run, &bench, n_items, err);
    while (status == NJ_OK && !is_done) {
        status = proof_run_step(&run, &is_done, err);
    }
    memcpy(transcripts, run.transcripts, n_items * sizeof *transcripts);
    proof_run_end(&run);
    proof_close(&bench);
    return status;
}

void proof_compare(const struct proof_transcript *found, const struct proof_transcript *wanted,
                   uint32_t n_items, const char *what)
{
    for (uint32_t i = 0; i < n_items; i++) {
        if (memcmp(&found[i], &wanted[i], sizeof found[i]) != 0) {
            test_fail(__FILE__, __LINE__, "%s: item %u is not what it is elsewhere", what, i);
            return;
        }
    }
    test_check(wanted[0].n_tokens > 0, what, __FILE__, __LINE__);
}
