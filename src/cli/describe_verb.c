#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "cli/clean_text.h"
#include "cli/cli.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "tools/describe.h"

static const char usage[] =
    "nightjar describe MODEL\n"
    "\n"
    "Prints what a model directory holds: every field that shapes the graph, what is on and\n"
    "off, tensors, sizes, tokenizer, fingerprint. Weights are not read into memory.\n";

static int describe(const char *path)
{
    struct nj_error err = {0};
    struct nj_text text = {0};
    char *owned = NULL;
    enum nj_status status =
        nj_describe_model(nj_file_system_real(), path, &owned, &text.length_bytes, &err);
    if (status != NJ_OK) {
        nj_clean_complain(err.text);
        return nj_exit_code_of(status);
    }
    text.data = owned;
    nj_clean_print(stdout, text);
    free(owned);
    return NJ_EXIT_OK;
}

int nj_cli_describe(int argc, char **argv)
{
    bool help = false;
    int n_files = 0;
    struct nj_error err = {0};
    const struct nj_flag flags[] = {{"--help", NJ_FLAG_SWITCH, &help, 0},
                                    {"-h", NJ_FLAG_SWITCH, &help, 0}};
    enum nj_status status = nj_flags_parse(argc, argv, flags, 2, &n_files, &err);
    if (status != NJ_OK) {
        nj_clean_complain(err.text);
        return nj_exit_code_of(status);
    }
    if (help) {
        (void)fputs(usage, stdout);
        return NJ_EXIT_OK;
    }
    if (n_files != 1) {
        nj_clean_complain("describe wants one model directory");
        return NJ_EXIT_USAGE;
    }
    return describe(argv[0]);
}
