#include "cli/cli.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/exit_code.h"

static const char usage[] =
    "nightjar runs batches of prompts through Kimi K3 and Kimi-Linear models and never loses\n"
    "or repeats work.\n"
    "\n"
    "  nightjar run FILE.yaml      run a job file; the same command continues a stopped run\n"
    "  nightjar validate FILE...   check job files, nothing else\n"
    "  nightjar describe MODEL     what a model directory holds\n"
    "  nightjar bench kernels      how fast the kernels are here\n"
    "\n"
    "  nightjar VERB --help        the verb's flags\n"
    "  nightjar --version\n";

struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
};

static const struct verb verbs[] = {{"run", nj_cli_run},
                                    {"validate", nj_cli_validate},
                                    {"describe", nj_cli_describe},
                                    {"bench", nj_cli_bench}};

int nj_cli_main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : NULL;
    if (verb == NULL) {
        (void)fputs(usage, stderr);
        return NJ_EXIT_USAGE;
    }
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0 || strcmp(verb, "help") == 0) {
        (void)fputs(usage, stdout);
        return NJ_EXIT_OK;
    }
    if (strcmp(verb, "--version") == 0 || strcmp(verb, "-V") == 0) {
        (void)printf("nightjar %s\n", NJ_VERSION);
        return NJ_EXIT_OK;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verb, verbs[i].name) == 0) {
            return verbs[i].run(argc - 2, argv + 2);
        }
    }
    (void)fprintf(stderr, "nightjar: no verb \"%s\"; nightjar --help lists them\n", verb);
    return NJ_EXIT_USAGE;
}
