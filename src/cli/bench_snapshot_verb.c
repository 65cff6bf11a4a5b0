#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/clean_text.h"
#include "cli/cli.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "tools/bench_snapshot.h"

static const char usage[] =
    "nightjar bench snapshot [MODEL] [flags]\n"
    "\n"
    "What snapshots cost: packing and unpacking the model's real states, a round of all\n"
    "sequences until it is durable, restoring one beside what reading and unpacking its bytes\n"
    "takes, and the share of a run that this is at the automatic interval. Default\n"
    "examples/fledgling. Segments are written below the working directory, and removed.\n"
    "\n"
    "  --sequences N   at once; default 4\n"
    "  --positions N   of each before its snapshot; default 256\n"
    "  --pairs N       runs with and without a snapshot, in turn, each as long as the "
    "interval;\n"
    "                  default none\n"
    "  --folder DIR    where segments are written\n"
    "  --memory SIZE   ceiling for everything; less than the model's makes sweeps read it\n"
    "  --threads N     compute threads, 1 to 1024; default one per CPU\n"
    "  --cpu-level L   auto, scalar, avx2, avx512\n"
    "  --json          one JSON document\n"
    "\n"
    "Exit codes: 0 measured, 2 usage, 9 permission denied, 11 memory, 12 the model, 13 "
    "storage.\n";

static enum nj_status read_flags(int argc, char **argv,
                                 struct nj_snapshot_bench_options *options, bool *help,
                                 struct nj_error *err)
{
    int n_words = 0;
    const struct nj_flag flags[] = {
        {"--sequences", &options->n_sequences, NJ_FLAG_COUNT, 256},
        {"--positions", &options->n_positions, NJ_FLAG_COUNT, 1000000},
        {"--pairs", &options->n_pairs, NJ_FLAG_COUNT, 101},
        {"--folder", &options->folder, NJ_FLAG_TEXT, 0},
        {"--memory", &options->memory_bytes, NJ_FLAG_SIZE, 0},
        {"--threads", &options->n_threads, NJ_FLAG_COUNT, 1024},
        {"--cpu-level", &options->cpu_level, NJ_FLAG_TEXT, 0},
        {"--json", &options->wants_json, NJ_FLAG_SWITCH, 0},
        {"--help", help, NJ_FLAG_SWITCH, 0},
        {"-h", help, NJ_FLAG_SWITCH, 0}};
    enum nj_status status =
        nj_flags_parse(argc, argv, flags, sizeof flags / sizeof flags[0], &n_words, err);
    if (status == NJ_OK && n_words > 1) {
        return nj_fail(err, NJ_E_USAGE, "bench snapshot wants one model directory");
    }
    options->path = n_words == 1 ? argv[0] : "examples/fledgling";
    return status;
}

int nj_cli_bench_snapshot(int argc, char **argv)
{
    bool help = false;
    struct nj_error err = {0};
    struct nj_text text = {0};
    char *owned = NULL;
    struct nj_snapshot_bench_report report;
    struct nj_snapshot_bench_options options = {.wants_json =
                                                    nj_flags_mention(argc, argv, "--json")};
    enum nj_status status = read_flags(argc, argv, &options, &help, &err);
    if (status == NJ_OK && help) {
        (void)fputs(usage, stdout);
        return NJ_EXIT_OK;
    }
    if (status == NJ_OK) {
        status = nj_snapshot_bench_measure(&options, &report, &err);
    }
    if (status == NJ_OK) {
        status = nj_snapshot_bench_write(&report, &options, &owned, &text.length_bytes, &err);
    }
    if (status != NJ_OK) {
        return nj_complain_failure(options.wants_json, status, &err, NULL);
    }
    text.data = owned;
    nj_clean_print(stdout, text);
    free(owned);
    return NJ_EXIT_OK;
}
