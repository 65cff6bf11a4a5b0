/* No byte is read in vain: what the kernel says this process has read is what the router's
 * choices ask for, and what the formula for flat routing says.
 *
 *   bytes_test            a model of 220 MB, made for the test
 *   bytes_test MODEL      any model that does not fit into the floor of its memory
 *
 * Skipped where files do not come from a block device (tmpfs): the kernel counts nothing there.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "format/weight_index.h"
#include "model/sweep.h"
#include "stream_proof/proof.h"
#include "support/check.h"
#include "tools/synth.h"

enum { MOST_ROWS = 256, MOST_BATCH = 128, N_FLAT_SWEEPS = 4, BLOCK_BYTES = 4096 };

static const char *model_path;

/* What the model's files hold, told from names and shapes alone. */
struct holdings {
    uint64_t trunk_bytes; /* every matrix but the experts and the embedding, once */
    uint64_t expert_bytes;
    uint64_t embedding_offset; /* in its file */
    uint64_t row_bytes;        /* of it */
};

struct census {
    uint32_t n_experts;
    uint8_t *is_used; /* (n_layers, n_experts) */
};

static struct {
    struct proof_bench bench;
    const struct nj_dims *dims;
    struct holdings holdings;
    struct census census;
    uint8_t *is_drawn; /* (n_vocabulary) in this sweep */
    struct nj_state *states[MOST_BATCH];
    float *logits;
    uint64_t n_drawn;
} proof;

/* --- counting --- */

/* Bytes that this process has caused to be read from block devices. */
static uint64_t kernel_bytes(void)
{
    char line[128];
    unsigned long long bytes = 0;
    FILE *file = fopen("/proc/self/io", "r");
    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "read_bytes: %llu", &bytes) == 1) { /* NOLINT: the kernel's digits */
            break;
        }
    }
    (void)fclose(file);
    return bytes;
}

static void add_holding(struct holdings *holdings, const struct nj_weight *weight)
{
    if (strstr(weight->name, ".experts.0.") != NULL &&
        strstr(weight->name, "layers.1.") != NULL) {
        holdings->expert_bytes += weight->length_bytes;
    } else if (strstr(weight->name, ".experts.") != NULL) {
        return;
    } else if (strstr(weight->name, "embed_tokens") != NULL) {
        holdings->row_bytes = weight->length_bytes / weight->shape[0];
        holdings->embedding_offset = weight->offset_bytes;
    } else if (weight->n_dimensions == 2 && weight->shape[0] > 1) {
        holdings->trunk_bytes += weight->length_bytes;
    }
}

static void take_stock(const char *path, struct holdings *holdings)
{
    struct nj_weight_index *index = NULL;
    struct nj_error err = {0};
    memset(holdings, 0, sizeof *holdings);
    REQUIRE_OK(nj_weight_index_open(nj_file_system_real(), path, &index, &err), &err);
    for (size_t i = 0; i < nj_weight_index_count(index); i++) {
        add_holding(holdings, nj_weight_index_at(index, i));
    }
    nj_weight_index_close(index);
}

static void note_choice(void *context, uint32_t layer, uint32_t row, const uint32_t *experts,
                        const float *weights, uint32_t n_chosen)
{
    struct census *census = context;
    (void)row;
    (void)weights;
    for (uint32_t i = 0; i < n_chosen; i++) {
        census->is_used[(size_t)layer * census->n_experts + experts[i]] = 1;
    }
}

static uint64_t n_counts(void)
{
    return (uint64_t)proof.dims->n_layers * proof.dims->n_experts;
}

static uint64_t n_used(void)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < n_counts(); i++) {
        n += proof.census.is_used[i];
    }
    return n;
}

/* A drive gives whole blocks, which counts only where so little is wanted at a time. */
static uint64_t embedding_bytes(void)
{
    uint64_t bytes = 0;
    for (uint32_t token = 0; token < proof.dims->n_vocabulary; token++) {
        uint64_t begin = proof.holdings.embedding_offset + token * proof.holdings.row_bytes;
        uint64_t end = begin + proof.holdings.row_bytes;
        uint64_t n_blocks = (end + BLOCK_BYTES - 1) / BLOCK_BYTES - begin / BLOCK_BYTES;
        bytes += proof.is_drawn[token] ? n_blocks * BLOCK_BYTES : 0;
    }
    return bytes;
}

/* --- sweeping --- */

