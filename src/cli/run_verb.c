#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/clean_text.h"
#include "cli/cli.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/job_flags.h"
#include "cli/prefix_flags.h"
#include "cli/run_jobs.h"
#include "job/spec.h"
#include "tools/cpu_level.h"

static const char usage[] =
    "nightjar run FILE [flags]\n"
    "\n"
    "Runs the job and writes DIR/results.jsonl. Stopped or killed at any moment, the same\n"
    "command continues, and the results have the same bytes. A file of several jobs is run\n"
    "job by job; batches for the OpenAI API (.jsonl), .prompt.yml and the files of promptfoo\n"
    "and llm are read too.\n"
    "\n"
    "  --model DIR          the model, instead of the job's `model`\n"
    "  --out DIR            the run folder; else `output.dir`/NAME, else results/NAME; of\n"
    "                       several jobs each has DIR/NAME\n" NJ_JOB_FLAGS_HELP
    "  --restart            in a folder of a changed job: keep finished items that are the\n"
    "                       same at the same position (id, variables, prompt, options),\n"
    "                       do all others anew\n"
    "  --fresh              move an old run aside to DIR.1, DIR.2, ... and begin again\n"
    "  --json               events as JSON Lines on standard output, errors as JSON\n"
    "  --latent-norm-eps X  override the model's setting; above 0, at most 1\n"
    "\n"
    "These change the time it takes, and no byte of the results:\n"
    "  --threads N          compute threads, 1 to 1024; default one per CPU\n"
    "  --batch N            items under way at once; default as memory allows, at most 256\n"
    "  --prefill-chunk N    prompt tokens of one item in one sweep; default as many as "
    "fit\n" NJ_PREFIX_FLAGS_HELP
    "  --memory SIZE        ceiling for everything, such as 8GiB; default what is left here\n"
    "  --states WHERE       memory, disk, or auto: on disk when a batch that is asked for "
    "does\n"
    "                       not fit in memory\n"
    "  --cpu-level L        auto, scalar, avx2, avx512\n"
    "  --reader NAME        of weights that do not fit: auto, ring (the kernel's), threads\n"
    "\n"
    "Exit codes:\n"
    "   0  every item is done\n"
    "   1  a limit of the job ended it, or the output could not be written\n"
    "   2  the command line makes no sense\n"
    "   3  the job file or its rows are wrong\n"
    "   6  changed job, model or numerics; a folder in use, or of other files\n"
    "   7  finished, but some items failed\n"
    "   9  permission denied\n"
    "  11  memory, threads or disk do not suffice\n"
    "  12  the model is damaged, missing or unreadable\n"
    "  13  storage failed; the same command continues\n"
    "  70  internal error\n"
    "  75  stopped by a signal; the same command continues\n";

struct arguments {
    struct nj_run_options options;
    struct nj_job_flags job;
    struct nj_prefix_flags prefixes;
    const char *states;
    bool restart;
    bool fresh;
    bool as_json;
    bool help;
};

static enum nj_status parse_states(const char *text, enum nj_states_place *states,
                                   struct nj_error *err)
{
    static const char *const names[] = {
        [NJ_STATES_AUTO] = "auto", [NJ_STATES_MEMORY] = "memory", [NJ_STATES_DISK] = "disk"};
    for (enum nj_states_place i = NJ_STATES_AUTO; text != NULL && i <= NJ_STATES_DISK; i++) {
        if (strcmp(text, names[i]) == 0) {
            *states = i;
            return NJ_OK;
        }
    }
    return text == NULL ? NJ_OK
                        : nj_fail(err, NJ_E_USAGE,
                                  "--states wants auto, memory or disk, not '%s'", text);
}

