#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/clean_text.h"
#include "cli/cli.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "tools/describe.h"

static const char usage[] =
    "nightjar describe MODEL [--json]\n"
    "\n"
    "Prints what a model directory holds: every field that shapes the graph, what is on and\n"
    "off, tensors, sizes, tokenizer, fingerprint. Weights are not read into memory.\n"
    "\n"
    "  --json  one JSON document\n"
    "\n"
    "Exit codes: 0 described, 9 permission denied, 12 damaged, missing or unreadable.\n";

/* The text begins with the path, whose newlines are no ends of lines. */
static void print_description(const char *path, struct nj_text text)
{
    size_t length = strlen(path);
    if (text.length_bytes >= length && memcmp(text.data, path, length) == 0) {
        nj_clean_print_line(stdout, nj_text_from(path));
        text = (struct nj_text){text.data + length, text.length_bytes - length};
    }
    nj_clean_print(stdout, text);
}

static int describe(const char *path, bool as_json)
{
    struct nj_error err = {0};
    struct nj_text text = {0};
    char *owned = NULL;
    enum nj_status status = nj_describe_model(nj_file_system_real(), path, as_json, &owned,
                                              &text.length_bytes, &err);
    if (status != NJ_OK) {
        return nj_complain_failure(as_json, status, &err, NULL);
    }
    text.data = owned;
    if (as_json) {
        nj_clean_print_json(stdout, text); /* checked at the end */
    } else {
        print_description(path, text);
    }
    free(owned);
    return NJ_EXIT_OK;
}

int nj_cli_describe(int argc, char **argv)
{
    bool help = false;
    bool as_json = nj_flags_mention(argc, argv, "--json"); /* also for mistakes in flags */
    int n_files = 0;
    struct nj_error err = {0};
    const struct nj_flag flags[] = {{"--help", &help, NJ_FLAG_SWITCH, 0},
                                    {"-h", &help, NJ_FLAG_SWITCH, 0},
                                    {"--json", &as_json, NJ_FLAG_SWITCH, 0}};
    enum nj_status status =
        nj_flags_parse(argc, argv, flags, sizeof flags / sizeof flags[0], &n_files, &err);
    if (status == NJ_OK && n_files != 1 && !help) {
        status = nj_fail(&err, NJ_E_USAGE, "describe wants one model directory");
    }
    if (status != NJ_OK) {
        return nj_complain_failure(as_json, status, &err, NULL);
    }
    if (help) {
        (void)fputs(usage, stdout);
        return NJ_EXIT_OK;
    }
    return describe(argv[0], as_json);
}
