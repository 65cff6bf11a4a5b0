/* The bits of logits as a committed hash, so that two machines can be compared that never meet.
 *
 *     hashes_test MODEL [LEVEL | --record]
 *
 * MODEL is t13 or fledgling. Every level that this machine has must reproduce the lines of
 * tests/golden/identity_hashes.txt for this numerics version; with a LEVEL, that one only.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "identity/subject.h"
#include "kernels/kernels.h"
#include "model/state.h"
#include "model/sweep.h"
#include "support/check.h"

/* Long enough for a second page of keys and values. */
enum { N_PROMPTS = 3, N_IDS = 72 };

static struct {
    const char *name;
    const char *directory;
    char wanted[N_PROMPTS][NJ_DIGEST_HEX_BYTES];
} suite;

static struct nj_state *make_state(struct nj_model *model)
{
    struct nj_state *state = NULL;
    struct nj_error error;
    if (nj_state_create(nj_model_dims(model), NULL, &state, &error) != NJ_OK) {
        subject_die("create state", error.text);
    }
    return state;
}

static void digest_logits(const float *logits, size_t n_values, char hex[NJ_DIGEST_HEX_BYTES])
{
    struct nj_bytes bytes = {(const uint8_t *)logits, n_values * sizeof *logits};
    struct nj_digest digest;
    struct nj_error error;
    if (nj_digest_of(bytes, &digest, &error) != NJ_OK) {
        subject_die("digest", error.text);
    }
    nj_digest_to_hex(&digest, hex);
}

/* Of the logits at every position of one prompt, as little-endian F32. */
static void hash_prompt(struct nj_model *model, uint64_t prompt, float *logits,
                        char hex[NJ_DIGEST_HEX_BYTES])
{
    struct nj_row rows[N_IDS];
    struct nj_error error;
    struct nj_state *state = make_state(model);
    for (uint32_t i = 0; i < N_IDS; i++) {
        rows[i] = (struct nj_row){.state = state,
                                  .position = i,
                                  .token = subject_random_token(model, 1000 + prompt, i),
                                  .wants_logits = true};
    }
    if (nj_sweep_run(model, rows, N_IDS, NULL, logits, &error) != NJ_OK) {
        subject_die("sweep", error.text);
    }
    nj_state_destroy(state);
    digest_logits(logits, (size_t)N_IDS * nj_model_n_vocabulary(model), hex);
}

static void hash_all(const char *level, char hashes[N_PROMPTS][NJ_DIGEST_HEX_BYTES])
{
    struct nj_model *model = subject_open(suite.directory, level, 2);
    float *logits = calloc((size_t)N_IDS * nj_model_n_vocabulary(model), sizeof *logits);
    if (logits == NULL) {
        subject_die("memory", "none left");
    }
    for (uint64_t prompt = 0; prompt < N_PROMPTS; prompt++) {
        hash_prompt(model, prompt, logits, hashes[prompt]);
    }
    free(logits);
    nj_model_close(model);
}

/* Lines of another model or numerics version are passed over. */
static void read_golden(void)
{
    char path[4096];
    char line[256];
    (void)snprintf(path, sizeof path, "%s/tests/golden/identity_hashes.txt",
                   test_source_directory());
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        subject_die(path, "cannot be opened");
    }
    while (fgets(line, sizeof line, file) != NULL) {
        int version = 0;
        char name[16] = "";
        unsigned prompt = N_PROMPTS;
        char hex[NJ_DIGEST_HEX_BYTES] = "";
        if (sscanf(line, "%d %15s %u %64s", &version, name, &prompt, hex) == 4 &&
            version == NJ_NUMERICS_VERSION && strcmp(name, suite.name) == 0 &&
            prompt < N_PROMPTS) {
            memcpy(suite.wanted[prompt], hex, sizeof hex);
        }
    }
    (void)fclose(file); /* only read from */
}

static void check_level(enum nj_cpu_level level)
{
    char hashes[N_PROMPTS][NJ_DIGEST_HEX_BYTES];
    if (!nj_cpu_level_is_available(level)) {
        (void)printf("    not on this machine: %s\n", nj_cpu_level_name(level));
        return;
    }
    hash_all(nj_cpu_level_name(level), hashes);
    for (uint32_t prompt = 0; prompt < N_PROMPTS; prompt++) {
        CHECK_TEXT(hashes[prompt], suite.wanted[prompt]);
    }
}

static void scalar_has_the_hashes_of_every_other_machine(void)
{
    check_level(NJ_CPU_SCALAR);
}

static void avx2_has_the_hashes_of_every_other_machine(void)
{
    check_level(NJ_CPU_AVX2);
}

static void avx512_has_the_hashes_of_every_other_machine(void)
{
    check_level(NJ_CPU_AVX512);
}

static void record(void)
{
    char hashes[N_PROMPTS][NJ_DIGEST_HEX_BYTES];
    hash_all("scalar", hashes);
    for (uint32_t prompt = 0; prompt < N_PROMPTS; prompt++) {
        (void)printf("%d %s %" PRIu32 " %s\n", NJ_NUMERICS_VERSION, suite.name, prompt,
                     hashes[prompt]);
    }
}

int main(int argc, char **argv)
{
    const char *option = argc == 3 ? argv[2] : "";
    if (argc != 2 && argc != 3) {
        subject_die("usage", "hashes_test MODEL [scalar | --record]");
    }
    suite.name = argv[1];
    suite.directory = subject_directory(argv[1]);
    if (strcmp(option, "--record") == 0) {
        record();
        return 0;
    }
    read_golden();
    RUN(scalar_has_the_hashes_of_every_other_machine);
    if (strcmp(option, "scalar") != 0) {
        RUN(avx2_has_the_hashes_of_every_other_machine);
        RUN(avx512_has_the_hashes_of_every_other_machine);
    }
    return test_result();
}
