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
    "nightjar bench model [DIR] [--threads N] [--cpu-level LEVEL] [--quick] [--json]\n"
    "\n"
    "kernels measures the matrix products on one thread, as shares of what this machine can\n"
    "do: its rate of multiply-adds, its read stream, and a product with the rules about order\n"
    "lifted. Takes some ten seconds and 300 MB.\n"
    "\n"
    "model measures reading a prompt of 512 tokens and steps of 1, 8 and 32 sequences, and\n"
    "which operations the time goes to; default examples/fledgling. `nightjar synth` makes\n"
    "models of any size to measure with.\n"
    "\n"
    "Other work on the machine spoils rates, shares less.\n"
    "\n"
    "  --cpu-level LEVEL  auto (the best, the default), scalar, avx2 or avx512\n"
    "  --threads N        compute threads, 1 to 1024; default one per CPU\n"
    "  --quick            fewer and shorter rounds\n"
    "  --json             one JSON document instead of a table\n"
    "\n"
    "nightjar bench sweep MODEL: sweeps over a model larger than memory; its --help tells.\n"
    "nightjar bench snapshot [MODEL]: what snapshots cost; its --help tells.\n";

typedef enum nj_status bench_function(const struct nj_bench_options *options, char **text,
                                      size_t *length_bytes, struct nj_error *err);

static int run_bench(bench_function *bench, const struct nj_bench_options *options)
{
    struct nj_error err = {0};
    struct nj_text text = {0};
    char *owned = NULL;
    enum nj_status status = bench(options, &owned, &text.length_bytes, &err);
    if (status != NJ_OK) {
        nj_clean_complain(err.text);
        return nj_exit_code_of(status);
    }
    text.data = owned;
    nj_clean_print(stdout, text);
    free(owned);
    return NJ_EXIT_OK;
}

/* `words` are what is not a flag: what to measure, and perhaps on what. */
static int measure(int n_words, char **words, struct nj_bench_options *options)
{
    if (n_words == 1 && strcmp(words[0], "kernels") == 0) {
        if (options->n_threads != 0) {
            nj_clean_complain("bench kernels measures one thread: --threads is of bench model");
            return NJ_EXIT_USAGE;
        }
        return run_bench(nj_bench_kernels, options);
    }
    if ((n_words == 1 || n_words == 2) && strcmp(words[0], "model") == 0) {
        options->model = n_words == 2 ? words[1] : "examples/fledgling";
        return run_bench(nj_bench_model, options);
    }
    nj_clean_complain(
        "bench wants to be told what to measure: kernels, or model or sweep and a folder");
    return NJ_EXIT_USAGE;
}

int nj_cli_bench(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "sweep") == 0) {
        return nj_cli_bench_sweep(argc - 1, argv + 1);
    }
    if (argc > 0 && strcmp(argv[0], "snapshot") == 0) {
        return nj_cli_bench_snapshot(argc - 1, argv + 1);
    }
    bool help = false;
    int n_words = 0;
    struct nj_error err = {0};
    struct nj_bench_options options = {0};
    const struct nj_flag flags[] = {{"--cpu-level", &options.cpu_level, NJ_FLAG_TEXT, 0},
                                    {"--threads", &options.n_threads, NJ_FLAG_COUNT, 1024},
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
    return measure(n_words, argv, &options);
}
