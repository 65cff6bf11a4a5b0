#include "cli/cli.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/clean_text.h"
#include "cli/exit_code.h"
#include "cli/flags.h"

static const char usage[] =
    "nightjar runs batches of prompts through Kimi K3 and Kimi-Linear models and never loses\n"
    "or repeats work.\n"
    "\n"
    "  nightjar run FILE           run a job file; the same command continues a stopped run\n"
    "  nightjar validate FILE...   check job files, nothing else\n"
    "  nightjar snapshot ...       look into the states of a run, carry one elsewhere\n"
    "  nightjar describe MODEL     what a model directory holds\n"
    "  nightjar bench kernels      how fast the kernels are here\n"
    "  nightjar bench model DIR    where the time of a model's steps goes\n"
    "  nightjar bench sweep DIR    sweeps over a model larger than memory\n"
    "  nightjar synth DIR          make up a model, to measure with\n"
    "\n"
    "  nightjar help VERB          the verb's flags, as VERB --help\n"
    "  nightjar --version\n";

struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
};

static const struct verb verbs[] = {
    {"run", nj_cli_run},           {"validate", nj_cli_validate}, {"snapshot", nj_cli_snapshot},
    {"describe", nj_cli_describe}, {"bench", nj_cli_bench},       {"synth", nj_cli_synth}};

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(name, verbs[i].name) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

/* People leave the verb out. */
static bool is_file_name(const char *name)
{
    return strrchr(name, '.') != NULL || strchr(name, '/') != NULL;
}

static const char *nearest_verb(const char *name)
{
    const char *nearest = NULL;
    unsigned best = (unsigned)strlen(name) / 3 + 1;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        unsigned distance =
            nj_text_distance(nj_text_from(name), nj_text_from(verbs[i].name), best);
        if (distance < best) {
            best = distance;
            nearest = verbs[i].name;
        }
    }
    return nearest;
}

static int complain_of_verb(const char *name)
{
    char text[384];
    const char *nearest = nearest_verb(name);
    if (is_file_name(name)) {
        (void)snprintf(text, sizeof text,
                       "no verb \"%.100s\"; to run a job file: nightjar run %.100s", name,
                       name);
    } else if (nearest != NULL) {
        (void)snprintf(text, sizeof text, "no verb \"%.100s\", did you mean %s?", name,
                       nearest);
    } else {
        (void)snprintf(text, sizeof text, "no verb \"%.100s\"; nightjar --help lists them",
                       name);
    }
    nj_clean_complain(text);
    return NJ_EXIT_USAGE;
}

static int print_usage(void)
{
    (void)fputs(usage, stdout);
    return NJ_EXIT_OK;
}

/* Help is given whatever else the command line says: who asks for it may be in trouble with the
 * rest. */
static int print_help_of(const char *name)
{
    static char wish[] = "--help";
    char *arguments[] = {wish, NULL};
    const struct verb *verb = find_verb(name);
    return verb != NULL ? verb->run(1, arguments) : complain_of_verb(name);
}

int nj_cli_main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (name == NULL) {
        (void)fputs(usage, stderr);
        return NJ_EXIT_USAGE;
    }
    if (strcmp(name, "help") == 0 && argc > 2 && argv[2][0] != '-') {
        return print_help_of(argv[2]);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        return print_usage();
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        (void)printf("nightjar %s\n", NJ_VERSION);
        return NJ_EXIT_OK;
    }
    const struct verb *verb = find_verb(name);
    if (verb == NULL) {
        return complain_of_verb(name);
    }
    if (nj_flags_mention(argc - 2, argv + 2, "--help") ||
        nj_flags_mention(argc - 2, argv + 2, "-h")) {
        return print_help_of(name);
    }
    return verb->run(argc - 2, argv + 2);
}
