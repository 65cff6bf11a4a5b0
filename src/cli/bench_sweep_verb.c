#include <stdbool.h>
#include <stdio.h>

#include "cli/clean_text.h"
#include "cli/cli.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "tools/bench_sweep.h"

static const char usage[] =
    "nightjar bench sweep MODEL [--memory SIZE] [--pairs N] [--quick] [--whole] [--json]\n"
    "\n"
    "Measures sweeps over a model that is larger than the memory it is given, each paired "
    "with\n"
    "a bare reader over the same bytes: at 1, 8, 32, 64 and 128 rows as far as memory allows,\n"
    "and for a prompt's chunk of 512. Takes some twenty sweeps' time for each of them.\n"
    "\n"
    "  --memory SIZE      ceiling for everything; default the least for the widest batch, and\n"
    "                     frames enough to keep the drive busy\n"
    "  --pairs N          of a sweep and a bare reader, at each width; default 7\n"
    "  --quick            3 pairs, up to 32 rows\n"
    "  --whole            also sweep with all weights in memory, to know what computing takes "
    "by\n"
    "                     itself; needs the memory for that besides\n"
    "  --threads N        compute threads; default one per CPU\n"
    "  --cpu-level LEVEL  auto (the best, the default), scalar, avx2 or avx512\n"
    "  --reader NAME      ring or threads; default ring, and threads where it is refused\n"
    "  --json             one JSON document instead of a table\n";

static enum nj_status read_flags(int argc, char **argv, struct nj_sweep_bench_options *options,
                                 bool *as_json, bool *help, struct nj_error *err)
{
    int n_words = 0;
    bool is_quick = false;
    const struct nj_flag flags[] = {{"--memory", &options->memory_bytes, NJ_FLAG_SIZE, 0},
                                    {"--pairs", &options->n_pairs, NJ_FLAG_COUNT, 101},
                                    {"--threads", &options->n_threads, NJ_FLAG_COUNT, 1024},
                                    {"--cpu-level", &options->cpu_level, NJ_FLAG_TEXT, 0},
                                    {"--reader", &options->reader, NJ_FLAG_TEXT, 0},
                                    {"--quick", &is_quick, NJ_FLAG_SWITCH, 0},
                                    {"--whole", &options->holds_whole, NJ_FLAG_SWITCH, 0},
                                    {"--json", as_json, NJ_FLAG_SWITCH, 0},
                                    {"--help", help, NJ_FLAG_SWITCH, 0},
                                    {"-h", help, NJ_FLAG_SWITCH, 0}};
    enum nj_status status =
        nj_flags_parse(argc, argv, flags, sizeof flags / sizeof flags[0], &n_words, err);
    if (status != NJ_OK || *help) {
        return status;
    }
    if (n_words != 1) {
        return nj_fail(err, NJ_E_USAGE, "bench sweep wants one model directory");
    }
    options->path = argv[0];
    if (is_quick) {
        options->n_pairs = options->n_pairs == 0 ? 3 : options->n_pairs;
        options->n_widths = 3;
    }
    return NJ_OK;
}

int nj_cli_bench_sweep(int argc, char **argv)
{
    bool help = false;
    bool as_json = nj_flags_mention(argc, argv, "--json"); /* also for mistakes in flags */
    struct nj_error err = {0};
    struct nj_sweep_bench_options options = {0};
    struct nj_sweep_bench_report report;
    enum nj_status status = read_flags(argc, argv, &options, &as_json, &help, &err);
    if (status == NJ_OK && help) {
        (void)fputs(usage, stdout);
        return NJ_EXIT_OK;
    }
    if (status == NJ_OK) {
        status = nj_sweep_bench_measure(&options, &report, &err);
    }
    if (status != NJ_OK) {
        return nj_complain_failure(as_json, status, &err, NULL);
    }
    if (as_json) {
        struct nj_json_writer writer;
        nj_json_writer_init(&writer);
        nj_sweep_bench_write(&writer, &report);
        int code = nj_json_print(&writer, stdout);
        nj_json_writer_deinit(&writer);
        return code;
    }
    nj_sweep_bench_print(stdout, &report);
    return NJ_EXIT_OK;
}
