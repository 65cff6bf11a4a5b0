#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/clean_text.h"
#include "cli/cli.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/snapshot_print.h"
#include "cli/words.h"
#include "nightjar/snapshot.h"

static const char usage[] =
    "nightjar snapshot ls RUNDIR [--json]\n"
    "nightjar snapshot show RUNDIR ITEM [--generation N] [--json]\n"
    "nightjar snapshot show FILE [--json]\n"
    "nightjar snapshot verify RUNDIR|FILE [--model DIR] [--json]\n"
    "nightjar snapshot export RUNDIR FILE [--item N] [--json]\n"
    "nightjar snapshot import FILE --out DIR [--json]\n"
    "\n"
    "Looks into the states that a run keeps of its items, and carries a run to another "
    "machine.\n"
    "A state spares reading again; losing one costs time and never text.\n"
    "\n"
    "  ls      every segment of every item: what it is to the item, how far it is, its size\n"
    "  show    one segment: its parts and their compression, whose it is, where the text "
    "stands\n"
    "  verify  every checksum, chain and digest, against journal and token log too; FILE is a\n"
    "          segment or an export\n"
    "  export  job, inputs, logs and the newest states in one file: all that it takes to go "
    "on\n"
    "          but the model. The run must be stopped\n"
    "  import  makes a run folder from that file, and says how to go on in it\n"
    "\n"
    "ITEM and N are item indices, as the folders in RUNDIR/items have them.\n"
    "\n"
    "  --generation N  another segment than the current one\n"
    "  --model DIR     compare with this model too\n"
    "  --item N        states of this item only; the others read their ids again\n"
    "  --out DIR       the new run folder, absent or empty\n"
    "  --json          one JSON document on standard output, errors as JSON\n"
    "\n"
    "Exit codes:\n"
    "   0  done; for verify: all is sound\n"
    "   2  the command line makes no sense\n"
    "   3  there is no such folder, file, item or segment\n"
    "   6  no run folder, a run works in it, --out holds files, or the export is damaged\n"
    "   7  verify: something is damaged or does not belong; each is named\n"
    "   9  permission denied\n"
    "  11  out of memory\n"
    "  12  the model is damaged, missing or unreadable\n"
    "  13  storage failed\n";

struct arguments {
    const char *words[4]; /* action, then what it is about */
    int n_words;
    const char *model;
    const char *item;
    const char *generation;
    const char *out;
    bool as_json;
    bool help;
};

/* An action: how many words it wants behind its name, and which flags. */
struct action {
    const char *name;
    int (*run)(const struct arguments *arguments);
    int least_words;
    int most_words;
    const char *wants;
};

/* What is not there is an input that is not there; 12 would be the model. */
static int fail(const struct arguments *arguments, enum nj_status status,
                const struct nj_error *err)
{
    enum nj_status told = status == NJ_E_NOT_FOUND ? NJ_E_INPUT : status;
    return nj_complain_failure(arguments->as_json, told, err, NULL);
}

static enum nj_status read_number(const char *text, const char *what, uint64_t *number,
                                  struct nj_error *err)
{
    enum { MAX_DIGITS = 18 };
    size_t n_digits = strspn(text, "0123456789");
    if (n_digits == 0 || n_digits > MAX_DIGITS || text[n_digits] != '\0') {
        return nj_fail(err, NJ_E_USAGE, "%s %s is not a number", what, text);
    }
    *number = strtoull(text, NULL, 10);
    return NJ_OK;
}

/* --- actions --- */

static int list(const struct arguments *arguments)
{
    struct nj_error err = {0};
    struct nj_snapshot_table table;
    nj_snapshot_table_init(&table, arguments->as_json);
    enum nj_status status =
        nj_snapshot_list(arguments->words[1], nj_snapshot_table_add, &table, &err);
    int code = status == NJ_OK ? nj_snapshot_table_print(&table, stdout)
                               : fail(arguments, status, &err);
    nj_snapshot_table_deinit(&table);
    return code;
}

static enum nj_status print_details(void *context, const struct nj_snapshot_details *details,
                                    struct nj_error *err)
{
    const struct arguments *arguments = context;
    return nj_snapshot_details_print(details, arguments->as_json, stdout, err);
}

static int show(const struct arguments *arguments)
{
    struct nj_error err = {0};
    struct nj_snapshot_choice choice = {.generation = 0};
    struct arguments copy = *arguments;
    bool has_item = arguments->n_words > 2;
    enum nj_status status = NJ_OK;
    if (has_item) {
        status = read_number(arguments->words[2], "ITEM", &choice.item_index, &err);
    }
    if (status == NJ_OK && arguments->generation != NULL) {
        status = read_number(arguments->generation, "--generation", &choice.generation, &err);
    }
    if (status == NJ_OK) {
        status = nj_snapshot_show(arguments->words[1], has_item ? &choice : NULL, print_details,
                                  &copy, &err);
    }
    return status == NJ_OK ? NJ_EXIT_OK : fail(arguments, status, &err);
}

static int verify(const struct arguments *arguments)
{
    struct nj_error err = {0};
    struct nj_snapshot_findings findings;
    struct nj_snapshot_verification sum = {0};
    nj_snapshot_findings_init(&findings, arguments->as_json, stdout);
    enum nj_status status = nj_snapshot_verify(arguments->words[1], arguments->model,
                                               nj_snapshot_findings_add, &findings, &sum, &err);
    int code = status == NJ_OK ? nj_snapshot_findings_end(&findings, &sum)
                               : fail(arguments, status, &err);
    nj_snapshot_findings_deinit(&findings);
    return code == NJ_EXIT_OK && sum.n_findings > 0 ? NJ_EXIT_SOME_FAILED : code;
}

