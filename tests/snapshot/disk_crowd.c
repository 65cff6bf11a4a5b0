#include "snapshot/disk_crowd.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"

static int sync_nothing(void *context, int fd)
{
    (void)context;
    (void)fd;
    return 0;
}

const struct nj_file_system *disk_crowd_files(void)
{
    static struct nj_file_system files;
    files = *nj_file_system_real();
    files.sync = sync_nothing;
    files.data_sync = sync_nothing;
    return &files;
}

void disk_crowd_begin(struct disk_crowd *crowd, uint32_t n_sequences)
{
    static unsigned n_folders;
    memset(crowd, 0, sizeof *crowd);
    crowd->n_sequences = n_sequences;
    (void)snprintf(crowd->path, sizeof crowd->path, "%s/crowd-%u", test_folder(), n_folders++);
    REQUIRE(mkdir(crowd->path, 0700) == 0);
    crowd->directory_fd = open(crowd->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(crowd->directory_fd >= 0);
}

void disk_crowd_end(struct disk_crowd *crowd)
{
    (void)close(crowd->directory_fd);
}

static struct nj_snapshot_identity identity_of(const struct nj_model *model, uint32_t index)
{
    struct nj_snapshot_identity identity = {.item_index = index,
                                            .numerics_version = NJ_NUMERICS_VERSION,
                                            .latent_norm_eps =
                                                nj_model_dims(model)->latent_norm_eps};
    /* The hex digits of the fingerprint, cut: all that matters is that they are the model's. */
    memcpy(identity.weights.bytes, nj_model_fingerprint(model), NJ_DIGEST_BYTES);
    identity.item.bytes[0] = (uint8_t)(index + 1);
    return identity;
}

static enum nj_status open_home(struct crowd_life *life, const struct crowd_place *place,
                                struct nj_error *err)
{
    struct nj_slot_home_options options = {.fs = life->fs,
                                           .directory_fd = life->crowd->directory_fd,
                                           .dims = nj_model_dims(life->model),
                                           .run = &life->identities[0],
                                           .n_seats = life->crowd->n_sequences,
                                           .n_positions = CROWD_PROMPT_LIMIT + CROWD_TOKENS,
                                           .file_number =
                                               nj_slot_store_highest_number(life->store) + 1,
                                           .entropy = 77,
                                           .window_bytes = place->window_bytes,
                                           .n_windows = place->n_windows};
    if (!place->is_on_disk) {
        return NJ_OK;
    }
    enum nj_status status = nj_slot_home_create(&options, &life->home, err);
    if (status == NJ_OK) {
        nj_model_set_state_home(life->model, nj_slot_home_table(life->home));
    }
    return status;
}

/* Prompts of very different lengths; every other sequence is greedy. */
static enum nj_status add_sequence(struct crowd_life *life, uint32_t index,
                                   struct nj_error *err)
{
    int32_t prompt[CROWD_PROMPT_LIMIT];
    const struct crowd_log *log = &life->crowd->logs[index];
    uint32_t n_vocabulary = nj_model_n_vocabulary(life->model);
    uint32_t n_prompt = 1 + index * 37 % (CROWD_PROMPT_LIMIT - 1);
    struct nj_slot_loaded loaded;
    for (uint32_t i = 0; i < n_prompt; i++) {
        prompt[i] = (int32_t)((i * 7 + index * 13 + 3) % (n_vocabulary - 3)) + 3;
    }
    struct nj_sequence_options options = {
        .prompt = prompt,
        .n_prompt = n_prompt,
        .chosen = log->ids,
        .n_chosen = log->n,
        .max_tokens = CROWD_TOKENS - index % 3,
        .sampling = {.temperature = index % 2 == 0 ? 0.9 : 0.0,
                     .seed = index,
                     .repeat_penalty = 1.1},
        .owner = &life->crowd->logs[index]};
    struct nj_sequence *sequence = NULL;
    enum nj_status status = nj_generator_add(life->generator, &options, &sequence, err);
    if (status != NJ_OK || nj_sequence_finish(sequence) != NJ_FINISH_NONE) {
        return status;
    }
    life->sequences[index] = sequence;
    status = nj_slot_store_load(life->store, &life->identities[index], sequence, &loaded, err);
    life->n_restored += status == NJ_OK && loaded.n_positions > 0 ? 1 : 0;
    life->n_positions_restored += loaded.n_positions;
    return status;
}

enum nj_status crowd_life_begin(struct crowd_life *life, struct disk_crowd *crowd,
                                struct nj_model *model, const struct crowd_place *place,
                                struct nj_error *err)
{
    struct nj_generator_options generator = {.max_sequences = CROWD_SEQUENCES,
                                             .prefill_chunk = place->prefill_chunk};
    memset(life, 0, sizeof *life);
    life->crowd = crowd;
    life->model = model;
    life->fs = place->fs != NULL ? place->fs : disk_crowd_files();
    for (uint32_t i = 0; i < CROWD_SEQUENCES; i++) {
        life->identities[i] = identity_of(model, i);
    }
    struct nj_slot_store_options store = {
        .fs = life->fs, .directory_fd = crowd->directory_fd, .dims = nj_model_dims(model)};
    enum nj_status status = nj_slot_store_open(&store, &life->store, err);
    if (status == NJ_OK) {
        status = open_home(life, place, err);
    }
    if (status == NJ_OK) {
        status = nj_generator_create(model, NULL, &generator, &life->generator, err);
    }
    for (uint32_t i = 0; i < crowd->n_sequences && status == NJ_OK; i++) {
        status = add_sequence(life, i, err);
    }
    return status;
}

static void note(const struct nj_step_event *event)
{
    struct crowd_log *log = nj_sequence_owner(event->sequence);
    if (event->type == NJ_STEP_TOKEN && log->n < CROWD_TOKENS) {
        log->ids[log->n] = event->token;
        memcpy(&log->logprob_bits[log->n], &event->logprob, sizeof event->logprob);
        log->n += 1;
    }
}

static enum nj_status commit(struct crowd_life *life, struct nj_error *err)
{
    struct nj_slot_commit_entry entries[CROWD_SEQUENCES];
    uint32_t n_entries = 0;
    uint64_t number = 0;
    for (uint32_t i = 0; i < life->crowd->n_sequences; i++) {
        if (life->sequences[i] != NULL) {
            entries[n_entries++] = (struct nj_slot_commit_entry){
                .sequence = life->sequences[i], .identity = &life->identities[i]};
        }
    }
    enum nj_status status =
        nj_slot_home_commit(life->home, entries, n_entries, life->n_sweeps, err);
    return status == NJ_OK ? nj_slot_home_settle(life->home, &number, err) : status;
}

/* A finished sequence leaves its seat to nobody: it is removed. */
static bool remove_finished(struct crowd_life *life)
{
    bool goes_on = false;
    for (uint32_t i = 0; i < life->crowd->n_sequences; i++) {
        struct nj_sequence *sequence = life->sequences[i];
        if (sequence != NULL && nj_sequence_finish(sequence) != NJ_FINISH_NONE) {
            nj_generator_remove(life->generator, sequence);
            life->sequences[i] = NULL;
        }
        goes_on = goes_on || life->sequences[i] != NULL;
    }
    return goes_on;
}

enum nj_status crowd_life_sweep(struct crowd_life *life, bool commits, bool *goes_on,
                                struct nj_error *err)
{
    struct nj_step_event events[CROWD_SEQUENCES];
    uint32_t n_events = 0;
    enum nj_status status = nj_generator_step(life->generator, events, &n_events, err);
    if (status != NJ_OK) {
        return status;
    }
    life->n_sweeps += 1;
    for (uint32_t i = 0; i < n_events; i++) {
        note(&events[i]);
    }
    if (life->home != NULL && commits) {
        status = commit(life, err);
    }
    *goes_on = remove_finished(life);
    return status;
}

void crowd_life_end(struct crowd_life *life)
{
    nj_generator_destroy(life->generator);
    nj_model_set_state_home(life->model, NULL);
    nj_slot_home_destroy(life->home);
    nj_slot_store_close(life->store);
}

void disk_crowd_compare(const struct disk_crowd *found, const struct disk_crowd *wanted)
{
    for (uint32_t i = 0; i < wanted->n_sequences; i++) {
        const struct crowd_log *a = &found->logs[i];
        const struct crowd_log *b = &wanted->logs[i];
        CHECK_EQ(a->n, b->n);
        CHECK_BYTES(a->ids, b->ids, b->n * sizeof *b->ids);
        CHECK_BYTES(a->logprob_bits, b->logprob_bits, b->n * sizeof *b->logprob_bits);
    }
}