/* At the floor: nothing stays, and no frame is left over for a cache. */
static enum nj_status open_at_floor(uint32_t batch, enum proof_reader reader,
                                    struct nj_error *err)
{
    const struct proof_setting setting = {.path = model_path,
                                          .share = 0.0,
                                          .batch = batch,
                                          .n_positions = 2 * MOST_ROWS,
                                          .reader = reader};
    enum nj_status status = proof_open(&proof.bench, &setting, err);
    if (status != NJ_OK) {
        return status;
    }
    proof.dims = nj_model_dims(proof.bench.model);
    proof.census.n_experts = proof.dims->n_experts;
    proof.census.is_used = calloc(n_counts(), 1);
    proof.is_drawn = calloc(proof.dims->n_vocabulary, 1);
    proof.logits = calloc((size_t)MOST_BATCH * proof.dims->n_vocabulary, sizeof(float));
    for (uint32_t i = 0; i < batch && status == NJ_OK; i++) {
        status = nj_state_create(proof.dims, nj_model_budget(proof.bench.model),
                                 &proof.states[i], err);
    }
    if (proof.census.is_used == NULL || proof.is_drawn == NULL || proof.logits == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "out of memory");
    }
    return status;
}

static void close_all(void)
{
    for (uint32_t i = 0; i < MOST_BATCH; i++) {
        nj_state_destroy(proof.states[i]);
        proof.states[i] = NULL;
    }
    free(proof.census.is_used);
    free(proof.is_drawn);
    free(proof.logits);
    proof_close(&proof.bench);
    memset(&proof.census, 0, sizeof proof.census);
    proof.is_drawn = NULL;
    proof.logits = NULL;
}

struct swept {
    double kernel_bytes;
    double chosen_bytes; /* the experts that the router chose, each once, and the rows */
    double wanted_bytes; /* these and the trunk */
    double kept_bytes;   /* of experts that were in a frame still, and not read again */
    double n_experts;    /* chosen, a layer */
};

/* `n_rows` rows: of one sequence each, or all of the first. */
static enum nj_status sweep(uint32_t n_rows, bool is_prompt, struct swept *swept,
                            struct nj_error *err)
{
    struct nj_row rows[MOST_ROWS];
    struct nj_stream_report before;
    struct nj_stream_report after;
    for (uint32_t i = 0; i < n_rows; i++) {
        struct nj_state *state = proof.states[is_prompt ? 0 : i];
        double drawn = nj_draw_uniform(11, 0, proof.n_drawn++, 0);
        rows[i] = (struct nj_row){.state = state,
                                  .position = nj_state_length(state) + (is_prompt ? i : 0),
                                  .token = (nj_token)(drawn * proof.dims->n_vocabulary),
                                  .wants_logits = !is_prompt || i + 1 == n_rows};
    }
    const struct nj_sweep_hooks hooks = {.context = &proof.census, .on_routing = note_choice};
    memset(proof.census.is_used, 0, n_counts());
    memset(proof.is_drawn, 0, proof.dims->n_vocabulary);
    for (uint32_t i = 0; i < n_rows; i++) {
        proof.is_drawn[rows[i].token] = 1;
    }
    nj_model_stream_report(proof.bench.model, &before);
    uint64_t begin = kernel_bytes();
    enum nj_status status =
        nj_sweep_run(proof.bench.model, rows, n_rows, &hooks, proof.logits, err);
    uint64_t end = kernel_bytes();
    nj_model_stream_report(proof.bench.model, &after);
    const struct holdings *holdings = &proof.holdings;
    swept->kernel_bytes = (double)(end - begin);
    swept->chosen_bytes =
        (double)n_used() * (double)holdings->expert_bytes + (double)embedding_bytes();
    swept->wanted_bytes = swept->chosen_bytes + (double)holdings->trunk_bytes;
    swept->kept_bytes =
        (double)(after.n_cache_hits - before.n_cache_hits) * (double)holdings->expert_bytes;
    swept->n_experts = (double)n_used() / (proof.dims->n_layers - 1);
    return status;
}

/* --- proofs --- */

static void the_kernel_reads_what_the_router_chose_and_the_trunk(void)
{
    static const enum proof_reader readers[] = {PROOF_RING, PROOF_THREADS};
    static const uint32_t batches[] = {1, 8, 32, 128};
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        struct nj_error err = {0};
        REQUIRE_OK(open_at_floor(MOST_BATCH, readers[i], &err), &err);
        for (size_t j = 0; j < sizeof batches / sizeof batches[0]; j++) {
            struct swept swept;
            REQUIRE_OK(sweep(batches[j], false, &swept, &err), &err);
            double wanted = swept.wanted_bytes - swept.kept_bytes;
            printf("     %s, %3u rows: kernel %.0f, by the routing %.0f: %+.2f %%\n",
                   proof_reader_name(readers[i]), batches[j], swept.kernel_bytes, wanted,
                   100.0 * (swept.kernel_bytes / wanted - 1.0));
            CHECK_NEAR(swept.kernel_bytes, wanted, 0.01 * wanted);
        }
        close_all();
    }
}

