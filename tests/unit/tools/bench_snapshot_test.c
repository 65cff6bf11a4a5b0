/* That the bench of snapshots measures snapshots and leaves nothing behind. Rates are asserted
 * nowhere. */
#include "tools/bench_snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "support/check.h"
#include "tools/synth.h"

static void states_are_packed_written_and_restored(void)
{
    char model[256];
    char left[300];
    struct nj_error err = {0};
    const struct nj_synth_options synth = {.seed = 1};
    (void)snprintf(model, sizeof model, "%s/model", test_folder());
    REQUIRE_OK(nj_synth_write(nj_file_system_real(), &synth, model, NULL, &err), &err);
    const struct nj_snapshot_bench_options options = {.path = model,
                                                      .folder = test_folder(),
                                                      .n_threads = 1,
                                                      .n_sequences = 2,
                                                      .n_positions = 9,
                                                      .wants_json = true};
    struct nj_snapshot_bench_report report;
    REQUIRE_OK(nj_snapshot_bench_measure(&options, &report, &err), &err);

    CHECK_EQ(report.n_sequences, 2);
    CHECK(report.recurrent.raw_bytes > 0 && report.latent.raw_bytes > 0);
    CHECK(report.recurrent.packed_bytes <= report.recurrent.raw_bytes);
    CHECK(report.file_bytes > report.latent.packed_bytes + report.recurrent.packed_bytes);
    CHECK(report.restore_s > 0.0 && report.copied_s > 0.0 && report.interval_s > 0.0);
    (void)snprintf(left, sizeof left, "%s/nightjar-bench-snapshot.tmp", test_folder());
    CHECK(access(left, F_OK) != 0);

    char *text = NULL;
    size_t n_bytes = 0;
    struct nj_json *document = NULL;
    REQUIRE_OK(nj_snapshot_bench_write(&report, &options, &text, &n_bytes, &err), &err);
    CHECK_EQ(nj_json_parse((struct nj_text){text, n_bytes}, "report", &document, &err), NJ_OK);
    nj_json_destroy(document);
    free(text);
}

int main(void)
{
    RUN(states_are_packed_written_and_restored);
    return test_result();
}
