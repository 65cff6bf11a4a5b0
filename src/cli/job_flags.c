#include "cli/job_flags.h"

struct nj_job_overrides nj_job_flags_overrides(const struct nj_job_flags *flags)
{
    return (struct nj_job_overrides){.sets = flags->sets.items,
                                     .n_sets = flags->sets.n_items,
                                     .vars = flags->vars.items,
                                     .n_vars = flags->vars.n_items,
                                     .limit = flags->limit};
}
