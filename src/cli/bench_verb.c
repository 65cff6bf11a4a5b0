#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/clean_text.h"
#include "cli/cli.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "tools/bench.h"

static const char usage[] =
    "nightjar bench kernels [--cpu-level LEVEL] [--quick] [--json]\n"
    "\n"
    "Measures the matrix products on one thread, as shares of what this machine can do: its\n"
    "rate of multiply-adds, its read stream, and a product with the rules about order lifted.\n"
    "Takes some ten seconds and 300 MB. Other work on the machine spoils rates, shares less.\n"
    "\n"
    "  --cpu-level LEVEL  auto (the best, the default), scalar, avx2 or avx512\n"
    "  --quick            three short rounds instead of nine\n"
    "  --json             one JSON document instead of a table\n";

static int bench_kernels(const struct nj_bench_options *options)
{
    struct nj_error err = {0};
    struct nj_text text = {0};
    char *owned = NULL;
    enum nj_status status = nj_bench_kernels(options, &owned, &text.length_bytes, &err);
    if (status != NJ_OK) {
        nj_clean_complain(err.text);
        return nj_exit_code_of(status);
    }
    text.data = owned;
    nj_clean_print(stdout, text);
    free(owned);
    return NJ_EXIT_OK;
}

int nj_cli_bench(int argc, char **argv)
{
    bool help = false;
    int n_words = 0;
    struct nj_error err = {0};
    struct nj_bench_options options = {0};
    const struct nj_flag flags[] = {{"--cpu-level", &options.cpu_level, NJ_FLAG_TEXT, 0},
                                    {"--quick", &options.is_quick, NJ_FLAG_SWITCH, 0},
                                    {"--json", &options.wants_json, NJ_FLAG_SWITCH, 0},
                                    {"--help", &help, NJ_FLAG_SWITCH, 0},
                                    {"-h", &help, NJ_FLAG_SWITCH, 0}};
    enum nj_status status =
        nj_flags_parse(argc, argv, flags, sizeof flags / sizeof flags[0], &n_words, &err);
    if (status != NJ_OK) {
        nj_clean_complain(err.text);
        return nj_exit_code_of(status);
    }
    if (help) {
        (void)fputs(usage, stdout);
        return NJ_EXIT_OK;
    }
    if (n_words != 1 || strcmp(argv[0], "kernels") != 0) {
        nj_clean_complain("bench wants one word, what to measure: kernels");
        return NJ_EXIT_USAGE;
    }
    return bench_kernels(&options);
}
