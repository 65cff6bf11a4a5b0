/* The flags that change a job before it is read: the same for each verb that reads one. */
#ifndef NJ_CLI_JOB_FLAGS_H
#define NJ_CLI_JOB_FLAGS_H

#include "cli/flags.h"
#include "job/overrides.h"

/* Zeroed: nothing is changed. */
struct nj_job_flags {
    struct nj_flag_list sets;
    struct nj_flag_list vars;
    uint32_t limit;
};

/* Their lines in a verb's help. */
#define NJ_JOB_FLAGS_HELP                                                                      \
    "  --set PATH=VALUE     change the job: sampling.temperature=0.2, prompts.0.id=x; again\n" \
    "                       for more\n"                                                        \
    "  --var NAME=TEXT      set one of the job's `vars`; again for more\n"                     \
    "  --limit N            only the first N items\n"

/* NJ_E_USAGE naming the flag when a value lacks its name or `=`. */
enum nj_status nj_job_flags_check(const struct nj_job_flags *flags, struct nj_error *err);

/* Points into `flags`. */
struct nj_job_overrides nj_job_flags_overrides(const struct nj_job_flags *flags);

#endif