static enum nj_status parse(int argc, char **argv, struct arguments *arguments,
                            struct nj_error *err)
{
    struct nj_run_options *options = &arguments->options;
    const struct nj_flag flags[] = {
        {"--help", &arguments->help, NJ_FLAG_SWITCH, 0},
        {"-h", &arguments->help, NJ_FLAG_SWITCH, 0},
        {"--model", &options->model_path, NJ_FLAG_TEXT, 0},
        {"--out", &options->output_directory, NJ_FLAG_TEXT, 0},
        {"--json", &arguments->as_json, NJ_FLAG_SWITCH, 0},
        {"--restart", &arguments->restart, NJ_FLAG_SWITCH, 0},
        {"--fresh", &arguments->fresh, NJ_FLAG_SWITCH, 0},
        {"--threads", &options->n_threads, NJ_FLAG_COUNT, NJ_THREADS_LIMIT},
        {"--batch", &options->batch, NJ_FLAG_COUNT, NJ_BATCH_LIMIT},
        {"--prefill-chunk", &options->prefill_chunk, NJ_FLAG_COUNT, 0},
        {"--share-prefixes", &arguments->prefixes.share, NJ_FLAG_TEXT, 0},
        {"--prefix-cache", &arguments->prefixes.cache, NJ_FLAG_TEXT, 0},
        {"--memory", &options->memory_bytes, NJ_FLAG_SIZE, 0},
        {"--states", &arguments->states, NJ_FLAG_TEXT, 0},
        {"--cpu-level", &options->cpu_level, NJ_FLAG_TEXT, 0},
        {"--reader", &options->reader, NJ_FLAG_TEXT, 0},
        {"--latent-norm-eps", &options->latent_norm_eps, NJ_FLAG_NUMBER, 1},
        {"--set", &arguments->job.sets, NJ_FLAG_LIST, 0},
        {"--var", &arguments->job.vars, NJ_FLAG_LIST, 0},
        {"--limit", &arguments->job.limit, NJ_FLAG_COUNT, 0},
    };
    int n_files = 0;
    enum nj_status status =
        nj_flags_parse(argc, argv, flags, sizeof flags / sizeof flags[0], &n_files, err);
    if (status != NJ_OK || arguments->help) {
        return status;
    }
    status = nj_job_flags_check(&arguments->job, err);
    if (status == NJ_OK) {
        status = nj_prefix_flags_apply(&arguments->prefixes, options, err);
    }
    if (status == NJ_OK) {
        status = parse_states(arguments->states, &options->states, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    if (n_files > 1) {
        return nj_fail(err, NJ_E_USAGE, "run wants one job file, %d were given: %s, %s%s",
                       n_files, argv[0], argv[1], n_files > 2 ? ", ..." : "");
    }
    if (n_files == 0) {
        return nj_fail(err, NJ_E_USAGE, "run wants a job file: nightjar run FILE");
    }
    status = nj_cpu_level_check(options->cpu_level, err);
    if (status != NJ_OK) {
        return status;
    }
    if (arguments->restart && arguments->fresh) {
        return nj_fail(err, NJ_E_USAGE, "--restart and --fresh exclude each other");
    }
    options->job_path = argv[0];
    options->mode = arguments->fresh     ? NJ_RUN_FRESH
                    : arguments->restart ? NJ_RUN_RESTART
                                         : NJ_RUN_CONTINUE;
    return NJ_OK;
}

/* `text` as one word of a shell; control characters as bash and zsh read them back. */
static void print_quoted(FILE *file, const char *text)
{
    bool is_plain =
        text[0] != '\0' && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-./=+:@%,") == strlen(text);
    if (is_plain) {
        (void)fputs(text, file);
        return;
    }
    (void)fputc('\'', file);
    struct nj_text word = nj_text_from(text);
    for (size_t i = 0; i < word.length_bytes;) {
        size_t begin = i;
        uint32_t code_point = nj_text_next(word, &i);
        bool is_control = nj_clean_is_control(code_point) || code_point < ' ';
        if (code_point == '\'') {
            (void)fputs("'\\''", file);
        } else if (!is_control) {
            (void)fwrite(text + begin, 1, i - begin, file);
        }
        for (size_t k = begin; k < i && is_control; k++) {
            (void)fprintf(file, "'$'\\x%02x''", (unsigned char)text[k]);
        }
    }
    (void)fputc('\'', file);
}

/* Without the flags that began it anew: given again they would do so again. */
static void print_command(int argc, char *const *argv)
{
    bool may_be_flag = true;
    (void)fputs("nightjar: continue with: nightjar run", stderr);
    for (int i = 0; i < argc; i++) {
        may_be_flag = may_be_flag && strcmp(argv[i], "--") != 0;
        bool is_spent = may_be_flag &&
                        (strcmp(argv[i], "--fresh") == 0 || strcmp(argv[i], "--restart") == 0);
        if (!is_spent) {
            (void)fputc(' ', stderr);
            print_quoted(stderr, argv[i]);
        }
    }
    (void)fputc('\n', stderr);
}

static int run_file(const struct arguments *arguments, struct nj_watcher *watcher)
{
    struct nj_job_file file;
    struct nj_error err = {0};
    const struct nj_job_overrides overrides = nj_job_flags_overrides(&arguments->job);
    enum nj_status status =
        nj_job_file_open(&file, arguments->options.job_path, &overrides, &err);
    int code = NJ_EXIT_OK;
    if (status == NJ_OK) {
        nj_complain_warnings(watcher->as_json, &file.diagnostics);
        code = nj_run_jobs(&file, &arguments->options, watcher);
    } else {
        code = nj_complain_failure(watcher->as_json, status, &err, &file.diagnostics);
    }
    nj_job_file_close(&file);
    return code;
}

/* Parsing moves the arguments about; this is their order as they were given. */
static char **copy_arguments(int argc, char *const *argv, struct nj_error *err)
{
    char **copy = calloc((size_t)argc + 1, sizeof *copy);
    if (copy == NULL) {
        (void)nj_fail(err, NJ_E_MEMORY, "read the command line: out of memory");
        return NULL;
    }
    for (int i = 0; i < argc; i++) {
        copy[i] = argv[i];
    }
    return copy;
}

static int run_watched(const struct arguments *arguments, int n_given, char *const *given)
{
    struct nj_watcher watcher;
    struct nj_error err = {0};
    enum nj_status status = nj_watcher_init(&watcher, arguments->as_json, &err);
    if (status != NJ_OK) {
        return nj_complain_failure(arguments->as_json, status, &err, NULL);
    }
    int code = run_file(arguments, &watcher);
    if (code == NJ_EXIT_STOPPED && !arguments->as_json) {
        print_command(n_given, given);
    }
    nj_watcher_deinit(&watcher);
    return code;
}

int nj_cli_run(int argc, char **argv)
{
    struct arguments arguments = {.as_json = nj_flags_mention(argc, argv, "--json")};
    struct nj_error err = {0};
    char **given = copy_arguments(argc, argv, &err);
    enum nj_status status = given != NULL ? parse(argc, argv, &arguments, &err) : NJ_E_MEMORY;
    int code = NJ_EXIT_OK;
    if (status != NJ_OK) {
        code = nj_complain_failure(arguments.as_json, status, &err, NULL);
    } else if (arguments.help) {
        (void)fputs(usage, stdout);
    } else {
        code = run_watched(&arguments, argc, given);
    }
    free(given);
    return code;
}
