#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/clean_text.h"
#include "cli/cli.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/job_file.h"
#include "cli/job_flags.h"
#include "cli/words.h"
#include "runner/check.h"

static const char usage[] =
    "nightjar validate FILE... [flags]\n"
    "\n"
    "Checks job files and their rows and prints every mistake as file:line:column. When the\n"
    "job's model is there, every prompt is also counted in its tokens and checked against its\n"
    "context and vocabulary. Nothing is run, no weights are read.\n"
    "\n"
    "  --model DIR          the model, instead of the job's `model`; it must be "
    "there\n" NJ_JOB_FLAGS_HELP "  --json               one JSON document on standard output\n"
    "\n"
    "Exit codes: 0 all files are good; else that of the first that is not: 3 mistakes in it,\n"
    "9 permission denied, 11 out of memory, 12 its model is damaged or, with --model, "
    "missing.\n";

struct arguments {
    const char *model_path;
    struct nj_job_flags job;
    bool as_json;
    bool help;
};

/* What its model says about one job. */
struct job_finding {
    struct nj_run_check check;
    bool has_model;               /* its prompts were looked at with it */
    struct nj_error why_no_model; /* where the one it names was looked for; else empty */
};

/* What was found out about one file. */
struct finding {
    const char *path;
    struct nj_job_file file;
    struct job_finding *jobs; /* of each job in the file; NULL when it could not be read */
    enum nj_status status;
    struct nj_error err;
};

/* A job that names no model, or one that is on another machine, is no mistake here. */
static enum nj_status check_with_model(struct finding *finding, size_t index,
                                       const char *model_path, struct nj_error *err)
{
    const struct nj_run_options options = {.model_path = model_path};
    const struct nj_job_spec *spec = finding->file.jobs.items[index];
    struct job_finding *job = &finding->jobs[index];
    bool has_one = spec->n_models == 1; /* several are for the daemon */
    if (model_path == NULL && !has_one) {
        return NJ_OK;
    }
    enum nj_status status = nj_run_check_job(nj_file_system_real(), spec, &options,
                                             &finding->file.diagnostics, &job->check, err);
    if (status == NJ_E_NOT_FOUND && model_path == NULL) {
        job->why_no_model = *err;
        return NJ_OK;
    }
    job->has_model = status == NJ_OK;
    return status;
}

/* Every job is looked at, so that all mistakes of the file are told at once. */
static void check_jobs_with_model(struct finding *finding, const char *model_path)
{
    size_t n_jobs = finding->file.jobs.n_items;
    finding->jobs = nj_arena_take_array(&finding->file.arena, n_jobs, sizeof finding->jobs[0]);
    if (finding->jobs == NULL) {
        finding->status = nj_arena_fail(&finding->file.arena, finding->path, &finding->err);
        return;
    }
    memset(finding->jobs, 0, n_jobs * sizeof finding->jobs[0]);
    for (size_t i = 0; i < n_jobs; i++) {
        struct nj_error err = {0};
        enum nj_status status = check_with_model(finding, i, model_path, &err);
        if (status != NJ_OK && finding->status == NJ_OK) {
            finding->status = status;
            finding->err = err;
        }
    }
}

static void examine(struct finding *finding, const char *path,
                    const struct arguments *arguments)
{
    const struct nj_job_overrides overrides = nj_job_flags_overrides(&arguments->job);
    *finding = (struct finding){.path = path};
    finding->status = nj_job_file_open(&finding->file, path, &overrides, &finding->err);
    if (finding->status == NJ_OK) {
        check_jobs_with_model(finding, arguments->model_path);
    }
}

/* --- for people --- */

static void print_job(const struct finding *finding, size_t index)
{
    char count[NJ_WORDS_BYTES];
    const struct nj_job_specs *jobs = &finding->file.jobs;
    const struct job_finding *job = &finding->jobs[index];
    (void)fputs("ok: ", stdout);
    nj_clean_print_line(stdout, nj_text_from(finding->path));
    if (jobs->n_items > 1) {
        (void)fputs(", job ", stdout);
        nj_clean_print_line(stdout, jobs->items[index]->name);
    }
    (void)printf(", %s", nj_words_count(finding->file.n_items[index], "item", count));
    if (job->has_model) {
        (void)printf(", %s\n",
                     nj_words_count(job->check.n_prompt_tokens, "prompt token", count));
    } else if (job->why_no_model.text[0] != '\0') {
        (void)fputs(" (no model here: prompts were not counted in tokens; ", stdout);
        nj_clean_print_line(stdout, nj_text_from(job->why_no_model.text));
        (void)puts(")");
    } else {
        (void)printf(" (%s: prompts were not counted in tokens)\n",
                     jobs->items[index]->n_models > 1 ? "several models" : "no model here");
    }
}

static void print_finding(const struct finding *finding)
{
    if (finding->status != NJ_OK) {
        (void)nj_complain_failure(false, finding->status, &finding->err,
                                  &finding->file.diagnostics); /* counted by the caller */
        return;
    }
    nj_complain_warnings(false, &finding->file.diagnostics);
    for (size_t i = 0; i < finding->file.jobs.n_items; i++) {
        print_job(finding, i);
    }
}

/* --- for programs --- */

static void write_count(struct nj_json_writer *writer, const char *key, bool is_known,
                        uint64_t count)
{
    nj_json_key(writer, key);
    if (is_known) {
        nj_json_write_unsigned(writer, count);
    } else {
        nj_json_write_null(writer);
    }
}

static void write_text(struct nj_json_writer *writer, const char *key, const char *text)
{
    nj_json_key(writer, key);
    if (text != NULL) {
        nj_json_write_string(writer, text);
    } else {
        nj_json_write_null(writer);
    }
}