static int carry_out(const struct arguments *arguments)
{
    struct nj_error err = {0};
    struct nj_snapshot_carried carried = {0};
    struct nj_snapshot_export_options options = {.run_folder = arguments->words[1],
                                                 .file = arguments->words[2],
                                                 .has_item = arguments->item != NULL};
    enum nj_status status = NJ_OK;
    if (options.has_item) {
        status = read_number(arguments->item, "--item", &options.item_index, &err);
    }
    if (status == NJ_OK) {
        status = nj_snapshot_export(&options, &carried, &err);
    }
    return status == NJ_OK
               ? nj_snapshot_carried_print(&carried, options.file, NULL, arguments->as_json)
               : fail(arguments, status, &err);
}

static int carry_in(const struct arguments *arguments)
{
    struct nj_error err = {0};
    struct nj_snapshot_carried carried = {0};
    if (arguments->out == NULL) {
        (void)nj_fail(&err, NJ_E_USAGE, "snapshot import wants --out DIR");
        return fail(arguments, NJ_E_USAGE, &err);
    }
    enum nj_status status =
        nj_snapshot_import(arguments->words[1], arguments->out, &carried, &err);
    return status == NJ_OK ? nj_snapshot_carried_print(&carried, arguments->words[1],
                                                       arguments->out, arguments->as_json)
                           : fail(arguments, status, &err);
}

static const struct action actions[] = {
    {"ls", list, 2, 2, "a run folder"},
    {"show", show, 2, 3, "a run folder and an item, or a segment's file"},
    {"verify", verify, 2, 2, "a run folder, a segment's file or an export"},
    {"export", carry_out, 3, 3, "a run folder and the file to write"},
    {"import", carry_in, 2, 2, "an export, and --out DIR"}};

/* --- the command line --- */

/* A flag that an action does not know would look as if it had been obeyed. */
static enum nj_status check_flags(const struct arguments *arguments, const char *action,
                                  struct nj_error *err)
{
    const struct {
        const char *flag;
        const char *value;
        const char *action;
    } flags[] = {{"--model", arguments->model, "verify"},
                 {"--item", arguments->item, "export"},
                 {"--generation", arguments->generation, "show"},
                 {"--out", arguments->out, "import"}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (flags[i].value != NULL && strcmp(flags[i].action, action) != 0) {
            return nj_fail(err, NJ_E_USAGE, "%s is of snapshot %s, not of snapshot %s",
                           flags[i].flag, flags[i].action, action);
        }
    }
    return NJ_OK;
}

static enum nj_status find_action(const struct arguments *arguments,
                                  const struct action **action, struct nj_error *err)
{
    const char *name = arguments->n_words > 0 ? arguments->words[0] : "";
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(name, actions[i].name) == 0) {
            *action = &actions[i];
            if (arguments->n_words < actions[i].least_words ||
                arguments->n_words > actions[i].most_words) {
                return nj_fail(err, NJ_E_USAGE, "snapshot %s wants %s", name, actions[i].wants);
            }
            return check_flags(arguments, name, err);
        }
    }
    return nj_fail(err, NJ_E_USAGE,
                   "snapshot wants to be told what to do: ls, show, verify, export or import");
}

static enum nj_status parse(int argc, char **argv, struct arguments *arguments,
                            struct nj_error *err)
{
    int n_words = 0;
    const struct nj_flag flags[] = {{"--help", &arguments->help, NJ_FLAG_SWITCH, 0},
                                    {"-h", &arguments->help, NJ_FLAG_SWITCH, 0},
                                    {"--json", &arguments->as_json, NJ_FLAG_SWITCH, 0},
                                    {"--model", &arguments->model, NJ_FLAG_TEXT, 0},
                                    {"--item", &arguments->item, NJ_FLAG_TEXT, 0},
                                    {"--generation", &arguments->generation, NJ_FLAG_TEXT, 0},
                                    {"--out", &arguments->out, NJ_FLAG_TEXT, 0}};
    enum nj_status status =
        nj_flags_parse(argc, argv, flags, sizeof flags / sizeof flags[0], &n_words, err);
    if (status == NJ_OK && n_words > 4) {
        return nj_fail(err, NJ_E_USAGE, "snapshot: too many words; its --help tells");
    }
    for (int i = 0; i < n_words && status == NJ_OK; i++) {
        arguments->words[i] = argv[i];
    }
    arguments->n_words = n_words;
    return status;
}

int nj_cli_snapshot(int argc, char **argv)
{
    struct arguments arguments = {.as_json = nj_flags_mention(argc, argv, "--json")};
    struct nj_error err = {0};
    const struct action *action = NULL;
    enum nj_status status = parse(argc, argv, &arguments, &err);
    if (status == NJ_OK && arguments.help) {
        (void)fputs(usage, stdout);
        return NJ_EXIT_OK;
    }
    if (status == NJ_OK) {
        status = find_action(&arguments, &action, &err);
    }
    return status == NJ_OK ? action->run(&arguments) : fail(&arguments, status, &err);
}
