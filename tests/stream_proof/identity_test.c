/* The same bytes whatever the memory, the batch width and the reader.
 *
 *   identity_test MODEL         every budget x batch x reader, against all of it in memory
 *   identity_test MODEL large   a few of them, for a model larger than memory, against the
 * first
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "stream/reader.h"
#include "stream_proof/proof.h"
#include "support/check.h"

static const char *model_path;

static const char *describe(const struct proof_setting *setting)
{
    static char text[128];
    (void)snprintf(text, sizeof text, "%3.0f %% of memory, batch %2u, %s",
                   100.0 * setting->share, setting->batch, proof_reader_name(setting->reader));
    return text;
}

/* Enough to fill the batch, and some that come after others have left. */
static uint32_t items_for(uint32_t batch)
{
    return batch == 1 ? 2 : batch == 8 ? 9 : PROOF_MOST_ITEMS;
}

static void run_and_compare(const struct proof_setting *setting, uint32_t n_items,
                            const struct proof_transcript *wanted)
{
    struct proof_transcript found[PROOF_MOST_ITEMS];
    struct nj_clock clock = nj_clock_system();
    struct nj_error err = {0};
    uint64_t begin_ns = clock.monotonic_ns(clock.context);
    REQUIRE_OK(proof_transcribe(setting, n_items, found, &err), &err);
    uint64_t elapsed_ns = clock.monotonic_ns(clock.context) - begin_ns;
    printf("     %s: %.2f s\n", describe(setting), 1e-9 * (double)elapsed_ns);
    proof_compare(found, wanted, n_items, describe(setting));
}

static void no_budget_batch_or_reader_changes_a_byte(void)
{
    static const double shares[] = {0.0, 0.25, 0.5, 1.0};
    static const uint32_t batches[] = {1, 8, 64};
    static const enum proof_reader readers[] = {PROOF_RING, PROOF_THREADS, PROOF_DELAYED};
    static struct proof_transcript wanted[PROOF_MOST_ITEMS];
    struct proof_setting setting = {
        .path = model_path, .share = 1.0, .batch = 16, .reader = PROOF_THREADS, .n_tokens = 3};
    struct nj_error err = {0};
    REQUIRE_OK(proof_transcribe(&setting, PROOF_MOST_ITEMS, wanted, &err), &err);
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 3; j++) {
            for (size_t k = 0; k < 3; k++) {
                setting.share = shares[i];
                setting.batch = batches[j];
                setting.reader = readers[k];
                run_and_compare(&setting, items_for(setting.batch), wanted);
            }
        }
    }
}

/* No budget here holds the model, so the settings are compared with each other; all run the
 * items of the narrowest. */
static void a_model_larger_than_memory_gives_the_same_bytes_at_every_budget(void)
{
    static const struct {
        double share;
        uint32_t batch;
        enum proof_reader reader;
    } settings[] = {{0.33, 64, PROOF_THREADS}, {0.0, 1, PROOF_RING},
                    {0.0, 8, PROOF_THREADS},   {0.15, 64, PROOF_RING_SHUFFLED},
                    {0.15, 1, PROOF_DELAYED},  {0.33, 8, PROOF_RING}};
    static struct proof_transcript wanted[PROOF_MOST_ITEMS];
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const struct proof_setting setting = {.path = model_path,
                                              .share = settings[i].share,
                                              .batch = settings[i].batch,
                                              .reader = settings[i].reader,
                                              .n_tokens = 4};
        struct nj_error err = {0};
        if (i == 0) {
            REQUIRE_OK(proof_transcribe(&setting, setting.batch, wanted, &err), &err);
            printf("     %s\n", describe(&setting));
        } else {
            run_and_compare(&setting, setting.batch, wanted);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        test_skip("which model?");
    }
    model_path = argv[1];
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 2 && strcmp(argv[2], "large") == 0) {
        RUN(a_model_larger_than_memory_gives_the_same_bytes_at_every_budget);
    } else {
        RUN(no_budget_batch_or_reader_changes_a_byte);
    }
    return test_result();
}
