#include "snapshot/lives.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"

void lives_begin(struct lives *lives)
{
    static unsigned n_folders;
    char path[512];
    (void)snprintf(path, sizeof path, "%s/lives-%u", test_folder(), n_folders++);
    lives->log.n = 0;
    REQUIRE(mkdir(path, 0700) == 0);
    lives->directory_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(lives->directory_fd >= 0);
}

void lives_end(struct lives *lives)
{
    (void)close(lives->directory_fd);
}

static struct nj_snapshot_identity identity_of(const struct life *life)
{
    struct nj_snapshot_identity identity = {.item_index = 1,
                                            .sample = life->lives->options.sampling.sample,
                                            .numerics_version = NJ_NUMERICS_VERSION,
                                            .latent_norm_eps =
                                                nj_model_dims(life->model)->latent_norm_eps};
    /* The hex digits of the fingerprint, cut: all that matters is that they are the model's. */
    memcpy(identity.weights.bytes, nj_model_fingerprint(life->model), NJ_DIGEST_BYTES);
    return identity;
}

static void open_writer(struct life *life)
{
    struct nj_error error;
    struct nj_snapshot_writer_options options = {.fs = nj_file_system_real(),
                                                 .dims = nj_model_dims(life->model),
                                                 .budget = nj_model_budget(life->model),
                                                 .clock = nj_clock_system(),
                                                 .pack_level = life->lives->pack_level,
                                                 .max_targets = 1,
                                                 .entropy = 5};
    REQUIRE_OK(nj_snapshot_writer_create(&options, &life->writer, &error), &error);
    life->hooks = (struct nj_sweep_hooks){.context = life->writer,
                                          .on_layer_final = nj_snapshot_writer_layer};
    nj_generator_set_hooks(life->generator, &life->hooks);
}

void life_begin(struct life *life, struct lives *lives, struct nj_model *model)
{
    struct nj_error error;
    struct nj_generator_options generator = {.max_sequences = 1,
                                             .prefill_chunk = lives->prefill_chunk};
    struct nj_sequence_options options = lives->options;
    memset(life, 0, sizeof *life);
    life->lives = lives;
    life->model = model;
    options.chosen = lives->log.ids;
    options.n_chosen = lives->log.n;
    REQUIRE_OK(
        nj_generator_create(model, lives->tokenizer, &generator, &life->generator, &error),
        &error);
    REQUIRE_OK(nj_generator_add(life->generator, &options, &life->sequence, &error), &error);
    open_writer(life);
    struct nj_snapshot_loader loader = {.fs = nj_file_system_real(),
                                        .dims = nj_model_dims(model),
                                        .budget = nj_model_budget(model)};
    struct nj_snapshot_identity identity = identity_of(life);
    REQUIRE_OK(nj_snapshot_load(&loader, lives->directory_fd, &identity, life->sequence,
                                &life->chain, &life->loaded, &error),
               &error);
}

static void note(struct spoken_ids *log, const struct nj_step_event *event)
{
    if (event->type == NJ_STEP_TOKEN && log->n < LIVES_IDS_LIMIT) {
        log->ids[log->n] = event->token;
        log->events[log->n] = *event;
        log->events[log->n].sequence = NULL;
        log->n += 1;
    }
}

static void finish_snapshot(struct life *life)
{
    struct nj_snapshot_outcome outcome;
    nj_snapshot_writer_commit(life->writer);
    nj_snapshot_writer_wait(life->writer);
    CHECK(nj_snapshot_writer_take_outcome(life->writer, 0, &outcome));
    CHECK_EQ(outcome.is_durable, life->sequence->finish == NJ_FINISH_NONE);
    nj_snapshot_writer_prune(life->writer, life->lives->directory_fd, &life->chain);
}

void life_sweep(struct life *life, bool with_snapshot)
{
    struct nj_error error;
    struct nj_step_event event = {.type = NJ_STEP_FED};
    uint32_t n_events = 0;
    struct nj_snapshot_target target = {.sequence = life->sequence,
                                        .directory_fd = life->lives->directory_fd,
                                        .identity = identity_of(life),
                                        .chain = &life->chain};
    nj_snapshot_writer_wait(life->writer);
    if (with_snapshot) {
        REQUIRE_OK(nj_snapshot_writer_begin(life->writer, &target, 1, &error), &error);
    }
    REQUIRE_OK(nj_generator_step(life->generator, &event, &n_events, &error), &error);
    life->n_sweeps += 1;
    note(&life->lives->log, &event);
    if (with_snapshot) {
        finish_snapshot(life);
    }
}

bool life_is_over(const struct life *life)
{
    return life->sequence->finish != NJ_FINISH_NONE;
}

void life_end(struct life *life)
{
    nj_snapshot_writer_destroy(life->writer);
    nj_generator_destroy(life->generator);
}

static bool layers_are_equal(struct nj_state *a, struct nj_state *b, uint32_t layer)
{
    uint64_t n_values = 0;
    const float *left = nj_state_recurrent(a, layer, &n_values);
    const float *right = nj_state_recurrent(b, layer, &n_values);
    return memcmp(left, right, n_values * sizeof *left) == 0;
}

static bool positions_are_equal(struct nj_state *a, struct nj_state *b, uint32_t layer,
                                const struct nj_dims *dims)
{
    size_t n_values = (size_t)nj_state_length(a) * nj_state_position_values(dims);
    float *left = malloc(n_values * sizeof *left + 1);
    float *right = malloc(n_values * sizeof *right + 1);
    bool are_equal = false;
    if (left != NULL && right != NULL) {
        nj_state_get_positions(a, layer, 0, nj_state_length(a), left);
        nj_state_get_positions(b, layer, 0, nj_state_length(a), right);
        are_equal = memcmp(left, right, n_values * sizeof *left) == 0;
    }
    free(left);
    free(right);
    return are_equal;
}

bool states_are_equal(struct nj_state *a, struct nj_state *b, const struct nj_dims *dims)
{
    bool are_equal = nj_state_length(a) == nj_state_length(b);
    for (uint32_t layer = 0; layer < dims->n_layers && are_equal; layer++) {
        are_equal = dims->mixers[layer] == NJ_MIXER_LATENT
                        ? positions_are_equal(a, b, layer, dims)
                        : layers_are_equal(a, b, layer);
    }
    return are_equal;
}

float *logits_after(struct nj_model *model, const struct nj_state *state, int32_t token)
{
    struct nj_error error;
    struct nj_state *fork = NULL;
    float *logits = calloc(nj_model_n_vocabulary(model), sizeof *logits);
    if (logits == NULL || nj_state_fork(state, &fork, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "cannot look at logits");
        return logits;
    }
    struct nj_row row = {
        .state = fork, .position = nj_state_length(fork), .token = token, .wants_logits = true};
    CHECK_EQ(nj_sweep_run(model, &row, 1, NULL, logits, &error), NJ_OK);
    nj_state_destroy(fork);
    return logits;
}
