/* nightjar, but every run ends with an internal error: nothing else can reach that exit code,
 * since every way to it is a mistake of ours. The linker's --wrap puts this in the place of
 * nj_run_job. */
#include "cli/cli.h"
#include "runner/run.h"

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker chose the name. */

enum nj_status __wrap_nj_run_job(const struct nj_run_environment *environment,
                                 const struct nj_job_spec *spec, struct nj_bytes job_file,
                                 const struct nj_run_options *options,
                                 struct nj_run_report *report, struct nj_error *err);

enum nj_status __wrap_nj_run_job(const struct nj_run_environment *environment,
                                 const struct nj_job_spec *spec, struct nj_bytes job_file,
                                 const struct nj_run_options *options,
                                 struct nj_run_report *report, struct nj_error *err)
{
    (void)environment;
    (void)spec;
    (void)job_file;
    (void)options;
    (void)report;
    return nj_fail(err, NJ_E_INTERNAL, "a counter went below zero");
}

/* NOLINTEND(bugprone-reserved-identifier) */

int main(int argc, char **argv)
{
    return nj_cli_main(argc, argv);
}
