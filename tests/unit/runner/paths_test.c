#include "runner/paths.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "support/check.h"

static void check_output(const char *name, const char *parent, const char *flag,
                         const char *wanted)
{
    char path[256];
    struct nj_error err;
    struct nj_job_spec spec = {.name = nj_text_from(name), .output_directory = parent};
    REQUIRE_OK(nj_path_of_output(&spec, flag, path, sizeof path, &err), &err);
    CHECK_TEXT(path, wanted);
}

static void the_run_folder_is_the_flags_or_the_jobs_or_results(void)
{
    check_output("night", "jobs/out", "mine", "mine");
    check_output("night", "jobs/out", NULL, "jobs/out/night");
    check_output("night", NULL, NULL, "results/night");
}

static void a_job_name_cannot_leave_its_folder(void)
{
    check_output("../../etc", NULL, NULL, "results/-.-..-etc");
    check_output("..", NULL, NULL, "results/-.");
    check_output("caf\xC3\xA9 1", NULL, NULL, "results/caf---1");
    check_output("", NULL, NULL, "results/job");
}

static void check_model(const char *source_path, const char *model, const char *flag,
                        const char *wanted)
{
    char path[512];
    struct nj_error err;
    struct nj_job_spec spec = {.source_path = source_path, .model = nj_text_from(model)};
    REQUIRE_OK(nj_path_of_model(nj_file_system_real(), &spec, flag, path, sizeof path, &err),
               &err);
    CHECK_TEXT(path, wanted);
}

static void a_model_beside_the_job_file_goes_before_one_in_the_working_directory(void)
{
    char job[300];
    char beside[300];
    (void)snprintf(job, sizeof job, "%s/job.yaml", test_folder());
    (void)snprintf(beside, sizeof beside, "%s/model", test_folder());
    check_model(job, "src", NULL, "src");
    REQUIRE(mkdir(beside, 0700) == 0);
    check_model(job, "model", NULL, beside);
    check_model(job, "model", "flag", "flag");
    check_model(job, "/absolute", NULL, "/absolute");
    check_model("job.yaml", "no such folder", NULL, "no such folder");
}

static void a_model_that_is_in_neither_place_is_refused_with_both(void)
{
    char path[512];
    struct nj_error err;
    struct nj_job_spec spec = {.source_path = "jobs/night.yaml",
                               .model = nj_text_from("nowhere")};
    CHECK_EQ(nj_path_of_model(nj_file_system_real(), &spec, NULL, path, sizeof path, &err),
             NJ_E_NOT_FOUND);
    CHECK_CONTAINS(err.text, "no directory jobs/nowhere beside the job file");
    CHECK_CONTAINS(err.text, "no nowhere in the working directory");
}

static void without_a_model_the_job_is_refused(void)
{
    char path[64];
    struct nj_error err;
    struct nj_job_spec spec = {.source_path = "job.yaml"};
    CHECK_EQ(nj_path_of_model(nj_file_system_real(), &spec, NULL, path, sizeof path, &err),
             NJ_E_INPUT);
    CHECK_CONTAINS(err.text, "--model");
}

int main(void)
{
    RUN(the_run_folder_is_the_flags_or_the_jobs_or_results);
    RUN(a_job_name_cannot_leave_its_folder);
    RUN(a_model_beside_the_job_file_goes_before_one_in_the_working_directory);
    RUN(a_model_that_is_in_neither_place_is_refused_with_both);
    RUN(without_a_model_the_job_is_refused);
    return test_result();
}