static void write_model(struct nj_json_writer *writer, const char *path)
{
    write_text(writer, "model", path);
}

/* Of all jobs together; the model when all were counted with the same. */
static void write_totals(struct nj_json_writer *writer, const struct finding *finding)
{
    size_t n_jobs = finding->jobs == NULL ? 0 : finding->file.jobs.n_items;
    uint64_t n_items = 0;
    uint64_t n_prompt_tokens = 0;
    bool are_counted = n_jobs > 0;
    const char *model_path = n_jobs > 0 ? finding->jobs[0].check.model_path : NULL;
    for (size_t i = 0; i < n_jobs; i++) {
        const struct job_finding *job = &finding->jobs[i];
        n_items += finding->file.n_items[i];
        n_prompt_tokens += job->check.n_prompt_tokens;
        are_counted = are_counted && job->has_model;
        if (model_path != NULL && strcmp(job->check.model_path, model_path) != 0) {
            model_path = NULL;
        }
    }
    nj_json_key(writer, "items");
    nj_json_write_unsigned(writer, n_items);
    write_model(writer, are_counted ? model_path : NULL);
    write_count(writer, "prompt_tokens", are_counted, n_prompt_tokens);
}

static void write_jobs(struct nj_json_writer *writer, const struct finding *finding)
{
    size_t n_jobs = finding->jobs == NULL ? 0 : finding->file.jobs.n_items;
    nj_json_key(writer, "jobs");
    nj_json_begin_array(writer);
    for (size_t i = 0; i < n_jobs; i++) {
        const struct job_finding *job = &finding->jobs[i];
        nj_json_begin_object(writer);
        nj_json_key(writer, "name");
        nj_json_write_text(writer, finding->file.jobs.items[i]->name);
        nj_json_key(writer, "items");
        nj_json_write_unsigned(writer, finding->file.n_items[i]);
        write_model(writer, job->has_model ? job->check.model_path : NULL);
        write_count(writer, "prompt_tokens", job->has_model, job->check.n_prompt_tokens);
        write_text(writer, "no_model",
                   job->why_no_model.text[0] != '\0' ? job->why_no_model.text : NULL);
        nj_json_end_object(writer);
    }
    nj_json_end_array(writer);
}

static void write_finding(struct nj_json_writer *writer, const struct finding *finding)
{
    nj_json_begin_object(writer);
    nj_json_key(writer, "file");
    nj_json_write_string(writer, finding->path);
    nj_json_key(writer, "is_valid");
    nj_json_write_boolean(writer, finding->status == NJ_OK);
    write_totals(writer, finding);
    nj_complaint_write(writer, finding->status, finding->err.text, &finding->file.diagnostics);
    write_jobs(writer, finding);
    nj_json_end_object(writer);
}

/* --- all files --- */

/* With `writer` the findings go there, else they are printed. */
static int validate_all(int n_files, char *const *paths, const struct arguments *arguments,
                        struct nj_json_writer *writer)
{
    int code = NJ_EXIT_OK;
    for (int i = 0; i < n_files; i++) {
        struct finding finding;
        examine(&finding, paths[i], arguments);
        if (writer != NULL) {
            write_finding(writer, &finding);
        } else {
            print_finding(&finding);
        }
        code = code == NJ_EXIT_OK ? nj_exit_code_of(finding.status) : code;
        nj_job_file_close(&finding.file);
    }
    return code;
}

static int validate_as_json(int n_files, char *const *paths, const struct arguments *arguments)
{
    struct nj_json_writer writer;
    nj_json_writer_init(&writer);
    nj_json_begin_object(&writer);
    nj_json_key(&writer, "version");
    nj_json_write_unsigned(&writer, 1);
    nj_json_key(&writer, "files");
    nj_json_begin_array(&writer);
    int code = validate_all(n_files, paths, arguments, &writer);
    nj_json_end_array(&writer);
    nj_json_end_object(&writer);
    int printing = nj_json_print(&writer, stdout);
    nj_json_writer_deinit(&writer);
    return code == NJ_EXIT_OK ? printing : code;
}

int nj_cli_validate(int argc, char **argv)
{
    struct arguments arguments = {
        .as_json = nj_flags_mention(argc, argv, "--json")}; /* also for mistakes in flags */
    int n_files = 0;
    struct nj_error err = {0};
    const struct nj_flag flags[] = {{"--help", &arguments.help, NJ_FLAG_SWITCH, 0},
                                    {"-h", &arguments.help, NJ_FLAG_SWITCH, 0},
                                    {"--model", &arguments.model_path, NJ_FLAG_TEXT, 0},
                                    {"--json", &arguments.as_json, NJ_FLAG_SWITCH, 0},
                                    {"--set", &arguments.job.sets, NJ_FLAG_LIST, 0},
                                    {"--var", &arguments.job.vars, NJ_FLAG_LIST, 0},
                                    {"--limit", &arguments.job.limit, NJ_FLAG_COUNT, 0}};
    enum nj_status status =
        nj_flags_parse(argc, argv, flags, sizeof flags / sizeof flags[0], &n_files, &err);
    if (status == NJ_OK) {
        status = nj_job_flags_check(&arguments.job, &err);
    }
    if (status == NJ_OK && n_files == 0 && !arguments.help) {
        status = nj_fail(&err, NJ_E_USAGE, "validate wants at least one job file");
    }
    if (status != NJ_OK) {
        return nj_complain_failure(arguments.as_json, status, &err, NULL);
    }
    if (arguments.help) {
        (void)fputs(usage, stdout);
        return NJ_EXIT_OK;
    }
    return arguments.as_json ? validate_as_json(n_files, argv, &arguments)
                             : validate_all(n_files, argv, &arguments, NULL);
}
