#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/clean_text.h"
#include "cli/cli.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "tools/synth.h"

static const char usage[] =
    "nightjar synth DIR [--like small|k3] [--bytes SIZE] [sizes]\n"
    "\n"
    "Makes up a model of random weights in the released layout of Kimi K3, at the speed of "
    "the\n"
    "disk: to measure with, not to talk to. It has no tokenizer (prompts are ids) and no end\n"
    "token. The same command makes the same bytes.\n"
    "\n"
    "  --like NAME          sizes that are not given: small (the default), or k3, the "
    "released\n"
    "  --bytes SIZE         as many experts, then layers, as tensors of SIZE (20GiB) hold\n"
    "  --layers N           the first is dense; each fourth and the last one is latent "
    "attention\n"
    "  --experts N --chosen N --shared N --expert-width N --latent N\n"
    "  --hidden N --heads N --dense-width N --vocabulary N --residual-block N\n"
    "  --shard SIZE         cut layers into shards of about SIZE; default one shard a layer\n"
    "  --routing NAME       flat (the default): experts are chosen about equally often; or "
    "skewed\n"
    "  --seed N             other values; default 1\n"
    "\n"
    "Exit codes: 0 made, 2 no such model, 6 the folder is not empty, 11 too little room on\n"
    "disk (nothing is written), 13 a write failed (what was written is removed).\n";

static enum nj_status read_routing(const char *text, bool *is_skewed, struct nj_error *err)
{
    if (text == NULL || strcmp(text, "flat") == 0) {
        return NJ_OK;
    }
    *is_skewed = true;
    return strcmp(text, "skewed") == 0
               ? NJ_OK
               : nj_fail(err, NJ_E_USAGE, "--routing %s: flat or skewed", text);
}

static void print_report(const struct nj_synth_options *options,
                         const struct nj_synth_report *report)
{
    (void)printf("%u layers, %u experts, %" PRIu64 " tensors in %u shards, %" PRIu64
                 " bytes of tensors, %" PRIu64 " on disk\n",
                 report->n_layers, report->n_experts, report->n_tensors, report->n_shards,
                 report->tensor_bytes, report->file_bytes);
    if (options->like == NULL) {
        (void)printf("sizes that were not given are those of small; --like k3 has the released "
                     "ones, and --bytes says how large\n");
    }
}

/* What the flags say; `*help` when they ask for it. */
static enum nj_status read_flags(int argc, char **argv, struct nj_synth_options *options,
                                 bool *help, struct nj_error *err)
{
    const char *routing = NULL;
    int n_words = 0;
    const struct nj_flag flags[] = {
        {"--like", &options->like, NJ_FLAG_TEXT, 0},
        {"--bytes", &options->target_bytes, NJ_FLAG_SIZE, 0},
        {"--shard", &options->shard_bytes, NJ_FLAG_SIZE, 0},
        {"--routing", &routing, NJ_FLAG_TEXT, 0},
        {"--layers", &options->n_layers, NJ_FLAG_COUNT, 0},
        {"--experts", &options->n_experts, NJ_FLAG_COUNT, 0},
        {"--chosen", &options->n_chosen, NJ_FLAG_COUNT, 0},
        {"--shared", &options->n_shared, NJ_FLAG_COUNT, 0},
        {"--expert-width", &options->n_expert, NJ_FLAG_COUNT, 0},
        {"--latent", &options->n_latent, NJ_FLAG_COUNT, 0},
        {"--hidden", &options->n_hidden, NJ_FLAG_COUNT, 0},
        {"--heads", &options->n_heads, NJ_FLAG_COUNT, 0},
        {"--dense-width", &options->n_dense, NJ_FLAG_COUNT, 0},
        {"--vocabulary", &options->n_vocabulary, NJ_FLAG_COUNT, 0},
        {"--residual-block", &options->residual_block, NJ_FLAG_COUNT, 0},
        {"--seed", &options->seed, NJ_FLAG_COUNT, 0},
        {"--help", help, NJ_FLAG_SWITCH, 0},
        {"-h", help, NJ_FLAG_SWITCH, 0},
    };
    enum nj_status status =
        nj_flags_parse(argc, argv, flags, sizeof flags / sizeof flags[0], &n_words, err);
    if (status == NJ_OK && n_words != 1 && !*help) {
        status = nj_fail(err, NJ_E_USAGE, "synth wants one directory to make");
    }
    return status == NJ_OK ? read_routing(routing, &options->is_skewed, err) : status;
}

int nj_cli_synth(int argc, char **argv)
{
    bool help = false;
    struct nj_error err = {0};
    struct nj_synth_options options = {.seed = 1};
    struct nj_synth_report report;
    enum nj_status status = read_flags(argc, argv, &options, &help, &err);
    if (status == NJ_OK && help) {
        (void)fputs(usage, stdout);
        return NJ_EXIT_OK;
    }
    if (status == NJ_OK) {
        status = nj_synth_write(nj_file_system_real(), &options, argv[0], &report, &err);
    }
    if (status != NJ_OK) {
        nj_clean_complain(err.text);
        return nj_exit_code_of(status);
    }
    print_report(&options, &report);
    return NJ_EXIT_OK;
}
