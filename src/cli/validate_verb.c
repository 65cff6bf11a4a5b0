#include <stdbool.h>
#include <stdio.h>

#include "cli/clean_text.h"
#include "cli/cli.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/job_file.h"

static const char usage[] =
    "nightjar validate FILE...\n"
    "\n"
    "Checks job files and their rows and prints every mistake as file:line:column. Nothing is\n"
    "run, no model is opened. Exit code 0 when all are good, 3 when one is not.\n";

static int validate(const char *path)
{
    struct nj_error err = {0};
    struct nj_job_file file;
    enum nj_status status = nj_job_file_open(&file, path, &err);
    if (status == NJ_OK) {
        (void)fputs("ok: ", stdout);
        nj_clean_print(stdout, nj_text_from(path));
        (void)printf(", %llu items\n", (unsigned long long)file.n_items);
    } else if (err.text[0] != '\0') {
        nj_clean_complain(err.text);
    }
    nj_job_file_close(&file);
    return nj_exit_code_of(status);
}

int nj_cli_validate(int argc, char **argv)
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
    if (n_files == 0) {
        nj_clean_complain("validate wants at least one job file");
        return NJ_EXIT_USAGE;
    }
    int code = NJ_EXIT_OK;
    for (int i = 0; i < n_files; i++) {
        int one = validate(argv[i]);
        code = one != NJ_EXIT_OK ? one : code;
    }
    return code;
}