/* n (1 - (1 - k / n)^rows) experts a layer. */
static double bytes_by_formula(uint32_t n_rows)
{
    double n = proof.dims->n_experts;
    double n_experts = n * (1.0 - pow(1.0 - proof.dims->n_chosen / n, n_rows));
    return (double)proof.holdings.trunk_bytes + n_rows * (double)proof.holdings.row_bytes +
           n_experts * (proof.dims->n_layers - 1) * (double)proof.holdings.expert_bytes;
}

static void flat_routing_reads_what_the_formula_says(void)
{
    static const uint32_t batches[] = {1, 8, 32, 128};
    struct nj_error err = {0};
    REQUIRE_OK(open_at_floor(MOST_BATCH, PROOF_RING, &err), &err);
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        double found = 0.0;
        for (int j = 0; j < N_FLAT_SWEEPS; j++) {
            struct swept swept;
            REQUIRE_OK(sweep(batches[i], false, &swept, &err), &err);
            found += swept.kernel_bytes / N_FLAT_SWEEPS;
        }
        double wanted = bytes_by_formula(batches[i]);
        printf("     %3u rows: kernel %.0f, by the formula %.0f: %+.2f %%\n", batches[i], found,
               wanted, 100.0 * (found / wanted - 1.0));
        CHECK_NEAR(found, wanted, 0.03 * wanted);
    }
    close_all();
}

/* What is left when the chosen experts are taken away. */
static void the_trunk_is_read_once_a_sweep_whoever_shares_it(void)
{
    static const struct {
        uint32_t n_rows;
        bool is_prompt;
    } sweeps[] = {{1, false}, {64, false}, {1, true}, {256, true}};
    double trunk_bytes = (double)proof.holdings.trunk_bytes;
    struct nj_error err = {0};
    REQUIRE_OK(open_at_floor(64, PROOF_RING, &err), &err);
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++) {
        struct swept swept;
        REQUIRE_OK(sweep(sweeps[i].n_rows, sweeps[i].is_prompt, &swept, &err), &err);
        double left = swept.kernel_bytes - (swept.chosen_bytes - swept.kept_bytes);
        printf("     %3u rows %s: %.0f bytes besides experts, the trunk has %.0f: %+.2f %%\n",
               sweeps[i].n_rows, sweeps[i].is_prompt ? "of one prompt" : "of as many items",
               left, trunk_bytes, 100.0 * (left / trunk_bytes - 1.0));
        CHECK_NEAR(left, trunk_bytes, 0.01 * swept.wanted_bytes);
    }
    close_all();
}

static bool make_model(void)
{
    static char path[256];
    struct nj_error err = {0};
    const struct nj_synth_options options = {.n_layers = 4,
                                             .n_experts = 40,
                                             .n_hidden = 1024,
                                             .n_latent = 1024,
                                             .n_expert = 768,
                                             .n_dense = 1024,
                                             .n_vocabulary = 4096,
                                             .seed = 3};
    (void)snprintf(path, sizeof path, "%s/model", test_folder());
    model_path = path;
    if (nj_synth_write(nj_file_system_real(), &options, path, NULL, &err) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", err.text);
        return false;
    }
    return true;
}

/* A sweep that reads nothing from a block device leaves nothing to count. */
static bool kernel_counts(void)
{
    struct swept swept = {0};
    struct nj_error err = {0};
    bool counts = open_at_floor(1, PROOF_RING, &err) == NJ_OK &&
                  sweep(1, false, &swept, &err) == NJ_OK && swept.kernel_bytes > 0.0;
    close_all();
    return counts;
}

int main(int argc, char **argv)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    model_path = argc > 1 ? argv[1] : NULL;
    if (model_path == NULL && !make_model()) {
        return 1;
    }
    take_stock(model_path, &proof.holdings);
    if (!kernel_counts()) {
        test_skip("the kernel counts no reads of this file system");
    }
    RUN(the_kernel_reads_what_the_router_chose_and_the_trunk);
    RUN(flat_routing_reads_what_the_formula_says);
    RUN(the_trunk_is_read_once_a_sweep_whoever_shares_it);
    return test_result();
}
