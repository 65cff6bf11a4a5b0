#include <stdbool.h>
#include <stdio.h>

#include "base/file.h"
#include "cli/clean_text.h"
#include "cli/cli.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/job_file.h"
#include "cli/words.h"
#include "runner/check.h"

static const char usage[] =
    "nightjar validate FILE... [flags]\n"
    "\n"
    "Checks job files and their rows and prints every mistake as file:line:column. When the\n"
    "job's model is there, every prompt is also counted in its tokens and checked against its\n"
    "context and vocabulary. Nothing is run, no weights are read.\n"
    "\n"
    "  --model DIR  the model, instead of the job's `model`; it must be there\n"
    "  --json       one JSON document on standard output\n"
    "\n"
    "Exit codes: 0 all files are good; else that of the first that is not: 3 mistakes in it,\n"
    "9 permission denied, 11 out of memory, 12 its model is damaged or, with --model, "
    "missing.\n";

/* What was found out about one file. */
struct finding {
    const char *path;
    struct nj_job_file file;
    struct nj_run_check check;
    bool has_model; /* its prompts were looked at with it */
    enum nj_status status;
    struct nj_error err;
};

/* A job that names no model, or one that is on another machine, is no mistake here. */
static void check_with_model(struct finding *finding, const char *model_path)
{
    const struct nj_run_options options = {.model_path = model_path};
    const struct nj_job_spec *spec = finding->file.spec;
    if (model_path == NULL && spec->model.length_bytes == 0) {
        return;
    }
    struct nj_error err = {0};
    enum nj_status status = nj_run_check_job(nj_file_system_real(), spec, &options,
                                             &finding->file.diagnostics, &finding->check, &err);
    if (status == NJ_E_NOT_FOUND && model_path == NULL) {
        return;
    }
    finding->has_model = status == NJ_OK;
    finding->status = status;
    finding->err = err;
}

static void examine(struct finding *finding, const char *path, const char *model_path)
{
    *finding = (struct finding){.path = path};
    finding->status = nj_job_file_open(&finding->file, path, &finding->err);
    if (finding->status == NJ_OK) {
        check_with_model(finding, model_path);
    }
}

static void print_ok(const struct finding *finding)
{
    char count[NJ_WORDS_BYTES];
    nj_complain_warnings(false, &finding->file.diagnostics);
    (void)fputs("ok: ", stdout);
    nj_clean_print(stdout, nj_text_from(finding->path));
    (void)printf(", %s", nj_words_count(finding->file.n_items, "item", count));
    if (finding->has_model) {
        (void)printf(", %s",
                     nj_words_count(finding->check.n_prompt_tokens, "prompt token", count));
    } else {
        (void)fputs(" (no model here: prompts were not counted in tokens)", stdout);
    }
    (void)fputc('\n', stdout);
}

static void write_finding(struct nj_json_writer *writer, const struct finding *finding)
{
    nj_json_begin_object(writer);
    nj_json_key(writer, "file");
    nj_json_write_string(writer, finding->path);
    nj_json_key(writer, "is_valid");
    nj_json_write_boolean(writer, finding->status == NJ_OK);
    nj_json_key(writer, "items");
    nj_json_write_unsigned(writer, finding->file.n_items);
    nj_json_key(writer, "model");
    if (finding->has_model) {
        nj_json_write_string(writer, finding->check.model_path);
    } else {
        nj_json_write_null(writer);
    }
    nj_json_key(writer, "prompt_tokens");
    if (finding->has_model) {
        nj_json_write_unsigned(writer, finding->check.n_prompt_tokens);
    } else {
        nj_json_write_null(writer);
    }
    nj_complaint_write(writer, finding->status, finding->err.text, &finding->file.diagnostics);
    nj_json_end_object(writer);
}

/* With `writer` the findings go there, else they are printed. */
static int validate_all(int n_files, char *const *paths, const char *model_path,
                        struct nj_json_writer *writer)
{
    int code = NJ_EXIT_OK;
    for (int i = 0; i < n_files; i++) {
        struct finding finding;
        examine(&finding, paths[i], model_path);
        if (writer != NULL) {
            write_finding(writer, &finding);
        } else if (finding.status == NJ_OK) {
            print_ok(&finding);
        } else {
            (void)nj_complain_failure(false, finding.status, &finding.err,
                                      &finding.file.diagnostics); /* counted below */
        }
        code = code == NJ_EXIT_OK ? nj_exit_code_of(finding.status) : code;
        nj_job_file_close(&finding.file);
    }
    return code;
}

static int validate_as_json(int n_files, char *const *paths, const char *model_path)
{
    struct nj_json_writer writer;
    nj_json_writer_init(&writer);
    nj_json_begin_object(&writer);
    nj_json_key(&writer, "version");
    nj_json_write_unsigned(&writer, 1);
    nj_json_key(&writer, "files");
    nj_json_begin_array(&writer);
    int code = validate_all(n_files, paths, model_path, &writer);
    nj_json_end_array(&writer);
    nj_json_end_object(&writer);
    int printing = nj_json_print(&writer, stdout);
    nj_json_writer_deinit(&writer);
    return code == NJ_EXIT_OK ? printing : code;
}

int nj_cli_validate(int argc, char **argv)
{
    bool help = false;
    bool as_json = nj_flags_mention(argc, argv, "--json"); /* also for mistakes in flags */
    const char *model_path = NULL;
    int n_files = 0;
    struct nj_error err = {0};
    const struct nj_flag flags[] = {{"--help", &help, NJ_FLAG_SWITCH, 0},
                                    {"-h", &help, NJ_FLAG_SWITCH, 0},
                                    {"--model", &model_path, NJ_FLAG_TEXT, 0},
                                    {"--json", &as_json, NJ_FLAG_SWITCH, 0}};
    enum nj_status status =
        nj_flags_parse(argc, argv, flags, sizeof flags / sizeof flags[0], &n_files, &err);
    if (status == NJ_OK && n_files == 0 && !help) {
        status = nj_fail(&err, NJ_E_USAGE, "validate wants at least one job file");
    }
    if (status != NJ_OK) {
        return nj_complain_failure(as_json, status, &err, NULL);
    }
    if (help) {
        (void)fputs(usage, stdout);
        return NJ_EXIT_OK;
    }
    return as_json ? validate_as_json(n_files, argv, model_path)
                   : validate_all(n_files, argv, model_path, NULL);
}
